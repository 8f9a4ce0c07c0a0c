// Registers to which each value is written once: so it is known who read what whom has written, and
// a history is judged in O(n log n).
//
// The write of a value and all reads of it stand together in every order that fits: nothing is
// written between them. So each value has a zone of time. From the first answer of its operations
// to the last call: forward, where that is later: the value was surely there all that time.
// Otherwise it could have been there at any one moment from the last call to the first answer. A
// history fits exactly if no read came before its write, no two forward zones overlap, and no other
// zone lies in a forward one.
//
// Source: Gibbons and Korach, "Testing Shared Memories" (1997), 4.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/support/linearizable/span.h"

namespace sluice {

struct RegisterOperation {
  Span span;
  bool is_write = false;
  int64_t value = 0;  // a read's: kUnwritten: nothing was there
};
inline constexpr int64_t kUnwritten = 0;

// What is wrong with it, as a sentence; null: there is an order that fits. Requires: no value is
// written twice, nor kUnwritten.
std::optional<std::string> JudgeRegister(std::span<const RegisterOperation> history);

// The same as a model to search with.
struct RegisterModel {
  using State = int64_t;
  using Operation = RegisterOperation;
  static void Apply(State state, const Operation& operation, std::vector<State>& after);
};

}  // namespace sluice
