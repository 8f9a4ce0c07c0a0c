// DUMP and RESTORE: a value as bytes that other servers, Redis among them, take, and back.
//
// The payload is one value in RDB's own form, then two bytes of version and a CRC64 over all before
// it. It carries no name and no deadline: RESTORE is told both. Bytes come from clients, so the
// checksum is only a guard against accidents, and ReadDump trusts nothing that is in it.
//
//   RESTORE key ttl payload [REPLACE] [ABSTTL] [IDLETIME s | FREQ n]
//
// The event is `restore`, whether or not a key was replaced.

#include <utility>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/keys/dump_context.h"
#include "server/commands/locks/lock_keys.h"
#include "server/commands/shared/deadline_kinds.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/notify/notifications.h"
#include "storage/limits/limiter.h"
#include "storage/rdb/rdb_value.h"

namespace sluice {
namespace {

// A read, and so counted as one. Cost: O(bytes of the value), in one piece.
void Dump(CommandCall& call) {
  const Entry* const entry = LookUpToRead(call, call.Key(1));
  if (!entry) return call.reply.Null();
  call.reply.Bulk(WriteDump(*entry, RdbContextOf(call)));
}

// --- RESTORE

// IDLETIME and FREQ exclude each other, as they speak of two policies of eviction; one beside the
// other is a syntax error.
struct RestoreArgs {
  bool replace = false;
  bool absolute = false;
  std::optional<int64_t> idle_s;
  std::optional<int64_t> frequency;
  int64_t ttl_ms = 0;
};

// A number, not negative nor above `most`.
int64_t TakeBounded(ArgReader& args, int64_t most, std::string_view fault) {
  const int64_t value = args.Int();
  if (value < 0 || value > most) args.Fail(std::string(fault));
  return value;
}

// REPLACE and ABSTTL as often as a client likes; of two IDLETIME the last one counts.
constexpr OptionRow<RestoreArgs> kRestoreOptions[] = {
    {"REPLACE", kRaise<&RestoreArgs::replace>},
    {"ABSTTL", kRaise<&RestoreArgs::absolute>},
    {"IDLETIME",
     [](ArgReader& args, RestoreArgs& result) {
       result.idle_s = TakeBounded(args, INT64_MAX, "ERR Invalid IDLETIME value, must be >= 0");
     },
     1, [](const RestoreArgs& before) { return !before.frequency; }},
    {"FREQ",
     [](ArgReader& args, RestoreArgs& result) {
       result.frequency = TakeBounded(args, 255, "ERR Invalid FREQ value, must be >= 0 and <= 255");
     },
     1, [](const RestoreArgs& before) { return !before.idle_s; }},
};

// Redis's order: a target in the way, then the time, then the payload. Only afterwards is the
// payload decoded, so BUSYKEY costs nothing.
bool IsRestorable(CommandCall& call, HashedKey key, RestoreArgs& args) {
  if (!args.replace && LookUp(call, key)) {
    call.reply.Error("BUSYKEY Target key name already exists.");
    return false;
  }
  ArgReader ttl(call.args, 2);
  args.ttl_ms = TakeBounded(ttl, INT64_MAX, "ERR Invalid TTL value, must be >= 0");
  if (ttl.failed()) {
    call.reply.Error(ttl.error());
    return false;
  }
  if (IsDump(call.args[3])) return true;
  call.reply.Error("ERR DUMP payload version or checksum are wrong");
  return false;
}

// A TTL of 0 is no deadline. A relative one that passes 2^63 ms ends at the last moment there is,
// where Redis's sum would wrap.
Deadline DeadlineOf(const CommandCall& call, const RestoreArgs& args) {
  if (args.ttl_ms == 0) return Deadline::None();
  if (args.absolute) return DeadlineAt(call, args.ttl_ms);
  int64_t at_ms;
  const bool is_far = __builtin_add_overflow(call.Present().ms(), args.ttl_ms, &at_ms);
  return Deadline::Steady(is_far ? INT64_MAX : at_ms);
}

// A value that was put under the key.
struct Restored {
  const Entry& entry;
  Deadline deadline;
  bool over_redis;  // a value that Redis can hold was there
};

// ABSTTL and keys without an end are their own effect. Otherwise the time becomes an absolute one,
// and REPLACE frees the replay from asking what stands there.
void Record(CommandCall& call, const RestoreArgs& args, const Restored& restored) {
  if (!call.wants_effects()) return;
  const auto& [entry, deadline, over_redis] = restored;
  const bool is_ours = IsOurs(entry.type());
  const bool loses_ends = !is_ours && RdbVersionOf(entry) > kRdbVersion;  // a hash whose fields end
  const bool is_newer = !is_ours && DumpVersion(call.args[3]) > kRdbVersion;
  const EffectTime time = EffectTimeOf(deadline);
  if (is_ours && over_redis) call.StepForRedis(call.db, {"DEL", call.args[1]});
  const std::string unix_ms = deadline.none() ? "0" : Int64Text(deadline.UnixMs(call.now));
  if (loses_ends) {
    const std::string plain = WriteDumpForRedis70(entry, RdbContextOf(call));
    call.StepForRedis(call.db, {"RESTORE", call.args[1], unix_ms, plain, "REPLACE", "ABSTTL"},
                      time);
  }
  const std::string own = is_newer && !loses_ends ? WriteDump(entry, RdbContextOf(call)) : "";
  const std::string_view payload = own.empty() ? call.args[3] : own;
  const std::string_view anew[] = {"RESTORE", call.args[1], unix_ms, payload, "REPLACE", "ABSTTL"};
  const bool is_as_asked = (deadline.none() || args.absolute) && !is_newer && !loses_ends;
  const Args command = is_as_asked ? call.args : Args(anew);
  is_ours || loses_ends ? call.ReplaceForSluice(command, time) : call.ReplaceWith(command, time);
}

// False for a client's payload with a limiter that requests could not have made. Locks need no
// check: a dump gives them neither holders nor tokens.
bool IsLikely(const CommandCall& call, const RdbValue& value) {
  if (call.client.replays || !value.value || value.value->type() != ValueType::kLimiter)
    return true;
  const auto& limiter = static_cast<const Limiter&>(*value.value);
  return LimitIsLikely(limiter.state(), limiter.log(), call.now);
}

// The value is over already: what it was to replace goes all the same.
void RestoreNothing(CommandCall& call, HashedKey key) {
  DeleteAsEffect(call, key);
  call.reply.Ok();
}

// Options, then IsRestorable, then the decoded value. A payload with a sound checksum and a
// senseless inside is "Bad data format", with the old value still in place: it is replaced only at
// the end.
//   RESTORE k 0 abc   → -ERR DUMP payload version or checksum are wrong
//   RESTORE k -1 abc  → -ERR Invalid TTL value, must be >= 0
void Restore(CommandCall& call) {
  RestoreArgs args;
  ArgReader options(call.args, 4);
  ReadOptions(options, kRestoreOptions, args);
  if (options.failed()) return call.reply.Error(options.error());
  const HashedKey key = call.Key(1);
  if (!IsRestorable(call, key, args)) return;
  bool all_ended;
  std::optional<RdbValue> value = ReadDump(call.args[3], RdbContextOf(call), all_ended);
  if (all_ended) return RestoreNothing(call, key);
  // Nothing is touched so far, and the key may hold what it held.
  if (!value || !IsLikely(call, *value)) return call.reply.Error("ERR Bad data format");
  // A lock ends by its leases alone.
  if (value->is_lock() && args.ttl_ms != 0) return call.reply.Error(kLockHasNoTtl);

  const Deadline deadline = DeadlineOf(call, args);
  // A lock without a holder is over, too.
  if (deadline.Passed(call.Present()) || value->Ended(call.now) || value->is_lock())
    return RestoreNothing(call, key);
  const Entry* const old = args.replace ? call.db.Find(key, call.now) : nullptr;
  const bool over_redis = old && !IsOurs(old->type());
  Entry& entry = PutRdbValue(call.db, key, *std::move(value), deadline, call.now);
  if (call.db.counts_accesses()) {
    if (args.frequency) {
      call.db.SetAccessCounter(entry, static_cast<uint32_t>(*args.frequency), call.now);
    }
  } else if (args.idle_s) {
    // The access clock has 24 bits of seconds and wraps; so does this difference.
    const int64_t used_s = call.db.AccessClock(call.now) - *args.idle_s;
    call.db.SetAccessClock(entry, static_cast<uint32_t>(used_s));
  }
  Record(call, args, {entry, deadline, over_redis});
  call.Changed(kNotifyGeneric, "restore", call.args[1]);
  call.reply.Ok();
}

// --- the table

// DUMP's bytes may differ between two servers with the same value.
constexpr CommandRow kDumpRows[] = {
    {.name = "DUMP",
     .arity = 2,
     .flags = kReadOnly,
     .categories = kCatKeyspace,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = Dump,
     .group = "generic",
     .since = "2.6.0",
     .complexity =
         "O(1) to access the key and additional O(N*M) to serialize it, where N is the number of "
         "Redis objects composing the value and M their average size. For small string values the "
         "time complexity is thus O(1)+O(1*M) where M is small, so simply O(1).",
     .usage = "key",
     .summary = "A value as bytes, for RESTORE.",
     .tips = "nondeterministic_output"},
    {.name = "RESTORE",
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .categories = kCatKeyspace | kCatDangerous,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate),
     .run = Restore,
     .group = "generic",
     .since = "2.6.0",
     .complexity =
         "O(1) to create the new key and additional O(N*M) to reconstruct the serialized value, "
         "where N is the number of Redis objects composing the value and M their average size. For "
         "small string values the time complexity is thus O(1)+O(1*M) where M is small, so simply "
         "O(1). However for sorted set values the complexity is O(N*M*log(N)) because inserting "
         "values into sorted sets is O(log(N)).",
     .usage = "key ttl:integer serialized-value [REPLACE]@3.0.0 [ABSTTL]@5.0.0 "
              "[IDLETIME seconds]@5.0.0 [FREQ frequency:integer]@5.0.0",
     .summary = "Make a key from what DUMP gave.",
     .history = "3.0.0 `REPLACE`.|5.0.0 `ABSTTL`.|5.0.0 `IDLETIME` and `FREQ`."},
    {.name = "RESTORE-ASKING",
     .arity = -4,
     .flags = kWrite | kDenyOom | kAsking | kSystem,
     .categories = kCatKeyspace | kCatDangerous,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate),
     .run = Restore,
     .group = "server",
     .since = "3.0.0",
     .complexity =
         "O(1) to create the new key and additional O(N*M) to reconstruct the serialized value, "
         "where N is the number of Redis objects composing the value and M their average size. For "
         "small string values the time complexity is thus O(1)+O(1*M) where M is small, so simply "
         "O(1). However for sorted set values the complexity is O(N*M*log(N)) because inserting "
         "values into sorted sets is O(log(N)).",
     .usage = "key ttl:integer serialized-value [REPLACE]@3.0.0 [ABSTTL]@5.0.0 "
              "[IDLETIME seconds]@5.0.0 [FREQ frequency:integer]@5.0.0",
     .summary = "RESTORE of MIGRATE, while a slot moves.",
     .history = "3.0.0 `REPLACE`.|5.0.0 `ABSTTL`.|5.0.0 `IDLETIME` and `FREQ`."},
};

}  // namespace

CommandFamily DumpFamily() { return {"dump", kSpecsOf<kDumpRows>}; }

}  // namespace sluice
