// A play of a master and a replica: clients write to the master, and both are stopped, killed, lose
// their power and stand still; links are cut, clocks are wrong and stepped. At rest both have the
// same: keys with their deadlines, locks, limits, policies, functions. The master's answers are
// judged as of one server.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::cluster {

struct PairSums {
  int full = 0;  // syncs of the replica's last process
  int partial = 0;
  size_t keys = 0;  // that were compared
};

struct PairKind {
  uint32_t harm = 0;
  bool is_wild = false;
  int64_t skew_ms = 0;  // of their wall clocks
};

// A failure of the test where something is wrong.
void PlayPair(uint64_t seed, const PairKind& kind, PairSums& sums);

}  // namespace sluice::cluster
