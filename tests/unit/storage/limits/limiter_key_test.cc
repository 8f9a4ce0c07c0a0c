// Limiters and buckets as keys: packed into their entries or beside them, with a deadline that
// follows their state and never lies behind their end. What LimiterKey says and stores is compared
// with a limiter that is no key.
#include "storage/limits/limiter_key.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "storage/keyspace/keyspace.h"
#include "storage/limits/leaky_bucket.h"
#include "storage/limits/limiter.h"
#include "tests/support/manual_clock.h"
#include "tests/support/null_observer.h"
#include "tests/unit/storage/limits/limit_model.h"

namespace sluice {
namespace {

struct LimiterWorld {
  Now now() { return clock.Sample(); }
  Database& db() { return keyspace.db(0); }
  void RunTimers() {
    wheel.Advance(now().ms(), SIZE_MAX,
                  [this](TimerNode& node) { keyspace.TimerFired(node, now()); });
    EXPECT_EQ(keyspace.Audit(now()), "");
  }

  ManualClock clock;
  NullObserver observer;
  TimerWheel wheel{0};
  Keyspace keyspace{2, SipKey{7}, wheel, observer};
};

TEST(LimiterKey, LiesInsideItsEntry) {
  LimiterWorld world;
  LimiterState state(Config(LimitAlgorithm::kGcra, 100, 60'000));
  const HashedKey key = world.keyspace.Hash("user:12345678:search");
  ASSERT_EQ(key.bytes.size(), 20u);
  char packed[kWideLimiterBytes];
  for (int take = 0; take < 150; ++take) {
    TakeLimit(state, nullptr, {state.config, 1}, world.now());
    const std::string_view bytes(packed, PackLimiter(state, packed));
    const Deadline deadline = Deadline::Steady(LimitEndsAtMs(state, nullptr, world.now()));
    if (const Entry* found = world.db().Find(key, world.now())) {
      world.db().SetPacked(world.db().Modify(*found, world.now()), bytes, deadline);
    } else {
      world.db().PutPacked(key, ValueType::kLimiter, bytes, deadline, world.now());
    }
    const Entry* entry = world.db().Find(key, world.now());
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->type(), ValueType::kLimiter);
    EXPECT_TRUE(entry->is_packed());
    EXPECT_EQ(entry->packed(), bytes);
    EXPECT_EQ(entry->Encoding(), "gcra");
    EXPECT_EQ(entry->deadline(), deadline);
    EXPECT_LE(entry->MemoryBytes(), 96u);
    world.clock.Advance(300);
    world.RunTimers();
  }
  world.clock.Advance(600'000);
  world.RunTimers();
  EXPECT_EQ(world.db().size(), 0u);
}

TEST(LimiterKey, GrowsWithItsNumbersAndShrinksAgain) {
  LimiterWorld world;
  const HashedKey key = world.keyspace.Hash("key");
  char packed[kWideLimiterBytes];
  const auto pack = [&](int64_t max) {
    LimiterState state(Config(LimitAlgorithm::kWindow, max, 1000));
    TakeLimit(state, nullptr, {state.config, 1}, world.now());
    return std::string_view(packed, PackLimiter(state, packed));
  };
  Entry* entry =
      &world.db().PutPacked(key, ValueType::kLimiter, pack(5), Deadline::Steady(1000), world.now());
  for (const int64_t max : {int64_t{1} << 40, int64_t{7}}) {
    entry = world.db().Modify(key, world.now());
    entry = &world.db().SetPacked(*entry, pack(max), Deadline::Steady(1000));
    EXPECT_EQ(UnpackLimiter(entry->packed()).config.max, max);
    EXPECT_EQ(world.keyspace.Audit(world.now()), "");
  }
  // Beyond the wheel's 48 bits it is kept as a Unix time.
  entry = &world.db().SetPacked(*entry, pack(9), Deadline::Steady(int64_t{1} << 50));
  EXPECT_EQ(entry->deadline().kind, Deadline::Kind::kUnix);
  EXPECT_EQ(world.keyspace.Audit(world.now()), "");
}

TEST(LimiterKey, NoDeadlineLiesBehindTheEnd) {
  LimiterWorld world;
  LimiterState state(Config(LimitAlgorithm::kWindow, 5, 1000));
  TakeLimit(state, nullptr, {state.config, 1}, world.now());
  char packed[kWideLimiterBytes];
  const std::string_view bytes(packed, PackLimiter(state, packed));
  world.db().PutPacked(world.keyspace.Hash("limiter"), ValueType::kLimiter, bytes,
                       Deadline::Steady(1000), world.now());
  auto log = std::make_unique<Limiter>(Config(LimitAlgorithm::kLog, 5, 1000));
  log->Take({log->config(), 1}, world.now());
  world.db().PutValue(world.keyspace.Hash("log"), std::move(log), Deadline::Steady(1000),
                      world.now());
  auto bucket = std::make_unique<LeakyBucket>();
  bucket->Count(world.now(), 1000);
  world.db().PutValue(world.keyspace.Hash("bucket"), std::move(bucket), Deadline::Steady(1000),
                      world.now());
  for (const std::string_view name : {"limiter", "log", "bucket"}) {
    Entry* entry = world.db().Modify(world.keyspace.Hash(name), world.now());
    const auto set = [&](Deadline deadline) {
      entry = &world.db().SetDeadline(*entry, deadline);
      EXPECT_EQ(world.keyspace.Audit(world.now()), "");
      return entry->deadline();
    };
    const Deadline end = Deadline::Steady(1000);
    EXPECT_EQ(set(Deadline::None()), end);
    EXPECT_EQ(set(Deadline::Steady(5000)), end);
    EXPECT_EQ(set(Deadline::Unix(world.now().unix_ms() + 5000)), end);
    EXPECT_EQ(set(Deadline::Steady(400)), Deadline::Steady(400));
    EXPECT_EQ(set(Deadline::Unix(world.now().unix_ms() + 300)).UnixMs(world.now()),
              world.now().unix_ms() + 300);
  }
  world.clock.Advance(300);
  world.RunTimers();
  EXPECT_EQ(world.db().size(), 0u);
}

// --- LimiterKey

void ExpectSame(const LimitVerdict& seen, const LimitVerdict& wanted) {
  EXPECT_EQ(seen.allowed, wanted.allowed);
  EXPECT_EQ(seen.limit, wanted.limit);
  EXPECT_EQ(seen.remaining, wanted.remaining);
  EXPECT_EQ(seen.retry_ms, wanted.retry_ms);
  EXPECT_EQ(seen.reset_ms, wanted.reset_ms);
  EXPECT_EQ(seen.reset_at_ms, wanted.reset_at_ms);
}

// A seeded history of takes, peeks, refunds and time, on a key and on a limiter that is none.
void PlayHistory(LimitAlgorithm algorithm, uint32_t seed) {
  SCOPED_TRACE(testing::Message() << LimitAlgorithmName(algorithm) << ", seed " << seed);
  LimiterWorld world;
  const LimitConfig config = Config(algorithm, 40, 1000);
  const HashedKey key = world.keyspace.Hash("key");
  Limiter model(config);
  std::mt19937 random(seed);
  for (int step = 0; step < 400; ++step) {
    const Now now = world.now();
    const int64_t cost = 1 + random() % 5;
    LimiterKey limiter(world.db(), key, now);
    ASSERT_TRUE(limiter.IsOpenTo(algorithm));
    if (!limiter.exists()) model = Limiter(config);  // whole again: it remembers nothing
    switch (random() % 4) {
      case 0:
        ExpectSame(limiter.Peek(config, cost), model.Peek(config, cost, now));
        EXPECT_FALSE(limiter.changed());
        break;
      case 1:
        if (limiter.exists()) {
          EXPECT_EQ(limiter.Refund(cost), model.Refund(cost, now));
        }
        break;
      default: {
        const LimitVerdict verdict = limiter.Take({config, cost});
        ExpectSame(verdict, model.Take({config, cost}, now));
        EXPECT_EQ(limiter.changed(), verdict.allowed != 0);
      }
    }
    ASSERT_EQ(world.keyspace.Audit(now), "");
    world.clock.Advance(static_cast<int64_t>(random() % 30));
    world.RunTimers();
  }
}

TEST(LimiterKey, SaysWhatALimiterSays) {
  for (const LimitAlgorithm algorithm :
       {LimitAlgorithm::kWindow, LimitAlgorithm::kRolling, LimitAlgorithm::kSliding,
        LimitAlgorithm::kLog, LimitAlgorithm::kGcra, LimitAlgorithm::kLeaky}) {
    for (uint32_t seed = 1; seed <= 5; ++seed) PlayHistory(algorithm, seed);
  }
}

TEST(LimiterKey, KnowsItsOwn) {
  LimiterWorld world;
  const HashedKey key = world.keyspace.Hash("key");
  const LimitConfig config = Config(LimitAlgorithm::kGcra, 5, 1000);
  LimiterKey(world.db(), key, world.now()).Take({config, 1});
  const LimiterKey limiter(world.db(), key, world.now());
  EXPECT_TRUE(limiter.exists());
  EXPECT_TRUE(limiter.is_limiter());
  EXPECT_EQ(limiter.algorithm(), LimitAlgorithm::kGcra);
  EXPECT_TRUE(limiter.IsOpenTo(LimitAlgorithm::kGcra));
  EXPECT_FALSE(limiter.IsOpenTo(LimitAlgorithm::kWindow));

  const HashedKey text = world.keyspace.Hash("text");
  world.db().PutText(text, "x", Deadline::None(), world.now());
  const LimiterKey other(world.db(), text, world.now());
  EXPECT_TRUE(other.exists());
  EXPECT_FALSE(other.is_limiter());
  EXPECT_FALSE(other.IsOpenTo(LimitAlgorithm::kGcra));

  const LimiterKey missing(world.db(), world.keyspace.Hash("none"), world.now());
  EXPECT_FALSE(missing.exists());
  EXPECT_TRUE(missing.IsOpenTo(LimitAlgorithm::kLeaky));
}

TEST(LimiterKey, AnEarlierDeadlineEndsItAndShows) {
  LimiterWorld world;
  const HashedKey key = world.keyspace.Hash("key");
  const LimitConfig config = Config(LimitAlgorithm::kWindow, 2, 1000);
  LimiterKey(world.db(), key, world.now()).Take({config, 2});
  world.db().SetDeadline(*world.db().Modify(key, world.now()),
                         Deadline::Steady(world.now().ms() + 300));
  const LimitVerdict verdict = LimiterKey(world.db(), key, world.now()).Take({config, 1});
  EXPECT_EQ(verdict.allowed, 0);
  EXPECT_EQ(verdict.retry_ms, 300);
  EXPECT_EQ(verdict.reset_ms, 300);
  world.clock.Advance(300);
  EXPECT_EQ(LimiterKey(world.db(), key, world.now()).Take({config, 1}).allowed, 1);
}

// A server that waits for its master's DEL does not remove what is over, and does not show it.
TEST(LimiterKey, TakesThePlaceOfOneThatIsOverButThere) {
  LimiterWorld world;
  const HashedKey key = world.keyspace.Hash("key");
  const LimitConfig config = Config(LimitAlgorithm::kWindow, 2, 1000);
  LimiterKey(world.db(), key, world.now()).Take({config, 2});
  world.keyspace.set_expiry_allowed(false);
  world.clock.Advance(5'000);
  LimiterKey limiter(world.db(), key, world.now());
  EXPECT_FALSE(limiter.exists());
  EXPECT_EQ(limiter.Take({config, 1}).remaining, 1);
  EXPECT_EQ(world.db().size(), 1u);
  EXPECT_EQ(LimiterKey(world.db(), key, world.now()).Take({config, 1}).remaining, 0);
  EXPECT_EQ(world.keyspace.Audit(world.now()), "");
}

TEST(LimiterKey, WholeAgainByARefundIsNoKey) {
  LimiterWorld world;
  const HashedKey key = world.keyspace.Hash("key");
  const LimitConfig config = Config(LimitAlgorithm::kRolling, 2, 1000);
  LimiterKey(world.db(), key, world.now()).Take({config, 2});
  LimiterKey limiter(world.db(), key, world.now());
  EXPECT_EQ(limiter.Refund(2), 2);
  EXPECT_TRUE(limiter.changed());
  EXPECT_EQ(world.db().size(), 0u);
}

// What many requests leave behind is freed in slices, whether the limiter lives on or not.
TEST(LimiterKey, FreesALongLogInSlices) {
  struct Way {
    const char* name;
    void (*end)(LimiterWorld&, HashedKey, const LimitConfig&);
  };
  constexpr Way kWays[] = {
      {"deleted", [](LimiterWorld& world, HashedKey key,
                     const LimitConfig&) { world.db().Delete(key, world.now()); }},
      {"given back",
       [](LimiterWorld& world, HashedKey key, const LimitConfig&) {
         LimiterKey(world.db(), key, world.now()).Refund(149'999);
       }},
      {"given back for the most part",
       [](LimiterWorld& world, HashedKey key, const LimitConfig&) {
         LimiterKey(world.db(), key, world.now()).Refund(120'000);
       }},
      {"left",
       [](LimiterWorld& world, HashedKey key, const LimitConfig& config) {
         world.clock.Advance(999'000);
         LimiterKey(world.db(), key, world.now()).Take({config, 1});
       }},
  };
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    LimiterWorld world;
    const HashedKey key = world.keyspace.Hash("key");
    const LimitConfig config = Config(LimitAlgorithm::kLog, 1'000'000, 1'000'000);
    for (int i = 0; i < 150'000; ++i) {
      world.clock.Advance(1);
      LimiterKey(world.db(), key, world.now()).Take({config, 1});
    }
    const size_t full = world.keyspace.memory_bytes();
    way.end(world, key, config);
    EXPECT_GE(world.keyspace.memory_bytes() + 100'000, full) << "what waits is used memory";
    EXPECT_EQ(world.keyspace.Audit(world.now()), "");
    size_t before = world.keyspace.memory_bytes();
    int slices = 1;
    for (; world.keyspace.FreeSlice(10); ++slices) {
      ASSERT_EQ(world.keyspace.Audit(world.now()), "");
      EXPECT_LE(before - world.keyspace.memory_bytes(), 11u * 16'384);
      before = world.keyspace.memory_bytes();
    }
    EXPECT_GE(slices, 10);
    EXPECT_LT(world.keyspace.memory_bytes(), full / 4);
  }
}

}  // namespace
}  // namespace sluice
