// LOCK.RESTORE: what the log and replicas are told of locks. A holder as it is, with its token and
// the moments at which it ends, or that no owner holds the lock under a token any more (0: under
// none). Playing such a log gives the same holders, whenever it is read. Clients may not send it:
// they would choose tokens.
//
//   LOCK.RESTORE key token [owner mode permits of holds lease-until minhold-until session label
//                           [held-since lease-ms]]
//
// Moments are Unix ms in the text and engine ms inside; -1 is none. A log of before does not say
// since when a lock is held: tokens are not below the Unix ms of their grant. A holder bound to a
// session comes back bound to "elsewhere": its connection is gone, and session-grace-ms says when
// that ends.

#include <algorithm>
#include <optional>

#include "server/commands/families.h"
#include "server/commands/locks/lock_keys.h"
#include "server/commands/shared/rows.h"
#include "server/locks/lock_effect.h"
#include "server/locks/lock_service.h"

namespace sluice {
namespace {

// The end of the longest lease, whenever it was taken.
constexpr int64_t kUnixMsMax = 2 * kLeaseMsMax;

// Reads the arguments behind the token. False: they make no holder. A file is bad input like any
// other, so what could never have been granted is refused: a holder without any end, more permits
// than there are, an exclusive lock of two.
bool ReadHolder(ArgReader& args, const Now& now, LockHolder& holder, LockShape& shape) {
  holder.owner = ReadOwner(args);
  const auto mode = std::ranges::find(kLockModeWords, args.Bytes());
  if (mode == std::end(kLockModeWords)) args.Fail(ErrorCode::kSyntax);
  shape.mode = static_cast<LockMode>(mode - std::begin(kLockModeWords));
  shape.permits = args.IntIn({"permits", 1, kPermitsMax});
  holder.set_permits(shape.permits);
  shape.of = args.IntIn({"of", 1, kPermitsMax});
  holder.holds = args.IntIn({"holds", 0, kHoldsMax});
  // Engine time may be before the server's start: all but no end at all is a moment.
  const int64_t lease_until_ms = args.IntIn({"lease-until-ms", -1, kUnixMsMax});
  const int64_t minhold_until_ms = args.IntIn({"minhold-until-ms", -1, kUnixMsMax});
  if (lease_until_ms >= 0) holder.lease_until_ms = lease_until_ms - now.unix_offset_ms;
  if (minhold_until_ms >= 0) holder.set_minhold_until_ms(minhold_until_ms - now.unix_offset_ms);
  if (args.IntIn({"session", 0, 1}) == 1) holder.extra.Make().sessions = {kSessionElsewhere};
  holder.set_label(args.Bytes());
  holder.since_ms = holder.token - now.unix_offset_ms;
  if (args.more()) {
    holder.since_ms = args.IntIn({"held-since-ms", -kUnixMsMax, kUnixMsMax}) - now.unix_offset_ms;
    holder.lease_ms = args.IntIn({"lease-ms", 0, kLeaseMsMax});
  }
  if (!args.Finish()) return false;
  // A holder that gave the lock back lingers until MINHOLD; any other has a lease or a session.
  const bool ends = holder.is_minimum_hold() ? minhold_until_ms >= 0
                                             : lease_until_ms >= 0 || !holder.sessions().empty();
  return ends && (shape.mode == LockMode::kPermits ? holder.permits() <= shape.of
                                                   : holder.permits() == 1 && shape.of == 1);
}

// A request that is refused touches nothing: a change would be told as it was asked for, and a log
// that has such a request does not load.
bool GoesWithOthers(LockService& service, OpenLock& open, const LockHolder& holder,
                    const LockShape& shape) {
  const Lock* const known = service.IsWithheld(open) ? nullptr : open.lock();
  return known == nullptr || known->GoesWith(holder, shape);
}

// Effects come in the order in which things happened, so a holder that does not go with the others
// means a damaged log, or a master that says what cannot be.
//   LOCK.RESTORE job 7 alice  → -ERR only a log that is replayed may say this, not a client
void Restore(CommandCall& call) {
  ArgReader args(call.args, 2);
  LockHolder holder;
  LockShape shape;
  holder.token = args.IntIn({"token", 0, kTokenRestoredMax});
  const bool gone = !args.more();
  // 0 means "under any token", which no holder has.
  if (!gone && holder.token == 0) args.Fail(ErrorCode::kSyntax);
  if (!gone && !args.failed() && !ReadHolder(args, call.now, holder, shape) && !args.failed()) {
    args.Fail("ERR this is no holder of a lock");
  }
  if (!args.Finish()) return call.reply.Error(args.error());
  LockService& service = call.part<LockService>();
  Locks& locks = service.Enter();
  std::optional<OpenLock> lock = OpenLockAt(call, locks, 1);
  if (!lock) return;
  if (gone) {
    locks.Forgo(*lock, holder.token, call.now);
  } else if (!GoesWithOthers(service, *lock, holder, shape) ||
             !locks.Restore(*lock, holder, shape, call.now)) {
    return call.reply.Error("ERR this holder does not go with the others");
  }
  call.reply.Ok();
}

// --- the table

// kOnlyReplayed: the gate refuses it to clients in words.
constexpr CommandRow kLockRestoreRows[] = {
    {.name = "LOCK.RESTORE",
     .arity = -3,
     .flags = kNotInRedis70 | kWrite | kAdmin | kNoScript | kOnlyReplayed,
     .categories = kCatLock | kCatDangerous,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate | kKeyInsert | kKeyDelete),
     .run = Restore,
     .group = "lock",
     .since = "0.1.0",
     .complexity = "O(1)",
     .usage = "key token:integer(0..2^52) [owner:string(1..1024) mode permits:integer(1..2^31) "
              "of:integer(1..2^31) holds:integer(0..2^63-1) "
              "lease-until-ms:integer minhold-until-ms:integer session:integer label "
              "[held-since-ms:integer lease-ms:integer]]",
     .summary = "What a log says of a lock: who holds it under this token, or that no owner does."},
};

}  // namespace

CommandFamily LockRestoreFamily() { return {"lock restore", kSpecsOf<kLockRestoreRows>}; }

}  // namespace sluice
