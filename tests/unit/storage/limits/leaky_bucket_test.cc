// Leaky buckets against a std::multimap of drains, and ten million pending ones.
#include "storage/limits/leaky_bucket.h"

#include <gtest/gtest.h>

#include <map>

#include "storage/limits/drain_seconds.h"
#include "storage/time/timer_wheel.h"
#include "tests/support/manual_clock.h"
#include "tests/unit/storage/limits/limit_model.h"

namespace sluice {
namespace {

struct BucketModel {
  void Add(int64_t due_ms, uint64_t units) { drains[due_ms] += units; }
  uint64_t Level(int64_t now_ms) {
    drains.erase(drains.begin(), drains.upper_bound(now_ms));
    uint64_t level = 0;
    for (const auto& [due_ms, units] : drains) level += units;
    return level;
  }
  std::map<int64_t, uint64_t> drains;
};

void CompareBuckets(uint64_t seed, int64_t span_ms_max, bool constant_span, int steps) {
  Dice dice(seed);
  BucketModel model;
  LeakyBucket bucket;
  ManualClock clock;
  // Time is negative while a log is played.
  clock.Advance(dice.In(-(int64_t{1} << 40), int64_t{1} << 33));
  const int64_t span_ms = dice.In(1, span_ms_max);
  for (int step = 0; step < steps; ++step) {
    clock.AdvanceMicros(dice.In(0, 2'000));
    if (dice.OneIn(200)) clock.Advance(dice.In(0, span_ms_max));
    const Now now = clock.Sample();
    const int64_t due_ms = now.ms() + (constant_span ? span_ms : dice.In(1, span_ms_max));
    const uint64_t units = dice.OneIn(50) ? static_cast<uint64_t>(dice.In(1, int64_t{1} << 40)) : 1;
    bucket.Count(now, due_ms, units);
    model.Add(due_ms, units);
    if (step % 16 != 0) continue;
    ASSERT_EQ(bucket.Level(now), model.Level(now.ms()));
    ASSERT_EQ(bucket.last_due_ms(), model.drains.rbegin()->first);
    uint64_t pending = 0;
    bucket.ForEachDrain(now, [&](int64_t, uint64_t of_tick) { pending += of_tick; });
    ASSERT_EQ(pending, bucket.Level(now));
    if (step % 1024 == 0) {
      const std::unique_ptr<Value> copy = bucket.Clone();
      ASSERT_EQ(static_cast<const LeakyBucket&>(*copy).Level(now), bucket.Level(now));
    }
  }
  clock.Advance(span_ms_max);
  ASSERT_EQ(bucket.Level(clock.Sample()), 0u);
}

TEST(LeakyBucket, AgreesWithAMapOfDrains) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    CompareBuckets(seed, 100, true, 100'000);
    CompareBuckets(seed, 100, false, 100'000);
    CompareBuckets(seed, 2'000, true, 20'000);
    CompareBuckets(seed, 2'000, false, 20'000);
    CompareBuckets(seed, int64_t{1} << 40, false, 2'000);
    CompareBuckets(seed, int64_t{1} << 40, true, 2'000);
  }
}

// Units of one tick share a record, whichever order they came in.
TEST(LeakyBucket, SharesRecordsByTick) {
  DrainQueue queue;
  for (int round = 0; round < 100; ++round)
    for (const int64_t due_ms : {500, 300, 400, 300, 500}) queue.Add(0, due_ms, 1);
  EXPECT_EQ(queue.records(), 3u);
  EXPECT_EQ(queue.DrainTo(299), 0u);
  EXPECT_EQ(queue.DrainTo(300), 200u);
  EXPECT_EQ(queue.DrainTo(500), 300u);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.heap_bytes(), 16u);  // what a ring keeps
}

TEST(LeakyBucket, TellsWhenUnitsDrain) {
  ManualClock clock(1'700'000'000'000);
  clock.Advance(300);
  const Now first = clock.Sample();
  EXPECT_EQ(LeakyBucket::DueMs(first, 0), first.ms() + 1);
  EXPECT_EQ(LeakyBucket::DueMs(first, 45), first.ms() + 45'000);
  EXPECT_EQ(LeakyBucket::DueMs(first, kInt64Max), TimerWheel::kDeadlineMsMax);
}

// What is due in the second of an earlier count goes with it, whichever bucket it is in.
TEST(LeakyBucket, SharesSecondsAsTheModuleDoes) {
  ManualClock clock(1'700'000'000'000);
  DrainSeconds seconds;
  const auto count = [&](int64_t after_s) {
    return seconds.Join(LeakyBucket::DueMs(clock.Sample(), after_s), clock.Sample());
  };
  clock.Advance(300);
  const int64_t first_ms = clock.Sample().ms();
  EXPECT_EQ(count(2), first_ms + 2'000);
  clock.Advance(699);
  EXPECT_EQ(count(2), first_ms + 2'000);
  clock.Advance(1);
  EXPECT_EQ(count(1), first_ms + 2'000);  // another span, the same second
  EXPECT_EQ(count(2), first_ms + 2'700);
  EXPECT_EQ(count(3), first_ms + 3'700);
  clock.StepWall(-3'600'000);  // a second means another moment now
  EXPECT_EQ(count(1), first_ms + 1'700);
  EXPECT_EQ(count(3'602), first_ms + 700 + 3'602'000);
  clock.Advance(4'000'000);
  count(1);
  EXPECT_EQ(seconds.size(), 1u);
  for (int64_t after_s = 1; after_s < 200'000; ++after_s) count(after_s);
  EXPECT_EQ(seconds.size(), DrainSeconds::kSecondsMax);
}

TEST(LeakyBucket, KeepsTenMillionDrains) {
  ManualClock clock;
  LeakyBucket steady;
  LeakyBucket scattered;
  Dice dice(5);
  constexpr int64_t kDrains = 10'000'000;
  for (int64_t i = 0; i < kDrains; ++i) {
    if (i % 4 == 0) clock.Advance(1);
    steady.Count(clock.Sample(), clock.Sample().ms() + 4'000'000 + i % 4);
  }
  EXPECT_EQ(steady.Level(clock.Sample()), static_cast<uint64_t>(kDrains));
  EXPECT_LE(steady.MemoryBytes(), 150u << 20);
  for (int64_t i = 0; i < kDrains / 10; ++i)
    scattered.Count(clock.Sample(), clock.Sample().ms() + dice.In(1, 1 << 30));
  EXPECT_EQ(scattered.Level(clock.Sample()), static_cast<uint64_t>(kDrains / 10));
  clock.Advance(int64_t{1} << 30);
  EXPECT_EQ(scattered.Level(clock.Sample()), 0u);
  EXPECT_EQ(steady.Level(clock.Sample()), 0u);
}

}  // namespace
}  // namespace sluice
