// Histories of one limiter, judged in O(n log n · log time) from what was let through and refused:
// whatever the algorithm, it has bounds.
//
//   more was surely let through in a period, or in 2, 4, 8 ..., than can be    a fault
//   a refusal, where so little can have been let through before it             a fault
//     that there was surely room
//
// What was let through without an answer counts for a refusal, at any time from its call on, and
// never against the limiter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tests/support/linearizable/span.h"

namespace sluice {

struct LimitOperation {
  enum class Answer : uint8_t { kAllowed, kRefused, kNone };
  Span span;
  Answer answer = Answer::kNone;
  int64_t cost = 1;
};

// What the algorithm and its numbers come to.
//   WINDOW max P       in_period 2 max, since two windows may meet; room max, whole after P
//   SLIDING max P      in_period 2 max; room max, whole after 2 P
//   LOG, LEAKY max P   in_period max; room max, whole after P
//   ROLLING max P b    in_period b + max; room b, whole after P b / max
//   GCRA max P b       in_period b + 1 + max; room b + 1, whole after P (b + 1) / max
struct LimitBounds {
  int64_t in_period = 1;   // units that may be let through in a time shorter than a period
  int64_t per_period = 1;  // and so many more for each period that it is longer
  int64_t period_us = 1;
  int64_t room = 1;            // units for which there is room when nothing is owed
  int64_t whole_after_us = 1;  // so long after what was let through nothing of it is owed
};

// What is wrong with it, as a sentence; null: nothing was found. Requires: the limiter is not
// refunded, flushed or changed.
std::optional<std::string> JudgeLimit(std::span<const LimitOperation> history,
                                      const LimitBounds& bounds);

}  // namespace sluice
