// Histories of a master and its replica (pair.h).
#include "tests/simulation/cluster/pair.h"

#include <gtest/gtest.h>

#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/one_master.h"
#include "tests/simulation/random_commands.h"

namespace sluice::cluster {
namespace {

constexpr uint64_t kPairSeeds = 100;  // of each kind

void PlayPairs(const PairKind& kind) {
  PairSums sums;
  RunSeeds(kPairSeeds, [&](uint64_t seed) { PlayPair(seed, kind, sums); });
  EXPECT_GT(sums.keys, 0u);
  if (SimulationSeeds(kPairSeeds).size() >= kPairSeeds / 4) {
    EXPECT_GT(sums.full, 0);
  }
}

TEST(Following, BothHaveTheSameAtRest) { PlayPairs({.harm = Harm::kCuts | Harm::kBreaks}); }

TEST(Following, BothHaveTheSameBehindPausesAndStepsOfClocks) {
  PlayPairs(
      {.harm = Harm::kCuts | Harm::kBreaks | Harm::kPauses | Harm::kWallSteps | Harm::kSlowSyncs,
       .is_wild = true});
}

TEST(Following, BothHaveTheSameOverRestarts) { PlayPairs({.harm = kPowerCutsToo}); }

TEST(Following, BothHaveTheSameBehindDiskTrouble) { PlayPairs({.harm = kKillsAndDiskTrouble}); }

TEST(Following, FindsBackFromWhoeverItWasToldToFollow) {
  LinkSums sums;
  RunSeeds(kPairSeeds, [&](uint64_t seed) { PlayLinks(seed, sums); });
  if (SimulationSeeds(kPairSeeds).size() < kPairSeeds / 4) return;
  EXPECT_GT(sums.keys, 0u);
  EXPECT_GT(sums.images, 0);
  EXPECT_GT(sums.nonsense, 0);
}

constexpr int64_t kHoursMs = 5 * 3'600'000;

TEST(FollowingSkewed, BothHaveTheSameAtRest) {
  PlayPairs({.harm = Harm::kCuts | Harm::kBreaks, .skew_ms = kHoursMs});
}

TEST(FollowingSkewed, BothHaveTheSameOverRestarts) {
  PlayPairs({.harm = kPowerCutsToo, .skew_ms = kHoursMs});
}

TEST(FollowingSkewed, BothHaveTheSameBehindDiskTrouble) {
  PlayPairs({.harm = kKillsAndDiskTrouble, .skew_ms = kHoursMs});
}

}  // namespace
}  // namespace sluice::cluster
