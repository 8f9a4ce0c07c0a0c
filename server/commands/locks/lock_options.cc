// See lock_options.h.
//
// Nothing here asks the lock: whether a mode fits is decided where the holders are known.
#include "server/commands/locks/lock_options.h"

#include "server/commands/locks/lock_keys.h"
#include "server/commands/shared/option_table.h"
#include "server/config/settings.h"
#include "server/dispatch/script_state.h"
#include "server/limits/request_ids.h"
#include "server/locks/lock_connections.h"
#include "storage/locks/locks.h"

namespace sluice {
namespace {

constexpr int64_t kPriorityMax = 100;
constexpr int64_t kReplicasMax = 2147483647;  // and ms for them
static_assert(kPriorityMax * kPriorityPatienceMax <= kAheadMsMax);

// LEASE ends by itself, SESSION with the connection; a lock may have both, and ends with the later
// one.
void ReadLease(ArgReader& args, AcquireOptions& options) {
  options.terms.lease_ms = args.IntIn(kLeaseRange);
}
void ReadSession(ArgReader&, AcquireOptions& options) { options.session = true; }
void ReadWait(ArgReader& args, AcquireOptions& options) {
  options.wait_ms = args.IntIn({"WAIT", 0, kLeaseMsMax, "ms"});
}
void ReadShared(ArgReader&, AcquireOptions& options) {
  options.terms.shape.mode = LockMode::kShared;
}
void ReadPermits(ArgReader& args, AcquireOptions& options) {
  ReadPermitsOf(args, options.terms.shape);
}
// A holder that gives the lock back sooner keeps it taken until then, with no holds.
void ReadMinHold(ArgReader& args, AcquireOptions& options) {
  options.terms.minhold_ms = args.IntIn({"MINHOLD", 0, kLeaseMsMax, "ms"});
}
// Any text for people; LOCK.INFO shows it. Empty is fine.
void ReadLabel(ArgReader& args, AcquireOptions& options) {
  options.terms.label = args.Bytes();
  if (options.terms.label->size() > kLabelBytesMax) {
    args.Fail("ERR label is longer than 1024 bytes");
  }
}
// Higher goes first; a request rises by one while it waits for lock-priority-patience.
void ReadPriority(ArgReader& args, AcquireOptions& options) {
  options.priority = static_cast<int>(args.IntIn({"PRIORITY", -kPriorityMax, kPriorityMax}));
}
// So that the request can be asked again, should its answer be lost.
void ReadId(ArgReader& args, AcquireOptions& options) { options.id = ReadRequestId(args); }
// Both, so that nobody waits for ever.
void ReadReplicas(ArgReader& args, AcquireOptions& options) {
  options.replicas = static_cast<uint32_t>(args.IntIn({"REPLICAS", 1, kReplicasMax}));
  options.replicas_ms = static_cast<uint32_t>(args.IntIn({"REPLICAS", 1, kReplicasMax, "ms"}));
}
void ReadNotify(ArgReader&, AcquireOptions& options) { options.notify = true; }

// SHARED and PERMITS exclude each other: beside one the other is a syntax error.
bool HasNoMode(const AcquireOptions& options) {
  return options.terms.shape.mode == LockMode::kExclusive;
}
bool MayHavePermits(const AcquireOptions& options) {
  return !options.several && HasNoMode(options);
}

// In the order of their use.
constexpr OptionRow<AcquireOptions> kLockOptionsOptions[] = {
    {"LEASE", ReadLease},
    {"SESSION", ReadSession},
    {"WAIT", ReadWait},
    {"SHARED", ReadShared, 0, HasNoMode},
    {"PERMITS", ReadPermits, 0, MayHavePermits},
    {"MINHOLD", ReadMinHold},
    {"LABEL", ReadLabel},
    {"NOTIFY", ReadNotify},
    {"PRIORITY", ReadPriority},
    {"ID", ReadId},
    {"REPLICAS", ReadReplicas},
};

// The client whose connection counts: a script acts for its caller.
Session& CallerOf(CommandCall& call) {
  const RunningScript* const script = call.part<ScriptState>().now_running();
  return script ? *script->caller : call.client;
}

}  // namespace

// PERMITS n OF m makes the lock a semaphore: n of its m units. Both numbers are needed each time,
// so that a caller who thinks of another m is told.
void ReadPermitsOf(ArgReader& args, LockShape& shape) {
  shape.mode = LockMode::kPermits;
  shape.permits = args.IntIn({"PERMITS", 1, kPermitsMax});
  if (!args.failed() && !args.TakeWord("OF"))
    return args.Fail("ERR PERMITS needs OF and how many there are");
  shape.of = args.IntIn({"OF", 1, kPermitsMax});
  if (!args.failed() && shape.permits > shape.of) {
    args.Fail("ERR PERMITS asks for more than there are");
  }
}

// Checks the whole, too: without LEASE and SESSION a crash of the client would hold the lock for
// ever, so that is an error. NOTIFY is a push, which RESP2 has not.
void ReadAcquireOptions(CommandCall& call, ArgReader& args, AcquireOptions& options) {
  ReadOptionsOnce<kLockOptionsOptions>(args, options);
  if (args.failed()) return;
  if (options.terms.lease_ms == 0 && !options.session) {
    args.Fail("ERR a lock needs a LEASE or a SESSION");
  }
  const Session& caller = CallerOf(call);
  if (options.session) options.terms.session = ConnectionOf(caller);
  if (options.notify) options.terms.notify = ConnectionOf(caller);
  if (options.notify && caller.resp() < 3) args.Fail("ERR NOTIFY needs RESP3 (HELLO 3)");
  if (call.may_wait()) [[likely]]
    return;
  options.wait_ms = 0;
  if (options.replicas > 0) args.Fail("ERR REPLICAS cannot wait inside MULTI, a script or FENCED");
}

}  // namespace sluice
