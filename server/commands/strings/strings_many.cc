// Several strings in one request: MGET, MSET, MSETNX, and MSETEX, which gives them one deadline.
//
// All of them are one step: no other client sees half of an MSET. They look at each key once, so
// they cost O(keys), and nothing slices them: the request itself is bounded by the protocol's
// limits.
//
//   command   one key is there    event for each key   effect
//   MSET      overwritten         set                  itself
//   MSETNX    0, nothing is set   set                  itself
//   MSETEX    as NX or XX say     set, expire          MSET; SET ... PXAT ms or KEEPTTL for each

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/deadline_kinds.h"
#include "server/commands/shared/expiry_args.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/shared/value_condition.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// Never WRONGTYPE: a key of another type answers null, as a missing one does, but counts as a hit.
// After `SET a 1`, `RPUSH l x`:
//   MGET a l nothing  → ["1", nil, nil]  another type is no error here
void MGet(CommandCall& call) {
  call.reply.Array(call.args.size() - 1);
  for (size_t i = 1; i < call.args.size(); ++i) {
    const Entry* const entry = LookUpToRead(call, KeyToRead(call, i));
    entry && entry->is_string() ? ReplyText(call, *entry) : call.reply.Null();
  }
}

// --- MSET and MSETNX

// Keys and values alternate in the arguments [first, end).
struct Pairs {
  size_t first = 1;
  size_t end = 1;
};

// The pairs behind the name, or null when the last key has no value: then the error is answered.
std::optional<Pairs> ReadPairs(CommandCall& call, std::string_view name) {
  // The name and so many pairs are an odd number of words.
  if (call.args.size() % 2 == 1) return Pairs{1, call.args.size()};
  call.reply.Error(Concat("ERR wrong number of arguments for '", name, "' command"));
  return std::nullopt;
}

// A key that comes twice counts twice.
size_t CountPresent(CommandCall& call, Pairs pairs) {
  size_t present = 0;
  for (size_t i = pairs.first; i < pairs.end; i += 2) present += LookUp(call, call.Key(i)) ? 1 : 0;
  return present;
}

// In the order of the request, so of a key that comes twice the last value stays. An event for
// each.
void PutPairs(CommandCall& call, Pairs pairs, Deadline deadline) {
  for (size_t i = pairs.first; i < pairs.end; i += 2) {
    const HashedKey key = call.Key(i);
    call.db.PutText(key, call.args[i + 1], deadline, call.now);
    SaySet(call, key, !deadline.none());
  }
}

// It cannot fail: any type is overwritten and every time to live ends.
//   MSET a 1 b    → -ERR wrong number of arguments for 'mset' command
//   MSET a 1 a 2  → OK  the last one stays
void MSet(CommandCall& call) {
  const std::optional<Pairs> pairs = ReadPairs(call, "mset");
  if (!pairs) return;
  PutPairs(call, *pairs, Deadline::None());
  call.reply.Ok();
}

// All or nothing: one key that is there, of any type, refuses the whole request. After `SET a 1`:
//   MSETNX a 2 b 3  → 0  all or nothing
//   EXISTS b        → 0
void MSetNx(CommandCall& call) {
  const std::optional<Pairs> pairs = ReadPairs(call, "msetnx");
  if (!pairs) return;
  if (CountPresent(call, *pairs) > 0) return call.reply.Integer(0);
  PutPairs(call, *pairs, Deadline::None());
  call.reply.Integer(1);
}

// --- MSETEX numkeys key value [key value ...] [options]

// The number of keys is said ahead, so that a key named NX is no option.
struct MSetExRequest {
  Pairs pairs;
  ValueCondition condition;
  ExpiryArg expiry;
};

// MSETEX numkeys key value ... [NX | XX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
constexpr OptionRow<MSetExRequest> kMSetExOptions[] = {
    kConditionRow<MSetExRequest, ValueCondition::Kind::kMissing>,
    kConditionRow<MSetExRequest, ValueCondition::Kind::kPresent>,
    kExpiryRow<MSetExRequest, ExpiryKind::kEx>,
    kExpiryRow<MSetExRequest, ExpiryKind::kPx>,
    kExpiryRow<MSetExRequest, ExpiryKind::kExat>,
    kExpiryRow<MSetExRequest, ExpiryKind::kPxat>,
    kExpiryRow<MSetExRequest, ExpiryKind::kKeepTtl>,
};

// `left / 2` and not `count * 2`: the count comes from a client and must not overflow.
bool ReadMSetEx(CommandCall& call, MSetExRequest& request) {
  ArgReader args(call.args);
  const std::optional<int64_t> count = ParseInt64(args.Bytes());
  if (!count || *count < 1 || *count > std::numeric_limits<int32_t>::max()) {
    args.Fail("ERR invalid numkeys value");
  } else if (static_cast<size_t>(*count) > args.left() / 2) {
    args.Fail("ERR wrong number of key-value pairs");
  } else {
    request.pairs = {2, 2 + static_cast<size_t>(*count) * 2};
    args.Skip(static_cast<size_t>(*count) * 2);
  }
  ReadOptions(args, kMSetExOptions, request);
  if (!args.failed()) return true;
  call.reply.Error(args.error());
  return false;
}

// Holds for all keys or for none: NX wants none of them there, XX wants each.
bool ConditionHolds(CommandCall& call, const MSetExRequest& request) {
  switch (request.condition.kind) {
    case ValueCondition::Kind::kMissing:
      return CountPresent(call, request.pairs) == 0;
    case ValueCondition::Kind::kPresent:
      return CountPresent(call, request.pairs) == (request.pairs.end - request.pairs.first) / 2;
    default:
      return true;
  }
}

// KEEPTTL: each key keeps its own deadline, so there is none to share.
void PutPairsKeepingTtl(CommandCall& call, Pairs pairs) {
  for (size_t i = pairs.first; i < pairs.end; i += 2) {
    const HashedKey key = call.Key(i);
    const Entry* const old = LookUp(call, key);
    const Deadline deadline = old ? old->deadline() : Deadline::None();
    const bool over_ours = old && IsOurs(old->type());
    call.db.PutText(key, call.args[i + 1], deadline, call.now);
    SaySet(call, key, false);
    ReplaceWithSetKeeping(call, key.bytes, call.args[i + 1], deadline, over_ours);
  }
}

// Effects that Redis 7.0 knows too, without the condition, which held, and with the absolute time.
void RecordPairs(CommandCall& call, Pairs pairs, bool timed, Deadline deadline) {
  if (!call.wants_effects()) return;
  if (timed) {
    for (size_t i = pairs.first; i < pairs.end; i += 2)
      ReplaceWithSet(call, call.args[i], call.args[i + 1], deadline);
    return;
  }
  std::vector<std::string_view> command = {"MSET"};
  command.insert(command.end(), call.args.begin() + pairs.first, call.args.begin() + pairs.end);
  call.ReplaceWith(Args(command));
}

// A bad time is told before the condition is looked at, as SET does.
//   MSETEX 2 a 1 b 2 EX 100  → 1
//   MSETEX 2 a 3 c 4 NX      → 0  all or nothing
//   EXISTS c                 → 0
//   MSETEX 1 a 1 b 2         → -ERR syntax error
void MSetEx(CommandCall& call) {
  MSetExRequest request;
  if (!ReadMSetEx(call, request)) return;
  Deadline deadline;
  if (request.expiry.timed() && !ReadDeadline(call, request.expiry, deadline)) return;
  if (!ConditionHolds(call, request)) return call.reply.Integer(0);
  if (request.expiry.kind == ExpiryKind::kKeepTtl) {
    PutPairsKeepingTtl(call, request.pairs);
  } else {
    PutPairs(call, request.pairs, deadline);
    RecordPairs(call, request.pairs, request.expiry.timed(), deadline);
  }
  call.reply.Integer(1);
}

// --- the table

constexpr std::string_view kLinear = "O(N) where N is the number of keys to set.";

constexpr CommandRow kStringsManyRows[] = {
    {.name = "MGET",
     .arity = -2,
     .flags = kReadOnly | kFast,
     .categories = kCatString,
     .keys = KeyRange(1, -1, 1, kKeyRo | kKeyAccess),
     .run = MGet,
     .group = "string",
     .since = "1.0.0",
     .complexity = "O(N) where N is the number of keys to retrieve.",
     .usage = "key [key ...]",
     .summary = "The strings of several keys, null for each that holds none.",
     .tips = "request_policy:multi_shard"},
    {.name = "MSET",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .categories = kCatString,
     .keys = KeyRange(1, -1, 2, kKeyOw | kKeyUpdate),
     .run = MSet,
     .group = "string",
     .since = "1.0.1",
     .complexity = kLinear,
     .usage = "key value [key value ...]",
     .summary = "Store several strings at once.",
     .tips = "request_policy:multi_shard,response_policy:all_succeeded"},
    {.name = "MSETNX",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .categories = kCatString,
     .keys = KeyRange(1, -1, 2, kKeyOw | kKeyInsert),
     .run = MSetNx,
     .group = "string",
     .since = "1.0.1",
     .complexity = kLinear,
     .usage = "key value [key value ...]",
     .summary = "Store several strings if all the keys are free; 1 or 0.",
     .tips = "request_policy:multi_shard,response_policy:agg_min"},
    {.name = "MSETEX",
     .arity = -4,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kMovableKeys,
     .categories = kCatString,
     .keys = KeysCounted(1, kKeyOw | kKeyUpdate, 2),
     .run = MSetEx,
     .group = "string",
     .since = "8.4.0",
     .complexity = kLinear,
     .usage = "numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | "
              "EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
     .summary =
         "Store several strings with one deadline, if all or none of the keys exist; 1 or 0.",
     .tips = "request_policy:multi_shard,response_policy:agg_min"},
};

}  // namespace

CommandFamily StringsManyFamily() { return {"strings_many", kSpecsOf<kStringsManyRows>}; }

}  // namespace sluice
