// Harm: what is done to a world from time to time, drawn from a table of kinds. All of it heals: a
// machine that was killed or has lost its power starts again, one that stands still goes on, a cut
// link and a disk are repaired. At the end everything is.
#pragma once

#include <cstdint>
#include <functional>

#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {

class Harm {
 public:
  enum Kind : uint32_t {
    kStops = 1u << 0,
    kKills = 1u << 1,
    kPowerCuts = 1u << 2,
    kPauses = 1u << 3,
    kWallSteps = 1u << 4,
    kFullDisks = 1u << 5,
    kFailingSyncs = 1u << 6,
    kSlowSyncs = 1u << 7,
    kCuts = 1u << 8,
    kBreaks = 1u << 9,
    kAll = (1u << 10) - 1,
    kDiskTrouble = kFullDisks | kFailingSyncs,
    kRestarts = kStops | kKills | kPowerCuts,
  };
  // Requires: some kind.
  Harm(World& world, uint32_t kinds) : world_(world), kinds_(kinds) {}

  // From now on, about so often, until then.
  void Begin(int64_t every, int64_t until);

 private:
  struct Row {
    Kind kind;
    void (Harm::*act)(Machine& machine);
  };
  static const Row kRows[];

  void Act();
  void End();
  void Restart(Machine& machine);
  void Heal(int64_t after_max, std::function<void()> heal);

  void StopOne(Machine& machine);
  void KillOne(Machine& machine);
  void CutPower(Machine& machine);
  void Pause(Machine& machine);
  void StepWall(Machine& machine);
  void FillDisk(Machine& machine);
  void FailSyncs(Machine& machine);
  void SlowDown(Machine& machine);
  void CutLink(Machine& machine);
  void BreakOne(Machine& machine);

  World& world_;
  const uint32_t kinds_;
  int64_t every_ = kSecond;
  int64_t until_ = 0;
};

}  // namespace sluice::cluster
