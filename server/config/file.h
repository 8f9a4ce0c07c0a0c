// The syntax of redis.conf: one directive a line, words between spaces, quotes and escapes as in C.
#pragma once

#include <string>
#include <string_view>

#include "protocol/text/words.h"

namespace sluice {

// Without spaces, tabs and line ends around it.
std::string_view TrimLine(std::string_view line);

}  // namespace sluice
