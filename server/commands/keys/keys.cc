// The key family: what can be done with a key whatever it holds. Walking over keys (KEYS, SCAN) is
// in key_scan.cc, when they end in expiry.cc.
//
// No command here looks inside a value, with one exception: locks, whose tokens outlive their keys,
// so LockService has to hear of every deletion and every move.
//
//   command     missing key      event                    effect
//   DEL         not counted      del for each             itself
//   RENAME      an error         rename_from, rename_to   itself; of a value of ours: RecordOurs
//   MOVE        0                move_from, move_to       the same
//   COPY        0                copy_to                  the same
//   EXISTS      not counted
//   TYPE        none
//   RANDOMKEY   null, in an empty database

#include <memory>
#include <string>

#include "server/commands/families.h"
#include "server/commands/shared/db_index.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/locks/lock_service.h"

namespace sluice {
namespace {

// DEL and UNLINK, which are the same: both free a small value at once and a big one in slices of
// later turns. A key that is named twice counts once. A DEL of keys that are all missing changes
// nothing and is not logged, unless it made tokens of an earlier lock stale. After `MSET a 1 b 2`:
//   DEL a a b nothing  → 2  keys that were there
void Del(CommandCall& call) {
  int64_t deleted = 0;
  bool fenced = false;  // tokens of a lock that is no key have become stale
  for (size_t i = 1; i < call.args.size(); ++i) {
    const HashedKey key = call.Key(i);
    // Also for a name without a key: DEL of a free lock makes its last token stale.
    fenced |= call.part<LockService>().Deleted({call.db.index(), key.bytes});
    if (!call.db.Delete(key, call.now)) continue;
    call.Deleted(key.bytes);
    ++deleted;
  }
  if (fenced) call.ReplaceWith(call.args);
  call.reply.Integer(deleted);
}

// A key that is named twice counts twice, unlike in DEL. After `SET k v`:
//   EXISTS k k nothing  → 2  a key counts as often as it is named
void Exists(CommandCall& call) {
  int64_t found = 0;
  for (size_t i = 1; i < call.args.size(); ++i) {
    if (PeekToRead(call, KeyToRead(call, i))) ++found;
  }
  call.reply.Integer(found);
}

// EXISTS that marks the access. In a CLIENT NO-TOUCH connection it still does not. After `SET a 1`:
//   TOUCH a a nothing  → 2
void Touch(CommandCall& call) {
  int64_t found = 0;
  for (size_t i = 1; i < call.args.size(); ++i) {
    if (LookUpToRead(call, KeyToRead(call, i))) ++found;
  }
  call.reply.Integer(found);
}

// A status reply. A missing key is "none", not null.
void Type(CommandCall& call) {
  const Entry* const entry = PeekToRead(call, call.Key(1));
  call.reply.Status(entry ? TypeName(entry->type()) : "none");
}

// A key that chance picks may be dead and unremovable (CLIENT PAUSE). After so many of those the
// first live one of a walk is as good.
constexpr int kRandomTries = 100;

// Every key is about equally likely. A key past its deadline is removed and another is drawn.
void RandomKey(CommandCall& call) {
  for (int i = 0; i < kRandomTries; ++i) {
    const Entry* const entry = call.db.RandomEntry(call.random);
    if (!entry) return call.reply.Null();
    if (!entry->Expired(call.now)) return call.reply.Bulk(entry->key());
    call.db.Find(call.keyspace.Hash(entry->key()), call.now);  // removes it
  }
  const Entry* live = nullptr;
  call.db.ForEach([&](const Entry& entry) {
    if (!live && !entry.Expired(call.now)) live = &entry;
  });
  live ? call.reply.Bulk(live->key()) : call.reply.Null();
}

// --- RENAME, MOVE, COPY

// Whether a redis-server that follows has a value there.
bool IsHeldByRedis(const Entry* entry) { return entry && !IsOurs(entry->type()); }

// The request has put a value under `key` of `in` that no Redis can hold. One that follows would
// find nothing to rename or to copy, and keep what it had there: `over_redis`.
void RecordOurs(CommandCall& call, const Database& in, HashedKey key, bool over_redis) {
  if (over_redis) call.StepForRedis(in, {"DEL", key.bytes});
  call.ReplaceForSluice(call.args);
}

// How a renaming ended. The two commands give different answers for the same end.
enum class Renamed : uint8_t { kYes, kSameName, kTaken, kNoSource };

// The source is looked up first: RENAME nokey nokey is an error, RENAME k k is OK. The deadline
// goes along with the value, the target's own value and deadline are lost, and Redis sends no `del`
// for it. O(1). kNoSource has been answered, the others not.
Renamed RenameKey(CommandCall& call, bool overwrite) {
  const HashedKey from = call.Key(1);
  const HashedKey to = call.Key(2);
  const Entry* const source = LookUp(call, from);
  if (!source) {
    call.reply.Error(ErrorCode::kNoSuchKey);
    return Renamed::kNoSource;
  }
  if (from.bytes == to.bytes) return Renamed::kSameName;
  const bool is_ours = IsOurs(source->type());
  const Entry* const target = LookUp(call, to);
  if (target && !overwrite) return Renamed::kTaken;
  if (is_ours) RecordOurs(call, call.db, to, IsHeldByRedis(target));
  call.keyspace.Rename(call.db, from, call.db, to, call.now);
  // A lock does not move: its holders lose it.
  call.part<LockService>().Moved(call.db, to);
  call.Changed(kNotifyGeneric, "rename_from", from.bytes);
  call.Changed(kNotifyGeneric, "rename_to", to.bytes);
  return Renamed::kYes;
}

// After `SET a 1`:
//   RENAME nothing a  → -ERR no such key
//   RENAME a a        → OK  passes, and changes nothing
//   RENAMENX a a      → 0
void Rename(CommandCall& call) {
  if (RenameKey(call, true) != Renamed::kNoSource) call.reply.Ok();
}

// The same name counts as taken: 0.
void RenameNx(CommandCall& call) {
  const Renamed renamed = RenameKey(call, false);
  if (renamed != Renamed::kNoSource) call.reply.Integer(renamed == Renamed::kYes);
}

// 0 for a missing source and for a key that is there in the other database; nothing is overwritten.
// The same database is an error, told before the keys are looked at. After `SET a 1`:
//   MOVE a 0        → -ERR source and destination objects are the same
//   MOVE a 99       → -ERR DB index is out of range
//   MOVE nothing 1  → 0
void Move(CommandCall& call) {
  if (IsInCluster(call)) return call.reply.Error("ERR MOVE is not allowed in cluster mode");
  ArgReader args(call.args, 2);
  const int target = TakeDb(args, call.keyspace);
  if (args.failed()) return call.reply.Error(args.error());
  if (target == call.db.index()) return call.reply.Error(ErrorCode::kSameObject);
  const HashedKey key = call.Key(1);
  Database& to = call.keyspace.db(target);
  const Entry* const source = LookUp(call, key);
  if (!source) return call.reply.Integer(0);
  const bool is_ours = IsOurs(source->type());
  if (to.Find(key, call.now)) return call.reply.Integer(0);
  if (is_ours) RecordOurs(call, to, key, /*over_redis=*/false);
  call.keyspace.MoveEntry(call.db, key, to, call.now);
  call.part<LockService>().Moved(to, key);
  call.Changed(kNotifyGeneric, "move_from", key.bytes);
  call.Changed(kNotifyGeneric, "move_to", key.bytes, to);
  call.reply.Integer(1);
}

// DB and REPLACE in any order, each any number of times; the last DB counts.
struct CopyOptions {
  const Keyspace& keyspace;
  int target_db;
  bool replace = false;
};

// COPY source destination [DB index] [REPLACE].
constexpr OptionRow<CopyOptions> kCopyOptions[] = {
    {"REPLACE", kRaise<&CopyOptions::replace>},
    {"DB",
     [](ArgReader& args, CopyOptions& options) {
       options.target_db = TakeDb(args, options.keyspace);
     },
     1},
};

// Each form of a value is copied as it is, so that OBJECT ENCODING tells the same of the copy.
// Cost: O(bytes of the value), in one piece.
void PutCopy(const Entry& source, Database& to, HashedKey key, const Now& now) {
  const Deadline deadline = source.deadline();
  if (!source.is_string() && source.is_packed()) {
    to.PutPacked(key, source.type(), source.packed(), deadline, now);
  } else if (!source.is_string()) {
    to.PutValue(key, source.value().Clone(), deadline, now);
  } else if (source.is_integer()) {
    to.PutInteger(key, source.integer(), deadline, now);
  } else {
    char scratch[Entry::kTextScratch];
    Entry* copy = &to.PutTextAsIs(key, source.Text(scratch), deadline, now);
    if (!source.is_raw() || copy->is_raw()) return;
    to.MutableText(copy);  // OBJECT ENCODING says "raw" of a copy too
    to.TextChanged(*copy);
  }
}

// The copy has the source's deadline. Same key and same database is an error even for a missing
// key. After `SET a 1 EX 100`:
//   COPY a b          → 1
//   TTL b             → 100  the time is copied too
//   COPY a b          → 0
//   COPY a b REPLACE  → 1
//   COPY a a          → -ERR source and destination objects are the same
void Copy(CommandCall& call) {
  ArgReader args(call.args, 3);
  CopyOptions options{call.keyspace, call.db.index()};
  ReadOptions(args, kCopyOptions, options);
  if (args.failed()) return call.reply.Error(args.error());
  if (options.target_db != call.db.index() && IsInCluster(call)) {
    return call.reply.Error("ERR Copying to another database is not allowed in cluster mode");
  }
  if (options.target_db == call.db.index() && call.args[1] == call.args[2]) {
    return call.reply.Error(ErrorCode::kSameObject);
  }
  Database& to = call.keyspace.db(options.target_db);
  const HashedKey key = call.Key(2);
  // The target first: looking for it may remove it, and the source must stay where it was found.
  const Entry* const taken = to.Find(key, call.now);
  const Entry* const source = LookUpToRead(call, call.Key(1));
  if (!source || (taken && !options.replace)) return call.reply.Integer(0);
  // The copy would have no holder, and a lock without a holder is no key.
  if (source->type() == ValueType::kLock) return call.reply.Integer(0);
  if (IsOurs(source->type())) RecordOurs(call, to, key, IsHeldByRedis(taken));
  const bool was_taken = taken != nullptr;
  PutCopy(*source, to, key, call.now);
  if (was_taken)
    call.Notify(kNotifyNew, "new", key.bytes, to);  // as the one that was there is gone
  call.Changed(kNotifyGeneric, "copy_to", key.bytes, to);
  call.reply.Integer(1);
}

// --- the table

constexpr std::string_view kPerKeyTips = "request_policy:multi_shard,response_policy:agg_sum";

// DEL and UNLINK have the same handler and differ in kFast, which is Redis's word for UNLINK's
// promise.
constexpr CommandRow kKeysListed[] = {
    {.name = "DEL",
     .arity = -2,
     .flags = kWrite,
     .keys = KeyRange(1, -1, 1, kKeyRm | kKeyDelete),
     .run = Del,
     .since = "1.0.0",
     .complexity = "O(N) where N is the number of keys that will be removed. When a key to remove "
                   "holds a value other than a string, the individual complexity for this key is "
                   "O(M) where M is the number of elements in the list, set, sorted set or hash. "
                   "Removing a single key that holds a string value is O(1).",
     .usage = "key [key ...]",
     .summary = "Delete keys; how many there were.",
     .tips = kPerKeyTips},
    {.name = "UNLINK",
     .arity = -2,
     .flags = kWrite | kFast,
     .keys = KeyRange(1, -1, 1, kKeyRm | kKeyDelete),
     .run = Del,
     .since = "4.0.0",
     .complexity = "O(1) for each key removed regardless of its size. Then the command does O(N) "
                   "work in a different thread in order to reclaim memory, where N is the number "
                   "of allocations the deleted objects where composed of.",
     .usage = "key [key ...]",
     .summary = "Delete keys without waiting for their memory; how many there were.",
     .tips = kPerKeyTips},
    {.name = "EXISTS",
     .arity = -2,
     .flags = kReadOnly | kFast,
     .keys = KeyRange(1, -1, 1, kKeyRo),
     .run = Exists,
     .since = "1.0.0",
     .complexity = "O(N) where N is the number of keys to check.",
     .usage = "key [key ...]",
     .summary = "How many of the keys exist; one named twice counts twice.",
     .history = "3.0.3 Several keys at once.",
     .tips = kPerKeyTips},
    {.name = "TYPE",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo),
     .run = Type,
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "What type of value a key holds, or none."},
    {.name = "RANDOMKEY",
     .arity = 1,
     .flags = kReadOnly,
     .run = RandomKey,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Some key of the database, each as likely as any other.",
     .tips = "request_policy:all_shards,nondeterministic_output"},
    {.name = "RENAME",
     .arity = 3,
     .flags = kWrite,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete) + KeyAt(2, kKeyOw | kKeyUpdate),
     .run = Rename,
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "key newkey",
     .summary = "Give a key another name, over whatever has that name."},
    {.name = "RENAMENX",
     .arity = 3,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete) + KeyAt(2, kKeyOw | kKeyInsert),
     .run = RenameNx,
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "key newkey",
     .summary = "Give a key another name if that is free; 1 or 0.",
     .history = "3.2.0 A key may be renamed to its own name."},
    {.name = "COPY",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(1, kKeyRo | kKeyAccess) + KeyAt(2, kKeyOw | kKeyUpdate),
     .run = Copy,
     .since = "6.2.0",
     .complexity = "O(N) worst case for collections, where N is the number of nested items. O(1) "
                   "for string values.",
     .usage = "source destination [DB destination-db] [REPLACE]",
     .summary = "Store a copy of a value, with its time to live, under another name."},
    {.name = "MOVE",
     .arity = 3,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = Move,
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "key db",
     .summary = "Take a key to another database, if its name is free there; 1 or 0."},
    {.name = "TOUCH",
     .arity = -2,
     .flags = kReadOnly | kFast,
     .keys = KeyRange(1, -1, 1, kKeyRo),
     .run = Touch,
     .since = "3.2.1",
     .complexity = "O(N) where N is the number of keys that will be touched.",
     .usage = "key [key ...]",
     .summary = "Mark keys as used just now; how many there are.",
     .tips = kPerKeyTips},
};
constexpr auto kKeysRows = RowsOf(kKeysListed, {.categories = kCatKeyspace, .group = "generic"});

}  // namespace

CommandFamily KeysFamily() { return {"keys", kSpecsOf<kKeysRows>}; }

}  // namespace sluice
