// What the histories of locks and of limits are played on: a server, its clock and its disk, and
// one source of chance. Time passes ms by ms, so that the moment of every answer is known. With a
// log the server can be started again.
#pragma once

#include <memory>

#include "server/locks/lock_service.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"

namespace sluice {

struct World {
  // `audits`: after every step; else the test calls Audit.
  World(uint64_t seed, bool audits) : World(seed, TestEngine::Options{.audits = audits}) {}
  World(uint64_t seed, TestEngine::Options options)
      : random(seed), is_logged(options.disk != nullptr) {
    options.seed = seed;
    Start(options);
  }
  // The one before is gone without a word.
  void Start(const TestEngine::Options& options) {
    running.reset();
    running = std::make_unique<TestEngine>(options);
    running->Settle();
  }
  TestEngine& server() { return *running; }

  int64_t Pick(int64_t low, int64_t high) { return Between(random, low, high); }
  bool OneIn(int64_t n) { return Pick(1, n) == 1; }
  int64_t now_ms() { return server().now().ms(); }
  int64_t next_ms() { return NextMs(server().now()); }  // leases count from there
  MemoryDisk& disk() { return server().disk(); }
  bool disk_is_full() { return disk().write_fault != 0; }
  // Full: and of the tokens that were reserved none is left.
  void ToggleDisk() {
    const bool fills = !disk_is_full();
    disk().write_fault = fills ? ENOSPC : 0;
    writable_since_ms = now_ms();
    FenceTokens& tokens = server().engine().part<LockService>().tokens();
    if (fills) tokens.JumpPast(tokens.mark());
  }

  SimulationRandom random;
  const bool is_logged;  // then the disk never fills: nothing would be promised
  bool is_even = false;  // time passes in whole ms, and the wall clock is not stepped
  std::unique_ptr<TestEngine> running;
  int64_t writable_since_ms = 0;  // unless it is full
};

// Some clients of a history. Play does one thing; what others do to them they are told.
class Players {
 public:
  virtual ~Players() = default;
  virtual void Play() = 0;
  virtual void Passed() = 0;   // a ms
  virtual void Collect() {}    // what they have been told: any turn may serve waiters
  virtual void Flushed() = 0;  // all data are gone
  virtual void Check() = 0;    // between two steps, at any time
  virtual void End() = 0;      // no player has played for longer than any wait
};

// Lets them play `steps` steps, among which the world does what it does: time, the wall clock, the
// disk and FLUSHALL. Every so many steps they check. Stops at the first failure.
void PlaySteps(World& world, const std::vector<Players*>& players, int steps, int check_every);
// The same, and in the end all waits are over.
void PlayHistory(World& world, const std::vector<Players*>& players, int steps, int check_every);

}  // namespace sluice
