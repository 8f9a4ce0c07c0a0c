// The time of a server that follows another one: whatever the delays are and however the clocks
// drift, it is never later than the master's, and not much earlier.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "protocol/text/concat.h"
#include "server/following/master_time.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr int64_t kMs = 1000;  // in µs
constexpr int64_t kSecond = 1'000'000;

TEST(MasterClock, KnowsNothingBeforeItIsTold) {
  MasterClock clock;
  EXPECT_FALSE(clock.DifferenceUs(0));
  EXPECT_EQ(clock.Correct(0, 17), 0);
}

TEST(MasterClock, TakesTheLargestDifference) {
  MasterClock clock;
  clock.Sample(1000 * kMs, 503 * kMs);   // 497 ms
  clock.Sample(2000 * kMs, 1540 * kMs);  // 460 ms
  // 400 ppm of 1.037 s are 414.8 µs.
  EXPECT_EQ(clock.DifferenceUs(1540 * kMs), 497 * kMs - 415);
  EXPECT_EQ(clock.Correct(1540 * kMs, 0), 496);
}

TEST(MasterClock, ForgetsWhatIsOlderThanAMinute) {
  MasterClock clock;
  clock.Sample(100 * kSecond, 0);
  clock.Sample(159 * kSecond + 900 * kMs, 60 * kSecond);
  EXPECT_EQ(clock.DifferenceUs(60 * kSecond), 100 * kSecond - 24 * kMs);
  EXPECT_EQ(clock.DifferenceUs(60 * kSecond + 1), 99 * kSecond + 900 * kMs - 1);
  EXPECT_FALSE(clock.DifferenceUs(200 * kSecond));
}

TEST(MasterClock, CorrectsWholeMsOnceASecond) {
  MasterClock clock;
  clock.Sample(10 * kSecond + 999, 0);
  EXPECT_EQ(clock.Correct(0, 0), 10'000);
  clock.Sample(10 * kSecond + 5 * kMs + 500 * kMs, 500 * kMs);
  EXPECT_EQ(clock.Correct(500 * kMs, 10'000), 0) << "half a second later";
  clock.Sample(11 * kSecond + 5 * kMs, kSecond);
  EXPECT_EQ(clock.Correct(kSecond, 10'000), 5);
}

TEST(MasterClock, IsBelowZeroToo) {
  MasterClock clock;
  clock.Sample(0, 10 * kSecond + 1);
  EXPECT_EQ(clock.Correct(10 * kSecond + 1, 0), -10'001);
}

TEST(MasterClock, AMasterThatTellsItAThousandTimesASecondCostsNoMore) {
  MasterClock clock;
  for (int64_t us = 0; us < 2 * kSecond; us += kMs) clock.Sample(100 * kSecond + us - us / 7, us);
  EXPECT_EQ(clock.DifferenceUs(2 * kSecond), 100 * kSecond - 800);
}

// A master and a machine that follows it, whose clock runs faster or slower by so many ppm than the
// master's: each of the two may be wrong by 200. Beats take some time, and at times much.
struct Drifting {
  Drifting(int64_t ppm, int64_t delay_us, uint64_t seed)
      : ppm(ppm), delay_us(delay_us), random(seed) {}
  int64_t OwnAt(int64_t true_us) const {
    return true_us + true_us / kSecond * ppm + (true_us % kSecond) * ppm / kSecond;
  }

  // Runs for so long; the bounds of how much earlier it was than the master's.
  void Run(int64_t seconds) {
    int64_t shift_ms = 0;
    for (int64_t beat = 1; beat <= seconds; ++beat) {
      const int64_t left_us = beat * kSecond;
      const int64_t jitter_us =
          static_cast<int64_t>(random() % 20'000) * (random() % 10 == 0 ? 20 : 1);
      const int64_t came_us = left_us + delay_us + jitter_us;
      clock.Sample(kMasterUs + left_us / 1000 * 1000, OwnAt(came_us));
      shift_ms += clock.Correct(OwnAt(came_us), shift_ms);
      if (beat < 5) continue;
      for (const int64_t later_us : {int64_t{0}, kSecond / 2}) {
        const int64_t at_us = came_us + later_us;
        const int64_t behind_us = kMasterUs + at_us - (OwnAt(at_us) + shift_ms * 1000);
        least_us = std::min(least_us, behind_us);
        most_us = std::max(most_us, behind_us);
      }
    }
  }

  static constexpr int64_t kMasterUs = 31'536'000 * kSecond;  // its engine time at our zero
  const int64_t ppm;
  const int64_t delay_us;
  std::mt19937_64 random;
  MasterClock clock;
  int64_t least_us = INT64_MAX;
  int64_t most_us = INT64_MIN;
};

TEST(MasterClock, IsNeverLaterWhateverDrifts) {
  const uint64_t seed = TestSeed(0);
  for (const int64_t ppm : {-400, -50, 0, 50, 400}) {
    for (const int64_t delay_us : {int64_t{100}, 5 * kMs, 300 * kMs}) {
      SCOPED_TRACE(Concat("seed ", seed, ", ", ppm, " ppm, delay ", delay_us, " us"));
      Drifting world(ppm, delay_us, seed);
      world.Run(3600);
      // Between two beats a fast clock gains a little before it is told.
      EXPECT_GE(world.least_us, delay_us - 2 * kMs);
      EXPECT_LE(world.most_us, delay_us + 60 * kMs);
    }
  }
}

// --- with an engine

class MasterTimeOfEngine : public EngineFixture {
 protected:
  MasterTime time_{{.clock = engine().part<TurnClock>(),
                    .keyspace = engine().keyspace(),
                    .shifted = [this](int64_t ms) { shifted_ms_ += ms; }}};
  int64_t shifted_ms_ = 0;
};

TEST_F(MasterTimeOfEngine, IsTheMasters) {
  time_.NewMaster();
  const int64_t before_ms = server().now().ms();
  time_.Heartbeat(before_ms + 5000);
  EXPECT_EQ(server().now().ms(), before_ms + 5000);
  EXPECT_EQ(shifted_ms_, 5000);
  time_.Heartbeat(before_ms - 9000);
  EXPECT_EQ(shifted_ms_, 5000) << "a beat that came late";
  AdvanceTime(61'000);
  time_.Heartbeat(before_ms + 61'000 - 9000);
  EXPECT_EQ(server().now().ms(), before_ms + 61'000 - 9000);
}

TEST_F(MasterTimeOfEngine, WildFiguresAreBounded) {
  time_.Heartbeat(INT64_MAX);
  EXPECT_LE(server().now().ms(), TimerWheel::kDeadlineMsMax / 2);
  AdvanceTime(61'000);
  time_.Heartbeat(INT64_MIN);
  EXPECT_GE(server().now().ms(), -1);
}

TEST_F(MasterTimeOfEngine, ShowsItsUnixTimeButToTime) {
  Run({"SET", "k", "v", "PX", "1000"});
  const int64_t own_s = server().now().unix_s();
  const Now now = server().now();
  time_.ClockChanged({.unix_offset_ms = now.unix_offset_ms + 5000});
  EXPECT_EQ(Run({"PEXPIRETIME", "k"}).integer, 1'700'000'001'000 + 5000);
  EXPECT_EQ(Run({"TIME"}).elements.at(0).text, Concat(own_s));
  EXPECT_EQ(Run({"PTTL", "k"}).integer, 1000);
  Run({"SET", "absolute", "v", "PXAT", Concat(now.unix_ms() + 5000 + 100)});
  EXPECT_EQ(Run({"PTTL", "absolute"}).integer, 100);
  time_.Promoted();
  EXPECT_EQ(Run({"PEXPIRETIME", "k"}).integer, 1'700'000'001'000);
  EXPECT_EQ(Run({"PTTL", "absolute"}).integer, 5100) << "one step, by the skew";
  EXPECT_EQ(Run({"TIME"}).elements.at(0).text, Concat(own_s));
  AdvanceTime(5100);
  EXPECT_EQ(Run({"EXISTS", "absolute"}).integer, 0);
}

// The next start has the machine's own clock.
TEST_F(MasterTimeOfEngine, WhatIsReservedForLocksIsOfOwnUnixTime) {
  Run({"CONFIG", "SET", "lock-restart-grace", "yes"});
  time_.ClockChanged({.unix_offset_ms = server().now().unix_offset_ms + 5'000'000});
  EXPECT_NE(Run({"LOCK.ACQUIRE", "l", "me", "LEASE", "60000"}).kind, Reply::Kind::kError);
  std::string mark;
  ASSERT_EQ(server().disk().Read("fence.mark", mark), 0);
  const size_t space = mark.find(' ');
  const int64_t horizon = std::stoll(mark.substr(space + 1));
  EXPECT_GE(horizon, 1'700'000'000'000 + 60'000);
  EXPECT_LT(horizon, 1'700'000'000'000 + 5'000'000);
}

}  // namespace
}  // namespace sluice
