// The string family: whole values, written and read. SET in all its forms, with NX, XX and the
// comparisons of Redis 8.4 as conditions; GET and its forms that also delete, replace or expire.
//
// Plain SET and GET, and SET NX PX, are the hottest paths of the server: no allocation beyond the
// entry, and no look-up that the answer does not need.
//
//   command        missing key   event                effect
//   SET            made          set, expire          itself; with a time, GET, KEEPTTL or a
//                                                     comparison the SET that stands for it
//   SETNX          made          set                  itself
//   SETEX PSETEX   made          set, expire          SET key value PXAT ms
//   GETSET         made, null    set                  SET key value
//   GETDEL         null          del                  DEL key
//   GETEX          null          expire or persist    PEXPIREAT, DEL or PERSIST

#include <algorithm>

#include "absl/base/attributes.h"
#include "protocol/text/letters.h"
#include "server/commands/families.h"
#include "server/commands/shared/expiry_args.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/shared/value_condition.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// --- SET

// One condition and one expiry at most; a second one of another kind is a syntax error, as in
// Redis.
struct SetOptions {
  ValueCondition condition;
  ExpiryArg expiry;
  bool get = false;
};

// SET lock token NX PX 30000 is the most frequent form with options, so its words come first.
constexpr OptionRow<SetOptions> kSetOptions[] = {
    kConditionRow<SetOptions, ValueCondition::Kind::kMissing>,
    kExpiryRow<SetOptions, ExpiryKind::kPx>,
    kExpiryRow<SetOptions, ExpiryKind::kEx>,
    kConditionRow<SetOptions, ValueCondition::Kind::kPresent>,
    {"GET", kRaise<&SetOptions::get>},
    kExpiryRow<SetOptions, ExpiryKind::kKeepTtl>,
    kExpiryRow<SetOptions, ExpiryKind::kExat>,
    kExpiryRow<SetOptions, ExpiryKind::kPxat>,
    kConditionRow<SetOptions, ValueCondition::Kind::kEqual>,
    kConditionRow<SetOptions, ValueCondition::Kind::kNotEqual>,
    kConditionRow<SetOptions, ValueCondition::Kind::kDigest>,
    kConditionRow<SetOptions, ValueCondition::Kind::kNotDigest>,
};

// For ACL and COMMAND GETKEYSANDFLAGS: plain SET overwrites without looking; GET and the
// comparisons read, and need that permission too. As in Redis a word counts wherever it stands:
// `SET k v EX get` is refused for its key before it is for its number.
uint16_t SetKeyFlags(const Request& request) {
  constexpr std::string_view kLooking[] = {"GET", "IFEQ", "IFNE", "IFDEQ", "IFDNE"};
  const bool looks = std::ranges::any_of(request.args.subspan(3), [&](std::string_view word) {
    return std::ranges::any_of(kLooking,
                               [&](std::string_view it) { return IsSameInAnyCase(word, it); });
  });
  return looks ? kKeyRw | kKeyAccess | kKeyUpdate : kKeyOw | kKeyUpdate;
}

// Records the outcome of a SET whose arguments would not say it again at another time or in another
// state. Plain SET and SET NX that succeeded are their own effect. XX and NX hold in a replay as
// well, since the state before it is the same; but over a value of ours XX does not hold on a
// redis-server that follows.
void RecordSet(CommandCall& call, const SetOptions& options, Deadline deadline, bool over_ours) {
  if (!call.wants_effects()) return;
  const std::string_view key = call.args[1];
  const std::string_view value = call.args[2];
  if (options.expiry.kind == ExpiryKind::kKeepTtl) {
    ReplaceWithSetKeeping(call, key, value, deadline, over_ours);
  } else if (options.expiry.timed() || options.get || options.condition.compares() || over_ours) {
    ReplaceWithSet(call, key, value, deadline);
  }
}

// The order of Redis: syntax, then the expiry's number, then the type (only with GET or a
// comparison: otherwise SET overwrites any type), then the condition. With GET the old value is the
// answer, whether or not the condition held; without it a condition that failed is null. A new
// value ends the old time to live unless KEEPTTL is given. After `SET k 1`:
//   SET k 2 NX             → nil  k is there
//   SET k 2 NX GET         → "1"  what was there, so nothing was put
//   SET k 2 XX KEEPTTL     → OK
//   SET k 3 EX 0           → -ERR invalid expire time in 'set' command
//   SET k 3 EX 10 KEEPTTL  → -ERR syntax error
ABSL_ATTRIBUTE_NOINLINE void SetWithOptions(CommandCall& call) {
  ArgReader args(call.args, 3);
  SetOptions options;
  ReadOptions<kSetOptions>(args, options);
  if (args.failed()) return call.reply.Error(args.error());
  Deadline deadline;
  if (options.expiry.timed() && !ReadDeadline(call, options.expiry, deadline)) return;

  const HashedKey key = call.Key(1);
  const bool keep_ttl = options.expiry.kind == ExpiryKind::kKeepTtl;
  bool over_ours = false;
  // Nothing else makes a plain SET look at what is there.
  if (options.get || keep_ttl || options.condition.kind != ValueCondition::Kind::kNone) {
    const Entry* const old = options.get ? LookUpToRead(call, key) : LookUp(call, key);
    if ((options.get || options.condition.compares()) && !IsTextOrMissing(call, old)) return;
    if (!options.condition.OperandIsSound()) return call.reply.Error(kDigestFault);
    const bool holds = options.condition.Holds(old);
    if (options.get) {
      old ? ReplyText(call, *old) : call.reply.Null();
    } else if (!holds) {
      call.reply.Null();
    }
    if (!holds) return;
    if (keep_ttl && old) deadline = old->deadline();
    over_ours = old && IsOurs(old->type());
    PutArgumentOver(call, old, key, call.args[2], deadline);
  } else {
    PutArgument(call, key, call.args[2], deadline);
  }
  SaySet(call, key, options.expiry.timed());
  RecordSet(call, options, deadline, over_ours);
  if (!options.get) call.reply.Ok();
}

// No look-up before the write: nothing has to be known about what is there.
void Set(CommandCall& call) {
  if (call.args.size() > 3) return SetWithOptions(call);
  const HashedKey key = call.Key(1);
  PutArgument(call, key, call.args[2], Deadline::None());
  SaySet(call, key, false);
  call.reply.Ok();
}

// Any type counts as present: SETNX on a list is 0, not WRONGTYPE.
void SetNx(CommandCall& call) {
  const HashedKey key = call.Key(1);
  if (LookUp(call, key)) return call.reply.Integer(0);
  PutArgumentOver(call, nullptr, key, call.args[2], Deadline::None());
  SaySet(call, key, false);
  call.reply.Integer(1);
}

// SETEX and PSETEX: key, time, value. The time is checked before the key. The effect is SET with
// PXAT, since a relative time does not bear a replay.
//   SETEX k 0 v    → -ERR invalid expire time in 'setex' command
//   SETEX k ten v  → -ERR value is not an integer or out of range
void SetTimed(CommandCall& call, ExpiryKind kind) {
  Deadline deadline;
  if (!ReadDeadline(call, {kind, call.args[2]}, deadline)) return;
  const HashedKey key = call.Key(1);
  PutArgument(call, key, call.args[3], deadline);
  SaySet(call, key, true);
  ReplaceWithSet(call, call.args[1], call.args[3], deadline);
  call.reply.Ok();
}
void SetEx(CommandCall& call) { SetTimed(call, ExpiryKind::kEx); }
void PSetEx(CommandCall& call) { SetTimed(call, ExpiryKind::kPx); }

// --- GET

// Answers with the string at `key`, or null. Null result: missing, or of another type and refused.
inline const Entry* GetText(CommandCall& call, const HashedKey& key) {
  const Entry* const entry = LookUpToRead(call, key);
  if (!entry) [[unlikely]] {
    call.reply.Null();
    return nullptr;
  }
  if (!IsTextOrMissing(call, entry)) return nullptr;
  ReplyText(call, *entry);
  return entry;
}

// After `RPUSH l a`:
//   GET l        → -WRONGTYPE ...
//   GET nothing  → nil
void Get(CommandCall& call) { GetText(call, call.Key(1)); }

// Only strings: another type is an error and stays. The effect and the event are those of DEL.
void GetDel(CommandCall& call) {
  const HashedKey key = call.Key(1);
  if (!GetText(call, key)) return;
  DeleteAsEffect(call, key);
}

// SET with GET in its old form: the time to live ends; null for a new key. After `SET k v EX 100`:
//   GETSET k w  → "v"
//   TTL k       → -1  the time is gone
void GetSet(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const Entry* const old = LookUpToRead(call, key);
  if (!IsTextOrMissing(call, old)) return;
  old ? ReplyText(call, *old) : call.reply.Null();
  PutArgumentOver(call, old, key, call.args[2], Deadline::None());
  SaySet(call, key, false);
  call.ReplaceWith({"SET", call.args[1], call.args[2]});
}

// GETEX: a read that may also move the deadline. KEEPTTL is none of its words, PERSIST is.
struct GetExOptions {
  ExpiryArg expiry;
};

// GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST]
constexpr OptionRow<GetExOptions> kGetExOptions[] = {
    kExpiryRow<GetExOptions, ExpiryKind::kEx>,      kExpiryRow<GetExOptions, ExpiryKind::kPx>,
    kExpiryRow<GetExOptions, ExpiryKind::kExat>,    kExpiryRow<GetExOptions, ExpiryKind::kPxat>,
    kExpiryRow<GetExOptions, ExpiryKind::kPersist>,
};

// Syntax comes first, then the key, then the time: a missing key is null even with EX 0. Without an
// option nothing changes and nothing is logged; PERSIST of a key without an end is no change
// either. A past EXAT deletes the key, after its value has been answered. After `SET k v EX 100`:
//   GETEX k PERSIST  → "v"
//   GETEX k EX 0     → -ERR invalid expire time in 'getex' command
//   GETEX k EXAT 1   → "v"  a time that has passed
//   EXISTS k         → 0    took the key along
void GetEx(CommandCall& call) {
  ArgReader args(call.args, 2);
  GetExOptions options;
  ReadOptions(args, kGetExOptions, options);
  const ExpiryArg& expiry = options.expiry;
  if (args.failed()) return call.reply.Error(args.error());

  const HashedKey key = call.Key(1);
  const Entry* const entry = LookUpToRead(call, key);
  if (!entry) return call.reply.Null();
  if (!IsTextOrMissing(call, entry)) return;
  Deadline deadline;
  if (expiry.timed() && !ReadDeadline(call, expiry, deadline)) return;
  ReplyText(call, *entry);
  if (expiry.timed()) {
    EndKeyAt(call, key, *entry, deadline);
  } else if (expiry.kind == ExpiryKind::kPersist && entry->is_volatile()) {
    call.db.SetDeadline(call.db.Modify(*entry, call.now), Deadline::None());
    call.Changed(kNotifyGeneric, "persist", key.bytes);
    call.ReplaceWith({"PERSIST", key.bytes});
  }
}

// --- the table

constexpr uint32_t kWriteMore = kWrite | kDenyOom;

// Flags are Redis's, as COMMAND INFO shows them: kDenyOom for a write that may take more memory,
// kFast for GET and for what only sets or ends a small thing.
constexpr CommandRow kStringsListed[] = {
    {.name = "GET",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = Get,
     .since = "1.0.0",
     .usage = "key",
     .summary = "The string a key holds, or null when there is none."},
    {.name = "SET",
     .arity = -3,
     .flags = kWriteMore | kTimedInRuns,
     .keys =
         KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate | kKeyVariableFlags, "with `GET` it reads, too"),
     .run = Set,
     .since = "1.0.0",
     .usage = "key value [NX | XX | IFEQ ifeq-value@8.4.0 | IFNE ifne-value@8.4.0 | IFDEQ "
              "ifdeq-digest@8.4.0 | IFDNE ifdne-digest@8.4.0]@2.6.12 [GET@6.2.0] [EX "
              "seconds@2.6.12 | PX milliseconds@2.6.12 | EXAT unix-time-seconds@6.2.0 | PXAT "
              "unix-time-milliseconds@6.2.0 | KEEPTTL@6.0.0]",
     .summary = "Store a string, on a condition if wanted, and say when it ends.",
     .history =
         "2.6.12 Added the `EX`, `PX`, `NX` and `XX` options.|6.0.0 Added the `KEEPTTL` option.|"
         "6.2.0 Added the `GET`, `EXAT` and `PXAT` option.|"
         "7.0.0 Allowed the `NX` and `GET` options to be used together.|"
         "8.4.0 Added the `IFEQ`, `IFNE`, `IFDEQ` and `IFDNE` options.",
     .key_flags = SetKeyFlags},
    {.name = "SETNX",
     .arity = 3,
     .flags = kWriteMore | kFast,
     .keys = KeyAt(1, kKeyOw | kKeyInsert),
     .run = SetNx,
     .since = "1.0.0",
     .usage = "key value",
     .summary = "Store a string if the key is free; 1 or 0."},
    {.name = "SETEX",
     .arity = 4,
     .flags = kWriteMore | kTimedInRuns,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate),
     .run = SetEx,
     .since = "2.0.0",
     .usage = "key seconds value",
     .summary = "Store a string that ends after so many seconds."},
    {.name = "PSETEX",
     .arity = 4,
     .flags = kWriteMore | kTimedInRuns,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate),
     .run = PSetEx,
     .since = "2.6.0",
     .usage = "key milliseconds value",
     .summary = "Store a string that ends after so many milliseconds."},
    {.name = "GETSET",
     .arity = 3,
     .flags = kWriteMore | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = GetSet,
     .since = "1.0.0",
     .usage = "key value",
     .summary = "Store a string and answer with the one it replaces.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`SET` with the `!GET` argument"},
    {.name = "GETDEL",
     .arity = 2,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = GetDel,
     .since = "6.2.0",
     .usage = "key",
     .summary = "Answer with a string and delete its key."},
    {.name = "GETEX",
     .arity = -2,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate, "its options change the deadline"),
     .run = GetEx,
     .since = "6.2.0",
     .usage = "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | "
              "PXAT unix-time-milliseconds | PERSIST]",
     .summary = "Answer with a string and change when it ends."},
};
constexpr auto kStringsRows =
    RowsOf(kStringsListed, {.categories = kCatString, .group = "string", .complexity = "O(1)"});

}  // namespace

CommandFamily StringsFamily() { return {"strings", kSpecsOf<kStringsRows>}; }

}  // namespace sluice
