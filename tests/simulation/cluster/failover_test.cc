// Failovers (failover_play.h): with k = all no lock has two owners, and with k = 0 the judge finds
// those that have.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>

#include "tests/simulation/cluster/failover_play.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/seed.h"

namespace sluice::cluster {
namespace {

constexpr uint64_t kFailoverSeeds = 200;
constexpr uint64_t kSentinelSeeds = 60;

TEST(Failover, GrantsNoLockTwiceWhereAllReplicasKeepGrants) {
  FailoverSums sums;
  RunSeeds(kFailoverSeeds, [&](uint64_t seed) {
    const auto complaint = PlayFailover(seed, {.min_replicas = 1}, sums);
    EXPECT_EQ(complaint.value_or(""), "");
  });
  EXPECT_GT(sums.grants, 0U);
  EXPECT_GT(sums.fenced, 0U);
  EXPECT_GT(sums.limited, 0U);
  EXPECT_GT(sums.after, 0U) << "the one that was promoted goes on, once the other follows";
}

TEST(Failover, GrantsNoPlainLockTwiceWhereAllReplicasKeepChanges) {
  FailoverSums sums;
  RunSeeds(kFailoverSeeds, [&](uint64_t seed) {
    const auto complaint = PlayFailover(seed, {.min_replicas = 1, .do_changes_wait = true}, sums);
    EXPECT_EQ(complaint.value_or(""), "");
  });
  EXPECT_GT(sums.grants, 0U);
  EXPECT_GT(sums.limited, 0U);
  EXPECT_GT(sums.plain, 0U);
}

TEST(Failover, GrantsNoLockTwiceWhereSentinelsDecideAgainAndAgain) {
  FailoverSums sums;
  RunSeeds(kSentinelSeeds, [&](uint64_t seed) {
    const auto complaint = PlaySentinelFailovers(seed, sums);
    EXPECT_EQ(complaint.value_or(""), "");
  });
  EXPECT_GT(sums.grants, 0U);
  EXPECT_GT(sums.fenced, 0U);
  if (sums.plays < kSentinelSeeds) return;
  EXPECT_GT(sums.promotions, 0);
}

// Who is promoted holds names back where a grant may be missing, for as long as it knows of.
TEST(Failover, GrantsNoLockTwiceWhereTheMasterIsDead) {
  FailoverSums sums;
  RunSeeds(kFailoverSeeds, [&](uint64_t seed) {
    const auto complaint = PlayFailover(seed, {.is_dead = true}, sums);
    EXPECT_EQ(complaint.value_or(""), "");
  });
  EXPECT_GT(sums.after, 0U);
  EXPECT_GT(sums.judged, sums.plays / 2);
}

// A checker that finds nothing proves nothing. A master that comes back beside the new one may give
// the same tokens.
TEST(Failover, TwoOwnersAreFoundWhereNoReplicaIsWaitedFor) {
  FailoverSums sums;
  for (uint64_t seed = 0; seed < kFailoverSeeds; ++seed) {
    const auto complaint = PlayFailover(TestSeed(seed), {.min_replicas = 0}, sums);
    if (!complaint || complaint->starts_with("token")) continue;
    std::printf("found by seed %d of them: %.300s\n", static_cast<int>(seed), complaint->c_str());
    return;
  }
  FAIL() << "no lock had two owners in " << kFailoverSeeds << " failovers";
}

}  // namespace
}  // namespace sluice::cluster
