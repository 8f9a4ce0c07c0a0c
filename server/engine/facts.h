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
#include "server/engine/engine_options.h"
#include "server/engine/memory_accounts.h"
#include "storage/keyspace/keyspace.h"
#include "storage/time/timer_wheel.h"

namespace sluice {

class Facts {
 public:
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
  // Bytes that keys, clients and all else take now; looks at every client.
  size_t UsedMemory() const { return SharedMemory() + clients_.MemoryBytes(); }
  const MemoryAccounts& accounts() const { return accounts_; }  // of all else
  size_t MemoryBesideKeys() const { return accounts_.Total(); }
  // What eviction has to make up for beside keys, while maxmemory is set.
  size_t CountedBesideKeys() const {
    return accounts_.Total() - accounts_.NotForEviction() + clients_.evictable_bytes();
  }
  size_t memory_peak() const { return memory_peak_; }  // of samples taken once a second
  size_t startup_memory() const { return startup_memory_; }
  size_t timers() const { return wheel_.size(); }

  void TimeShifted(int64_t ms) { started_ms_ += ms; }  // see Assembly::TimeShifted
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
