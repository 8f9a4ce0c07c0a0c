// Histories of one server (one_master.h).
#include "tests/simulation/cluster/one_master.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/random_commands.h"

namespace sluice::cluster {
namespace {

constexpr uint64_t kOneMasterSeeds = 200;  // of each kind
constexpr uint64_t kMinutesSeeds = 10;     // they take as long as 200
constexpr int64_t kMinute = 60 * kSecond;

OneMasterSums PlayOneMasters(const OneMasterKind& kind, uint64_t seeds = kOneMasterSeeds) {
  OneMasterSums sums;
  RunSeeds(seeds, [&](uint64_t seed) { PlayOneMaster(seed, kind, sums); });
  EXPECT_GT(sums.grants, 0u);
  EXPECT_GT(sums.operations, 4 * sums.unknown) << "most was answered";
  EXPECT_LE(sums.searched.too_much, sums.searched.histories / 20) << "most was searched";
  return sums;
}

const std::vector<std::pair<std::string, std::string>> kAlways = {{"appendonly", "yes"},
                                                                  {"appendfsync", "always"}};

TEST(OneMaster, KeepsWhatItAnswersOverRestartsAndStepsOfTheClock) {
  PlayOneMasters({.config = kAlways, .harm = kNoPowerCuts});
}

TEST(OneMaster, KeepsWhatItAnswersOverPowerCuts) {
  PlayOneMasters({.config = kAlways, .harm = kPowerCutsToo});
}

TEST(OneMaster, KeepsWhatItAnswersWhileItsDiskFails) {
  PlayOneMasters({.config = kAlways, .harm = kNoRestarts});
}

TEST(OneMaster, KeepsWhatItAnswersWhereClocksRunAsTheyLike) {
  PlayOneMasters({.config = kAlways, .harm = kPowerCutsToo, .is_wild = true});
}

TEST(OneMaster, KeepsWhatItAnswersOverMinutesInWhichItStandsStill) {
  const OneMasterSums sums = PlayOneMasters({.config = kAlways,
                                             .harm = Harm::kPauses | Harm::kWallSteps,
                                             .has_plain_locks = false,
                                             .harm_until = 6 * kMinute,
                                             .harm_every = 10 * kSecond},
                                            kMinutesSeeds);
  if (SimulationSeeds(kMinutesSeeds).size() < kMinutesSeeds) return;
  EXPECT_GT(sums.longest_standstill, kMinute);
}

TEST(OneMaster, GrantsNoLockTwiceWhateverItsDiskDoes) {
  PlayOneMasters({.config = kAlways, .harm = kKillsAndDiskTrouble, .kept = Promise::Kept::kGrants});
}

TEST(OneMaster, GrantsNoLockTwiceThoughItsLogLosesTheEnd) {
  PlayOneMasters({.config = {{"appendonly", "yes"}, {"appendfsync", "everysec"}},
                  .harm = kPowerCutsToo,
                  .kept = Promise::Kept::kGrants});
}

TEST(OneMaster, GrantsNoLockTwiceWithoutALog) {
  PlayOneMasters({.config = {{"lock-restart-grace", "yes"}},
                  .harm = kAllWithoutALog,
                  .kept = Promise::Kept::kGrants});
}

TEST(OneMaster, GivesTokensInOrderWhateverElseIsLost) {
  PlayOneMasters({.harm = Harm::kAll & ~Harm::kDiskTrouble, .kept = Promise::Kept::kTokens});
}

}  // namespace
}  // namespace sluice::cluster
