// What lies around the algorithms: replies in ms, PEEK, BAN, SHADOW, REFUND, live re-configuration,
// bounds, the packed form, named policies.
#include "storage/limits/limiter.h"

#include <gtest/gtest.h>

#include "storage/limits/policy.h"
#include "tests/unit/storage/limits/limit_model.h"

namespace sluice {
namespace {

using enum LimitAlgorithm;

constexpr LimitAlgorithm kAll[] = {kWindow, kRolling, kSliding, kLog, kGcra, kLeaky};

void ExpectVerdict(const LimitVerdict& verdict, bool allowed, int64_t limit, int64_t remaining,
                   int64_t retry_ms, int64_t reset_ms) {
  EXPECT_EQ(verdict.allowed, allowed);
  EXPECT_EQ(verdict.limit, limit);
  EXPECT_EQ(verdict.remaining, remaining);
  EXPECT_EQ(verdict.retry_ms, retry_ms);
  EXPECT_EQ(verdict.reset_ms, reset_ms);
}

bool Same(const LimitVerdict& a, const LimitVerdict& b) {
  return a.allowed == b.allowed && a.limit == b.limit && a.remaining == b.remaining &&
         a.retry_ms == b.retry_ms && a.reset_ms == b.reset_ms && a.reset_at_ms == b.reset_at_ms;
}

TEST(Limiter, RefusesBadConfigurations) {
  LimitConfig config;
  const auto fault = [&](LimitAlgorithm algorithm, int64_t max, int64_t period, int64_t burst) {
    return MakeLimitConfig(algorithm, max, period, burst, &config);
  };
  EXPECT_EQ(fault(kWindow, 0, 1, kNotGiven), LimitFault::kMax);
  EXPECT_EQ(fault(kWindow, -1, 1, kNotGiven), LimitFault::kMax);
  EXPECT_EQ(fault(kWindow, kInt64Max, 1, kNotGiven), LimitFault::kMax);
  EXPECT_EQ(fault(kWindow, 1, 0, kNotGiven), LimitFault::kPeriod);
  EXPECT_EQ(fault(kWindow, 1, kInt64Max, kNotGiven), LimitFault::kPeriod);
  EXPECT_EQ(fault(kSliding, 1, 1, 1), LimitFault::kBurstUnknown);
  EXPECT_EQ(fault(kRolling, 1, 1, 0), LimitFault::kBurst);
  EXPECT_EQ(fault(kGcra, 1, 1, -2), LimitFault::kBurst);
  EXPECT_EQ(fault(kGcra, 1, 1, kInt64Max), LimitFault::kBurst);
  EXPECT_EQ(fault(kGcra, 1, kPeriodMsMax, kUnitsMax), LimitFault::kRefill);
  EXPECT_EQ(fault(kGcra, 5, 1, kNotGiven), LimitFault::kNone);
  EXPECT_EQ(config.Capacity(), 1);
  EXPECT_EQ(fault(kRolling, 5, 1, kNotGiven), LimitFault::kNone);
  EXPECT_EQ(config.Capacity(), 5);
  LimitAlgorithm algorithm;
  EXPECT_TRUE(ParseLimitAlgorithm("gCrA", &algorithm));
  EXPECT_EQ(algorithm, kGcra);
  EXPECT_FALSE(ParseLimitAlgorithm("GCRAS", &algorithm));
}

TEST(Limiter, AnswersInMilliseconds) {
  ManualClock clock(1'700'000'000'000);
  Limiter limiter(Config(kWindow, 3, 1000));
  const LimitConfig& config = limiter.config();
  ExpectVerdict(limiter.Take({config, 2}, clock.Sample()), true, 3, 1, 0, 1000);
  clock.AdvanceMicros(400'500);
  ExpectVerdict(limiter.Take({config, 2}, clock.Sample()), false, 3, 1, 600, 600);
  EXPECT_EQ(limiter.Take({config, 2}, clock.Sample()).reset_at_ms, 1'700'000'001'000);
  ExpectVerdict(limiter.Take({config, 1}, clock.Sample()), true, 3, 0, 0, 600);
  ExpectVerdict(limiter.Take({config, 4}, clock.Sample()), false, 3, 0, -1, 600);
  EXPECT_EQ(limiter.EndsAtMs(clock.Sample()), 1000);
  clock.Advance(600);
  ExpectVerdict(limiter.Peek(config, 3, clock.Sample()), true, 3, 3, 0, 0);
}

TEST(Limiter, PeeksWithoutATrace) {
  for (const LimitAlgorithm algorithm : kAll) {
    ManualClock clock;
    Limiter limiter(Config(algorithm, 5, 1000));
    const LimitConfig other = Config(algorithm, 9, 700);
    Dice dice(3);
    for (int step = 0; step < 2'000; ++step) {
      clock.AdvanceMicros(dice.In(0, 300'000));
      const int64_t cost = dice.In(1, 6);
      const Now now = clock.Sample();
      const LimitVerdict peeked = limiter.Peek(limiter.config(), cost, now);
      limiter.Peek(other, cost, now);
      ASSERT_TRUE(Same(limiter.Peek(limiter.config(), cost, now), peeked));
      const LimitVerdict taken = limiter.Take({limiter.config(), cost}, now);
      ASSERT_EQ(taken.allowed, peeked.allowed);
      ASSERT_EQ(taken.retry_ms, peeked.retry_ms);
      ASSERT_EQ(taken.remaining, peeked.remaining - (taken.allowed ? cost : 0));
      // A refusal changes nothing at all.
      if (taken.allowed) continue;
      ASSERT_TRUE(Same(limiter.Peek(limiter.config(), cost, now), peeked));
    }
  }
}

TEST(Limiter, BansAfterARefusal) {
  for (const LimitAlgorithm algorithm : kAll) {
    ManualClock clock;
    Limiter limiter(Config(algorithm, 1, 100));
    const LimitRequest request{limiter.config(), 1, 5'000};
    ASSERT_TRUE(limiter.Take(request, clock.Sample()).allowed);
    ExpectVerdict(limiter.Take(request, clock.Sample()), false, 1, 0, 5'000, 5'000);
    clock.Advance(4'000);  // another refusal does not lengthen it
    ExpectVerdict(limiter.Take(request, clock.Sample()), false, 1, 0, 1'000, 1'000);
    EXPECT_EQ(limiter.Refund(10, clock.Sample()), 0);
    EXPECT_EQ(limiter.EndsAtMs(clock.Sample()), 5'000);
    clock.Advance(1'000);
    EXPECT_TRUE(limiter.Take(request, clock.Sample()).allowed);
  }
}

TEST(Limiter, ShadowsStayWithinTheLimit) {
  for (const LimitAlgorithm algorithm : kAll) {
    ManualClock clock;
    Limiter enforced(Config(algorithm, 7, 1000));
    Limiter shadow(enforced.config());
    Dice dice(9);
    for (int step = 0; step < 5'000; ++step) {
      clock.AdvanceMicros(dice.In(0, 250'000));
      LimitRequest request{enforced.config(), 1};
      const LimitVerdict real = enforced.Take(request, clock.Sample());
      request.shadow = true;
      ASSERT_TRUE(Same(shadow.Take(request, clock.Sample()), real));  // one by one: the same story
    }
    LimitRequest all{enforced.config(), shadow.config().Capacity(), 0, true};
    shadow.Take(all, clock.Sample());
    EXPECT_EQ(shadow.Info(clock.Sample()).remaining, 0);
    EXPECT_FALSE(shadow.Take(all, clock.Sample()).allowed);
  }
}

TEST(Limiter, RefundsNeverBeyondTheLimit) {
  for (const LimitAlgorithm algorithm : kAll) {
    ManualClock clock;
    Limiter limiter(Config(algorithm, 10, 1000, algorithm == kGcra ? 9 : kNotGiven));
    limiter.Take({limiter.config(), 6}, clock.Sample());
    EXPECT_EQ(limiter.Refund(0, clock.Sample()), 4);
    EXPECT_EQ(limiter.Refund(2, clock.Sample()), 6);
    EXPECT_EQ(limiter.Info(clock.Sample()).used, 4);
    EXPECT_EQ(limiter.Refund(kInt64Max, clock.Sample()), 10);
    EXPECT_EQ(limiter.Take({limiter.config(), 10}, clock.Sample()).remaining, 0);
  }
}

// floor of the exact product of the free fraction and the new capacity: rounded against the caller.
TEST(Limiter, KeepsTheConsumedFraction) {
  for (const LimitAlgorithm algorithm : {kRolling, kSliding, kLog, kGcra, kLeaky}) {
    Dice dice(static_cast<uint64_t>(algorithm) + 1);
    for (int history = 0; history < 3'000; ++history) {
      ManualClock clock;
      const int64_t burst = algorithm == kGcra ? dice.In(0, 40) : kNotGiven;
      Limiter limiter(Config(algorithm, dice.In(1, 50), dice.In(1, 5'000), burst));
      const int64_t capacity = limiter.config().Capacity();
      const int64_t used = dice.In(1, capacity);
      ASSERT_TRUE(limiter.Take({limiter.config(), used}, clock.Sample()).allowed);
      const LimitConfig to = Config(algorithm, dice.In(1, 90), dice.In(1, 9'000),
                                    algorithm == kGcra ? dice.In(0, 70) : kNotGiven);
      const int64_t scaled = (used * to.Capacity() + capacity - 1) / capacity;
      ASSERT_EQ(limiter.Peek(to, 1, clock.Sample()).remaining, to.Capacity() - scaled);
      const bool fits = limiter.Peek(to, 1, clock.Sample()).allowed;
      ASSERT_EQ(limiter.Take({to, 1}, clock.Sample()).allowed, fits);
      ASSERT_EQ(limiter.Info(clock.Sample()).used, scaled + (fits ? 1 : 0));
      ASSERT_EQ(limiter.config(), to);
    }
  }
}

// There and back again never gives the caller anything, whatever happens in between.
TEST(Limiter, IsNotWidenedByChanges) {
  for (const LimitAlgorithm algorithm : {kRolling, kSliding, kLog, kGcra, kLeaky}) {
    Dice dice(77);
    for (int history = 0; history < 200; ++history) {
      ManualClock clock;
      const LimitConfig home = Config(algorithm, dice.In(1, 1'000), dice.In(1, 5'000));
      Limiter changed(home);
      for (int step = 0; step < 100; ++step) {
        clock.AdvanceMicros(dice.In(0, 200'000));
        changed.Take({home, dice.In(1, home.max)}, clock.Sample());
        const int64_t before = changed.Peek(home, 1, clock.Sample()).remaining;
        const LimitConfig away =
            Config(algorithm, dice.OneIn(9) ? kUnitsMax : dice.In(1, 10'000), dice.In(1, 20'000));
        changed.Take({away, kUnitsMax}, clock.Sample());
        const LimitVerdict back = changed.Peek(home, 1, clock.Sample());
        ASSERT_LE(back.remaining, before);
        ASSERT_LE(back.remaining, back.limit);
      }
    }
  }
}

TEST(Limiter, AnOpenWindowKeepsItsEndAndCount) {
  ManualClock clock;
  Limiter limiter(Config(kWindow, 10, 1000));
  limiter.Take({limiter.config(), 6}, clock.Sample());
  clock.Advance(300);
  ExpectVerdict(limiter.Take({Config(kWindow, 4, 9'000), 1}, clock.Sample()), false, 4, 0, 700,
                700);
  ExpectVerdict(limiter.Take({Config(kWindow, 20, 5), 1}, clock.Sample()), true, 20, 13, 0, 700);
  EXPECT_EQ(limiter.Info(clock.Sample()).used, 7);
  clock.Advance(700);
  ExpectVerdict(limiter.Take({Config(kWindow, 20, 5), 1}, clock.Sample()), true, 20, 19, 0, 5);
}

TEST(Limiter, PacksIntoTwentyFiveBytes) {
  Dice dice(11);
  char bytes[kWideLimiterBytes];
  for (const LimitAlgorithm algorithm : {kWindow, kRolling, kSliding, kGcra}) {
    for (const int64_t max : {int64_t{100}, kUnitsMax / 2}) {
      ManualClock clock;
      clock.Advance(dice.In(0, int64_t{1} << 40));
      const LimitConfig config = Config(algorithm, max, 60'000);
      LimiterState kept(config);
      for (int step = 0; step < 20'000; ++step) {
        clock.AdvanceMicros(dice.In(0, 1'000'000));
        const size_t length = PackLimiter(kept, bytes);
        ASSERT_TRUE(length == kNarrowLimiterBytes || max != 100 || kept.banned_until_ms > 0);
        LimiterState copy = UnpackLimiter({bytes, length});
        ASSERT_EQ(copy.config, config);
        const LimitRequest request{config, dice.In(1, config.Capacity()),
                                   dice.OneIn(900) ? 500 : 0};
        ASSERT_TRUE(Same(TakeLimit(copy, nullptr, request, clock.Sample()),
                         TakeLimit(kept, nullptr, request, clock.Sample())));
      }
    }
  }
}

TEST(Limiter, CountsItsMemoryAndCopies) {
  for (const LimitAlgorithm algorithm : kAll) {
    ManualClock clock;
    Limiter limiter(Config(algorithm, 1'000, 60'000));
    EXPECT_EQ(limiter.type(), ValueType::kLimiter);
    const size_t before = limiter.MemoryBytes();
    for (int i = 0; i < 500; ++i) {
      limiter.Take({limiter.config(), 1}, clock.Sample());
      clock.Advance(10);
    }
    EXPECT_EQ(limiter.MemoryBytes() > before, NeedsLog(algorithm));
    EXPECT_LE(limiter.MemoryBytes(), before + 500 * 16 * 3 / 2);
    const std::unique_ptr<Value> copy = limiter.Clone();
    auto& clone = static_cast<Limiter&>(*copy);
    EXPECT_TRUE(Same(clone.Peek(clone.config(), 3, clock.Sample()),
                     limiter.Peek(limiter.config(), 3, clock.Sample())));
    clone.Take({clone.config(), 1}, clock.Sample());
    EXPECT_EQ(clone.Info(clock.Sample()).config, limiter.config());
  }
}

TEST(Limiter, ScalesExactlyInTwoHundredFiftySixBits) {
  Dice dice(4);
  for (int step = 0; step < 200'000; ++step) {
    const auto whole = static_cast<Wide>(dice.In(1, int64_t{1} << dice.In(1, 60)));
    const auto part = static_cast<Wide>(dice.In(0, static_cast<int64_t>(whole)));
    const auto target = static_cast<Wide>(dice.In(0, int64_t{1} << dice.In(1, 60)));
    ASSERT_TRUE(ScaleUp(part, whole, target) == (part * target + whole - 1) / whole);
  }
  const Wide big = Wide{1} << 118;  // a third of it, of another third: only exact in 256 bits
  EXPECT_TRUE(ScaleUp(big, big * 3, Wide{9} << 100) == Wide{3} << 100);
  EXPECT_TRUE(ScaleUp(big, big * 3, (Wide{9} << 100) + 1) == (Wide{3} << 100) + 1);
}

TEST(PolicyTable, KeepsNamedConfigurations) {
  PolicyTable policies;
  EXPECT_EQ(policies.Find("api"), nullptr);
  EXPECT_EQ(policies.Set("web", Config(kGcra, 5, 1000)), PolicyTable::SetResult::kSet);
  EXPECT_EQ(policies.Set("api", Config(kWindow, 5, 1000)), PolicyTable::SetResult::kSet);
  EXPECT_EQ(policies.Set("api", Config(kWindow, 9, 1000)), PolicyTable::SetResult::kSet);
  EXPECT_EQ(policies.Find("api")->max, 9);
  EXPECT_EQ(policies.Names(), (std::vector<std::string_view>{"api", "web"}));
  EXPECT_EQ(policies.Set(std::string(kPolicyNameBytesMax + 1, 'x'), *policies.Find("api")),
            PolicyTable::SetResult::kNameTooLong);
  EXPECT_TRUE(policies.Delete("api"));
  EXPECT_FALSE(policies.Delete("api"));
}

}  // namespace
}  // namespace sluice
