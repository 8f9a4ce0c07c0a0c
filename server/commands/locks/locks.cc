// The lock family: named locks with an owner, a lease and a fencing token. Who may take, renew or
// release is decided in storage/locks; this file reads arguments, asks, and answers. Looking at
// locks is lock_views.cc's, FENCED is fenced.cc's, the log's own command lock_restore.cc's.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "server/commands/families.h"
#include "server/commands/locks/lock_keys.h"
#include "server/commands/locks/lock_options.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/locks/lock_reply.h"
#include "server/locks/lock_service.h"
#include "server/waiting/waiters.h"

namespace sluice {
namespace {

constexpr std::string_view kNotHeld = "NOTHELD this owner does not hold the lock";

// --- taking

std::string_view Refusal(AcquireOutcome outcome) {
  switch (outcome) {
    case AcquireOutcome::kDeadlock:
      return "DEADLOCK the owners would wait for each other in a circle";
    case AcquireOutcome::kLockMode:
      return "LOCKMODE this owner holds the lock in another mode";
    case AcquireOutcome::kOtherPermits:
      return "ERR the semaphore has another number of permits";
    case AcquireOutcome::kNoTokens:
      return "ERR no fencing token can be given, see the log";
    default:
      return {};
  }
}

// The locks that args[first] and the following name. None: one is the key of something else, which
// has been answered.
OpenLocks OpenLocksAt(CommandCall& call, const Locks& locks, size_t first, size_t count) {
  OpenLocks open;
  open.reserve(count);
  for (size_t i = first; i < first + count; ++i) {
    const std::optional<OpenLock> lock = OpenLockAt(call, locks, i);
    if (!lock) return {};
    open.push_back(*lock);
  }
  return open;
}

void ReplyGrace(CommandCall& call, const LockService& service) {
  call.reply.Error(
      Concat("LOCKGRACE ", service.GraceLeftMs(),
             " ms are left in which an owner of before the restart may hold the lock"));
}

// Null: the locks are held; or an owner of before the restart may hold one of them still.
void RefuseLocks(CommandCall& call, LockService& service, OpenLocks& open) {
  const auto is_withheld = [&](OpenLock& lock) { return service.IsWithheld(lock); };
  if (std::ranges::any_of(open, is_withheld)) return ReplyGrace(call, service);
  call.reply.NullArray();
}

void AcquireLocks(CommandCall& call, size_t first_key, size_t keys, ArgReader& args, bool several) {
  LockRequest request{.several = several};
  request.owner = ReadOwner(args);
  AcquireOptions options = ReadAcquireOptions(call, args, several);
  if (!args.Finish()) return call.reply.Error(args.error());
  request.terms = std::move(options.terms);
  LockService& service = call.part<LockService>();
  Locks& locks = service.Enter();
  OpenLocks open = OpenLocksAt(call, locks, first_key, keys);
  if (open.empty()) return;
  if (const auto fault = service.Reserve(request.terms, options.wait_ms); !fault.empty())
    return call.reply.Error(fault);
  const auto is_in_doubt = [&](OpenLock& lock) { return service.IsInDoubt(lock, request.owner); };
  if (std::ranges::any_of(open, is_in_doubt)) return ReplyGrace(call, service);
  const WaitTerms wait{ConnectionOf(call.client), options.wait_ms};
  const AcquireResult result =
      locks.Acquire(absl::MakeSpan(open), std::move(request), wait, call.now);
  call.NoEffect();  // the service says what came of it
  if (result.outcome == AcquireOutcome::kQueued) {
    return service.waits().Park(call, result.wait_id, call.now.ms() + options.wait_ms);
  }
  if (result.outcome == AcquireOutcome::kRefused) return RefuseLocks(call, service, open);
  if (result.outcome != AcquireOutcome::kGranted) {
    return call.reply.Error(Refusal(result.outcome));
  }
  for (size_t i = 0; i < keys; ++i) {
    if (result.grants[i].holds == 1) continue;
    service.news().RecordHolder(open[i], call.args[first_key + keys]);
  }
  several ? ReplyTokens(call.reply, result.grants)
          : ReplyGrant(call.reply, result.grants.front(), 0);
}

void Acquire(CommandCall& call) {
  ArgReader args(call.args, 2);
  AcquireLocks(call, 1, 1, args, false);
}

bool AllDifferent(Args keys) {
  std::vector<std::string_view> sorted(keys.begin(), keys.end());
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

// Reads "numkeys key ..." from the second argument on; how many keys. 0: the error has been
// answered.
size_t ReadLockKeys(CommandCall& call, ArgReader& args, size_t arguments_after) {
  const int64_t count = args.Int();
  if (!args.failed() && count < 1) args.Fail("ERR numkeys should be greater than 0");
  if (!args.failed() && (static_cast<size_t>(count) > args.left() ||
                         args.left() - static_cast<size_t>(count) < arguments_after)) {
    args.Fail("ERR Number of keys can't be greater than number of args");
  }
  if (!args.failed() && static_cast<size_t>(count) > kLockNamesMax) {
    args.Fail("ERR more than 1024 locks at once");
  }
  if (!args.failed() && !AllDifferent(call.args.subspan(2, static_cast<size_t>(count)))) {
    args.Fail("ERR a lock is named twice");
  }
  if (args.failed()) {
    call.reply.Error(args.error());
    return 0;
  }
  args.Skip(static_cast<size_t>(count));
  return static_cast<size_t>(count);
}

void AcquireMany(CommandCall& call) {
  ArgReader args(call.args);
  const size_t keys = ReadLockKeys(call, args, 1);
  if (keys == 0) return;
  AcquireLocks(call, 2, keys, args, true);
}

// --- keeping and giving back

// Of RENEW, RELEASE and BREAK.
struct KeepOptions {
  int64_t lease_ms = 0;
  int64_t token = 0;  // 0: any
  bool all = false;
};

constexpr OptionRow<KeepOptions> kToken = {"TOKEN", [](ArgReader& args, KeepOptions& options) {
                                             options.token = args.IntIn({"TOKEN", 1, kTokenMax});
                                           }};
constexpr OptionRow<KeepOptions> kRenewOptions[] = {
    {"LEASE",
     [](ArgReader& args, KeepOptions& options) { options.lease_ms = args.IntIn(kLeaseRange); }},
    kToken};
constexpr OptionRow<KeepOptions> kReleaseOptions[] = {{"ALL", kRaise<&KeepOptions::all>}, kToken};
constexpr OptionRow<KeepOptions> kBreakOptions[] = {kToken};

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
  service.Claims(*lock, owner, options.token);
  int64_t left_ms = locks.Renew(*lock, owner, options.lease_ms, options.token, call.now);
  if (left_ms < 0 && service.GetBack(*lock, owner, options.lease_ms, options.token))
    left_ms = options.lease_ms;
  call.NoEffect();
  if (left_ms < 0) return call.reply.Error(kNotHeld);
  service.news().RecordHolder(*lock, owner);
  call.reply.Integer(left_ms);
}

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
  if (left < 0) return call.reply.Error(kNotHeld);
  if (left > 0) call.part<LockService>().news().RecordHolder(*lock, owner);
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
    if (left > 0) call.part<LockService>().news().RecordHolder(lock, owner);
  }
  return released;
}

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

constexpr uint16_t kTakes = kKeyRw | kKeyAccess | kKeyUpdate | kKeyInsert;
constexpr uint16_t kGivesBack = kKeyRw | kKeyAccess | kKeyDelete;

constexpr CommandSpec kListed[] = {
    {.name = "LOCK.ACQUIRE",
     .arity = -4,
     .flags = kWrite | kDenyOom | kFast | kBlocking,
     .keys = KeyAt(1, kTakes),
     .run = Acquire,
     .complexity = "O(1); O(N) with N owners and waiters that are connected, if it has to wait",
     .usage = "key owner:string(1..1024) [LEASE lease-ms:integer(1..2^46)] [SESSION] [WAIT "
              "wait-ms:integer(0..2^46)] "
              "[SHARED | permits=<PERMITS n:integer(1..2^31) OF m:integer(1..2^31)>] [MINHOLD "
              "minhold-ms:integer(0..2^46)] "
              "[LABEL label:string(0..1024)] [NOTIFY]",
     .summary = "Take a lock; its fencing token, or null while others hold it."},
    {.name = "LOCK.BREAK",
     .arity = -2,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kGivesBack),
     .run = Break,
     .complexity =
         "O(1), and a glance at each lease that is over; the memory of N holders is freed "
         "in slices",
     .usage = "key [TOKEN token:integer(1..2^53-1)]",
     .summary = "Throw the holders of a lock out, or the one with this token; how many they were."},
    {.name = "LOCK.MACQUIRE",
     .arity = -5,
     .flags = kWrite | kDenyOom | kBlocking,
     .keys = KeysCounted(1, kTakes),
     .run = AcquireMany,
     .complexity = "O(N) where N is the number of keys",
     .usage = "numkeys:integer(1..1024) key [key ...] owner:string(1..1024) [LEASE "
              "lease-ms:integer(1..2^46)] [SESSION] "
              "[WAIT wait-ms:integer(0..2^46)] [SHARED] [MINHOLD minhold-ms:integer(0..2^46)] "
              "[LABEL label:string(0..1024)] [NOTIFY]",
     .summary = "Take several locks or none; their fencing tokens."},
    {.name = "LOCK.MRELEASE",
     .arity = -4,
     .flags = kWrite,
     .keys = KeysCounted(1, kGivesBack),
     .run = ReleaseMany,
     .complexity = "O(N) where N is the number of keys",
     .usage = "numkeys:integer(1..1024) key [key ...] owner:string(1..1024)",
     .summary = "Give several locks back; how many of them the owner held."},
    {.name = "LOCK.RELEASE",
     .arity = -3,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kGivesBack),
     .run = Release,
     .complexity = "O(1)",
     .usage = "key owner:string(1..1024) [ALL] [TOKEN token:integer(1..2^53-1)]",
     .summary = "Give a lock back, once or altogether; the holds that are left."},
    {.name = "LOCK.RENEW",
     .arity = -5,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = Renew,
     .complexity = "O(1)",
     .usage = "key owner:string(1..1024) LEASE lease-ms:integer(1..2^46) [TOKEN "
              "token:integer(1..2^53-1)]",
     .summary = "Let the lease of a lock begin anew; how long it is."},
};
constexpr auto kRows = RowsOf(kListed, {.categories = kCatLock, .group = "lock", .since = "0.1.0"});
static_assert(RowsAreSound(kRows));

}  // namespace

CommandFamily LocksFamily() { return {"locks", kRows}; }

}  // namespace sluice
