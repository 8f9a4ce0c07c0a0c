// Counters, plain and FENCED: each increment is answered with the value that it has made, so the
// values give the order, and a history is judged in O(n log n).
//
// Value v is made by one increment, and may be read until v + 1 is made. Going up, each value gets
// the earliest moment at which it can have been made; one that is behind an answer which shows it
// is a fault. A value that no answer shows was made by an increment without an answer: by the one
// that was called first, as any other would come later.
//
// A fenced increment names a token. It is refused if a larger one has been let through before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/linearizable/span.h"

namespace sluice {

struct CounterOperation {
  enum class Kind : uint8_t { kIncrement, kRead, kRefused };
  Span span;
  Kind kind = Kind::kIncrement;
  int64_t value = 0;  // the answer, but for kRefused
  int64_t token = 0;  // 0: it is not fenced
};

// What is wrong with it, as a sentence; null: there is an order that fits. The counter begins at 0.
// Increments without an answer must not be fenced: whether they were let through is not known.
std::optional<std::string> JudgeCounter(std::span<const CounterOperation> history);

// The same as a model to search with: the value and the largest token.
struct CounterModel {
  using State = std::pair<int64_t, int64_t>;
  using Operation = CounterOperation;
  static void Apply(const State& state, const Operation& operation, std::vector<State>& after);
};

}  // namespace sluice
