// Very many short histories, of locks and limits on one server: the corners that few steps reach,
// and that no other test happens to try. Every run plays new ones: SLUICE_HISTORIES of them, else
// 100,000; SLUICE_SEED plays one.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/simulation/history.h"
#include "tests/simulation/limit_players.h"
#include "tests/simulation/lock_players.h"

namespace sluice {
namespace {

constexpr uint64_t kHistories = 100'000;  // a minute of CPU in build-test
constexpr int kSteps = 60;
constexpr int kStepsBetweenChecks = 10;

uint64_t Histories() {
  const char* const given = std::getenv("SLUICE_HISTORIES");
  return given ? std::strtoull(given, nullptr, 10) : kHistories;
}

TEST(Simulation, ShortHistoriesOfLocksAndLimits) {
  RunSeeds(Histories(), [](uint64_t seed) {
    World world(seed, false);
    LockPlayers locks(world);
    LimitPlayers limits(world);
    PlayHistory(world, {&locks, &limits}, kSteps, kStepsBetweenChecks);
  });
}

}  // namespace
}  // namespace sluice
