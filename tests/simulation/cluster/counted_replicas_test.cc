// Histories of a server and replicas that WAIT counts (counted_replicas.h).
#include "tests/simulation/cluster/counted_replicas.h"

#include <gtest/gtest.h>

#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/random_commands.h"

namespace sluice::cluster {
namespace {

constexpr uint64_t kCountedSeeds = 300;

TEST(CountedReplicas, HaveWhatWaitSaysAndOneHistory) {
  CountedSums sums;
  RunSeeds(kCountedSeeds, [&](uint64_t seed) { PlayCounted(seed, Harm::kAll, sums); });
  EXPECT_GT(sums.counted, 0);
  EXPECT_GT(sums.full, 0);
  EXPECT_GT(sums.partial, 0);
}

}  // namespace
}  // namespace sluice::cluster
