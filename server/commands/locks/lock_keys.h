// Shared by all commands on locks: opening the locks of a request, once, and reading their
// arguments (keys, the owner, the range of a lease).
//
// An OpenLock remembers where its lock lies, so that asking, granting and accounting need one
// look-up.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "server/commands/shared/lookup.h"
#include "server/dispatch/arg_reader.h"
#include "server/locks/lock_service.h"

namespace sluice {

// Its holders' leases say when a lock ends.
inline constexpr std::string_view kLockHasNoTtl =
    "ERR the lease of a lock is set by LOCK.RENEW alone";

// The lock that args[at] names, held or not. Null: the key holds another type, and WRONGTYPE has
// been answered. `Locks` is what LockService::Enter gives, which comes first.
inline std::optional<OpenLock> OpenLockAt(CommandCall& call, const Locks&, size_t at) {
  const HashedKey key = call.Key(at);
  const Entry* const entry = LookUp(call, key);
  if (!entry || entry->type() == ValueType::kLock) {
    return call.part<LockService>().held_locks().Open(call.db.index(), key, entry);
  }
  call.reply.Error(ErrorCode::kWrongType);
  return std::nullopt;
}
// The locks that args[first] and the following name. Empty: one of these keys holds another type,
// and WRONGTYPE has been answered.
OpenLocks OpenLocksAt(CommandCall& call, const Locks& locks, size_t first, size_t count);

// Reads "numkeys key ..." from the second argument on, behind which so many arguments follow at
// least; how many keys. 0: the error has been answered.
size_t ReadLockKeys(CommandCall& call, ArgReader& args, size_t arguments_after);

// LOCKGRACE, with the ms that are left: after a restart the lock may be free or held, or a token
// stale or not, and only its owner or that time can tell.
void ReplyGrace(CommandCall& call);

// In ms; the bound is some 2200 years, so that a sum of two such times still fits.
inline constexpr IntRange kLeaseRange = {"LEASE", 1, kLeaseMsMax, "ms"};

// 1 to 1024 bytes of any kind. A client names itself; two clients with one name are one owner.
inline std::string_view ReadOwner(ArgReader& args) {
  const std::string_view owner = args.Bytes();
  if (owner.size() > kOwnerBytesMax) args.Fail("ERR owner is longer than 1024 bytes");
  if (owner.empty() && !args.failed()) args.Fail("ERR owner is empty");
  return owner;
}

}  // namespace sluice
