// Faults that are planted (server/core/planted_faults.h), each of which the simulations must find.
#include "server/core/planted_faults.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>

#include "tests/simulation/cluster/counted_replicas.h"
#include "tests/simulation/cluster/failover_play.h"
#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/one_master.h"
#include "tests/simulation/cluster/pair.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

#ifdef SLUICE_PLANTED_FAULTS
namespace sluice::cluster {
namespace {

constexpr uint64_t kPlantedSeeds = 10'000;  // most are found by the first few

// Whether one of some seeds finds it, and how.
void ExpectFound(PlantedFault fault, const std::function<void(uint64_t seed)>& play) {
  planted_fault = fault;
  testing::TestPartResultArray found;
  uint64_t seeds = 0;
  while (found.size() == 0 && seeds < kPlantedSeeds) {
    testing::ScopedFakeTestPartResultReporter listens(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &found);
    play(TestSeed(seeds++));
  }
  planted_fault = PlantedFault::kNone;
  EXPECT_GT(found.size(), 0) << "not found by " << seeds << " seeds";
  if (found.size() == 0) return;
  testing::Test::RecordProperty("seeds", static_cast<int>(seeds));
  std::printf("found by seed %d of them: %.200s\n", static_cast<int>(seeds),
              found.GetTestPartResult(0).message());
}

void ExpectOneMasterFinds(PlantedFault fault, const OneMasterKind& kind) {
  OneMasterSums sums;
  ExpectFound(fault, [&](uint64_t seed) { PlayOneMaster(seed, kind, sums); });
}

void ExpectCountedFinds(PlantedFault fault) {
  CountedSums sums;
  ExpectFound(fault, [&](uint64_t seed) { PlayCounted(seed, Harm::kAll, sums); });
}

void ExpectPairFinds(PlantedFault fault) {
  PairSums sums;
  ExpectFound(fault, [&](uint64_t seed) {
    PlayPair(seed, {.harm = Harm::kCuts | Harm::kBreaks | Harm::kWallSteps}, sums);
  });
}

void ExpectFailoverFinds(PlantedFault fault, const FailoverKind& kind) {
  FailoverSums sums;
  ExpectFound(fault, [&](uint64_t seed) {
    if (const auto complaint = PlayFailover(seed, kind, sums)) ADD_FAILURE() << *complaint;
  });
}

TEST(PlantedFaults, AMastersDeadlinesAsUnixTimesAreFound) {
  ExpectPairFinds(PlantedFault::kUnixDeadlines);
}

TEST(PlantedFaults, AReplicaThatEndsKeysByItselfIsFound) {
  if (kSanitized) GTEST_SKIP() << "it takes some hundred seeds, and sanitized ones are slow";
  ExpectPairFinds(PlantedFault::kReplicaEndsKeys);
}

TEST(PlantedFaults, AFullSyncUnderTheOldIdIsFound) {
  ExpectPairFinds(PlantedFault::kFullSyncKeepsId);
}

TEST(PlantedFaults, APromotionThatForgetsTheGraceIsFound) {
  ExpectFailoverFinds(PlantedFault::kNoPromotedGrace, {.is_dead = true});
}

TEST(PlantedFaults, AGrantBeforeItsAcknowledgementsIsFound) {
  ExpectFailoverFinds(PlantedFault::kGrantsBeforeReplicas, {.min_replicas = 1});
}

TEST(PlantedFaults, AHandOverBeforeTheReplicaHasItIsFound) {
  ExpectFailoverFinds(PlantedFault::kHandOversBeforeReplicas, {.min_replicas = 1});
}

// The first complaint of a play is often of another kind.
void ExpectFailoverFindsOf(const std::string& keys, const FailoverKind& kind) {
  FailoverSums sums;
  ExpectFound(PlantedFault::kGrantsBeforeReplicas, [&](uint64_t seed) {
    const auto complaint = PlayFailover(seed, kind, sums);
    if (complaint && complaint->starts_with(keys)) ADD_FAILURE() << *complaint;
  });
}

TEST(PlantedFaults, AnAnsweredWriteUnderATokenThatIsLostIsFound) {
  ExpectFailoverFindsOf("c:", {.min_replicas = 1});
}

TEST(PlantedFaults, ALimitThatForgetsWhatItLetThroughIsFound) {
  ExpectFailoverFindsOf("l", {.min_replicas = 1, .has_locks = false});
}

TEST(PlantedFaults, AnAnsweredPlainLockThatIsLostIsFound) {
  ExpectFailoverFindsOf("n", {.min_replicas = 1, .do_changes_wait = true});
}

TEST(PlantedFaults, DeadlinesAsUnixTimesAreFound) {
  ExpectOneMasterFinds(
      PlantedFault::kUnixDeadlines,
      {.config = {{"appendonly", "yes"}, {"appendfsync", "always"}}, .harm = kNoPowerCuts});
}

TEST(PlantedFaults, AnswersBeforeTheDiskHasThemAreFound) {
  ExpectOneMasterFinds(
      PlantedFault::kAnswersBeforeSync,
      {.config = {{"appendonly", "yes"}, {"appendfsync", "always"}}, .harm = kPowerCutsToo});
}

TEST(PlantedFaults, TokensThatNoFileReservesAreFound) {
  ExpectOneMasterFinds(PlantedFault::kMarkBeforeFile, {.harm = Harm::kRestarts | Harm::kSlowSyncs,
                                                       .kept = Promise::Kept::kTokens});
}

TEST(PlantedFaults, AStartWithoutGraceIsFound) {
  ExpectOneMasterFinds(PlantedFault::kNoGrace, {.config = {{"lock-restart-grace", "yes"}},
                                                .harm = kAllWithoutALog,
                                                .kept = Promise::Kept::kGrants});
}

TEST(PlantedFaults, OneHistoryForWhatTheDiskHasLostIsFound) {
  ExpectCountedFinds(PlantedFault::kSameHistory);
}

TEST(PlantedFaults, ReplicasThatCountWithWhatTheyWereSentAreFound) {
  ExpectCountedFinds(PlantedFault::kSentCounts);
}

}  // namespace
}  // namespace sluice::cluster
#endif
