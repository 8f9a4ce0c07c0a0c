// SystemRandom: chance from the system, for seeds and secrets.
#pragma once

#include <cstdint>

namespace sluice {

uint64_t SystemRandom();

}  // namespace sluice
