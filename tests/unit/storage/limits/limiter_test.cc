// What lies around the algorithms: replies in ms, PEEK, BAN, SHADOW, REFUND, live re-configuration,
// bounds, the packed form, named policies.
#include "storage/limits/limiter.h"

#include <gtest/gtest.h>

#include <map>

#include "storage/limits/policy.h"
#include "tests/support/manual_clock.h"
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
      const LimitVerdict asked = limiter.Peek(limiter.config(), 0, now);
      ASSERT_TRUE(asked.allowed && asked.retry_ms == 0 && limiter.Peek(other, 0, now).allowed);
      ASSERT_EQ(asked.remaining, peeked.remaining);
      ASSERT_EQ(asked.reset_ms, peeked.reset_ms);
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
      const LimitConfig from = limiter.config();
      const int64_t capacity = from.Capacity();
      const int64_t used = dice.In(1, capacity);
      ASSERT_TRUE(limiter.Take({limiter.config(), used}, clock.Sample()).allowed);
      const LimitConfig to = Config(algorithm, dice.In(1, 90), dice.In(1, 9'000),
                                    algorithm == kGcra ? dice.In(0, 70) : kNotGiven);
      const int64_t scaled = (used * to.Capacity() + capacity - 1) / capacity;
      ASSERT_EQ(limiter.Peek(to, 1, clock.Sample()).remaining, to.Capacity() - scaled);
      const bool fits = limiter.Peek(to, 1, clock.Sample()).allowed;
      ASSERT_EQ(limiter.Take({to, 1}, clock.Sample()).allowed, fits);
      ASSERT_EQ(limiter.config(), fits ? to : from);  // a refusal changes nothing
      ASSERT_EQ(limiter.Info(clock.Sample()).used, fits ? scaled + 1 : used);
    }
  }
}

// A refusal leaves everything as it was, whatever numbers it came with, and says truly when the
// same request would be let through.
TEST(Limiter, RefusesWithoutATraceUnderOtherNumbers) {
  for (const LimitAlgorithm algorithm : kAll) {
    Dice dice(static_cast<uint64_t>(algorithm) + 50);
    for (int history = 0; history < 300; ++history) {
      ManualClock clock;
      const LimitConfig own = Config(algorithm, dice.In(1, 200), dice.In(1, 3'000));
      Limiter limiter(own);
      for (int step = 0; step < 30; ++step) {
        clock.AdvanceMicros(dice.In(0, 200'000));
        limiter.Take({own, dice.In(1, own.Capacity())}, clock.Sample());
        const Now now = clock.Sample();
        const LimitConfig other = Config(algorithm, dice.In(1, 200), dice.In(1, 5'000));
        const LimitRequest request{other, dice.In(1, other.Capacity())};
        const LimitVerdict before = limiter.Peek(own, 1, now);
        if (limiter.Peek(other, request.cost, now).allowed) continue;
        const LimitVerdict refused = limiter.Take(request, now);
        ASSERT_FALSE(refused.allowed);
        ASSERT_EQ(limiter.config(), own);
        ASSERT_TRUE(Same(limiter.Peek(own, 1, now), before));
        ASSERT_GT(refused.retry_ms, 0);
        const Now then{now.steady_us + refused.retry_ms * 1000, now.unix_offset_ms};
        ASSERT_TRUE(limiter.Peek(other, request.cost, then).allowed);
        const Now sooner{then.steady_us - 1000, now.unix_offset_ms};
        ASSERT_FALSE(sooner.steady_us > now.steady_us &&
                     limiter.Peek(other, request.cost, sooner).allowed);
      }
    }
  }
}

// A fleet in the middle of a deployment asks with the old max and the new one in turn.
TEST(Limiter, AdmitsNoLessToAFleetThatAlternates) {
  for (const LimitAlgorithm algorithm : kAll) {
    ManualClock clock;
    Limiter limiter(Config(algorithm, 90, 60'000, algorithm == kGcra ? 89 : kNotGiven));
    int64_t admitted = 0;
    for (int step = 0; step < 400; ++step) {
      const int64_t max = step % 2 == 0 ? 90 : 100;
      const LimitConfig asked =
          Config(algorithm, max, 60'000, algorithm == kGcra ? max - 1 : kNotGiven);
      admitted += limiter.Take({asked, 1}, clock.Sample()).allowed ? 1 : 0;
    }
    EXPECT_GE(admitted, 90) << LimitAlgorithmName(algorithm);
    EXPECT_LE(admitted, 100) << LimitAlgorithmName(algorithm);
    clock.Advance(120'000);  // two periods later nothing of it is left
    const LimitVerdict rested = limiter.Peek(limiter.config(), 1, clock.Sample());
    EXPECT_EQ(rested.remaining, rested.limit);
  }
}

// What is asked about other numbers is what reconfiguring would give, without a walk over the log.
TEST(Limiter, AsksALogAboutOtherNumbersAsIfItHadThem) {
  Dice dice(31);
  for (int history = 0; history < 2'000; ++history) {
    const LimitConfig own = Config(kLog, dice.In(1, 60), dice.In(1, 500));
    RequestLog log;
    int64_t now_us = 0;
    for (int step = 0; step < 30; ++step) {
      now_us += dice.In(0, 30'000);
      TakeFrom(log, own, now_us, dice.In(1, 3));
    }
    const LimitConfig other = Config(kLog, dice.In(1, 90), dice.In(1, 900));
    const int64_t cost = dice.In(1, other.max + 1);
    const LimitAnswer asked = log.AskAs(own, other, now_us, cost);
    RequestLog changed = log;
    changed.Reconfigure(own, other, now_us);
    EXPECT_EQ(changed.Audit(other), "");
    const LimitAnswer same = changed.Ask(other, now_us, cost);
    ASSERT_EQ(asked.fits, same.fits);
    ASSERT_EQ(asked.remaining, same.remaining);
    ASSERT_EQ(asked.fits_at_us, same.fits_at_us);
    ASSERT_EQ(asked.whole_at_us, same.whole_at_us);
  }
}

// Each request keeps its share of the period, from ms to thousands of years.
TEST(Limiter, MovesALogToAnotherPeriodRequestByRequest) {
  Dice dice(37);
  for (int history = 0; history < 3'000; ++history) {
    const int64_t own_ms = dice.In(1, int64_t{1} << dice.In(1, 45));
    const int64_t other_ms = dice.In(1, int64_t{1} << dice.In(1, 45));
    const LimitConfig own = Config(kLog, 1'000, own_ms);
    const LimitConfig other = Config(kLog, 1'000, other_ms);
    RequestLog log;
    int64_t now_us = dice.In(0, 5'000);
    for (int step = 0; step < 60; ++step) {  // of which the first leave
      now_us += dice.In(0, own_ms * 50);
      log.Consume(own, now_us, dice.In(1, 3));
    }
    std::map<int64_t, uint64_t> expected, moved;
    log.ForEach(own, now_us, [&](int64_t tick, uint64_t shares) {
      const Wide age = static_cast<Wide>(std::max<int64_t>(0, now_us / 1000 - tick));
      const auto new_age = static_cast<int64_t>(age * static_cast<Wide>(other_ms) / own_ms);
      expected[std::max(tick, now_us / 1000) - new_age] += shares;
    });
    log.Reconfigure(own, other, now_us);
    EXPECT_EQ(log.Audit(other), "");
    log.ForEach(other, now_us, [&](int64_t tick, uint64_t shares) { moved[tick] = shares; });
    ASSERT_EQ(moved, expected) << own_ms << " to " << other_ms;
  }
}

// However many other numbers a log was asked with: it audits, and never admits more than it should.
TEST(Limiter, SharesStayWithinTheirBounds) {
  for (const LimitAlgorithm algorithm : {kSliding, kLog, kLeaky}) {
    Dice dice(static_cast<uint64_t>(algorithm) + 7);
    ManualClock clock;
    Limiter limiter(Config(algorithm, 97, 10'000));
    for (int step = 0; step < 20'000; ++step) {
      clock.AdvanceMicros(dice.In(0, 900'000));
      const int64_t max = dice.OneIn(20) ? kUnitsMax - dice.In(0, 50) : dice.In(50, 5'000);
      const LimitConfig config =
          Config(algorithm, max, dice.OneIn(9) ? dice.In(1, 20'000) : 10'000);
      const LimitVerdict seen = limiter.Peek(config, 1, clock.Sample());
      const int64_t cost = std::max<int64_t>(1, seen.remaining / dice.In(1, 9));
      const LimitVerdict verdict = limiter.Take({config, cost}, clock.Sample());
      ASSERT_EQ(verdict.allowed, cost <= seen.remaining);
      ASSERT_EQ(limiter.Audit(), "");
      if (dice.OneIn(5)) limiter.Refund(dice.In(1, max), clock.Sample());
      ASSERT_EQ(limiter.Audit(), "");
    }
  }
}

// Two requests that exclude each other are a whole period apart, to the µs.
TEST(Limiter, LogKeepsItsPromiseBelowTheMillisecond) {
  for (const LimitAlgorithm algorithm : {kLog, kLeaky}) {
    ManualClock clock;
    Limiter limiter(Config(algorithm, 1, 10));
    clock.AdvanceMicros(999);
    ASSERT_TRUE(limiter.Take({limiter.config(), 1}, clock.Sample()).allowed);
    clock.AdvanceMicros(9'001);
    EXPECT_FALSE(limiter.Take({limiter.config(), 1}, clock.Sample()).allowed);
    clock.AdvanceMicros(1'000);
    EXPECT_TRUE(limiter.Take({limiter.config(), 1}, clock.Sample()).allowed);
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

// A window of which half is left is half of the limit, in whatever units it was counted.
TEST(Limiter, SharesOfAWindowAreAsFineAsTheNumbersAskedWith) {
  ManualClock clock;
  Limiter limiter(Config(kSliding, 1, 100));
  ASSERT_TRUE(limiter.Take({limiter.config(), 1}, clock.Sample()).allowed);
  clock.Advance(150);
  EXPECT_EQ(limiter.Peek(Config(kSliding, 60, 100), 1, clock.Sample()).remaining, 30);
  const LimitVerdict verdict = limiter.Take({Config(kSliding, 60, 100), 30}, clock.Sample());
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.remaining, 0);
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
