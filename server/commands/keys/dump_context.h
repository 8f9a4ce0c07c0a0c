// The context in which values are read from dumps, as the options are now.
//
// The limits decide which form a value gets: a hash of 50 fields is packed or a table according to
// this server's options, not to those of the server that wrote it.
#pragma once

#include "server/commands/hashes/hash_access.h"
#include "server/commands/lists/list_access.h"
#include "server/commands/sets/set_access.h"
#include "server/commands/sorted_sets/sorted_set_args.h"
#include "server/dispatch/command.h"
#include "server/locks/lock_service.h"
#include "storage/rdb/rdb_value.h"

namespace sluice {

// For as long as the call runs.
inline RdbContext RdbContextOf(const CommandCall& call) {
  return {.now = call.now,
          .hash = HashLimits(call),
          .set = SetLimits(call),
          .sorted_set = SortedSetLimits(call),
          .list = LimitsOf(call.parts),
          .make_lock = [&call](const LockImage&) {
            return call.part<LockService>().held_locks().MakeLock();
          }};
}

}  // namespace sluice
