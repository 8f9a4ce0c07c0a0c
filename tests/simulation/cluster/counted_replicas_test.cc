// Histories of a server and replicas that WAIT counts (counted_replicas.h), or that its grants wait
// for (kept_grants.h).
#include "tests/simulation/cluster/counted_replicas.h"

#include <gtest/gtest.h>

#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/kept_grants.h"
#include "tests/simulation/random_commands.h"

namespace sluice::cluster {
namespace {

constexpr uint64_t kCountedSeeds = 300;
constexpr uint64_t kKeptSeeds = 200;

TEST(CountedReplicas, HaveWhatWaitSaysAndOneHistory) {
  CountedSums sums;
  RunSeeds(kCountedSeeds, [&](uint64_t seed) { PlayCounted(seed, Harm::kAll, sums); });
  EXPECT_GT(sums.counted, 0);
  EXPECT_GT(sums.full, 0);
  EXPECT_GT(sums.partial, 0);
}

TEST(KeptGrants, AreThoseOfAsManyReplicasAsWereAskedFor) {
  KeptSums sums;
  RunSeeds(kKeptSeeds, [&](uint64_t seed) { PlayKept(seed, sums); });
  if (SimulationSeeds(kKeptSeeds).size() < kKeptSeeds / 4) return;
  EXPECT_GT(sums.grants, 0);
  EXPECT_GT(sums.kept, 0);
  EXPECT_GT(sums.refused, 0);
}

}  // namespace
}  // namespace sluice::cluster
