// Whether the server is to be sent requests now, as /readyz tells it: what it has to serve is
// loaded, the disk takes what is written, and the log is not far behind.
#pragma once

#include <string>
#include <vector>

#include "server/core/parts.h"

namespace sluice {

// Sentences; none: it is ready. O(1).
std::vector<std::string> ReasonsNotReady(const Parts& parts);

// Bytes of the log that are not as safe as appendfsync is to make them.
uint64_t LogLagBytes(const Parts& parts);

}  // namespace sluice
