// What all commands on locks share: opening the locks of a request, once, and arguments of several.
#pragma once

#include <optional>

#include "server/commands/shared/lookup.h"
#include "server/dispatch/arg_reader.h"
#include "server/locks/lock_service.h"

namespace sluice {

// Its holders' leases say when a lock ends.
inline constexpr std::string_view kLockHasNoTtl =
    "ERR the lease of a lock is set by LOCK.RENEW alone";

// The lock that args[at] names, held or not. None: it is the key of something else, and WRONGTYPE
// has been answered. `Locks` is what LockService::Enter gives, which comes first.
inline std::optional<OpenLock> OpenLockAt(CommandCall& call, const Locks&, size_t at) {
  const HashedKey key = call.Key(at);
  const Entry* const entry = LookUp(call, key);
  if (!entry || entry->type() == ValueType::kLock) {
    return call.part<LockService>().held_locks().Open(call.db.index(), key, entry);
  }
  call.reply.Error(ErrorCode::kWrongType);
  return std::nullopt;
}

inline constexpr IntRange kLeaseRange = {"LEASE", 1, kLeaseMsMax, "ms"};

inline std::string_view ReadOwner(ArgReader& args) {
  const std::string_view owner = args.Bytes();
  if (owner.size() > kOwnerBytesMax) args.Fail("ERR owner is longer than 1024 bytes");
  if (owner.empty() && !args.failed()) args.Fail("ERR owner is empty");
  return owner;
}

}  // namespace sluice
