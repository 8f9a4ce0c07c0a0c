// TickRun against a std::map, in and out of its bytes.
#include "storage/limits/tick_run.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/seed.h"
#include "tests/unit/storage/limits/limit_model.h"

namespace sluice {
namespace {

using RunModel = std::map<int64_t, uint64_t>;

RunModel Read(const TickRun& run) {
  RunModel ticks;
  int64_t before = INT64_MIN;
  run.ForEach([&](int64_t tick, uint64_t units) {
    EXPECT_GT(tick, before);
    before = tick;
    ticks[tick] = units;
  });
  return ticks;
}

bool AddTo(TickRun& run, RunModel& model, int64_t tick, uint64_t units) {
  const RunModel before = Read(run);
  if (!run.Add(tick, units)) {
    EXPECT_EQ(Read(run), before);
    return false;
  }
  model[tick] += units;
  return true;
}

// What a bucket does: something comes, mostly in order, something leaves; every now and then it
// goes into its entry and comes back.
void CompareRuns(uint64_t seed) {
  Dice dice(seed);
  TickRun run;
  RunModel model;
  std::string entry;
  const int64_t gap_max = int64_t{1} << dice.In(1, 34);
  const int64_t stay = gap_max * dice.In(1, 60);
  int64_t now = dice.In(-1'000'000, 1'000'000'000'000);
  for (int step = 0; step < 1'000; ++step) {
    if (!dice.OneIn(4)) now += dice.In(0, gap_max);
    const int64_t tick = now + (dice.OneIn(5) ? dice.In(1, stay) : stay);
    AddTo(run, model, tick,
          dice.OneIn(10) ? static_cast<uint64_t>(dice.In(1, int64_t{1} << 33)) : 1);
    if (dice.OneIn(3)) {
      run.DropThrough(now);
      model.erase(model.begin(), model.upper_bound(now));
    }
    ASSERT_EQ(run.Audit(), "");
    ASSERT_EQ(Read(run), model);
    ASSERT_EQ(run.empty(), model.empty());
    uint64_t after = 0;
    for (auto at = model.upper_bound(now); at != model.end(); ++at) after += at->second;
    ASSERT_EQ(run.UnitsAfter(now), after);
    if (!model.empty()) {
      ASSERT_EQ(run.first(), model.begin()->first);
      ASSERT_EQ(run.last(), model.rbegin()->first);
    }
    if (dice.OneIn(3)) {
      entry = run.bytes();
      ASSERT_LE(entry.size(), TickRun::kBytesMax);
      run = TickRun(entry);
      ASSERT_EQ(run.bytes(), entry);
    }
  }
}

TEST(TickRun, AgreesWithAMap) {
  for (uint64_t number = 0; number < 100; ++number) {
    CompareRuns(TestSeed(number));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(TickRun, HoldsADozenDrainsInItsFirstSize) {
  TickRun run;
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(run.Add(1'000'000'000'000 + i * 4'000, 1));
    ASSERT_EQ(run.bytes().size(), 48u);
  }
  RunModel model = Read(run);
  size_t held = 16;
  while (AddTo(run, model, run.last() + 4'000, 1)) ++held;
  EXPECT_EQ(held, 44u);
  EXPECT_EQ(Read(run), model);
}

TEST(TickRun, TakesAnotherSizeSeldom) {
  TickRun run;
  size_t size = 0;
  int changes = 0;
  for (int step = 0; step < 10'000; ++step) {  // around the point at which the first is full
    run.Add(step * 100, 1);
    run.DropThrough((step - 15 - step % 3) * 100);
    changes += run.bytes().size() != size ? 1 : 0;
    size = run.bytes().size();
  }
  EXPECT_EQ(size, 80u);
  EXPECT_EQ(changes, 2);
}

TEST(TickRun, RefusesWhatDoesNotFit) {
  TickRun run;
  EXPECT_FALSE(run.Add(5, uint64_t{1} << 32));
  EXPECT_TRUE(run.empty());
  EXPECT_TRUE(run.Add(5, UINT32_MAX));
  EXPECT_FALSE(run.Add(5, 1));
  EXPECT_TRUE(run.Add(5 + int64_t{UINT32_MAX}, 1));
  EXPECT_FALSE(run.Add(4, 1));
  EXPECT_FALSE(run.Add(6 + int64_t{UINT32_MAX}, 1));
  EXPECT_EQ(Read(run), (RunModel{{5, UINT32_MAX}, {5 + int64_t{UINT32_MAX}, 1}}));
  run.DropThrough(INT64_MAX);
  EXPECT_TRUE(run.empty());
}

}  // namespace
}  // namespace sluice
