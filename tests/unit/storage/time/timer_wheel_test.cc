// The wheel against a plain model: a set ordered by tick and by insertion. Every timer that fires
// has to be the model's first, whatever was inserted, moved, cancelled, relocated or sliced before.
#include "storage/time/timer_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace sluice {
namespace {

constexpr size_t kAll = SIZE_MAX;

std::vector<int> Fire(TimerWheel& wheel, std::vector<TimerNode>& nodes, int64_t now_ms,
                      size_t budget = kAll) {
  std::vector<int> fired;
  wheel.Advance(now_ms, budget, [&](TimerNode& node) {
    EXPECT_FALSE(node.linked());
    fired.push_back(static_cast<int>(&node - nodes.data()));
  });
  EXPECT_EQ(wheel.Audit(), "");
  return fired;
}

TEST(TimerWheel, FiresOnTheVeryTickOnEveryLevel) {
  for (const int64_t start : {int64_t{0}, int64_t{255}, int64_t{256}, int64_t{1'000'003}}) {
    for (int bits = 0; bits < 44; ++bits) {
      for (const int64_t around : {-1, 0, 1}) {
        std::vector<TimerNode> nodes(1);
        TimerWheel wheel(start);
        const int64_t deadline = start + (int64_t{1} << bits) + around;
        if (deadline <= start) continue;
        wheel.Insert(nodes[0], TimerKind::kTask, deadline);
        EXPECT_EQ(nodes[0].deadline_ms(), deadline);
        EXPECT_LE(wheel.NextWork(), deadline);
        EXPECT_GT(wheel.NextWork(), start);
        EXPECT_TRUE(Fire(wheel, nodes, deadline - 1).empty());
        EXPECT_EQ(Fire(wheel, nodes, deadline).size(), 1u) << start << " " << deadline;
        EXPECT_EQ(wheel.now_ms(), deadline);
        EXPECT_EQ(wheel.NextWork(), TimerWheel::kNever);
      }
    }
  }
}

TEST(TimerWheel, PassesWhereNothingIsDue) {
  std::vector<TimerNode> nodes(2);
  TimerWheel wheel(1000);
  EXPECT_TRUE(wheel.Passes(2000));
  EXPECT_EQ(wheel.now_ms(), 2000);
  EXPECT_TRUE(wheel.Passes(1500));  // an earlier moment takes nothing back
  EXPECT_EQ(wheel.now_ms(), 2000);
  wheel.Insert(nodes[0], TimerKind::kTask, 2010);
  EXPECT_TRUE(wheel.Passes(2009));
  EXPECT_FALSE(wheel.Passes(2010));
  EXPECT_EQ(wheel.now_ms(), 2009);
  wheel.Cancel(nodes[0]);
  EXPECT_TRUE(wheel.Passes(2010));
  wheel.Insert(nodes[1], TimerKind::kTask, 2005);  // its tick is reached
  EXPECT_FALSE(wheel.Passes(2000));
  EXPECT_EQ(Fire(wheel, nodes, 2010), std::vector<int>{1});
  EXPECT_TRUE(wheel.Passes(TimerWheel::kNever - 1));
  EXPECT_EQ(wheel.now_ms(), TimerWheel::kDeadlineMsMax);
}

TEST(TimerWheel, KeepsTheKindOfANodeThroughEverything) {
  for (const TimerKind kind :
       {TimerKind::kEntry, TimerKind::kTask, TimerKind::kValue, TimerKind::kLease}) {
    TimerNode a, b;
    TimerWheel wheel(0);
    wheel.Insert(a, kind, 1'000'000);
    EXPECT_EQ(a.kind(), kind);
    wheel.Move(a, 300);
    wheel.Relocate(a, b);
    EXPECT_FALSE(a.linked());
    EXPECT_EQ(b.kind(), kind);
    EXPECT_EQ(wheel.CountLinked(kind), 1u);
    wheel.Advance(299, kAll, [](TimerNode&) { FAIL(); });
    int fired = 0;
    wheel.Advance(300, kAll, [&](TimerNode& node) {
      EXPECT_EQ(&node, &b);
      EXPECT_EQ(node.kind(), kind);
      ++fired;
    });
    EXPECT_EQ(fired, 1);
  }
}

TEST(TimerWheel, FarAndPastDeadlinesAreClamped) {
  std::vector<TimerNode> nodes(3);
  TimerWheel wheel(1000);
  wheel.Insert(nodes[0], TimerKind::kTask, TimerWheel::kNever);
  wheel.Insert(nodes[1], TimerKind::kTask, -5);
  wheel.Insert(nodes[2], TimerKind::kTask, 1000);
  EXPECT_EQ(nodes[0].deadline_ms(), TimerWheel::kDeadlineMsMax);
  EXPECT_LE(wheel.NextWork(), 1000);
  EXPECT_EQ(Fire(wheel, nodes, 1000), (std::vector<int>{1, 2}));
  EXPECT_EQ(Fire(wheel, nodes, TimerWheel::kDeadlineMsMax - 1), std::vector<int>{});
  EXPECT_EQ(Fire(wheel, nodes, TimerWheel::kNever), std::vector<int>{0});
}

TEST(TimerWheel, ATimerOfAReachedTickFiresOnceACall) {
  std::vector<TimerNode> nodes(2);
  TimerWheel wheel(0);
  wheel.Insert(nodes[0], TimerKind::kTask, 5);
  wheel.Insert(nodes[1], TimerKind::kTask, 10);
  int fired[2] = {0, 0};
  const auto again = [&](TimerNode& node) {
    const auto i = &node - nodes.data();
    ++fired[i];
    if (i == 0) wheel.Insert(node, TimerKind::kTask, 0);
  };
  EXPECT_EQ(wheel.Advance(1'000'000, kAll, again), 2u);
  EXPECT_EQ(fired[0], 1);
  EXPECT_EQ(fired[1], 1);
  EXPECT_LE(wheel.NextWork(), wheel.now_ms());
  wheel.Advance(1'000'000, kAll, again);
  EXPECT_EQ(fired[0], 2);
}

// Also in the middle of a slice, when some are on their way down and others due.
TEST(TimerWheel, TurnsBack) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 200; ++run) {
    constexpr int64_t kFrom = 10'000'000'000;
    std::vector<TimerNode> nodes(100);
    TimerWheel wheel(kFrom);
    for (TimerNode& node : nodes) {
      const auto far = static_cast<int64_t>(random() % (uint64_t{1} << random() % 44));
      wheel.Insert(node, TimerKind::kTask, std::max(int64_t{1}, kFrom - 50'000 + far));
    }
    const int64_t reached = kFrom + static_cast<int64_t>(random() % 200'000);
    std::vector<int> fired = Fire(wheel, nodes, reached, random() % 60);
    const auto now = static_cast<int64_t>(random() % kFrom);
    wheel.TurnBack(now);
    EXPECT_EQ(wheel.Audit(), "");
    EXPECT_EQ(wheel.now_ms(), now);
    std::multiset<int64_t> left;
    for (const TimerNode& node : nodes)
      if (node.linked()) left.insert(node.deadline_ms());
    while (!left.empty()) {
      const int64_t next = std::max(*left.begin(), now);
      EXPECT_LE(wheel.NextWork(), next);
      if (next > now) {
        EXPECT_TRUE(Fire(wheel, nodes, next - 1).empty());
      }
      const std::vector<int> due = Fire(wheel, nodes, next);
      ASSERT_FALSE(due.empty());
      for (const int i : due) left.erase(left.find(nodes[i].deadline_ms()));
    }
    EXPECT_EQ(wheel.size(), 0u);
  }
}

TEST(TimerWheel, AMillionDueAtOnceAreWorkedOffInSlices) {
  constexpr int kCount = 100'000;
  std::vector<TimerNode> nodes(kCount);
  TimerWheel wheel(0);
  for (TimerNode& node : nodes) wheel.Insert(node, TimerKind::kTask, 70'000);
  int next = 0;
  size_t calls = 0;
  while (wheel.size() > 0) {
    ++calls;
    const size_t spent = wheel.Advance(80'000, 1000, [&](TimerNode& node) {
      EXPECT_EQ(&node, &nodes[next]);
      ++next;
    });
    EXPECT_LE(spent, 1000u);
    if (wheel.size() > 0) {
      EXPECT_LE(wheel.NextWork(), 70'000);
    }
  }
  // Two levels down, then fired.
  EXPECT_EQ(calls, 3u * kCount / 1000);
}

TEST(TimerWheel, OwnsNothingUntilUsed) {
  TimerWheel wheel(0);
  EXPECT_LT(wheel.memory_bytes(), 200u);
  TimerNode node;
  wheel.Insert(node, TimerKind::kTask, 1);
  EXPECT_LT(wheel.memory_bytes(), 6000u);
}

TEST(TimerWheel, APostponedTimerFiresOnItsNewTick) {
  for (const int64_t first : {3, 300, 70'000}) {
    for (const int64_t later : {int64_t{0}, int64_t{1}, int64_t{500}, int64_t{1} << 40}) {
      std::vector<TimerNode> nodes(2);
      TimerWheel wheel(0);
      wheel.Insert(nodes[0], TimerKind::kEntry, first);
      wheel.Insert(nodes[1], TimerKind::kEntry, first + 7);
      wheel.Postpone(nodes[0], first + later);
      EXPECT_EQ(nodes[0].deadline_ms(), first + later);
      EXPECT_LE(wheel.NextWork(), first);
      EXPECT_TRUE(Fire(wheel, nodes, first - 1).empty());
      Fire(wheel, nodes, first + later - 1);
      EXPECT_TRUE(nodes[0].linked());
      Fire(wheel, nodes, first + later);
      EXPECT_FALSE(nodes[0].linked());
    }
  }
}

// --- the model

class History {
 public:
  explicit History(uint64_t seed)
      : random_(seed), wheel_(start_), nodes_(kTimers), state_(kTimers) {
    for (auto& node : nodes_) node = std::make_unique<TimerNode>();
  }

  void Step() {
    const size_t i = Pick(kTimers);
    switch (Pick(12)) {
      case 10:
        return Postpone(i);
      case 0:
      case 1:
      case 2:
      case 3:
        return Set(i);
      case 4:
        return Cancel(i);
      case 5:
        return Relocate(i);
      case 6:
        return CheckNext();
      default:
        return Advance();
    }
  }
  std::string Audit() const {
    if (wheel_.size() != order_.size()) return "the sizes differ";
    return wheel_.Audit();
  }
  size_t fired() const { return fired_; }

 private:
  static constexpr size_t kTimers = 300;

  struct State {
    bool set = false;
    int64_t tick = 0;
    uint64_t turn = 0;
    bool postponed = false;  // among those of its tick its place is not known
  };

  uint64_t Pick(uint64_t below) { return random_() % below; }
  // Mostly near, some on block borders, a few far; some in the past.
  int64_t AnyDeadline() {
    const auto span = static_cast<int64_t>(Pick(uint64_t{1} << Pick(Pick(8) == 0 ? 44 : 18)));
    switch (Pick(8)) {
      case 0:
        return wheel_.now_ms() - span;
      case 1:
        return wheel_.now_ms() + Pick(3);
      case 2:
        return (wheel_.now_ms() + span) & ~int64_t{0xff};
      case 3:
        return (wheel_.now_ms() + span) | 0xff;
      default:
        return wheel_.now_ms() + span;
    }
  }

  void Forget(size_t i) {
    State& state = state_[i];
    if (state.set) order_.erase({state.tick, state.turn, i});
    std::erase(late_, i);
    state.set = false;
  }
  void Remember(size_t i, int64_t deadline) {
    State& state = state_[i];
    const bool late = deadline <= wheel_.now_ms();
    state = {true, late ? TimerWheel::kNever : deadline, ++turn_};
    order_.insert({state.tick, state.turn, i});
    if (late) late_.push_back(i);
  }
  void Set(size_t i) {
    const int64_t deadline = AnyDeadline();
    const bool was_set = state_[i].set;
    Forget(i);
    if (was_set)
      wheel_.Move(*nodes_[i], deadline);
    else
      wheel_.Insert(*nodes_[i], TimerKind::kTask, deadline);
    Remember(i, deadline);
  }
  void Postpone(size_t i) {
    if (!state_[i].set) return;
    const int64_t deadline = std::max(AnyDeadline(), nodes_[i]->deadline_ms());
    const bool same = deadline == nodes_[i]->deadline_ms();
    wheel_.Postpone(*nodes_[i], deadline);
    if (same) return;
    Forget(i);
    Remember(i, deadline);
    state_[i].postponed = true;
  }
  void Cancel(size_t i) {
    Forget(i);
    wheel_.Cancel(*nodes_[i]);
  }
  void Relocate(size_t i) {
    auto fresh = std::make_unique<TimerNode>();
    const int64_t deadline = nodes_[i]->deadline_ms();
    wheel_.Relocate(*nodes_[i], *fresh);
    EXPECT_EQ(fresh->linked(), state_[i].set);
    EXPECT_EQ(fresh->deadline_ms(), deadline);
    std::memset(static_cast<void*>(nodes_[i].get()), 0xee, sizeof(TimerNode));
    nodes_[i] = std::move(fresh);
  }
  size_t IndexOf(const TimerNode& node) const {
    for (size_t i = 0; i < kTimers; ++i)
      if (nodes_[i].get() == &node) return i;
    ADD_FAILURE() << "an unknown node fired";
    return 0;
  }

  void CheckNext() {
    int64_t earliest = TimerWheel::kNever;
    for (size_t i = 0; i < kTimers; ++i)
      if (state_[i].set) earliest = std::min(earliest, nodes_[i]->deadline_ms());
    if (earliest == TimerWheel::kNever) {
      EXPECT_EQ(wheel_.NextWork(), TimerWheel::kNever);
    } else {
      EXPECT_LE(wheel_.NextWork(), std::max(earliest, wheel_.now_ms()));
    }
  }

  void Advance() {
    if (Pick(3) > 0) target_ += static_cast<int64_t>(Pick(uint64_t{1} << Pick(12)));
    if (Pick(200) == 0) target_ += static_cast<int64_t>(Pick(uint64_t{1} << Pick(40)));
    for (const size_t i : late_) {  // they come last in the tick that the wheel is at
      State& state = state_[i];
      order_.erase({state.tick, state.turn, i});
      state.tick = wheel_.now_ms();
      state.turn = ++turn_;
      order_.insert({state.tick, state.turn, i});
    }
    const bool any_late = !late_.empty();
    late_.clear();
    if (Pick(2) == 0 && wheel_.Passes(target_)) {
      EXPECT_FALSE(any_late);
      for (size_t i = 0; i < kTimers; ++i) {
        if (state_[i].set) {
          EXPECT_GT(nodes_[i]->deadline_ms(), target_);
        }
      }
      EXPECT_GE(wheel_.now_ms(), target_);
      return;
    }
    const size_t budget = Pick(3) == 0 ? kAll : Pick(20);
    const size_t spent = wheel_.Advance(target_, budget, [this](TimerNode& node) { Fired(node); });
    EXPECT_LE(spent, budget);
    if (spent == budget) return;
    EXPECT_EQ(wheel_.now_ms(), target_);
    if (!order_.empty()) {
      EXPECT_GT(std::get<0>(*order_.begin()), target_);
    }
  }

  void Fired(TimerNode& node) {
    const size_t i = IndexOf(node);
    ++fired_;
    EXPECT_FALSE(node.linked());
    ASSERT_TRUE(state_[i].set);
    const auto& [first_tick, first_turn, first] = *order_.begin();
    if (state_[i].postponed || state_[first].postponed) {
      EXPECT_EQ(state_[i].tick, first_tick) << "fired out of order";
    } else {
      EXPECT_EQ(first, i) << "fired out of order";
    }
    EXPECT_LE(state_[i].tick, target_);
    Forget(i);
    if (Pick(4) == 0) Set(i);
    if (Pick(4) == 0) Set(Pick(kTimers));
    if (Pick(8) == 0) Cancel(Pick(kTimers));
    if (Pick(8) == 0) Relocate(Pick(kTimers));
  }

  std::mt19937_64 random_;
  int64_t start_ = static_cast<int64_t>(random_() % 3) * 0x12345;
  int64_t target_ = start_;
  TimerWheel wheel_;
  std::vector<std::unique_ptr<TimerNode>> nodes_;
  std::vector<State> state_;
  std::set<std::tuple<int64_t, uint64_t, size_t>> order_;
  std::vector<size_t> late_;
  uint64_t turn_ = 0;
  size_t fired_ = 0;
};

class TimerWheelModel : public testing::TestWithParam<int> {};

TEST_P(TimerWheelModel, AgreesOverALongHistory) {
  History history(static_cast<uint64_t>(GetParam()));
  for (int step = 0; step < 60'000; ++step) {
    history.Step();
    if (step % 100 == 0) {
      ASSERT_EQ(history.Audit(), "") << step;
    }
    ASSERT_FALSE(HasFailure()) << "step " << step;
  }
  EXPECT_GT(history.fired(), 5'000u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TimerWheelModel, testing::Range(1, 11));

}  // namespace
}  // namespace sluice
