// Histories of two servers that hand the master's part to each other (handed_over.h).
#include "tests/simulation/plays/handed_over.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/simulation/random_commands.h"

namespace sluice::cluster {
namespace {

constexpr uint64_t kHandedOverSeeds = 100;

TEST(HandedOver, NoLockHasTwoOwnersAndBothHaveTheSame) {
  HandedOverSums sums;
  RunSeeds(kHandedOverSeeds,
           [&](uint64_t seed) { EXPECT_EQ(PlayHandedOver(seed, sums).value_or(""), ""); });
  if (SimulationSeeds(kHandedOverSeeds).size() < kHandedOverSeeds / 4) return;
  EXPECT_GT(sums.grants, 0U);
  EXPECT_GT(sums.fenced, 0U);
  EXPECT_GT(sums.limited, 0U);
  EXPECT_GT(sums.new_parts, 0);
}

}  // namespace
}  // namespace sluice::cluster
