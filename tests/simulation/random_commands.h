// Random commands over a few keys, so that they meet: what the simulations let their clients say.
// Drawn from a table of lines; the same seed gives the same commands.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/engine_fixture.h"

namespace sluice {

using SimulationRandom = std::mt19937_64;

// A whole number in [low, high].
int64_t Between(SimulationRandom& random, int64_t low, int64_t high);

// Writes and reads of every family, with deadlines of a few ms up to some seconds.
std::vector<std::string> RandomCommand(SimulationRandom& random);
// What may wait, for some ms.
std::vector<std::string> RandomWait(SimulationRandom& random);
// What upsets a connection or all of them: RESET, MULTI, CLIENT KILL, PAUSE, SWAPDB, FLUSHALL,
// errors.
std::vector<std::string> RandomMischief(SimulationRandom& random);

// Two clients, one in each of two databases, and one that waits for them.
class RandomClients {
 public:
  explicit RandomClients(TestEngine& server);
  // A command of one of the two, or several in a MULTI; what the third waited for is read, and it
  // waits again. Returns the one that spoke.
  TestClient& Step(SimulationRandom& random);
  // Lets time pass until it is answered: it may have to wait for a snapshot.
  void Say(TestClient& client, const std::vector<std::string>& command);

 private:
  TestEngine& server_;
  TestClient* const clients_[2];
  TestClient& waiting_;
};

// The seeds of a test, new ones each run (tests/support/seed.h): `count` of them, or as many as
// SLUICE_SEEDS says; one in SLUICE_SEEDS_PART of those; or SLUICE_SEED alone, when that is set.
std::vector<uint64_t> SimulationSeeds(uint64_t count);

// Runs it with each seed, up to the first that fails, and says which that is.
template <typename Run>
void RunSeeds(uint64_t count, const Run& run) {
  for (const uint64_t seed : SimulationSeeds(count)) {
    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    run(seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace sluice
