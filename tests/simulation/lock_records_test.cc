// Long histories of locks, judged from what their clients were answered (lock_record.h), in a world
// in which time passes, the wall clock steps, the disk is full for a while and all data are
// flushed. SLUICE_SEED plays one.
#include <gtest/gtest.h>

#include "tests/simulation/history.h"
#include "tests/simulation/lock_players.h"

namespace sluice {
namespace {

constexpr uint64_t kHistories = 300;
constexpr int kSteps = 200;

TEST(Simulation, LocksAreAsTheirClientsRecordThem) {
  for (const uint64_t seed : SimulationSeeds(kHistories)) {
    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    World world(seed, true);
    LockPlayers locks(world);
    PlayHistory(world, {&locks}, kSteps, 1);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace sluice
