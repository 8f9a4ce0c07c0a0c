// See system_random.h. The system gives at most 256 bytes in one piece; a signal may cut them
// short.
#include "server/system/system_random.h"

#include <sys/random.h>

namespace sluice {

void FillWithSystemRandom(std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got > 0) bytes = bytes.subspan(static_cast<size_t>(got));
  }
}

uint64_t SystemRandom() {
  uint64_t random = 0;
  FillWithSystemRandom({reinterpret_cast<uint8_t*>(&random), sizeof random});
  return random;
}

}  // namespace sluice
