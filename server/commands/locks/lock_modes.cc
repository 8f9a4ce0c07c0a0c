// LOCK.UPGRADE and LOCK.DOWNGRADE: a reader becomes the writer, and back, without letting the lock
// go in between. Each gives a new token: what was done under the former one is stale from then on.
// storage/locks decides; LockRecorder tells what has changed, so the handlers say NoEffect().
//
//   > LOCK.ACQUIRE page ann LEASE 30000 SHARED
//   > LOCK.UPGRADE page ann WAIT 5000        waits until the other readers have gone
//   < (integer) 1895452050695                the writer's token
//   > LOCK.DOWNGRADE page ann                readers that wait get the lock beside it
//   < (integer) 1895452050696                its token as a reader
//
// Two readers that wait for each other to be the writer would wait for ever: DEADLOCK to the
// second. It has to give the lock back, and read anew what the first has written.

#include <optional>

#include "server/commands/families.h"
#include "server/commands/locks/lock_keys.h"
#include "server/commands/shared/blocking.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/locks/lock_connections.h"
#include "server/locks/lock_reply.h"
#include "server/locks/lock_service.h"

namespace sluice {
namespace {

struct ModeOptions {
  int64_t wait_ms = 0;
};
constexpr OptionRow<ModeOptions> kUpgradeOptions[] = {
    {"WAIT", [](ArgReader& args, ModeOptions& options) {
       options.wait_ms = args.IntIn({"WAIT", 0, kLeaseMsMax, "ms"});
     }}};

// Its token, or why there is none: after a restart it may not be known whether this owner holds the
// lock, or who else does.
void ReplyToken(CommandCall& call, OpenLock& open, const AcquireResult& result) {
  LockService& service = call.part<LockService>();
  if (result.outcome == AcquireOutcome::kGranted)
    return call.reply.Integer(result.grants.front().token);
  if (result.outcome == AcquireOutcome::kNotHeld && service.MayBeMissing(open, 0))
    return ReplyGrace(call);
  if (result.outcome == AcquireOutcome::kDeadlock) service.waits().CountDeadlock({open});
  if (result.outcome != AcquireOutcome::kRefused)
    return call.reply.Error(RefusalText(result.outcome));
  if (service.IsHeldBack(open, {.mode = LockMode::kShared})) return ReplyGrace(call);
  call.reply.NullArray();
}

// Null: other readers are there still, and WAIT is over. One that is the writer keeps its token.
//   LOCK.ACQUIRE page a LEASE 9000 SHARED  → [TOKEN, 9000, 1, 0]
//   LOCK.UPGRADE page a                    → TOKEN
//   LOCK.UPGRADE page b                    → -NOTHELD this owner does not hold the lock
void Upgrade(CommandCall& call) {
  ArgReader args(call.args, 2);
  const std::string_view owner = ReadOwner(args);
  ModeOptions options;
  ReadOptionsOnce(args, kUpgradeOptions, options);
  if (!args.Finish()) return call.reply.Error(args.error());
  if (!call.may_wait()) options.wait_ms = 0;
  LockService& service = call.part<LockService>();
  Locks& locks = service.Enter();
  std::optional<OpenLock> lock = OpenLockAt(call, locks, 1);
  if (!lock) return;
  if (service.IsInDoubt(*lock, owner)) return ReplyGrace(call);
  const AcquireResult result =
      locks.Upgrade(*lock, owner, {ConnectionOf(call.client), options.wait_ms}, call.now);
  call.NoEffect();
  if (result.outcome == AcquireOutcome::kQueued) {
    return service.waits().Block(call, result.wait_id, EndOfWait(call, options.wait_ms));
  }
  ReplyToken(call, *lock, result);
}

// One that reads keeps its token. After `LOCK.ACQUIRE page a LEASE 9000`:
//   LOCK.DOWNGRADE page a                  → TOKEN
//   LOCK.ACQUIRE page b LEASE 9000 SHARED  → [TOKEN, 9000, 1, 0]
void Downgrade(CommandCall& call) {
  ArgReader args(call.args, 2);
  const std::string_view owner = ReadOwner(args);
  if (!args.Finish()) return call.reply.Error(args.error());
  LockService& service = call.part<LockService>();
  Locks& locks = service.Enter();
  std::optional<OpenLock> lock = OpenLockAt(call, locks, 1);
  if (!lock) return;
  if (service.IsInDoubt(*lock, owner)) return ReplyGrace(call);
  const AcquireResult result = locks.Downgrade(*lock, owner, call.now);
  call.NoEffect();
  ReplyToken(call, *lock, result);
}

// --- the table

constexpr uint16_t kChanges = kKeyRw | kKeyAccess | kKeyUpdate;

// Without kDenyOom: the holder is there already.
constexpr CommandRow kLockModesListed[] = {
    {.name = "LOCK.DOWNGRADE",
     .arity = 3,
     .flags = kNotInRedis70 | kWrite | kFast,
     .keys = KeyAt(1, kChanges),
     .run = Downgrade,
     .complexity = "O(1)",
     .usage = "key owner:string(1..1024)",
     .summary = "Be a reader of a lock that one holds alone; the reader's token.",
     .tells_of_grant = true},
    {.name = "LOCK.UPGRADE",
     .arity = -3,
     .flags = kNotInRedis70 | kWrite | kFast | kBlocking,
     .keys = KeyAt(1, kChanges),
     .run = Upgrade,
     .complexity = "O(1); O(N) with N owners and waiters that are connected, if it has to wait",
     .usage = "key owner:string(1..1024) [WAIT wait-ms:integer(0..2^46)]",
     .summary = "Be the writer of a lock that one reads; the writer's token.",
     .tells_of_grant = true},
};
constexpr auto kLockModesRows =
    RowsOf(kLockModesListed, {.categories = kCatLock, .group = "lock", .since = "0.1.0"});

}  // namespace

CommandFamily LockModesFamily() { return {"lock modes", kSpecsOf<kLockModesRows>}; }

}  // namespace sluice
