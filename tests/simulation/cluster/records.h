// Records: what the clients of a world have seen, and nothing else: of each operation the moments
// of call and answer in true time, and the answer, or none. They are judged by
// tests/support/linearizable. A request that was refused before it began (-LOADING, -MISCONF,
// -LOCKGRACE ...) is in no record.
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

// The promises of the servers.
struct Promise {
  int64_t drift_ppm = 0;
  // How much of what was answered is kept over the end of a server.
  enum class Kept : uint8_t {
    kAll,
    kChanges,  // whatever was changed: a server that is cut off reads, and refuses, by old values
    kFenced,   // grants of locks with tokens, what was written under these, and what limits let
               // through: other values may be lost, and releases, so that refusals prove nothing
    kGrants,   // the grants alone
    kTokens,   // not even those; but no token is given twice, or behind a larger one
  };
  Kept kept = Kept::kAll;
  std::vector<Span> standstills;
};

// What is judged by search: the histories of keys that are locks without tokens.
struct Searched {
  size_t histories = 0;
  size_t too_much = 0;  // of them those of which the search says nothing
};

// The fault, with the shortest part of the history that shows it; null: none was found.
std::optional<std::string> Judge(const Records& records, const Promise& promise,
                                 Searched* searched = nullptr);

}  // namespace sluice::cluster
