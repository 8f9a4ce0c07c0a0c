// A bit beside those of the categories: the command is one of Redis 7.0's. The text of a user's
// rules is found by counting such commands alone, so that it is the text that Redis has for these
// rules.
#pragma once

#include <cstddef>

namespace sluice {

inline constexpr size_t kRedisMark = 31;

}  // namespace sluice
