// The judges of histories (tests/support/linearizable), judged themselves: by histories that are
// known to be right or wrong, and by the search on random short ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "tests/support/linearizable/counters.h"
#include "tests/support/linearizable/limit_histories.h"
#include "tests/support/linearizable/lock_histories.h"
#include "tests/support/linearizable/registers.h"
#include "tests/support/linearizable/search.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

using Verdict = SearchResult::Verdict;
constexpr int kShortHistories = 25'000;  // of each kind; SLUICE_HISTORIES: as many as that
constexpr int kOperationsMax = 12;

int ShortHistories() {
  const char* const given = std::getenv("SLUICE_HISTORIES");
  return given ? std::atoi(given) : kShortHistories;
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  int64_t To(int64_t most) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(most + 1));
  }
  int64_t From(int64_t least, int64_t most) { return least + To(most - least); }
  bool One(int64_t in) { return To(in - 1) == 0; }
  Span Between(int64_t from, int64_t to) {
    const int64_t call = From(from, to);
    return {call, call + To(6)};
  }

 private:
  std::mt19937_64 engine_;
};

// What both say of random histories must agree, and both answers must be among them.
template <typename Make, typename Judge>
void Compare(const Make& make, const Judge& judge, bool is_exact = true) {
  int right = 0;
  int wrong = 0;
  const int histories = ShortHistories();
  for (uint64_t number = 0; number < static_cast<uint64_t>(histories); ++number) {
    Dice dice(TestSeed(number));
    const auto history = make(dice);
    const auto [fault, found] = judge(history);
    ASSERT_NE(found, Verdict::kTooMuch);
    (found == Verdict::kFits ? right : wrong) += 1;
    if (is_exact || fault) {
      ASSERT_EQ(fault.has_value(), found == Verdict::kDoesNotFit)
          << "seed " << TestSeed(number) << ": " << fault.value_or("no fault");
    }
  }
  EXPECT_GT(right, histories / 50);
  EXPECT_GT(wrong, histories / 50);
}

// --- registers

std::vector<RegisterOperation> RandomRegister(Dice& dice) {
  std::vector<RegisterOperation> history;
  int64_t written = 0;
  const int64_t operations = dice.From(2, kOperationsMax);
  for (int64_t i = 0; i < operations; ++i) {
    RegisterOperation operation{.span = dice.Between(0, 40), .is_write = dice.One(3)};
    if (dice.One(8)) operation.span.answer = kNever;
    operation.value = operation.is_write ? ++written : dice.To(written + 1);
    history.push_back(operation);
  }
  // What was never written is seldom read.
  for (RegisterOperation& operation : history) {
    if (operation.value > written && !dice.One(20)) operation.value = written;
  }
  return history;
}

TEST(Linearizable, RegistersAreJudgedAsBySearch) {
  Compare(RandomRegister, [](const std::vector<RegisterOperation>& history) {
    return std::pair(JudgeRegister(history), Search<RegisterModel>::Run(history).verdict);
  });
}

TEST(Linearizable, AReadOfWhatWasWrittenOverIsWrong) {
  const std::vector<RegisterOperation> stale = {
      {{0, 1}, true, 1}, {{2, 3}, true, 2}, {{4, 5}, false, 1}};
  EXPECT_EQ(JudgeRegister(stale),
            "value 2 was there between 2 and 3, where 1 had to be from 1 to 4");
  std::vector<RegisterOperation> open = stale;
  open[1].span.answer = kNever;  // it may come to pass later
  EXPECT_EQ(JudgeRegister(open), std::nullopt);
}

// --- counters

std::vector<CounterOperation> RandomCounter(Dice& dice) {
  std::vector<CounterOperation> history;
  int64_t value = 0;
  int64_t token = 3;
  int64_t now = 0;
  const int64_t operations = dice.From(2, kOperationsMax);
  for (int64_t i = 0; i < operations; ++i) {
    now += dice.To(4);
    token += dice.To(1);
    CounterOperation operation{.span = {std::max<int64_t>(0, now - dice.To(6)), now + dice.To(6)}};
    const int64_t kind = dice.To(5);
    if (kind == 0) {
      operation.kind = CounterOperation::Kind::kRefused;
      operation.token = token - dice.To(2);
    } else if (kind <= 2) {
      operation.kind = CounterOperation::Kind::kRead;
      operation.value = value;
    } else {
      operation.value = ++value;
      operation.token = dice.One(2) ? token : 0;
    }
    if (dice.One(8)) operation.span.answer = kNever;
    if (!operation.span.answered() && operation.kind == CounterOperation::Kind::kIncrement)
      operation.token = 0;
    if (dice.One(12)) operation.value += dice.One(2) ? 1 : -1;
    history.push_back(operation);
  }
  return history;
}

TEST(Linearizable, CountersAreJudgedAsBySearch) {
  Compare(RandomCounter, [](const std::vector<CounterOperation>& history) {
    return std::pair(JudgeCounter(history), Search<CounterModel>::Run(history).verdict);
  });
}

TEST(Linearizable, AValueThatNobodyHasMadeIsWrong) {
  using Kind = CounterOperation::Kind;
  EXPECT_EQ(JudgeCounter(std::vector<CounterOperation>{{{0, 1}, Kind::kIncrement, 1},
                                                       {{2, 3}, Kind::kIncrement, 3}}),
            "value 2 was made by no increment");
  EXPECT_EQ(JudgeCounter(std::vector<CounterOperation>{{{0, 1}, Kind::kIncrement, 1},
                                                       {{0, kNever}, Kind::kIncrement},
                                                       {{2, 3}, Kind::kIncrement, 3}}),
            std::nullopt);
  EXPECT_EQ(JudgeCounter(std::vector<CounterOperation>{{{0, 1}, Kind::kRefused, 0, 7}}),
            "token 7 was refused by 1, and no larger one let through before");
}

// --- locks

struct LockDice {
  LockRules terms = {};
  bool may_be_unanswered = false;
};

std::vector<HoldingWord> RandomWords(Dice& dice, int64_t behind, int64_t most) {
  std::vector<HoldingWord> words;
  const int64_t count = dice.To(most);
  for (int64_t i = 0; i < count; ++i) {
    HoldingWord word{.span = dice.Between(behind + 1, behind + 12), .lease_us = dice.From(2, 12)};
    word.answer = dice.One(4) ? HoldingWord::Answer::kNotHeld : HoldingWord::Answer::kDone;
    if (dice.One(6)) {
      word.answer = HoldingWord::Answer::kNone;
      word.span.answer = kNever;
    }
    words.push_back(word);
  }
  return words;
}

std::vector<LockAttempt> RandomLock(Dice& dice, const LockDice& how) {
  using Answer = LockAttempt::Answer;
  std::vector<LockAttempt> history;
  int64_t token = 0;
  int64_t now = 0;
  const int64_t attempts = dice.From(2, 5);
  for (int64_t i = 0; i < attempts; ++i) {
    LockAttempt attempt{.span = dice.Between(now, now + 6)};
    attempt.weight = how.terms.capacity > 1 && !dice.One(3) ? 1 : how.terms.capacity;
    attempt.lease_us = dice.One(4) ? 0 : dice.From(2, 12);
    attempt.answer = dice.One(3) ? Answer::kRefused : Answer::kGranted;
    if (how.may_be_unanswered && dice.One(5)) {
      attempt.answer = Answer::kNone;
      attempt.span.answer = kNever;
    }
    if (attempt.answer == Answer::kGranted) {
      attempt.token = ++token;
      attempt.renewals = RandomWords(dice, attempt.span.answer, 1);
      attempt.releases = RandomWords(dice, attempt.span.answer, 1);
      now += dice.To(8);
    }
    history.push_back(attempt);
  }
  if (dice.One(8)) std::swap(history[0].token, history[1].token);
  for (LockAttempt& attempt : history) {
    if (attempt.answer == Answer::kGranted && attempt.token == 0) attempt.token = ++token;
  }
  return history;
}

void CompareLocks(const LockDice& how, bool is_exact) {
  Compare([&](Dice& dice) { return RandomLock(dice, how); },
          [&](const std::vector<LockAttempt>& history) {
            const std::vector<LockEvent> events = EventsOf(history, how.terms);
            return std::pair(JudgeLock(history, how.terms), Search<LockModel>::Run(events).verdict);
          },
          is_exact);
}

TEST(Linearizable, ExclusiveLocksAreJudgedAsBySearch) { CompareLocks({}, true); }

TEST(Linearizable, WhatIsFoundOfOtherLocksIsWrongBySearch) {
  CompareLocks({.may_be_unanswered = true}, false);
  CompareLocks({.terms = {.capacity = 3}, .may_be_unanswered = true}, false);
  CompareLocks({.terms = {.capacity = 2, .drift_ppm = 200'000}}, false);
}

TEST(Linearizable, TwoOwnersAtOnceAreWrong) {
  using Answer = LockAttempt::Answer;
  const std::vector<LockAttempt> two = {
      {.span = {0, 10}, .answer = Answer::kGranted, .token = 1, .lease_us = 1000},
      {.span = {20, 30}, .answer = Answer::kGranted, .token = 2, .lease_us = 1000}};
  EXPECT_EQ(JudgeLock(two, {}),
            "attempt 1 (token 2) held it by 30, and attempt 0 (token 1) until 999 at the least");
  std::vector<LockAttempt> shared = two;
  EXPECT_EQ(JudgeLock(shared, {.capacity = 2}), std::nullopt);
  shared.push_back({.span = {40, 50}, .answer = Answer::kGranted, .token = 3, .lease_us = 1000});
  EXPECT_EQ(JudgeLock(shared, {.capacity = 2}), "3 permits of 2 were held at 50");
}

TEST(Linearizable, ARefusalOfAFreeLockIsWrong) {
  using Answer = LockAttempt::Answer;
  std::vector<LockAttempt> history = {
      {.span = {0, 10}, .answer = Answer::kGranted, .token = 1, .lease_us = 100},
      {.span = {200, 210}, .answer = Answer::kRefused}};
  EXPECT_EQ(JudgeLock(history, {}),
            "attempt 1 was refused between 200 and 210, and there was room");
  history.push_back({.span = {150, kNever}});  // it may have got it
  EXPECT_EQ(JudgeLock(history, {}), std::nullopt);
}

// --- limiters

constexpr LimitBounds kFiveAtATime = {
    .in_period = 5, .per_period = 5, .period_us = 100, .room = 5, .whole_after_us = 100};

// A limiter of five in 100 µs that remembers each (LOG), asked at moments within the spans.
std::vector<LimitOperation> RandomLimit(Dice& dice, int64_t max) {
  std::vector<LimitOperation> history;
  std::deque<int64_t> let_through;
  int64_t now = 0;
  for (int i = 0; i < 200; ++i) {
    now += dice.To(20);
    while (!let_through.empty() && let_through.front() <= now - kFiveAtATime.period_us)
      let_through.pop_front();
    LimitOperation operation{.span = {now - dice.To(9), now + dice.To(9)}};
    const bool is_allowed = std::ssize(let_through) < max;
    if (is_allowed) let_through.push_back(now);
    operation.answer =
        is_allowed ? LimitOperation::Answer::kAllowed : LimitOperation::Answer::kRefused;
    if (dice.One(20)) operation = {.span = {operation.span.call, kNever}};
    history.push_back(operation);
  }
  return history;
}

TEST(Linearizable, ALimiterThatLetsMoreOrFewerThroughIsFound) {
  int too_many = 0;
  int too_few = 0;
  constexpr int kHistories = 200;
  for (uint64_t number = 0; number < kHistories; ++number) {
    Dice dice(TestSeed(number));
    ASSERT_EQ(JudgeLimit(RandomLimit(dice, 5), kFiveAtATime), std::nullopt)
        << "seed " << TestSeed(number);
    too_many += JudgeLimit(RandomLimit(dice, 6), kFiveAtATime).has_value();
    too_few += JudgeLimit(RandomLimit(dice, 4), kFiveAtATime).has_value();
  }
  EXPECT_GT(too_many, kHistories * 3 / 4);
  EXPECT_GT(too_few, kHistories * 3 / 4);
}

// A limiter of two in 10 µs that remembers each (LOG), at any moments of the spans.
struct LogModel {
  static constexpr int64_t kMax = 2;
  static constexpr int64_t kPeriod = 10;
  static constexpr int64_t kLast = 60;  // all is over
  struct State {
    int64_t now = 0;
    std::vector<int64_t> let_through;
    auto operator<=>(const State&) const = default;
  };
  using Operation = LimitOperation;

  static void Apply(const State& state, const Operation& operation, std::vector<State>& after) {
    using Answer = LimitOperation::Answer;
    const int64_t last = std::min(operation.span.answer, kLast);
    for (int64_t now = std::max(state.now, operation.span.call); now <= last; ++now) {
      State next{now, state.let_through};
      std::erase_if(next.let_through, [now](int64_t at) { return at <= now - kPeriod; });
      const bool has_room = std::ssize(next.let_through) < kMax;
      if (has_room == (operation.answer == Answer::kRefused)) continue;
      if (has_room) next.let_through.push_back(now);
      after.push_back(std::move(next));
    }
  }
};

std::vector<LimitOperation> RandomShortLimit(Dice& dice) {
  using Answer = LimitOperation::Answer;
  std::vector<LimitOperation> history;
  int64_t now = 0;
  const int64_t operations = dice.From(2, 6);
  for (int64_t i = 0; i < operations; ++i) {
    now += dice.To(6);
    LimitOperation operation{.span = {now, now + dice.To(4)}};
    operation.answer = dice.One(2) ? Answer::kAllowed : Answer::kRefused;
    if (dice.One(10)) operation = {.span = {now, kNever}};
    history.push_back(operation);
  }
  return history;
}

TEST(Linearizable, WhatIsFoundOfLimitsIsWrongBySearch) {
  constexpr LimitBounds kTwoAtATime = {.in_period = LogModel::kMax,
                                       .per_period = LogModel::kMax,
                                       .period_us = LogModel::kPeriod,
                                       .room = LogModel::kMax,
                                       .whole_after_us = LogModel::kPeriod};
  const auto judge = [&](const std::vector<LimitOperation>& history) {
    return std::pair(JudgeLimit(history, kTwoAtATime), Search<LogModel>::Run(history).verdict);
  };
  Compare(RandomShortLimit, judge, false);
}

TEST(Linearizable, MoreThanALimitIsWrong) {
  using Answer = LimitOperation::Answer;
  std::vector<LimitOperation> history(5, {.span = {0, 10}, .answer = Answer::kAllowed});
  history.push_back({.span = {90, 99}, .answer = Answer::kAllowed});
  EXPECT_EQ(JudgeLimit(history, kFiveAtATime), "6 units were let through from 0 to 100, of 5");
  history.back().span = {95, 110};
  EXPECT_EQ(JudgeLimit(history, kFiveAtATime), std::nullopt);
  history.push_back({.span = {300, 310}, .answer = Answer::kRefused});
  EXPECT_EQ(JudgeLimit(history, kFiveAtATime),
            "a cost of 1 was refused between 300 and 310, with at most 0 of 5 owed");
}

// --- long histories

// One lock of 50 clients who take turns, each for a while; with one grant too early, if so wished.
std::vector<LockAttempt> LongLock(Dice& dice, int64_t attempts, bool is_wrong) {
  using Answer = LockAttempt::Answer;
  std::vector<LockAttempt> history;
  int64_t now = 0;
  for (int64_t token = 1; token <= attempts; ++token) {
    const int64_t begin = now + dice.To(5);
    const int64_t end = begin + dice.From(50, 100);
    LockAttempt holder{.span = {begin - dice.To(1000), begin + dice.To(20)},
                       .answer = Answer::kGranted,
                       .token = token,
                       .lease_us = 100'000};
    holder.releases.push_back(
        {.span = {end - dice.To(20), end + dice.To(20)}, .answer = HoldingWord::Answer::kDone});
    if (dice.One(500)) history.push_back({.span = {begin, kNever}, .lease_us = 10});
    history.push_back({.span = {begin + 20, end - 20}, .answer = Answer::kRefused});
    history.push_back(holder);
    now = end;
  }
  if (is_wrong) {
    LockAttempt& early = history.back();
    early.span.answer = early.span.call = now - 10'000;
  }
  return history;
}

TEST(Linearizable, LongHistoriesOfLocksAreJudged) {
  Dice dice(TestSeed(0));
  const char* const given = std::getenv("SLUICE_JUDGED");
  // Each grant has a refusal and a release beside it.
  const int64_t attempts = given ? std::atoll(given) / 3 : 30'000;
  for (const bool is_wrong : {false, true}) {
    const std::vector<LockAttempt> history = LongLock(dice, attempts, is_wrong);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(JudgeLock(history, {}).has_value(), is_wrong);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%lld grants in %.3f s\n", static_cast<long long>(attempts), took.count());
  }
}

// --- the search

TEST(Linearizable, TheSearchNamesTheOperationThatDoesNotFit) {
  const std::vector<RegisterOperation> history = {
      {{0, 10}, true, 1}, {{0, 10}, true, 2}, {{20, 30}, false, 2}, {{40, 50}, false, 1}};
  const SearchResult result = Search<RegisterModel>::Run(history);
  EXPECT_EQ(result.verdict, Verdict::kDoesNotFit);
  EXPECT_EQ(result.at, 3u);
}

TEST(Linearizable, TheSearchGivesUpWhenTooMuchIsOpen) {
  const std::vector<RegisterOperation> history(65, {{0, 10}, false, 0});
  EXPECT_EQ(Search<RegisterModel>::Run(history).verdict, Verdict::kTooMuch);
}

}  // namespace
}  // namespace sluice
