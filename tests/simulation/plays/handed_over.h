// A play of two servers that hand the master's part to each other, as operators say: by FAILOVER,
// which holds writes back until the replica has everything, to the one that is named or to any, by
// force behind its time, and given up again; and as a Sentinel does it, by SLAVEOF and CLIENT KILL
// in one MULTI, of one that has all data. The data hold values so large that an image of them
// outgrows what may wait for a disk. Meanwhile machines stand still or are killed, disks are slow
// or full, links are cut.
//
// Judged: no lock has two owners, tokens grow, no limit lets more through than it may, and no
// answered write under a token (FENCED) is lost, as grants wait for the other server; in the end
// both have the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::cluster {

struct HandedOverSums {
  size_t grants = 0;
  size_t fenced = 0;      // writes under tokens that were answered
  size_t limited = 0;     // what limits let through
  int64_t new_parts = 0;  // replicas that have become masters
};

// What the judge has found; null: nothing is wrong. A failure of the test where the two differ.
std::optional<std::string> PlayHandedOver(uint64_t seed, HandedOverSums& sums);

}  // namespace sluice::cluster
