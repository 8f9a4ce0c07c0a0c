// Long histories of locks, judged from what their clients were answered (lock_record.h), in a world
// in which time passes, the wall clock steps, the disk is full for a while and all data are
// flushed. SLUICE_SEED plays one.
#include <gtest/gtest.h>

#include "tests/simulation/history.h"
#include "tests/simulation/lock_players.h"

namespace sluice {
namespace {

constexpr uint64_t kHistories = 300;
constexpr int kLockRecordsSteps = 200;

TEST(Simulation, LocksAreAsTheirClientsRecordThem) {
  RunSeeds(kHistories, [](uint64_t seed) {
    World world(seed, true);
    LockPlayers locks(world);
    PlayHistory(world, {&locks}, kLockRecordsSteps, 1);
  });
}

}  // namespace
}  // namespace sluice
