// Uses of the memory, for MEMORY STATS and DOCTOR. `used` is what Sluice accounts for (keys,
// scripts, clients), as INFO's used_memory; what the allocator and the system see is beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/clients/process_services.h"
#include "server/core/parts.h"

namespace sluice {

// One number measured against the one below it: pages of the allocator against the bytes that it
// has handed out. A ratio of 1 is perfect.
struct MemoryExcess {
  int64_t has = 0;
  int64_t needs = 0;
  int64_t bytes() const { return has - needs; }
  double ratio() const;  // 0 where nothing is known
};

// Memory that a database's keys take besides themselves.
struct DatabaseOverhead {
  int index = 0;
  int64_t table_bytes = 0;
  int64_t timer_bytes = 0;
};

// All in bytes, but for `keys`, which is a count. Taken at one moment, yet not atomically: the
// system's numbers may be a little younger.
struct MemoryReport {
  int64_t peak = 0;
  int64_t used = 0;
  int64_t startup = 0;
  int64_t clients = 0;  // all but replicas
  int64_t replicas = 0;
  int64_t backlog = 0;  // of their stream, up to its size
  int64_t scripts = 0;  // texts and Lua
  int64_t functions = 0;
  int64_t overhead = 0;  // all that is no key or value
  int64_t keys = 0;
  int64_t resident = 0;  // of the process
  AllocatorUsage allocator;
  std::vector<DatabaseOverhead> databases;  // those that have keys

  int64_t dataset() const { return used - overhead; }
  int64_t bytes_per_key() const { return keys == 0 ? 0 : (used - startup) / keys; }
  double dataset_percentage() const;
  double peak_percentage() const;
  MemoryExcess allocator_fragmentation() const;
  MemoryExcess allocator_resident() const;
  MemoryExcess process_resident() const;
  MemoryExcess fragmentation() const;
};

// O(databases): others have counted already.
MemoryReport ReportMemory(const Parts& parts);
// The text of MEMORY DOCTOR, in Redis's tone.
std::string MemoryDoctorReport(const Parts& parts);

}  // namespace sluice
