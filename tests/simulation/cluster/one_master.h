// A play of one server, its clients, and all that can be done to them: it is stopped, killed, loses
// its power, stands still; its clocks are wrong and stepped; its disk is full, slow, or fails;
// connections are cut. Judged by what clients were answered, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/records.h"

namespace sluice::cluster {

// A machine that is booted anew knows by its wall clock alone how long it was off: where that is
// stepped, it does not lose its power. And while its disk fails a server shows what it could not
// write: where values are judged, it does not end before they are.
inline constexpr uint32_t kNoPowerCuts = Harm::kAll & ~(Harm::kPowerCuts | Harm::kDiskTrouble);
inline constexpr uint32_t kPowerCutsToo = Harm::kAll & ~(Harm::kWallSteps | Harm::kDiskTrouble);
inline constexpr uint32_t kNoRestarts = Harm::kAll & ~Harm::kRestarts;
inline constexpr uint32_t kAllWithoutALog = kPowerCutsToo;
// After a sync that failed, where there was no room to write the data anew before the power went, a
// log has holes, and is refused.
inline constexpr uint32_t kKillsAndDiskTrouble =
    Harm::kAll & ~(Harm::kWallSteps | Harm::kPowerCuts);

struct OneMasterKind {
  std::vector<std::pair<std::string, std::string>> config;
  uint32_t harm = Harm::kAll;
  Promise::Kept kept = Promise::Kept::kAll;
  bool is_wild = false;
  int64_t aside_max = kMs;      // see Machine
  bool has_plain_locks = true;  // no: minutes without answers are too much for a search
  int64_t harm_until = 20 * kSecond;
  int64_t harm_every = 2 * kSecond;
};

struct OneMasterSums {
  size_t operations = 0;
  size_t grants = 0;
  size_t unknown = 0;
  int64_t longest_standstill = 0;
  Searched searched;
};

// A failure of the test where something is wrong.
void PlayOneMaster(uint64_t seed, const OneMasterKind& kind, OneMasterSums& sums);

}  // namespace sluice::cluster
