// A play of a master and a replica: clients write to the master, and both are stopped, killed, lose
// their power and stand still; links are cut, clocks are wrong and stepped. At rest both have the
// same: keys with their deadlines, locks, limits, policies, functions, and again when both have
// started anew from their files. The master's answers are judged as of one server.
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

struct LinkSums {
  int images = 0;    // of a master that is none, which were said to the end
  int nonsense = 0;  // that it has said
  size_t keys = 0;
};

// The same play with a replica that is told to follow others meanwhile: one that talks nonsense
// (RudeMaster), itself, nobody; its master hands over to it (FAILOVER) and follows it. At
// rest it follows its master again, and both have the same.
// A failure of the test where something is wrong.
void PlayLinks(uint64_t seed, LinkSums& sums);

// A failure of the test where something is wrong.
void PlayPair(uint64_t seed, const PairKind& kind, PairSums& sums);

}  // namespace sluice::cluster
