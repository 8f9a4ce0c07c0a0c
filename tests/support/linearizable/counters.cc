// See counters.h.
#include "tests/support/linearizable/counters.h"

#include <algorithm>
#include <map>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

using CounterKind = CounterOperation::Kind;

// What is known of one value.
struct Made {
  const CounterOperation* increment = nullptr;  // that was answered with it
  int64_t first_read_answer = kNever;
  int64_t last_read_call = kBeforeAll;
};

class CounterJudge {
 public:
  explicit CounterJudge(std::span<const CounterOperation> history) {
    for (const CounterOperation& operation : history) Note(operation);
    std::ranges::sort(calls_);
  }

  std::optional<std::string> Run() {
    if (!fault_ && !values_.empty()) {
      const int64_t last = std::max<int64_t>(0, values_.rbegin()->first);
      if (values_.begin()->first < 0) fault_ = "a counter was below 0";
      for (int64_t value = 0; value <= last && !fault_; ++value) Make(value);
    }
    if (!fault_) JudgeRefused();
    return fault_;
  }

 private:
  void Note(const CounterOperation& operation) {
    if (operation.kind == CounterKind::kRefused) {
      if (operation.span.answered()) refused_.push_back(&operation);
      return;
    }
    if (!operation.span.answered()) {
      if (operation.kind == CounterKind::kIncrement) calls_.push_back(operation.span.call);
      return;
    }
    Made& made = values_[operation.value];
    if (operation.kind == CounterKind::kRead) {
      made.first_read_answer = std::min(made.first_read_answer, operation.span.answer);
      made.last_read_call = std::max(made.last_read_call, operation.span.call);
    } else if (std::exchange(made.increment, &operation)) {
      fault_ = Concat("value ", operation.value, " was made twice");
    }
  }

  // The earliest moment of it. Moments only grow: the earliest is the best for all that follow.
  void Make(int64_t value) {
    const auto found = values_.find(value);
    const Made made = found == values_.end() ? Made() : found->second;
    if (value > 0 && !MakeBy(value, made.increment)) return;
    if (made.increment && value == 0) fault_ = "an increment was answered with 0";
    if (moment_ > made.first_read_answer)
      fault_ = Concat("value ", value, " was read by ", made.first_read_answer,
                      ", and not made before ", moment_);
    moment_ = std::max(moment_, made.last_read_call);
  }

  bool MakeBy(int64_t value, const CounterOperation* increment) {
    if (!increment) {
      if (next_call_ == calls_.size()) {
        fault_ = Concat("value ", value, " was made by no increment");
        return false;
      }
      moment_ = std::max(moment_, calls_[next_call_++]);
      return true;
    }
    moment_ = std::max(moment_, increment->span.call);
    if (moment_ > increment->span.answer) {
      fault_ = Concat("value ", value, " was answered by ", increment->span.answer,
                      ", and not made before ", moment_);
    } else if (increment->token != 0 && increment->token < token_) {
      fault_ = Concat("value ", value, " was made under token ", increment->token,
                      ", behind one of ", token_);
    }
    if (increment->token > token_) {
      token_ = increment->token;
      let_through_.emplace_back(token_, moment_);
    }
    return !fault_;
  }

  // Each needs a larger token that can have been let through by its answer.
  void JudgeRefused() {
    for (const CounterOperation* refused : refused_) {
      const auto larger = std::ranges::upper_bound(let_through_, refused->token, {},
                                                   &std::pair<int64_t, int64_t>::first);
      if (larger != let_through_.end() && larger->second <= refused->span.answer) continue;
      fault_ = Concat("token ", refused->token, " was refused by ", refused->span.answer,
                      ", and no larger one let through before");
      return;
    }
  }

  std::map<int64_t, Made> values_;
  std::vector<int64_t> calls_;  // of increments without an answer
  std::vector<const CounterOperation*> refused_;
  std::vector<std::pair<int64_t, int64_t>> let_through_;  // tokens as they grew, and when
  size_t next_call_ = 0;
  int64_t moment_ = kBeforeAll;
  int64_t token_ = 0;
  std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> JudgeCounter(std::span<const CounterOperation> history) {
  return CounterJudge(history).Run();
}

void CounterModel::Apply(const State& state, const Operation& operation,
                         std::vector<State>& after) {
  const auto [value, token] = state;
  const bool is_answered = operation.span.answered();
  switch (operation.kind) {
    case CounterKind::kIncrement:
      if (operation.token != 0 && operation.token < token) return;
      if (!is_answered || operation.value == value + 1)
        after.emplace_back(value + 1, std::max(token, operation.token));
      return;
    case CounterKind::kRead:
      if (!is_answered || operation.value == value) after.push_back(state);
      return;
    case CounterKind::kRefused:
      if (!is_answered || operation.token < token) after.push_back(state);
      return;
  }
}

}  // namespace sluice
