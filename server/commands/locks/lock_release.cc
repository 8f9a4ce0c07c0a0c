// LOCK.RENEW, LOCK.RELEASE, LOCK.MRELEASE and LOCK.BREAK: keeping a lock, giving it back, and
// throwing its holders out. Waiters that may go then are answered by LockWaits in the same turn,
// and what has changed is told by LockRecorder, so the handlers say NoEffect().
//
// TOKEN narrows each of them to one grant: a former holder that has lost the lock and got it back
// in another thread cannot give back what the other one works under.
//
//   command         answer                  not held by this owner
//   LOCK.RENEW      the lease, in ms        NOTHELD
//   LOCK.RELEASE    the holds that are left NOTHELD
//   LOCK.MRELEASE   how many were given     not counted
//                   back
//   LOCK.BREAK      how many holders lost   0
//                   the lock
//
// After a restart in which grants may be missing, RENEW and RELEASE answer LOCKGRACE instead of
// NOTHELD as long as this owner's may be one of them.

#include <optional>

#include "server/commands/families.h"
#include "server/commands/locks/lock_keys.h"
#include "server/commands/locks/lock_options.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/locks/lock_reply.h"
#include "server/locks/lock_service.h"

namespace sluice {
namespace {

// The options of RENEW, RELEASE and BREAK.
struct KeepOptions {
  int64_t lease_ms = 0;
  int64_t token = 0;  // 0: any
  bool all = false;
  std::optional<LockShape> shape;  // as the owner believes to hold it
};

constexpr OptionRow<KeepOptions> kToken = {"TOKEN", [](ArgReader& args, KeepOptions& options) {
                                             options.token = args.IntIn({"TOKEN", 1, kTokenMax});
                                           }};
constexpr OptionRow<KeepOptions> kRenewOptions[] = {
    {"LEASE",
     [](ArgReader& args, KeepOptions& options) { options.lease_ms = args.IntIn(kLeaseRange); }},
    kToken,
    {"SHARED",
     [](ArgReader&, KeepOptions& options) { options.shape = {.mode = LockMode::kShared}; }, 0,
     [](const KeepOptions& options) { return !options.shape; }},
    {"PERMITS",
     [](ArgReader& args, KeepOptions& options) { ReadPermitsOf(args, options.shape.emplace()); }, 0,
     [](const KeepOptions& options) { return !options.shape; }}};
constexpr OptionRow<KeepOptions> kReleaseOptions[] = {{"ALL", kRaise<&KeepOptions::all>}, kToken};
constexpr OptionRow<KeepOptions> kBreakOptions[] = {kToken};

// Not held under that token, as far as is known.
void ReplyNotHeld(CommandCall& call, OpenLock& lock, int64_t token) {
  if (call.part<LockService>().MayBeMissing(lock, token)) return ReplyGrace(call);
  call.reply.Error(kNotHeld);
}

bool IsHeldInAnother(OpenLock& open, std::string_view owner, const KeepOptions& options) {
  const Lock* const lock = open.lock();
  const LockHolder* holder = nullptr;
  if (options.shape && lock) holder = lock->FindOwner(owner);
  if (!holder || (options.token != 0 && holder->token != options.token)) return false;
  return LockShape{lock->mode(), holder->permits(), lock->permits_of()} != *options.shape;
}

// The answer is the lease that runs from here on, in ms; it may be shorter than what was left,
// which an ACQUIRE never makes it. A holder of before a restart may claim a lock that is held back
// for it (Claims, GetBack); with the right token it gets it again, in the mode that it names. After
// `LOCK.ACQUIRE job alice LEASE 30000`:
//   LOCK.RENEW job alice LEASE 5000  → 5000  a shorter one, from this moment on
//   LOCK.RENEW job bob LEASE 5000    → -NOTHELD this owner does not hold the lock
void Renew(CommandCall& call) {
  ArgReader args(call.args, 2);
  const std::string_view owner = ReadOwner(args);
  KeepOptions options;
  ReadOptionsOnce(args, kRenewOptions, options);
  if (options.lease_ms == 0) args.Fail(ErrorCode::kSyntax);
  if (args.failed()) return call.reply.Error(args.error());
  LockService& service = call.part<LockService>();
  Locks& locks = service.Enter();
  std::optional<OpenLock> lock = OpenLockAt(call, locks, 1);
  if (!lock) return;
  const auto fault = service.Reserve({.lease_ms = options.lease_ms}, 0);
  if (!fault.empty()) return call.reply.Error(fault);
  if (IsHeldInAnother(*lock, owner, options))
    return call.reply.Error(RefusalText(AcquireOutcome::kLockMode));
  service.Claims(*lock, owner, options.token);
  int64_t left_ms = locks.Renew(*lock, owner, options.lease_ms, options.token, call.now);
  // Not held as far as is known; but the grant may be one that a restart has lost.
  const LockShape shape = options.shape.value_or(LockShape{});
  if (left_ms < 0 && service.GetBack(*lock, owner, options.lease_ms, options.token, shape))
    left_ms = options.lease_ms;
  call.NoEffect();
  if (left_ms < 0) return ReplyNotHeld(call, *lock, options.token);
  call.reply.Integer(left_ms);
}

// The answer is how many holds are left: a re-entrant owner gives back one at a time, or ALL.
// NOTHELD is an error and never a 0, because an owner that has lost its lock must learn it. After
// `LOCK.ACQUIRE job alice LEASE 30000`, `LOCK.ACQUIRE job alice LEASE 30000`:
//   LOCK.RELEASE job alice TOKEN 1  → -NOTHELD this owner does not hold the lock
//   LOCK.RELEASE job alice          → 1  one hold is left
//   LOCK.RELEASE job alice          → 0
//   LOCK.RELEASE job alice          → -NOTHELD this owner does not hold the lock
void Release(CommandCall& call) {
  ArgReader args(call.args, 2);
  const std::string_view owner = ReadOwner(args);
  KeepOptions options;
  ReadOptionsOnce(args, kReleaseOptions, options);
  if (args.failed()) return call.reply.Error(args.error());
  Locks& locks = call.part<LockService>().Enter();
  std::optional<OpenLock> lock = OpenLockAt(call, locks, 1);
  if (!lock) return;
  const int64_t left = locks.Release(*lock, owner, options.all, options.token, call.now);
  call.NoEffect();
  if (left < 0) return ReplyNotHeld(call, *lock, options.token);
  call.reply.Integer(left);
}

// How many it held: those that it does not hold are passed over. All are given back before one is
// handed on, so what another request of the owner gets by it stays that one's.
int64_t ReleaseEach(CommandCall& call, Locks& locks, OpenLocks& open, std::string_view owner) {
  const Locks::HandOverLater later(locks, call.now);
  int64_t released = 0;
  for (OpenLock& lock : open) {
    const int64_t left = locks.Release(lock, owner, false, 0, call.now);
    released += left >= 0;
  }
  return released;
}

// WRONGTYPE of any key refuses the request before a lock is given back. After
// `LOCK.ACQUIRE a alice LEASE 30000`:
//   LOCK.MRELEASE 2 a b alice  → 1
void ReleaseMany(CommandCall& call) {
  ArgReader args(call.args);
  const size_t keys = ReadLockKeys(call, args, 1);
  if (keys == 0) return;
  const std::string_view owner = ReadOwner(args);
  if (!args.Finish()) return call.reply.Error(args.error());
  Locks& locks = call.part<LockService>().Enter();
  OpenLocks open = OpenLocksAt(call, locks, 2, keys);
  if (open.empty()) return;
  call.reply.Integer(ReleaseEach(call, locks, open, owner));
  call.NoEffect();  // the service says what came of it
}

// For people and tools: it asks no owner. The tokens of those that are thrown out are stale at
// once, and holders with NOTIFY are told. Without TOKEN it also ends the doubt that a restart has
// left. After `LOCK.ACQUIRE job alice LEASE 30000`:
//   LOCK.BREAK job TOKEN 1  → 0  not that holder, so not broken
//   LOCK.BREAK job          → 1
//   LOCK.BREAK job          → 0
void Break(CommandCall& call) {
  ArgReader args(call.args, 2);
  KeepOptions options;
  ReadOptionsOnce(args, kBreakOptions, options);
  if (args.failed()) return call.reply.Error(args.error());
  Locks& locks = call.part<LockService>().Enter();
  std::optional<OpenLock> lock = OpenLockAt(call, locks, 1);
  if (!lock) return;
  call.reply.Integer(locks.Break(*lock, options.token, call.now));
  if (options.token == 0) call.part<LockService>().EndDoubt(*lock);
  call.NoEffect();
}

// --- the table

constexpr uint16_t kGivesBack = kKeyRw | kKeyAccess | kKeyDelete;

// Without kDenyOom, as COMMAND INFO shows: giving back takes no memory.
constexpr CommandRow kLockReleaseListed[] = {
    {.name = "LOCK.BREAK",
     .arity = -2,
     .flags = kNotInRedis70 | kWrite | kFast,
     .categories = kCatLock | kCatDangerous,
     .keys = KeyAt(1, kGivesBack),
     .run = Break,
     .complexity =
         "O(1), and a glance at each lease that is over; the memory of N holders is freed "
         "in slices",
     .usage = "key [TOKEN token:integer(1..2^53-1)]",
     .summary = "Throw the holders of a lock out, or the one with this token; how many they were.",
     .tells_of_grant = true},
    {.name = "LOCK.MRELEASE",
     .arity = -4,
     .flags = kNotInRedis70 | kWrite,
     .keys = KeysCounted(1, kGivesBack),
     .run = ReleaseMany,
     .complexity = "O(N) where N is the number of keys",
     .usage = "numkeys:integer(1..1024) key [key ...] owner:string(1..1024)",
     .summary = "Give several locks back; how many of them the owner held."},
    {.name = "LOCK.RELEASE",
     .arity = -3,
     .flags = kNotInRedis70 | kWrite | kFast,
     .keys = KeyAt(1, kGivesBack),
     .run = Release,
     .complexity = "O(1)",
     .usage = "key owner:string(1..1024) [ALL] [TOKEN token:integer(1..2^53-1)]",
     .summary = "Give a lock back, once or altogether; the holds that are left."},
    {.name = "LOCK.RENEW",
     .arity = -5,
     .flags = kNotInRedis70 | kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = Renew,
     .complexity = "O(1)",
     .usage = "key owner:string(1..1024) LEASE lease-ms:integer(1..2^46) [TOKEN "
              "token:integer(1..2^53-1)] [SHARED | permits=<PERMITS n:integer(1..2^31) OF "
              "m:integer(1..2^31)>]",
     .summary = "Let the lease of a lock begin anew; how long it is.",
     .tells_of_grant = true},
};
constexpr auto kLockReleaseRows =
    RowsOf(kLockReleaseListed, {.categories = kCatLock, .group = "lock", .since = "0.1.0"});

}  // namespace

CommandFamily LockReleaseFamily() { return {"lock release", kSpecsOf<kLockReleaseRows>}; }

}  // namespace sluice
