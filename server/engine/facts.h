// Facts: what the server knows about itself and never decides by: who started it, since when it
// runs, what it takes of memory. For INFO, MEMORY and CONFIG.
//
// Memory is in bytes, times are engine ms. UsedMemory is O(clients).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/clients/clients.h"
#include "server/core/parts.h"
#include "server/engine/memory_accounts.h"
#include "server/test_double/spaces.h"
#include "storage/hashing/key_hash.h"
#include "storage/keyspace/keyspace.h"
#include "storage/time/movable_clock.h"
#include "storage/time/timer_wheel.h"

namespace sluice {

// What INFO tells of the process. One for all of its engines.
struct ProcessFacts {
  std::string executable;  // for CONFIG, too
  int64_t process_id = 0;
  std::string os;  // "Linux 6.1.0 x86_64"
  std::string allocator = "libc";
  uint64_t machine_memory = 0;   // bytes of RAM; 0: not known
  std::string multiplexing_api;  // what waits for sockets: "epoll"; empty: the host program
};

struct EngineOptions {
  // Of a test double: the engine's clock, which SLUICE.CLOCK moves. The host calls Housekeep once a
  // second of real time. Null: there is no such command.
  MovableClock* movable_clock = nullptr;
  Spaces* spaces = nullptr;  // of a test double: the one that this engine is, and all others
  uint64_t seed = 0;         // every random choice comes from it
  // What the keys of all hash tables are made from: from the system's randomness, for chance of the
  // seed shows in answers. None: from the seed, so that a run can be repeated; then a client that
  // knows the seed can make names that collide.
  std::optional<SipKey> hash_key;
  std::shared_ptr<const ProcessFacts> process = std::make_shared<const ProcessFacts>();
};

class Facts {
 public:
  static constexpr PartId kPartId = PartId::kFacts;

  Facts(const EngineOptions& options, const std::string& run_id, int64_t started_ms,
        const Keyspace& keyspace, const Clients& clients, const TimerWheel& wheel,
        const MemoryAccounts::Owners& owners)
      : options_(options),
        run_id_(run_id),
        started_ms_(started_ms),
        keyspace_(keyspace),
        clients_(clients),
        wheel_(wheel),
        accounts_(owners),
        startup_memory_(UsedMemory()) {}

  const EngineOptions& options() const { return options_; }
  const ProcessFacts& process() const { return *options_.process; }
  const std::string& run_id() const { return run_id_; }  // 40 hex digits, from the seed
  int64_t started_ms() const { return started_ms_; }
  // What keys, clients and all else take now; looks at every client.
  size_t UsedMemory() const { return SharedMemory() + clients_.MemoryBytes(); }
  const MemoryAccounts& accounts() const { return accounts_; }  // of all else
  size_t MemoryBesideKeys() const { return accounts_.Total(); }
  size_t memory_peak() const { return memory_peak_; }  // of samples taken once a second
  size_t startup_memory() const { return startup_memory_; }
  size_t timers() const { return wheel_.size(); }

  void TimeShifted(int64_t ms) { started_ms_ += ms; }  // see Engine::TimeShifted
  // UsedMemory, by one who has just looked at every client.
  size_t MemoryWithClients(size_t client_bytes) const { return SharedMemory() + client_bytes; }
  void Sample(size_t client_bytes) {
    memory_peak_ = std::max(memory_peak_, MemoryWithClients(client_bytes));
  }

 private:
  size_t SharedMemory() const { return keyspace_.memory_bytes() + MemoryBesideKeys(); }

  const EngineOptions& options_;
  const std::string& run_id_;
  int64_t started_ms_;
  const Keyspace& keyspace_;
  const Clients& clients_;
  const TimerWheel& wheel_;
  const MemoryAccounts accounts_;
  size_t memory_peak_ = 0;
  const size_t startup_memory_;
};

}  // namespace sluice
