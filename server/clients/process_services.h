// ProcessServices: the process's log, randomness, allocator and figures, which all of its engines
// share. A host that has no allocator of its own to tell of keeps the defaults.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/core/log_level.h"

namespace sluice {

class SparsePages;

// Use of the machine by the process so far, for INFO.
struct ProcessUsage {
  int64_t resident_bytes = 0;
  int64_t resident_peak_bytes = 0;
  int64_t user_us = 0;  // CPU time of the whole process
  int64_t system_us = 0;
  int64_t thread_user_us = 0;  // and of the thread that runs the engine
  int64_t thread_system_us = 0;
};

// The allocator's own figures, for MEMORY; zeros where it does not tell.
struct AllocatorUsage {
  int64_t allocated_bytes = 0;  // in use
  int64_t active_bytes = 0;     // in pages that hold something in use
  int64_t resident_bytes = 0;   // taken from the system and not given back
};

class ProcessServices {
 public:
  virtual ~ProcessServices() = default;
  virtual void Log(LogLevel level, std::string_view line) = 0;
  // From the system, and never from the seed: for passwords.
  virtual void FillWithRandom(std::span<uint8_t> bytes) = 0;
  // DEBUG SLEEP: really does nothing for so long.
  virtual void Sleep(int64_t micros) = 0;
  virtual ProcessUsage Usage() { return {}; }
  virtual AllocatorUsage Allocator() { return {}; }
  // MEMORY PURGE: gives free memory back to the system.
  virtual void ReleaseMemory() {}
  // Adds all pages of the allocator's that the engine's blocks can lie on; O(pages). False: the
  // allocator does not tell.
  virtual bool SurveyPages(SparsePages& pages) { return static_cast<void>(pages), false; }
  // While on, memory goes back to the system as it comes free. An allocator that saves it up gives
  // much back at once later, in the midst of a turn.
  virtual void ReturnFreedAtOnce(bool on) { static_cast<void>(on); }
  // No more than so many bytes of memory, by a guess, are going to be filled in one go, as of a
  // file that is loaded: so much comes faster in large pages. 0: that is over.
  virtual void ExpectGrowth(uint64_t bytes) { static_cast<void>(bytes); }
  // MEMORY MALLOC-STATS; empty: there is none.
  virtual std::string AllocatorReport() { return {}; }
};

}  // namespace sluice
