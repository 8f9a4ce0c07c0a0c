// FENCED: a command that runs only as long as a fencing token of a lock is not stale. So a former
// holder that was held up and wakes late cannot write.
//
// The inner command passes the same gates as if it came alone. One that waits for keys is run from
// here again when it wakes, and the token is looked at again; one that waits for something else
// (LOCK.ACQUIRE, LIMIT.TAKE with WAIT) does not wait, as inside MULTI.
//
//   > LOCK.ACQUIRE job alice LEASE 30000
//   < 1) (integer) 1895452050695       the token
//   > FENCED job 1895452050695 SET result 42
//   < OK                                or STALE, and nothing was written
//
// The log gets what the inner command did, without the condition.

#include <optional>
#include <string>

#include "server/commands/families.h"
#include "server/commands/locks/lock_keys.h"
#include "server/commands/shared/rows.h"
#include "server/commit/turn_gate.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/gates.h"
#include "server/locks/lock_service.h"
#include "server/waiting/waiters.h"

namespace sluice {
namespace {

// FENCED key token, then the inner command's name.
constexpr size_t kInnerAt = 3;

// The word STALE is what clients look for; the rest says why, for people.
std::string_view StaleText(TokenCheck check) {
  switch (check) {
    case TokenCheck::kNeverIssued:
      return "STALE no such token was given";
    case TokenCheck::kForgotten:
      return "STALE nothing is known of this lock and token any more";
    default:
      return "STALE the lock has been given to others since";
  }
}

// Why this command cannot run inside FENCED; empty: it can. Two kinds are refused whatever the
// client may do: those that change what comes next on the connection (MULTI, EXEC, WATCH,
// SUBSCRIBE), and what scripts may not run, if a script asks. Then the gates are asked as for any
// command.
std::string RefusalOf(CommandCall& call, const Request& inner) {
  const uint32_t flags = inner.command.spec->flags;
  const bool subscribes = (flags & kPubSub) && (flags & kNoScript);
  if ((flags & (kNotQueued | kNoMulti)) || subscribes) {
    return "ERR this command is not allowed inside FENCED";
  }
  if ((call.client.conditions & kInScript) && (flags & kNoScript)) {
    return "ERR This Redis command is not allowed from script";
  }
  return call.part<Dispatcher>().InnerRefusal(call.client, inner);
}

// The inner command has been checked with the request, and is judged before the lock is looked at,
// so a fault in it is told even where the token is stale. After a restart a token may be neither:
// LOCKGRACE. Its flags are set back as they were, not cleared, since FENCED may itself run inside a
// script that runs inside FENCED.
//   FENCED job 1 SET k v  → -STALE nothing is known of this lock and token any more
//   FENCED job 1 NOSUCH   → -ERR unknown command 'NOSUCH', with args beginning with:
void Fenced(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t token = args.IntIn({"token", 1, kTokenMax});
  if (args.failed()) return call.reply.Error(args.error());
  const Request inner = *call.inner();
  if (const std::string refusal = RefusalOf(call, inner); !refusal.empty()) {
    return call.reply.Error(refusal);
  }
  LockService& service = call.part<LockService>();
  Locks& locks = service.Enter();
  std::optional<OpenLock> lock = OpenLockAt(call, locks, 1);
  if (!lock) return;
  TokenCheck check = locks.CheckToken(*lock, token, call.now);
  if (service.IsTokenInDoubt(*lock, token)) return ReplyGrace(call);
  if (check == TokenCheck::kSuperseded && service.IsWithheld(*lock)) check = TokenCheck::kForgotten;
  if (check != TokenCheck::kValid) return call.reply.Error(StaleText(check));

  const uint32_t conditions = call.client.conditions;
  call.client.conditions |= kInFenced;
  const uint64_t changes = call.keyspace.changes();
  call.part<Dispatcher>().RunInner(call.client, inner, call.reply, kInnerAt);
  call.client.conditions = (call.client.conditions & ~kInFenced) | (conditions & kInFenced);
  call.part<Waiters>().blocked_clients().Wrap(call, kInnerAt);
  if (call.wants_effects() && call.keyspace.changes() != changes)
    ++call.part<TurnGate>().needs().grants;
}

// inner_command: keys of the inner request are keys of this one, for ACLs, GETKEYS and snapshots.
constexpr CommandRow kFencedRows[] = {
    {.name = "FENCED",
     .arity = -4,
     .flags = kNotInRedis70 | kWrite | kMovableKeys,
     .categories = kCatLock,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = Fenced,
     .group = "lock",
     .since = "0.1.0",
     .complexity = "That of the inner command.",
     .usage = "key token:integer(1..2^53-1) command [arg ...]",
     .summary = "Run a command unless this fencing token of the lock is stale.",
     .inner_command = static_cast<int>(kInnerAt),
     .tells_of_grant = true},
};

}  // namespace

CommandFamily FencedFamily() { return {"fenced", kSpecsOf<kFencedRows>}; }

}  // namespace sluice
