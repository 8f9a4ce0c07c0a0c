// See memory_accounts.h.
#include "server/engine/memory_accounts.h"

#include "server/dispatch/transaction.h"
#include "server/engine/script_engine.h"
#include "server/limits/request_ids.h"
#include "server/locks/lock_service.h"
#include "server/notify/pubsub.h"
#include "server/notify/tracking.h"
#include "server/observe/slow_log.h"
#include "server/replication/replicas.h"
#include "server/waiting/waiters.h"
#include "storage/time/timer_wheel.h"

namespace sluice {

std::span<const MemoryAccounts::Row> MemoryAccounts::Rows() {
  static constexpr Row kRows[] = {
      {"scripts", [](const Owners& of) { return of.scripts.MemoryBytes(); }},
      {"locks.waiters", [](const Owners& of) { return of.locks.queue().MemoryBytes(); }},
      {"locks.fences", [](const Owners& of) { return of.locks.memory().memory_bytes(); }},
      {"requests", [](const Owners& of) { return of.requests.remembered_bytes(); }},
      {"tracking", [](const Owners& of) { return of.tracking.MemoryBytes(); }},
      {"pubsub", [](const Owners& of) { return of.pubsub.MemoryBytes(); }},
      {"watches", [](const Owners& of) { return of.watches.MemoryBytes(); }},
      {"waiters", [](const Owners& of) { return of.waiters.MemoryBytes(); }},
      {"slowlog", [](const Owners& of) { return of.slow_log.MemoryBytes(); }},
      {"timers", [](const Owners& of) { return of.wheel.memory_bytes(); }},
      {"replication.buffers", [](const Owners& of) { return of.replicas.memory(); }},
  };
  return kRows;
}

size_t MemoryAccounts::Total() const {
  size_t bytes = 0;
  for (const Row& row : Rows()) bytes += Of(row);
  return bytes;
}

size_t MemoryAccounts::NotForEviction() const { return owners_.replicas.memory_beyond_backlog(); }

}  // namespace sluice
