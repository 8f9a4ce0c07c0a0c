// Random commands over a few keys, so that they meet: what the simulations let their clients say.
// Drawn from a table of lines; the same seed gives the same commands.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace sluice {

using SimulationRandom = std::mt19937_64;

// A whole number in [low, high].
int64_t Between(SimulationRandom& random, int64_t low, int64_t high);

// Writes and reads of every family, with deadlines of a few ms up to some seconds.
std::vector<std::string> RandomCommand(SimulationRandom& random);
// What may wait, for some ms.
std::vector<std::string> RandomWait(SimulationRandom& random);
// What upsets a connection or everybody: RESET, MULTI, CLIENT KILL, PAUSE, SWAPDB, FLUSHALL,
// errors.
std::vector<std::string> RandomMischief(SimulationRandom& random);

// The seeds of a test: `count` of them, new ones each run (tests/support/seed.h), or only
// SLUICE_SEED when that is set.
std::vector<uint64_t> SimulationSeeds(uint64_t count);

}  // namespace sluice
