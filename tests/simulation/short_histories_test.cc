// Very many short histories, of locks and limits on one server: the corners that few steps reach,
// and that no other test happens to try. Every run plays new ones, SLUICE_SEEDS of them;
// SLUICE_SEED plays one.
#include <gtest/gtest.h>

#include "tests/simulation/history.h"
#include "tests/simulation/limit_players.h"
#include "tests/simulation/lock_players.h"

namespace sluice {
namespace {

constexpr uint64_t kShortHistories = 100'000;  // a minute of CPU in build-test
constexpr int kShortHistoriesSteps = 60;
constexpr int kStepsBetweenChecks = 10;

TEST(Simulation, ShortHistoriesOfLocksAndLimits) {
  RunSeeds(kShortHistories, [](uint64_t seed) {
    World world(seed, false);
    LockPlayers locks(world);
    LimitPlayers limits(world);
    PlayHistory(world, {&locks, &limits}, kShortHistoriesSteps, kStepsBetweenChecks);
  });
}

}  // namespace
}  // namespace sluice
