// Chance that nobody can foretell, from the system: for seeds, secrets and passwords.
#pragma once

#include <cstdint>
#include <span>

namespace sluice {

void FillWithSystemRandom(std::span<uint8_t> bytes);
uint64_t SystemRandom();

}  // namespace sluice
