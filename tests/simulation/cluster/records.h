// Records: what the clients of a world have seen, and nothing else: of each operation the moments
// of call and answer in true time, and the answer, or none. They are judged by
// tests/support/linearizable. What was refused before it began (-LOADING, -MISCONF, -LOCKGRACE ...)
// is in no record.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/linearizable/counters.h"
#include "tests/support/linearizable/limit_histories.h"
#include "tests/support/linearizable/lock_histories.h"
#include "tests/support/linearizable/registers.h"
#include "tests/support/linearizable/span.h"

namespace sluice::cluster {

struct Records {
  struct OfLock {
    int64_t capacity = 1;
    std::vector<LockAttempt> attempts;
  };
  struct OfLimit {
    LimitBounds bounds;
    std::vector<LimitOperation> operations;
  };
  // By key.
  std::map<std::string, OfLock> locks;
  std::map<std::string, std::vector<LockAttempt>> plain_locks;  // SET NX PX: without tokens
  std::map<std::string, std::vector<RegisterOperation>> registers;
  std::map<std::string, std::vector<CounterOperation>> counters;
  std::map<std::string, OfLimit> limits;

  size_t operations() const;
};

// What the servers promise of them.
struct Promise {
  int64_t drift_ppm = 0;
  // Whatever was answered is kept. Else only grants of locks with tokens are judged: values may be
  // lost, and so may a release, so that a refusal proves nothing.
  bool is_kept = true;
  std::vector<Span> standstills;
};

// What is wrong, with the shortest part of the history that shows it; null: nothing was found.
std::optional<std::string> Judge(const Records& records, const Promise& promise);

}  // namespace sluice::cluster
