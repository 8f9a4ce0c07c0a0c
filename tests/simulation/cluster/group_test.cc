// Histories of three servers and three Sentinels (group.h).
#include "tests/simulation/cluster/group.h"

#include <gtest/gtest.h>

#include "tests/simulation/random_commands.h"

namespace sluice::cluster {
namespace {

constexpr uint64_t kGroupSeeds = 60;

TEST(Following, PromotedByASentinelOneIsMasterAndAllHaveTheSame) {
  GroupSums sums;
  RunSeeds(kGroupSeeds, [&](uint64_t seed) { PlayGroup(seed, 0, sums); });
  EXPECT_GT(sums.keys, 0u);
  if (testing::Test::HasFailure() || SimulationSeeds(kGroupSeeds).size() < kGroupSeeds) return;
  EXPECT_GT(sums.promotions, 0);
  EXPECT_GT(sums.splits, 0) << "replication as it is grants locks twice: nobody has looked";
}

}  // namespace
}  // namespace sluice::cluster
