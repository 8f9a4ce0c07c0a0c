// What all commands on locks share: whether a key may be one, and its name.
#pragma once

#include "server/commands/shared/lookup.h"
#include "server/dispatch/arg_reader.h"
#include "server/locks/lock_service.h"

namespace sluice {

// Its holders' leases say when a lock ends.
inline constexpr std::string_view kLockHasNoTtl =
    "ERR the lease of a lock is set by LOCK.RENEW alone";

// False when args[at] holds something else than a lock: then WRONGTYPE has been answered.
// Precondition: the lock service was entered.
inline bool IsLockOrMissing(CommandCall& call, size_t at) {
  const HashedKey key = call.Key(at);
  const Entry* const entry = LookUp(call, key);
  call.part<LockService>().Seen({call.db.index(), key.bytes}, key.hash, entry);
  if (!entry || entry->type() == ValueType::kLock) return true;
  call.reply.Error(ErrorCode::kWrongType);
  return false;
}

inline LockNameView NameOf(const CommandCall& call, size_t at) {
  return {call.db.index(), call.args[at]};
}

inline std::string_view ReadOwner(ArgReader& args) {
  const std::string_view owner = args.Bytes();
  if (owner.size() > kOwnerBytesMax) args.Fail("ERR owner is longer than 1024 bytes");
  if (owner.empty() && !args.failed()) args.Fail("ERR owner is empty");
  return owner;
}

}  // namespace sluice
