// LOCK.ACQUIRE and LOCK.MACQUIRE: taking a lock, or several at once, or waiting for them.
// storage/locks decides who may take; this file reads arguments, asks, and answers or blocks the
// client. LockRecorder tells what has changed, so the handlers say NoEffect().
//
//   LOCK.ACQUIRE key owner [LEASE ms] [SESSION] [WAIT ms] [SHARED | PERMITS n OF m] [MINHOLD ms]
//   ...
//
// The answer to a grant is the token, the lease in ms (-1: the session alone binds it), how often
// the owner holds it, and how long it waited in ms. Null: not granted within WAIT.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "server/commands/families.h"
#include "server/commands/locks/lock_keys.h"
#include "server/commands/locks/lock_options.h"
#include "server/commands/shared/blocking.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/locks/lock_connections.h"
#include "server/locks/lock_reply.h"
#include "server/locks/lock_requests.h"
#include "server/locks/lock_service.h"

namespace sluice {
namespace {

// Null: the locks are held; or an owner of before the restart may hold one of them still.
void RefuseLocks(CommandCall& call, LockService& service, OpenLocks& open, const LockShape& shape) {
  const auto is_held_back = [&](OpenLock& lock) { return service.IsHeldBack(lock, shape); };
  if (std::ranges::any_of(open, is_held_back)) return ReplyGrace(call);
  call.reply.NullArray();
}

// --- ID: see server/locks/lock_requests.h

RequestIds::Asked AskedFor(const RequestId& id, const LockRequest& request, OpenLocks& open) {
  std::vector<LockNameView> names;
  for (const OpenLock& lock : open) names.push_back(lock.name());
  return AskedOf(id, request.owner, request.terms.shape, names);
}

// A request that was granted, and still is, asks for no hold more. False: its id is that of another
// one, which has been answered.
bool Recall(CommandCall& call, const RequestIds::Asked& asked, OpenLocks& open,
            LockRequest& request) {
  const RequestIds::Found found = call.part<RequestIds>().Recall(asked, call.now);
  if (found.recalled == RequestIds::Recalled::kOther) {
    call.reply.Error("ERR this ID is that of another request, of another key, owner or mode");
    return false;
  }
  request.id = asked.id;
  request.terms.again = found.recalled == RequestIds::Recalled::kSame &&
                        AreHeldBy(absl::MakeSpan(open), request.owner, found.answer.values);
  return true;
}

// --- asking

// The order matters. Arguments come first, then what has happened to locks in the meantime, then
// the keys (WRONGTYPE), then room below the token mark and the lease horizon, then doubts that a
// restart has left. Only after all of these is anything changed. A script or MULTI never waits: its
// wait_ms is 0 already.
//   LOCK.ACQUIRE page a LEASE 9000 SHARED          → [TOKEN, 9000, 1, 0]
//   LOCK.ACQUIRE page b LEASE 9000 SHARED          → [TOKEN, 9000, 1, 0]  readers share
//   LOCK.ACQUIRE page c LEASE 9000                 → nil array            a writer does not
//   LOCK.ACQUIRE pool a LEASE 9000 PERMITS 2 OF 3  → [TOKEN, 9000, 1, 0]
//   LOCK.ACQUIRE pool b LEASE 9000 PERMITS 2 OF 3  → nil array            one is left
//   LOCK.ACQUIRE pool b LEASE 9000 PERMITS 1 OF 4  → -ERR the semaphore has another number of ...
void AcquireLocks(CommandCall& call, size_t first_key, size_t keys, ArgReader& args, bool several) {
  LockRequest request{.several = several};
  request.owner = ReadOwner(args);
  AcquireOptions options{.several = several, .terms = request.terms};
  ReadAcquireOptions(call, args, options);
  if (!args.Finish()) return call.reply.Error(args.error());
  if (options.priority != 0) {
    request.priority = options.priority;
    request.ahead_ms = options.priority * call.settings.lock_priority_patience;
  }
  LockService& service = call.part<LockService>();
  if (options.replicas > 0) [[unlikely]] {
    if (const std::string why = service.replica_waits().WhyTooMany(options.replicas); !why.empty())
      return call.reply.Error(why);
    request.replicas = options.replicas;
    request.replicas_ms = options.replicas_ms;
  }
  Locks& locks = service.Enter();
  OpenLocks open = OpenLocksAt(call, locks, first_key, keys);
  if (open.empty()) return;
  RequestIds::Asked asked;
  if (!options.id.empty()) [[unlikely]] {
    asked = AskedFor(options.id, request, open);
    if (!Recall(call, asked, open, request)) return;
  }
  if (const auto fault = service.Reserve(request.terms, options.wait_ms); !fault.empty())
    return call.reply.Error(fault);
  // After a restart, a lock may be known as this owner's which it gave back in what is missing.
  const auto is_in_doubt = [&](OpenLock& lock) { return service.IsInDoubt(lock, request.owner); };
  if (std::ranges::any_of(open, is_in_doubt)) return ReplyGrace(call);
  const LockShape shape = request.terms.shape;
  const bool is_first = !asked.id.empty() && !request.terms.again;
  const WaitTerms wait{ConnectionOf(call.client), options.wait_ms};
  const AcquireResult result =
      locks.Acquire(absl::MakeSpan(open), std::move(request), wait, call.now);
  call.NoEffect();  // the service says what came of it
  // The client is answered by LockWaits, when its wait ends in whichever way.
  if (result.outcome == AcquireOutcome::kQueued) {
    return service.waits().Block(call, result.wait_id, EndOfWait(call, options.wait_ms));
  }
  if (result.outcome == AcquireOutcome::kRefused) return RefuseLocks(call, service, open, shape);
  if (result.outcome == AcquireOutcome::kDeadlock) service.waits().CountDeadlock(open);
  if (result.outcome != AcquireOutcome::kGranted) {
    return call.reply.Error(RefusalText(result.outcome));
  }
  if (is_first) [[unlikely]] {
    call.part<RequestIds>().Remember(ChangeRecorder(call.parts), asked, TokensOf(result.grants),
                                     call.now);
  }
  if (service.replica_waits().Wants(options.replicas) && call.may_wait()) [[unlikely]] {
    LockRequest kept{.owner = std::string(call.args[first_key + keys]), .several = several};
    for (const OpenLock& lock : open) kept.names.emplace_back(lock.name());
    kept.terms.again = !asked.id.empty() && !is_first;
    kept.replicas = options.replicas;
    kept.replicas_ms = options.replicas_ms;
    return service.replica_waits().Block(call, {std::move(kept), result.grants});
  }
  several ? ReplyTokens(call.reply, result.grants)
          : ReplyGrant(call.reply, result.grants.front(), 0);
}

// One lock; its owner is the second argument.
//   LOCK.ACQUIRE job alice LEASE 30000         → [TOKEN, 30000, 1, 0]  token, lease, holds, wait
//   LOCK.ACQUIRE job alice LEASE 30000         → [TOKEN, 30000, 2, 0]  the same token
//   LOCK.ACQUIRE job bob LEASE 30000           → nil array
//   LOCK.ACQUIRE p bob LEASE 9 PERMITS 3 OF 2  → -ERR PERMITS asks for more than there are
void Acquire(CommandCall& call) {
  ArgReader args(call.args, 2);
  AcquireLocks(call, 1, 1, args, false);
}

// All or none, in any order of names: a request that waits holds nothing, so two requests for the
// same locks in opposite orders cannot block each other.
//   LOCK.MACQUIRE 2 a b alice LEASE 30000  → [TOKEN, TOKEN]  a token for each lock
//   LOCK.MACQUIRE 2 b c bob LEASE 30000    → nil array       not b, so not c either
//   LOCK.INFO c                            → []
void AcquireMany(CommandCall& call) {
  ArgReader args(call.args);
  const size_t keys = ReadLockKeys(call, args, 1);
  if (keys == 0) return;
  AcquireLocks(call, 2, keys, args, true);
}

// --- the table

constexpr uint16_t kTakes = kKeyRw | kKeyAccess | kKeyUpdate | kKeyInsert;

// kBlocking because of WAIT; kDenyOom because a grant makes a key.
constexpr CommandRow kLockAcquireListed[] = {
    {.name = "LOCK.ACQUIRE",
     .arity = -4,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kFast | kBlocking,
     .keys = KeyAt(1, kTakes),
     .run = Acquire,
     .complexity = "O(1); O(N) with N owners and waiters that are connected, if it has to wait",
     .usage = "key owner:string(1..1024) [LEASE lease-ms:integer(1..2^46)] [SESSION] [WAIT "
              "wait-ms:integer(0..2^46)] "
              "[SHARED | permits=<PERMITS n:integer(1..2^31) OF m:integer(1..2^31)>] [MINHOLD "
              "minhold-ms:integer(0..2^46)] "
              "[LABEL label:string(0..1024)] [NOTIFY] [PRIORITY priority:integer(-100..100)] "
              "[ID token] [replicas=<REPLICAS k:integer(1..2^31-1) ms:integer(1..2^31-1)>]",
     .summary = "Take a lock; its fencing token, or null while others hold it.",
     .tells_of_grant = true},
    {.name = "LOCK.MACQUIRE",
     .arity = -5,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kBlocking,
     .keys = KeysCounted(1, kTakes),
     .run = AcquireMany,
     .complexity = "O(N) where N is the number of keys",
     .usage = "numkeys:integer(1..1024) key [key ...] owner:string(1..1024) [LEASE "
              "lease-ms:integer(1..2^46)] [SESSION] "
              "[WAIT wait-ms:integer(0..2^46)] [SHARED] [MINHOLD minhold-ms:integer(0..2^46)] "
              "[LABEL label:string(0..1024)] [NOTIFY] [PRIORITY priority:integer(-100..100)] "
              "[ID token] [replicas=<REPLICAS k:integer(1..2^31-1) ms:integer(1..2^31-1)>]",
     .summary = "Take several locks or none; their fencing tokens.",
     .tells_of_grant = true},
};
constexpr auto kLockAcquireRows =
    RowsOf(kLockAcquireListed, {.categories = kCatLock, .group = "lock", .since = "0.1.0"});

}  // namespace

CommandFamily LockAcquireFamily() { return {"lock acquire", kSpecsOf<kLockAcquireRows>}; }

}  // namespace sluice
