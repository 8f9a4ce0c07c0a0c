// See limit_histories.h.
#include "tests/support/linearizable/limit_histories.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

using LimitAnswer = LimitOperation::Answer;

// A sum of weights at keys that are known beforehand (Fenwick's tree): Add and UpTo in O(log keys).
class Sums {
 public:
  explicit Sums(std::vector<int64_t> keys) : keys_(std::move(keys)) {
    std::ranges::sort(keys_);
    sums_.resize(keys_.size() + 1);
  }

  void Add(int64_t key, int64_t weight) {
    size_t at = static_cast<size_t>(std::ranges::lower_bound(keys_, key) - keys_.begin()) + 1;
    for (; at < sums_.size(); at += at & (~at + 1)) sums_[at] += weight;
  }
  // Of all keys below this one.
  int64_t Below(int64_t key) const {
    size_t at = static_cast<size_t>(std::ranges::lower_bound(keys_, key) - keys_.begin());
    int64_t sum = 0;
    for (; at > 0; at &= at - 1) sum += sums_[at];
    return sum;
  }

 private:
  std::vector<int64_t> keys_;
  std::vector<int64_t> sums_;
};

class LimitJudge {
 public:
  LimitJudge(std::span<const LimitOperation> history, const LimitBounds& bounds) : bounds_(bounds) {
    for (const LimitOperation& operation : history) {
      (operation.answer == LimitAnswer::kRefused ? refused_ : let_through_).push_back(&operation);
    }
    std::ranges::sort(let_through_, {}, [](const LimitOperation* one) { return one->span.call; });
  }

  std::optional<std::string> Run() {
    if (let_through_.empty() && refused_.empty()) return std::nullopt;
    int64_t longest = 0;
    for (const LimitOperation* operation : let_through_) {
      if (operation->span.answered())
        longest = std::max(longest, operation->span.answer - let_through_.front()->span.call);
    }
    for (int64_t periods = 1; !fault_; periods *= 2) {
      CountIn(periods);
      if (periods * bounds_.period_us > longest) break;
    }
    if (!fault_) LookAtRefusals();
    return fault_;
  }

 private:
  std::vector<int64_t> Answers() const {
    std::vector<int64_t> answers;
    for (const LimitOperation* operation : let_through_) answers.push_back(operation->span.answer);
    return answers;
  }

  // From each call on, for less than so many periods: what was called and answered within.
  void CountIn(int64_t periods) {
    const int64_t most = bounds_.in_period + (periods - 1) * bounds_.per_period;
    const int64_t length = periods * bounds_.period_us;
    Sums sums(Answers());
    for (auto at = let_through_.rbegin(); at != let_through_.rend(); ++at) {
      const LimitOperation& operation = **at;
      if (!operation.span.answered()) continue;
      sums.Add(operation.span.answer, operation.cost);
      const int64_t from = operation.span.call;
      const int64_t let = sums.Below(from + length);
      if (let <= most) continue;
      fault_ =
          Concat(let, " units were let through from ", from, " to ", from + length, ", of ", most);
      return;
    }
  }

  // All that can have been let through while it might still be owed.
  void LookAtRefusals() {
    std::vector<std::pair<int64_t, int64_t>> called;  // call, and the sum up to it
    int64_t sum = 0;
    for (const LimitOperation* operation : let_through_)
      called.emplace_back(operation->span.call, sum += operation->cost);
    Sums answered(Answers());
    for (const LimitOperation* operation : let_through_)
      answered.Add(operation->span.answer, operation->cost);
    for (const LimitOperation* refused : refused_) {
      const Span& span = refused->span;
      const auto later =
          std::ranges::upper_bound(called, span.answer, {}, &std::pair<int64_t, int64_t>::first);
      const int64_t before = later == called.begin() ? 0 : std::prev(later)->second;
      const int64_t owed = before - answered.Below(span.call - bounds_.whole_after_us);
      if (owed + refused->cost > bounds_.room) continue;
      fault_ = Concat("a cost of ", refused->cost, " was refused between ", span.call, " and ",
                      span.answer, ", with at most ", owed, " of ", bounds_.room, " owed");
      return;
    }
  }

  const LimitBounds& bounds_;
  std::vector<const LimitOperation*> let_through_;  // by call; perhaps, where there is no answer
  std::vector<const LimitOperation*> refused_;
  std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> JudgeLimit(std::span<const LimitOperation> history,
                                      const LimitBounds& bounds) {
  return LimitJudge(history, bounds).Run();
}

}  // namespace sluice
