// A play of three servers and three Sentinels. Replication as it is grants locks twice where the
// network is split: those are counted, and must be found. At rest one server is master, as all
// Sentinels say, and the others have what it has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::cluster {

struct GroupSums {
  int promotions = 0;
  int splits = 0;   // plays in which the judge of locks finds two owners
  size_t keys = 0;  // that were compared
};

// A failure of the test where something is wrong.
void PlayGroup(uint64_t seed, int64_t skew_ms, GroupSums& sums);

}  // namespace sluice::cluster
