// Whether a history is linearizable, by search, for any model: is there an order of its operations,
// each at a moment of its span, in which the model gives the answers that the clients got?
//
// The search goes through calls and answers by time. It keeps every configuration that the past
// allows: the model's state, and which of the open operations have had their effect. An operation
// gets its effect as late as can be: when its answer comes, in any order with others that are open.
// Two ways to the same configuration count once. Nothing but states is left where nothing is open,
// so that histories may be long; the work grows with what is open at once.
//
// Sources: Wing and Gong, "Testing and Verifying Concurrent Objects" (1993); Lowe, "Testing for
// Linearizability" (2017), the just-in-time algorithm and the memory of configurations.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/linearizable/span.h"

namespace sluice {

struct SearchResult {
  enum class Verdict : uint8_t { kFits, kDoesNotFit, kTooMuch };
  Verdict verdict = Verdict::kFits;
  size_t at = 0;  // kDoesNotFit: the operation whose answer fits no order of what was before
};

// A Model has
//   State                                              ordered; Model::State() is the first one
//   Operation                                          with a member `Span span`
//   static void Apply(const State&, const Operation&, std::vector<State>& after)
//                                                      adds the states that it may leave behind;
//                                                      none: here its answer does not fit
template <typename Model>
class Search {
 public:
  using State = typename Model::State;
  using Operation = typename Model::Operation;

  static SearchResult Run(std::span<const Operation> history) { return Search(history).Run(); }

 private:
  static constexpr size_t kOpenMax = 64;
  static constexpr size_t kConfigurationsMax = 200'000;
  struct Configuration {
    State state;
    uint64_t done = 0;  // of the open operations, by slot
    auto operator<=>(const Configuration&) const = default;
  };
  struct Event {
    int64_t moment;
    bool is_answer;
    size_t operation;
    bool operator<(const Event& other) const {
      return std::tie(moment, is_answer, operation) <
             std::tie(other.moment, other.is_answer, other.operation);
    }
  };

  explicit Search(std::span<const Operation> history) : history_(history) {
    for (size_t i = 0; i < history.size(); ++i) {
      events_.push_back({history[i].span.call, false, i});
      if (history[i].span.answered()) events_.push_back({history[i].span.answer, true, i});
    }
    std::sort(events_.begin(), events_.end());
    now_.insert(Configuration());
  }

  SearchResult Run() {
    using Verdict = SearchResult::Verdict;
    for (const Event& event : events_) {
      if (!event.is_answer) {
        if (!Open(event.operation)) return {Verdict::kTooMuch, event.operation};
        continue;
      }
      if (!Answer(event.operation)) return {Verdict::kTooMuch, event.operation};
      if (now_.empty()) return {Verdict::kDoesNotFit, event.operation};
    }
    return {};
  }

  // False: more is open than there are slots.
  bool Open(size_t operation) {
    const int slot = std::countr_one(used_);
    if (static_cast<size_t>(slot) >= kOpenMax) return false;
    used_ |= uint64_t{1} << slot;
    slots_.resize(std::max(slots_.size(), static_cast<size_t>(slot) + 1));
    slots_[static_cast<size_t>(slot)] = operation;
    return true;
  }

  // Goes on with the configurations in which the operation has had its effect. False: too many.
  bool Answer(size_t operation) {
    const auto slot = std::find_if(slots_.begin(), slots_.end(), [&](const size_t& open) {
      return open == operation && (used_ >> (&open - slots_.data()) & 1u) != 0;
    });
    const uint64_t bit = uint64_t{1} << (slot - slots_.begin());
    std::set<Configuration> seen = std::exchange(now_, {});
    std::vector<Configuration> left(seen.begin(), seen.end());
    while (!left.empty()) {
      Configuration from = std::move(left.back());
      left.pop_back();
      if (from.done & bit) {
        from.done &= ~bit;
        now_.insert(std::move(from));
        continue;
      }
      if (seen.size() > kConfigurationsMax) return false;
      Expand(from, seen, left);
    }
    used_ &= ~bit;
    return true;
  }

  // Whatever may have its effect next.
  void Expand(const Configuration& from, std::set<Configuration>& seen,
              std::vector<Configuration>& left) {
    for (uint64_t rest = used_ & ~from.done; rest != 0; rest &= rest - 1) {
      const int slot = std::countr_zero(rest);
      std::vector<State> after;
      Model::Apply(from.state, history_[slots_[static_cast<size_t>(slot)]], after);
      for (State& state : after) {
        Configuration to{std::move(state), from.done | uint64_t{1} << slot};
        if (seen.insert(to).second) left.push_back(std::move(to));
      }
    }
  }

  const std::span<const Operation> history_;
  std::vector<Event> events_;
  std::vector<size_t> slots_;  // which operation each slot is of
  uint64_t used_ = 0;          // slots of open operations
  std::set<Configuration> now_;
};

}  // namespace sluice
