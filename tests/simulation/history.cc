// See history.h.
#include "tests/simulation/history.h"

namespace sluice {
namespace {

constexpr int64_t kUntilAllIsOverMs =
    500;  // longer than any wait, and than the disk's next attempt

void Pass(World& world, const std::vector<Players*>& players, int64_t ms) {
  for (; ms > 0; --ms) {
    world.server().AdvanceTime(1);
    for (Players* each : players) each->Passed();
  }
}

void CollectAll(const std::vector<Players*>& players) {
  for (Players* each : players) each->Collect();
}

void Step(World& world, const std::vector<Players*>& players) {
  const int64_t what = world.Pick(0, 99);
  if (what < 22 || (what < 25 && world.is_even)) return Pass(world, players, world.Pick(1, 6));
  if (what < 25) return world.server().clock().StepWall(world.Pick(-100'000, 100'000));
  if (what < 28 && !world.is_logged) return world.ToggleDisk();
  if (what >= 28 && what < 30) {
    TestClient& client = world.server().Connect();
    CollectAll(players);
    client.Run({"FLUSHALL"});
    for (Players* each : players) each->Flushed();
    return;
  }
  players[static_cast<size_t>(world.Pick(1, static_cast<int64_t>(players.size()))) - 1]->Play();
  CollectAll(players);
}

}  // namespace

void PlaySteps(World& world, const std::vector<Players*>& players, int steps, int check_every) {
  for (int step = 1; step <= steps; ++step) {
    Step(world, players);
    if (step % check_every != 0) continue;
    for (Players* each : players) each->Check();
    if (testing::Test::HasFailure()) return;
  }
}

void PlayHistory(World& world, const std::vector<Players*>& players, int steps, int check_every) {
  PlaySteps(world, players, steps, check_every);
  if (testing::Test::HasFailure()) return;
  if (world.disk_is_full()) world.ToggleDisk();
  Pass(world, players, kUntilAllIsOverMs);
  for (Players* each : players) {
    each->Check();
    each->End();
  }
  EXPECT_EQ(world.server().Audit(), "");
}

}  // namespace sluice
