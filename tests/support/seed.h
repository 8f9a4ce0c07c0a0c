// Where random tests begin: at a new seed each run, so that every run tests something else. The
// seed is printed once, as what repeats the run: SLUICE_SEED_FROM=123 build-test/tests/simulation
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace sluice {

inline uint64_t FirstSeed() {
  static const uint64_t first = [] {
    const char* const given = std::getenv("SLUICE_SEED_FROM");
    const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
    std::printf("repeat with: SLUICE_SEED_FROM=%llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    return seed;
  }();
  return first;
}

// Different for each `number` in one run.
inline uint64_t TestSeed(uint64_t number) { return FirstSeed() + number; }

}  // namespace sluice
