// The database family: choosing, counting, emptying and swapping whole databases.
//
// A flush takes all keys away at once. The memory of a few is freed in the same turn; that of many,
// or with ASYNC, in slices of later turns. SWAPDB moves no entry: two pointers change places.
//
//   command     event   effect
//   SELECT      none    none: the session alone changes
//   FLUSHDB     none    itself, also when nothing was there
//   FLUSHALL    none    itself, also when nothing was there
//   SWAPDB      none    itself

#include "server/commands/families.h"
#include "server/commands/shared/db_index.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/notify/tracking.h"
#include "server/snapshots/snapshots.h"

namespace sluice {
namespace {

// Only the session changes, so this is no write and nothing is logged; every effect names its
// database.
//   SELECT 99  → -ERR DB index is out of range
//   SELECT x   → -ERR value is not an integer or out of range
void Select(CommandCall& call) {
  ArgReader args(call.args);
  const int index = TakeDbNumber(args);
  if (args.failed()) return call.reply.Error(args.error());
  if (index != 0 && IsInCluster(call))
    return call.reply.Error("ERR SELECT is not allowed in cluster mode");
  ExpectDb(args, call.keyspace, index);
  if (args.failed()) return call.reply.Error(args.error());
  call.client.db = index;
  call.reply.Ok();
}

// Counts keys past their deadline whose timer has not run yet, as Redis does.
void DbSize(CommandCall& call) { call.reply.Integer(static_cast<int64_t>(call.db.size())); }

// Whether the memory is to be freed in slices afterwards; null: the error has been answered.
std::optional<bool> ReadFlushMode(CommandCall& call) {
  if (call.args.size() == 1) return call.settings.lazyfree_lazy_user_flush;
  if (call.args.size() == 2) {
    if (IsWord(call.args[1], "SYNC")) return false;
    if (IsWord(call.args[1], "ASYNC")) return true;
  }
  call.reply.Error(ErrorCode::kSyntax);
  return std::nullopt;
}

// A database without keys may still be known of, by tokens of locks that were given back. So a
// flush is always written down, as Redis does.
void SayFlushed(CommandCall& call) {
  call.part<Tracking>().AllFlushed();
  call.ChangedDatabases();
  call.ReplaceWith(call.args);
}

// The answer is OK for an empty database too. Redis sends no event for the keys that go; clients
// with tracking get one invalidation of everything.
void FlushDb(CommandCall& call) {
  const std::optional<bool> lazily = ReadFlushMode(call);
  if (!lazily) return;
  call.keyspace.Flush(call.db.index(), *lazily);
  SayFlushed(call);
  call.reply.Ok();
}

// Databases that were never selected do not exist yet, and are not made for this. With save points
// the answer comes when the snapshot of before is replaced.
void FlushAll(CommandCall& call) {
  const std::optional<bool> lazily = ReadFlushMode(call);
  if (!lazily) return;
  for (int i = 0; i < call.keyspace.databases(); ++i) {
    // Waiters and watchers of each hear of it before its keys go.
    if (call.keyspace.made(i)) call.keyspace.Flush(i, *lazily);
  }
  SayFlushed(call);
  call.part<Snapshots>().AllIsFlushed(call);
}

// The two sentences about numbers come before the one about the range. Both indexes may be the
// same, which changes nothing. Clients keep their index, and so see the other data at once.
//   SWAPDB 0 99  → -ERR DB index is out of range
//   SWAPDB a 1   → -ERR invalid first DB index
//   SWAPDB 0 b   → -ERR invalid second DB index
void SwapDb(CommandCall& call) {
  if (IsInCluster(call)) return call.reply.Error("ERR SWAPDB is not allowed in cluster mode");
  ArgReader args(call.args);
  const int first = TakeDbNumber(args, "ERR invalid first DB index");
  const int second = TakeDbNumber(args, "ERR invalid second DB index");
  for (const int index : {first, second}) ExpectDb(args, call.keyspace, index);
  if (args.failed()) return call.reply.Error(args.error());
  call.keyspace.Swap(first, second);
  call.ChangedDatabases();
  call.reply.Ok();
}

// --- the table

constexpr std::string_view kFlushTips = "request_policy:all_shards,response_policy:all_succeeded";

// They name no keys, though three of them may touch all there are.
constexpr CommandRow kDatabasesRows[] = {
    {.name = "SELECT",
     .arity = 2,
     .flags = kLoading | kStale | kFast,
     .categories = kCatConnection,
     .run = Select,
     .group = "connection",
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "index",
     .summary = "Choose the database that this connection works on."},
    {.name = "DBSIZE",
     .arity = 1,
     .flags = kReadOnly | kFast,
     .categories = kCatKeyspace,
     .run = DbSize,
     .group = "server",
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "How many keys the database has.",
     .tips = "request_policy:all_shards,response_policy:agg_sum"},
    {.name = "FLUSHDB",
     .arity = -1,
     .flags = kWrite,
     .categories = kCatKeyspace | kCatDangerous,
     .run = FlushDb,
     .group = "server",
     .since = "1.0.0",
     .complexity = "O(N) where N is the number of keys in the selected database",
     .usage = "async=[ASYNC@4.0.0 | SYNC@6.2.0]",
     .summary = "Delete all keys of this database.",
     .history = "4.0.0 `ASYNC`.|6.2.0 `SYNC`.",
     .tips = kFlushTips},
    {.name = "FLUSHALL",
     .arity = -1,
     .flags = kWrite,
     .categories = kCatKeyspace | kCatDangerous,
     .run = FlushAll,
     .group = "server",
     .since = "1.0.0",
     .complexity = "O(N) where N is the total number of keys in all databases",
     .usage = "async=[ASYNC@4.0.0 | SYNC@6.2.0]",
     .summary = "Delete all keys of all databases.",
     .history = "4.0.0 `ASYNC`.|6.2.0 `SYNC`.",
     .tips = kFlushTips},
    {.name = "SWAPDB",
     .arity = 3,
     .flags = kWrite | kFast,
     .categories = kCatKeyspace | kCatDangerous,
     .run = SwapDb,
     .group = "server",
     .since = "4.0.0",
     .complexity = "O(N) where N is the count of clients watching or blocking on keys from both "
                   "databases.",
     .usage = "index1 index2",
     .summary = "Let two databases change places under their clients."},
};

}  // namespace

CommandFamily DatabasesFamily() { return {"databases", kSpecsOf<kDatabasesRows>}; }

}  // namespace sluice
