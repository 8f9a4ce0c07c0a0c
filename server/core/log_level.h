// LogLevel: how much a line of the server's log matters, in the order of Redis's `loglevel`.
#pragma once

#include <cstdint>

namespace sluice {

enum class LogLevel : uint8_t { kDebug, kVerbose, kNotice, kWarning };

}  // namespace sluice
