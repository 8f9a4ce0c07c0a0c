// Histories of a consensus store's clients (stored_claims.h): what the store answers is
// linearizable, and where it is not the judges say so.
#include "tests/simulation/plays/stored_claims.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>

#include "tests/simulation/random_commands.h"
#include "tests/support/seed.h"

namespace sluice::cluster {
namespace {

constexpr uint64_t kStoredSeeds = 300;

TEST(StoredClaims, AreAsOfOneServerWhateverBecomesOfAnswers) {
  StoredSums sums;
  RunSeeds(kStoredSeeds, [&](uint64_t seed) {
    EXPECT_EQ(PlayStoredClaims(seed, Store::Fault::kNone, sums).value_or(""), "");
  });
  if (SimulationSeeds(kStoredSeeds).size() < kStoredSeeds / 8) return;
  EXPECT_GT(sums.grants, 0U);
  EXPECT_GT(sums.unknown, 0U);
  EXPECT_GT(sums.behind, 0U);
  EXPECT_LE(sums.too_much, sums.searched / 20) << "most is searched";
}

// A store that nobody can find wrong would prove nothing.
void ExpectStoreFound(Store::Fault fault, const std::string& what, bool is_searched = true) {
  StoredSums sums;
  for (uint64_t number = 0; number < kStoredSeeds; ++number) {
    const auto complaint = PlayStoredClaims(TestSeed(number), fault, sums);
    if (!complaint) continue;
    EXPECT_EQ(sums.found_by_search, is_searched ? 1U : 0U) << *complaint;
    EXPECT_NE(complaint->find(what), std::string::npos) << *complaint;
    std::printf("found by seed %d of them: %.200s\n", static_cast<int>(number), complaint->c_str());
    return;
  }
  FAIL() << "not found by " << kStoredSeeds << " seeds";
}

TEST(StoredClaims, AReadThatIsBehindIsFound) {
  ExpectStoreFound(Store::Fault::kReadsBehind, "value ");
}
TEST(StoredClaims, AClaimThatANewLeaderForgetsIsFound) {
  ExpectStoreFound(Store::Fault::kForgetsClaims, "token ");
}
TEST(StoredClaims, AWriteThatANewLeaderForgetsIsFound) {
  ExpectStoreFound(Store::Fault::kForgetsWrites, "");
}
TEST(StoredClaims, AChangeThatAWatcherIsNotToldOfIsFound) {
  ExpectStoreFound(Store::Fault::kHidesChanges, "was not told", false);
}

}  // namespace
}  // namespace sluice::cluster
