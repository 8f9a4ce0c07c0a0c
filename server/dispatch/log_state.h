// LogState: what the append-only log allows, as the gates see it: while it is loaded there is no
// data to answer from, and while it cannot be written no change is accepted.
#pragma once

#include <cstdint>
#include <string>

#include "server/core/parts.h"

namespace sluice {

struct LogState {
  static constexpr PartId kPartId = PartId::kLogState;

  bool loading = false;
  std::string write_fault;  // in the system's words; empty: it can be written
  struct {
    int64_t started_unix_s = 0;
    uint64_t total_bytes = 0;
    uint64_t loaded_bytes = 0;
    int64_t taken_ms = 0;
  } progress;  // while loading

  bool denies_anything() const { return loading || !write_fault.empty(); }
  std::string WriteRefusal() const {
    return "MISCONF Errors writing to the AOF file: " + write_fault;
  }
};

}  // namespace sluice
