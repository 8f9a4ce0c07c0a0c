// A play of one server and replicas without engines. WAIT counts no replica that does not have what
// it was asked about; a history has one stream, over restarts, power cuts and cut links; and at
// rest a replica has what its master has.
#pragma once

#include <cstdint>

namespace sluice::cluster {

struct CountedSums {
  int counted = 0;
  int full = 0;
  int partial = 0;
};

// A failure of the test where something is wrong.
void PlayCounted(uint64_t seed, uint32_t harm_kinds, CountedSums& sums);

}  // namespace sluice::cluster
