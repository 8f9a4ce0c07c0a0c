// The transaction family: MULTI queues commands (the dispatcher does that), EXEC runs them with
// nothing in between, WATCH makes EXEC depend on keys that no other client has changed meanwhile.
//
// EXEC may carry conditions of its own (Valkey 9.2): EXEC [IFEQ key value | IFNE key value | NX key
// | XX key] ... All must hold, else the transaction is discarded and the answer is null, as after a
// broken WATCH. Words that are none of these discard it too, with EXECABORT, as Redis does for a
// wrong number of arguments; so does a value of the wrong type, with WRONGTYPE.
//
// A command that fails inside EXEC does not stop those behind it: there is no rolling back, as in
// Redis. A command that could not be queued (unknown, wrong arity) fails the whole transaction with
// EXECABORT.
//
//   > WATCH stock
//   > MULTI
//   > DECR stock
//   < QUEUED
//   > EXEC
//   < 1) (integer) 9        or null, if stock was touched since WATCH

#include <memory>
#include <utility>
#include <vector>

#include "protocol/limits.h"
#include "protocol/text/concat.h"
#include "server/clients/clients.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/shared/value_condition.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/transaction.h"

namespace sluice {
namespace {

// A transaction's record may be there already: WATCH makes it.
//   MULTI    → OK
//   MULTI    → -ERR MULTI calls can not be nested
//   WATCH a  → -ERR WATCH inside MULTI is not allowed
//   DISCARD  → OK
//   DISCARD  → -ERR DISCARD without MULTI
void Multi(CommandCall& call) {
  Session& client = call.client;
  if (client.in_multi()) return call.reply.Error("ERR MULTI calls can not be nested");
  if (!client.rare->transaction) client.rare.Make().transaction = std::make_unique<Transaction>();
  client.conditions |= kInMulti;
  call.reply.Ok();
}

// Forgets the queue and every WATCH.
void Discard(CommandCall& call) {
  if (!call.client.in_multi()) return call.reply.Error("ERR DISCARD without MULTI");
  EndTransaction(call.client, call.part<WatchTable>());
  call.reply.Ok();
}

// --- WATCH

// A key that is missing is watched too: making it breaks the WATCH. A key that is past its deadline
// counts as missing from the start. O(keys).
void Watch(CommandCall& call) {
  Session& client = call.client;
  if (client.in_multi()) return call.reply.Error("ERR WATCH inside MULTI is not allowed");
  // Once EXEC is going to fail, more keys make no difference.
  const bool lost = client.rare->transaction && TransactionOf(client)->dirty;
  const size_t watched = client.rare->transaction ? TransactionOf(client)->watched.size() : 0;
  if (!lost && watched + call.args.size() - 1 > kWatchedKeysMax) {
    return call.reply.Error(Concat("ERR a client watches at most ", kWatchedKeysMax, " keys"));
  }
  for (size_t i = 1; i < call.args.size() && !lost; ++i) {
    const bool missing = !call.db.Find(call.Key(i), call.now);
    call.part<WatchTable>().Watch(client, call.db.index(), call.args[i], missing);
  }
  call.reply.Ok();
}

// Inside MULTI it is queued; then there is nothing left to forget when it runs.
void Unwatch(CommandCall& call) {
  EndTransaction(call.client, call.part<WatchTable>());
  call.reply.Ok();
}

// --- EXEC

// A condition of EXEC: on one key, in the words of SET.
struct KeyCondition {
  size_t key_at;  // in the arguments
  ValueCondition condition;
};

using KeyConditions = std::vector<KeyCondition>;

// "IFEQ key value", "NX key": for one more key.
template <ValueCondition::Kind kKind>
void ReadKeyCondition(ArgReader& args, KeyConditions& conditions) {
  KeyCondition& wanted = conditions.emplace_back();
  wanted.condition.kind = kKind;
  wanted.key_at = args.position();
  args.Bytes();
  if (wanted.condition.compares()) wanted.condition.operand = args.Bytes();
}

// EXEC [IFEQ key value | IFNE key value | NX key | XX key] ..., as many as are wanted.
constexpr OptionRow<KeyConditions> kConditions[] = {
    {"IFEQ", ReadKeyCondition<ValueCondition::Kind::kEqual>, 2},
    {"IFNE", ReadKeyCondition<ValueCondition::Kind::kNotEqual>, 2},
    {"NX", ReadKeyCondition<ValueCondition::Kind::kMissing>, 1},
    {"XX", ReadKeyCondition<ValueCondition::Kind::kPresent>, 1},
};

// False when some words are no condition. Keys are kept by their place, since their hashes are made
// only if they are looked at.
bool ReadConditions(Args arguments, KeyConditions& conditions) {
  ArgReader args(arguments);
  ReadOptions(args, kConditions, conditions);
  return !args.failed();
}

// For ACLs and COMMAND GETKEYS. False: the words make no sense, so no key is known.
bool FindConditionKeys(const Request& request, std::vector<KeyUse>& keys) {
  std::vector<KeyCondition> conditions;
  if (!ReadConditions(request.args, conditions)) return false;
  for (const KeyCondition& wanted : conditions) {
    keys.push_back({static_cast<int>(wanted.key_at), kKeyRo | kKeyAccess});
  }
  return true;
}

// Looks at the conditions in the order in which they stand: the first one that fails decides the
// answer. False: the reason why not has been answered.
bool ConditionsHold(CommandCall& call, const std::vector<KeyCondition>& conditions) {
  for (const KeyCondition& wanted : conditions) {
    const Entry* const entry = LookUpToRead(call, call.Key(wanted.key_at));
    if (wanted.condition.compares() && !IsTextOrMissing(call, entry)) return false;
    if (wanted.condition.Holds(entry)) continue;
    call.reply.NullArray();
    return false;
  }
  return true;
}

// Whether the queue may run; if not, the reason has been answered. The order: the grammar (as in
// Redis it comes first even outside of MULTI), a command that could not be queued, WATCH, the
// conditions. A watched key whose deadline has passed meanwhile counts as changed.
bool MayExecute(CommandCall& call) {
  std::vector<KeyCondition> conditions;
  if (!ReadConditions(call.args, conditions)) {
    call.reply.Error("EXECABORT Transaction discarded because of: invalid check condition syntax");
    return false;
  }
  if (!call.client.in_multi()) {
    call.reply.Error("ERR EXEC without MULTI");
    return false;
  }
  const Transaction& transaction = *TransactionOf(call.client);
  // Asked before the error, as Redis looks for expired keys first.
  const bool expired = call.part<WatchTable>().AnyExpired(call.client);
  if (transaction.failed) {
    call.reply.Error(ErrorCode::kExecAbort);
    return false;
  }
  if (transaction.dirty || expired) {
    call.reply.NullArray();
    return false;
  }
  return ConditionsHold(call, conditions);
}

// The rules of its user may have changed since it was queued. False: that has been answered.
bool MayStillRun(CommandCall& call, const QueuedCommand& queued) {
  AccessGate& gate = call.part<AccessGate>();
  const Verdict verdict = gate.CheckAndRecord(call.client, queued.request());
  if (verdict.allowed()) [[likely]]
    return true;
  std::string_view reason = "no permission to touch the specified keys";
  if (verdict.denial == Denial::kCommand)
    reason = "no permission to execute the command or subcommand";
  if (verdict.denial == Denial::kChannel) {
    reason = "no permission to access one of the channels used as arguments";
  }
  call.reply.Error(
      Concat("NOPERM ACLs rules changed between the moment the transaction was accumulated and the "
             "EXEC call. This command is no longer allowed for the following reason: ",
             reason));
  return false;
}

// Replies follow the array's header one by one. EXEC itself has no effect: each command tells its
// own, and they become one group.
void RunQueue(CommandCall& call, const std::vector<QueuedCommand>& queue) {
  call.reply.Array(queue.size());
  for (const QueuedCommand& queued : queue) {
    if (!MayStillRun(call, queued)) continue;
    call.part<Dispatcher>().Run(call.client, queued.request(), call.reply);
  }
  call.NoEffect();
}

// Pushes that come up while the queue runs (messages, invalidations) would stand inside the array,
// so they are gathered and sent behind it. A fault of queueing: nothing runs.
//   MULTI     → OK
//   SET a b   → QUEUED
//   INCR a    → QUEUED
//   NOSUCH    → -ERR unknown command 'NOSUCH', with args beginning with:
//   EXEC      → -EXECABORT Transaction discarded because of previous errors.
//   EXISTS a  → 0
// A fault of running: the rest runs all the same.
//   MULTI     → OK
//   SET a b   → QUEUED
//   INCR a    → QUEUED
//   EXEC      → [OK, -ERR value is not an integer or out of range]
void Exec(CommandCall& call) {
  Session& client = call.client;
  const bool may_execute = MayExecute(call);
  if (!client.in_multi()) return;
  // The session leaves MULTI first: what runs now is no longer queued, and watches nothing. It only
  // shows still, in CLIENT LIST.
  call.part<WatchTable>().UnwatchAll(client);
  // From here until it is taken away the session counts as in_exec().
  client.rare.Make().pushes_after_exec = std::make_unique<std::string>();
  client.conditions &= ~kInMulti;
  if (may_execute) RunQueue(call, TransactionOf(client)->queue);
  client.rare.Make().transaction.reset();
  const std::unique_ptr<std::string> pushes = std::move(client.rare.Make().pushes_after_exec);
  if (!pushes->empty()) call.part<Clients>().Push(client, {*pushes});
}

// --- the table

constexpr uint32_t kOpen = kNoScript | kLoading | kStale | kFast | kAllowBusy;

// kNotQueued: these run inside MULTI instead of being queued. UNWATCH is queued, as in Redis.
constexpr CommandRow kTransactionsRows[] = {
    {.name = "MULTI",
     .arity = 1,
     .flags = kOpen | kNotQueued,
     .categories = kCatTransaction,
     .run = Multi,
     .group = "transactions",
     .since = "1.2.0",
     .complexity = "O(1)",
     .summary = "Begin to queue commands for EXEC."},
    {.name = "EXEC",
     .arity = -1,
     .flags = kNoScript | kLoading | kStale | kSkipSlowlog | kNotQueued | kEndsMulti,
     .categories = kCatTransaction,
     .run = Exec,
     .group = "transactions",
     .since = "1.2.0",
     .complexity = "Depends on commands in the transaction",
     .usage = "condition=[IFEQ key value | IFNE key value | NX key | XX key ...]",
     .summary = "Run the queued commands at once, if keys are as they should be.",
     .find_keys = FindConditionKeys},
    {.name = "DISCARD",
     .arity = 1,
     .flags = kOpen | kNotQueued,
     .categories = kCatTransaction,
     .run = Discard,
     .group = "transactions",
     .since = "2.0.0",
     .complexity = "O(N), when N is the number of queued commands",
     .summary = "Forget the queued commands and the watched keys."},
    {.name = "WATCH",
     .arity = -2,
     .flags = kOpen | kNotQueued,
     .categories = kCatTransaction,
     .keys = KeyRange(1, -1, 1, kKeyRo),
     .run = Watch,
     .group = "transactions",
     .since = "2.2.0",
     .complexity = "O(1) for every key.",
     .usage = "key [key ...]",
     .summary = "Let the next EXEC do nothing if one of these keys is changed before it."},
    {.name = "UNWATCH",
     .arity = 1,
     .flags = kOpen,
     .categories = kCatTransaction,
     .run = Unwatch,
     .group = "transactions",
     .since = "2.2.0",
     .complexity = "O(1)",
     .summary = "Forget the watched keys."},
};

}  // namespace

CommandFamily TransactionsFamily() { return {"transactions", kSpecsOf<kTransactionsRows>}; }

}  // namespace sluice
