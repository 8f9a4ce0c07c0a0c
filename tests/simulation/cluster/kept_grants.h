// A play of grants that wait for replicas: a master, and two Sluices that follow it. Clients ask
// for one lock or several, for as many replicas as they like (REPLICAS), repeat each other's
// requests (ID), renew, and write under their tokens; locks are broken, writes are paused, and the
// option for all (lock-min-replicas) is changed under those who wait. Whoever is told of a grant
// for which so many replicas were asked: so many have it. For whom was refused nothing is held.
#pragma once

#include <cstdint>

namespace sluice::cluster {

struct KeptSums {
  int grants = 0;
  int kept = 0;     // of these, for which replicas were asked, and which were looked for there
  int refused = 0;  // NOREPLICAS
};

// A failure of the test where something is wrong.
void PlayKept(uint64_t seed, KeptSums& sums);

}  // namespace sluice::cluster
