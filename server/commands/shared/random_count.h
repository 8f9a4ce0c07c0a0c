// The count of HRANDFIELD and its kin: how many to choose at random, below zero with repetitions.
// No data bounds such an answer: it has a bound of its own, and its makers ask ReplySink::full().
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/dispatch/command.h"

namespace sluice {

// The most elements with repetitions: 2^24 take 20 s to draw. Redis would answer until it runs out
// of memory.
inline constexpr int64_t kRepeatedMax = 1 << 24;

// Reads args[at]. False: the error has been answered.
bool ReadRandomCount(CommandCall& call, size_t at, int64_t& count);

}  // namespace sluice
