// See system_random.h.
#include "server/system/system_random.h"

#include <sys/random.h>

namespace sluice {

// Interrupted calls are made again.
uint64_t SystemRandom() {
  uint64_t random = 0;
  while (getrandom(&random, sizeof random, 0) != sizeof random) {
  }
  return random;
}

}  // namespace sluice
