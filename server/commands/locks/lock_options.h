// The arguments of LOCK.ACQUIRE and LOCK.MACQUIRE behind the owner.
#pragma once

#include <cstdint>
#include <string>

#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"
#include "storage/locks/lock.h"
#include "storage/requests/request_memory.h"

namespace sluice {

// `terms` is what the lock keeps of a grant; the rest is used up in the asking. Times are in ms.
struct AcquireOptions {
  bool several;      // of MACQUIRE, which has no PERMITS
  LockTerms& terms;  // where they are needed: of the request
  int priority = 0;
  RequestId id = {};  // empty: it has none
  int64_t wait_ms = 0;
  uint32_t replicas = 0;  // so many are to have the grant, within so many ms; 0: as usual
  uint32_t replicas_ms = 0;
  bool session = false;
  bool notify = false;
};

// n OF m, behind the word PERMITS. A fault is left in `args`.
void ReadPermitsOf(ArgReader& args, LockShape& shape);

// Reads options to the end of the arguments: each at most once, in any order. A fault is left in
// `args`.
void ReadAcquireOptions(CommandCall& call, ArgReader& args, AcquireOptions& options);

}  // namespace sluice
