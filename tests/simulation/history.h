// What the histories of locks and of limits are played on: a server, its clock and its disk, and
// one source of chance. Time passes ms by ms, so that the moment of every answer is known.
#pragma once

#include "server/locks/lock_service.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"

namespace sluice {

struct World {
  // `audits`: after every step; else the test calls Audit.
  World(uint64_t seed, bool audits) : random(seed), server({.seed = seed, .audits = audits}) {}

  int64_t Pick(int64_t low, int64_t high) { return Between(random, low, high); }
  bool OneIn(int64_t n) { return Pick(1, n) == 1; }
  int64_t now_ms() { return server.clock().Sample().ms(); }
  int64_t next_ms() { return NextMs(server.clock().Sample()); }  // leases count from there
  MemoryDisk& disk() { return server.disk(); }
  bool disk_is_full() { return disk().write_fault != 0; }
  // Full: and of the tokens that were reserved none is left.
  void ToggleDisk() {
    const bool fills = !disk_is_full();
    disk().write_fault = fills ? ENOSPC : 0;
    writable_since_ms = now_ms();
    FenceTokens& tokens = server.engine().part<LockService>().tokens();
    if (fills) tokens.JumpPast(tokens.mark());
  }

  SimulationRandom random;
  TestEngine server;
  int64_t writable_since_ms = 0;  // unless it is full
};

// Some clients of a history. Play does one thing; what others do to them they are told.
class Players {
 public:
  virtual ~Players() = default;
  virtual void Play() = 0;
  virtual void Passed() = 0;   // a ms
  virtual void Collect() {}    // what they have been told: any turn may serve those who wait
  virtual void Flushed() = 0;  // all data are gone
  virtual void Check() = 0;    // between two steps, at any time
  virtual void End() = 0;      // nobody has played for longer than any wait
};

// Lets them play `steps` steps, among which the world does what it does: time, the wall clock, the
// disk and FLUSHALL. Every so many steps they check; in the end all waits are over. Stops at the
// first failure.
void PlayHistory(World& world, const std::vector<Players*>& players, int steps, int check_every);

}  // namespace sluice
