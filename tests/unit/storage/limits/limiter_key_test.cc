// Limiters and buckets as keys: packed into their entries or beside them, with a deadline that
// follows their state and never lies behind their end.
#include <gtest/gtest.h>

#include "storage/keyspace/keyspace.h"
#include "storage/limits/leaky_bucket.h"
#include "storage/limits/limiter.h"
#include "tests/support/null_observer.h"

namespace sluice {
namespace {

LimitConfig Config(LimitAlgorithm algorithm, int64_t max, int64_t period_ms) {
  LimitConfig config;
  EXPECT_EQ(MakeLimitConfig(algorithm, max, period_ms, kNotGiven, &config), LimitFault::kNone);
  return config;
}

struct World {
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
  World world;
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
  World world;
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
  World world;
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

}  // namespace
}  // namespace sluice
