// Long histories of limits beside an exact model (limit_model.h), in a world in which time passes,
// the wall clock steps and all data are flushed. SLUICE_SEED plays one.
#include <gtest/gtest.h>

#include "tests/simulation/history.h"
#include "tests/simulation/limit_players.h"

namespace sluice {
namespace {

constexpr uint64_t kLimitRecordsHistories = 300;
constexpr int kLimitRecordsSteps = 300;

TEST(Simulation, LimitsAnswerAsTheirModel) {
  RunSeeds(kLimitRecordsHistories, [](uint64_t seed) {
    World world(seed, true);
    LimitPlayers limits(world);
    PlayHistory(world, {&limits}, kLimitRecordsSteps, kLimitRecordsSteps);
  });
}

}  // namespace
}  // namespace sluice
