// The hash family: fields by name. Commands that answer with many fields at once are in
// hash_scan.cc, fields that end in hash_expiry.cc.
//
// A write to a field that had a deadline ends that, except for the counters, which keep it.
//
//   command        missing field   event           effect
//   HSET HMSET     made            hset            itself
//   HSETNX         made            hset            HSET key field value
//   HINCRBY        0               hincrby         HSET, and HPEXPIREAT if the field has an end
//   HINCRBYFLOAT   0               hincrbyfloat    the same
//   HDEL           not counted     hdel, del       itself
//   HGET           null

#include <cmath>
#include <optional>
#include <string>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/hashes/hash_access.h"
#include "server/commands/hashes/hash_field_ttl.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// --- writing

// Sets pairs of arguments from the third on; how many fields are new, null after an error. The
// arity comes before the type. HSET is a change even if every value is as before: the event is sent
// and the command logged, as in Redis.
std::optional<int64_t> SetPairs(CommandCall& call) {
  if (call.args.size() % 2 != 0) {
    call.reply.Error(ArityText(call));
    return std::nullopt;
  }
  const auto hash = OpenTyped<Hash>(call, call.Key(1));
  if (hash.refused) return std::nullopt;
  const Hash::Limits limits = HashLimits(call);
  int64_t created = 0;
  for (size_t i = 2; i < call.args.size(); i += 2) {
    created += hash->Set(call.args[i], call.args[i + 1], limits, call.now) ? 1 : 0;
  }
  CloseTyped(call, hash, kNotifyHash, "hset");
  return created;
}

// The answer counts new fields, not changed ones.
//   HSET h a 1 a 2  → 1  new fields, not pairs
//   HSET h a 3      → 0
//   HSET h a        → -ERR wrong number of arguments for 'hset' command
void HSet(CommandCall& call) {
  if (const auto created = SetPairs(call)) call.reply.Integer(*created);
}

// HSET in its older form: OK instead of a number.
void HMSet(CommandCall& call) {
  if (SetPairs(call)) call.reply.Ok();
}

// 0 without any change if the field is there, whatever its value.
void HSetNx(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  if (found && found->Has(call.args[2], call.now)) return call.reply.Integer(0);
  const auto hash = found ? OpenFound(call, key, found) : CreateTyped<Hash>(call, key);
  hash->Set(call.args[2], call.args[3], HashLimits(call), call.now);
  CloseTyped(call, hash, kNotifyHash, "hset");
  // A replay may meet a field that had ended here.
  call.ReplaceWith({"HSET", key.bytes, call.args[2], call.args[3]});
  call.reply.Integer(1);
}

// A log and the stream of a master say HDEL of fields that have ended, too, and maybe long after:
// behind a pause, or by one who was promoted. No field has ended at this moment.
Now MomentOfHDel(const CommandCall& call) {
  return call.client.replays ? Now{.steady_us = -1000} : call.now;
}

// Opens the hash only if a name is in it: else the request leaves no trace. After `HSET h a 1`:
//   HDEL h a a b  → 1
//   EXISTS h      → 0  the last field took it along
void HDel(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  const Now now = MomentOfHDel(call);
  if (!found || !HasAnyField(call, *found, 2, now)) return call.reply.Integer(0);
  const auto hash = OpenFound(call, key, found);
  int64_t deleted = 0;
  for (const std::string_view name : call.args.subspan(2)) {
    deleted += hash->Erase(name, now) ? 1 : 0;
  }
  CloseTyped(call, hash, kNotifyHash, "hdel");
  call.reply.Integer(deleted);
}

// --- counting

// The field's deadline stays, as a key's does under INCR. HSET takes it away, so that it is said
// anew.
void StoreCount(CommandCall& call, HashedKey key, const Typed<Hash>& found, std::string_view text,
                std::string_view event) {
  const auto hash = found ? OpenFound(call, key, found) : CreateTyped<Hash>(call, key);
  hash->Set(call.args[2], text, HashLimits(call), call.now, Hash::Ttl::kKeep);
  CloseTyped(call, hash, kNotifyHash, event);
  // The sum, not the increment: a replay may meet a field that had ended here, or shorter floats.
  if (!call.wants_effects()) return;
  call.ReplaceWith({"HSET", key.bytes, call.args[2], text});
  FieldValue kept;
  if (hash->Get(call.args[2], call.now, kept) && !kept.deadline.none()) {
    RecordFieldsEnd(call, call.args.subspan(2, 1), kept.deadline);
  }
}

// The increment is read before the key. A missing field counts from 0; one that is no integer is an
// error with words of its own. After `HSET h a x`:
//   HINCRBY h a 1  → -ERR hash value is not an integer
//   HINCRBY h n 5  → 5  a missing field counts as 0
void HIncrBy(CommandCall& call) {
  const std::optional<int64_t> increment = ParseInt64(call.args[3]);
  if (!increment) return call.reply.Error(ErrorCode::kNotInteger);
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  FieldValue old;
  std::optional<int64_t> value = 0;
  if (found && found->Get(call.args[2], call.now, old)) value = ParseInt64(old.text);
  if (!value) return call.reply.Error("ERR hash value is not an integer");
  int64_t sum;
  if (__builtin_add_overflow(*value, *increment, &sum)) {
    return call.reply.Error(ErrorCode::kOverflow);
  }
  StoreCount(call, key, found, Int64Text(sum), "hincrby");
  call.reply.Integer(sum);
}

// Infinity is refused as an increment already, unlike in INCRBYFLOAT, which refuses it as a sum.
//   HINCRBYFLOAT h a 1.5e1  → "15"
//   HINCRBYFLOAT h a 0.5    → "15.5"
void HIncrByFloat(CommandCall& call) {
  const std::optional<long double> increment = ParseLongDouble(call.args[3]);
  if (!increment) return call.reply.Error(ErrorCode::kNotFloat);
  if (!std::isfinite(*increment)) return call.reply.Error("ERR value is NaN or Infinity");
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  FieldValue old;
  std::optional<long double> value = 0.0L;
  if (found && found->Get(call.args[2], call.now, old)) value = ParseLongDouble(old.text);
  if (!value) return call.reply.Error("ERR hash value is not a float");
  const long double sum = *value + *increment;
  if (!std::isfinite(sum)) return call.reply.Error(ErrorCode::kNanOrInfinity);
  const std::string text = HumanLongDoubleText(sum);
  StoreCount(call, key, found, text, "hincrbyfloat");
  call.reply.Bulk(text);
}

// --- reading

void ReplyField(CommandCall& call, const Typed<Hash>& hash, std::string_view name) {
  FieldValue value;
  if (hash && hash->Get(name, call.now, value)) {
    call.reply.Bulk(value.text);
  } else {
    call.reply.Null();
  }
}

void HGet(CommandCall& call) {
  const auto hash = FindTyped<Hash>(call, call.Key(1));
  if (!hash.refused) ReplyField(call, hash, call.args[2]);
}

// After `HSET h a 1`:
//   HMGET h a b a    → ["1", nil, "1"]
//   HMGET nothing a  → [nil]
void HMGet(CommandCall& call) {
  const auto hash = FindTyped<Hash>(call, call.Key(1));
  if (hash.refused) return;
  call.reply.Array(call.args.size() - 2);
  for (const std::string_view name : call.args.subspan(2)) ReplyField(call, hash, name);
}

// Live fields only: O(1) without deadlines in the hash; with some, those that have ended are
// counted off.
void HLen(CommandCall& call) {
  const auto hash = FindTyped<Hash>(call, call.Key(1));
  if (hash.refused) return;
  call.reply.Integer(hash ? static_cast<int64_t>(hash->CountLive(call.now)) : 0);
}

// 0 for a missing field, as for an empty value.
void HStrLen(CommandCall& call) {
  const auto hash = FindTyped<Hash>(call, call.Key(1));
  if (hash.refused) return;
  FieldValue value;
  const bool there = hash && hash->Get(call.args[2], call.now, value);
  call.reply.Integer(there ? static_cast<int64_t>(value.text.size()) : 0);
}

void HExists(CommandCall& call) {
  const auto hash = FindTyped<Hash>(call, call.Key(1));
  if (hash.refused) return;
  call.reply.Integer(hash && hash->Has(call.args[2], call.now) ? 1 : 0);
}

// --- the table

constexpr uint32_t kSets = kWrite | kDenyOom | kFast;
constexpr uint32_t kReads = kReadOnly | kFast;
constexpr KeySpecs kChanged = KeyAt(1, kKeyRw | kKeyUpdate);
constexpr KeySpecs kCounted = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate);
constexpr KeySpecs kLooked = KeyAt(1, kKeyRo);

// kKeyAccess is for commands that give content away; HLEN, HEXISTS and HSTRLEN only look (kLooked).
constexpr CommandRow kHashesListed[] = {
    {.name = "HDEL",
     .arity = -3,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = HDel,
     .since = "2.0.0",
     .complexity = "O(N) where N is the number of fields to be removed.",
     .usage = "key field [field ...]",
     .summary = "Remove fields of a hash; how many there were.",
     .history = "2.4.0 Several `field` arguments."},
    {.name = "HEXISTS",
     .arity = 3,
     .flags = kReads,
     .keys = kLooked,
     .run = HExists,
     .since = "2.0.0",
     .complexity = "O(1)",
     .usage = "key field",
     .summary = "Whether a hash has a field."},
    {.name = "HGET",
     .arity = 3,
     .flags = kReads,
     .keys = kReadHash,
     .run = HGet,
     .since = "2.0.0",
     .complexity = "O(1)",
     .usage = "key field",
     .summary = "The value of a field of a hash."},
    {.name = "HINCRBY",
     .arity = 4,
     .flags = kSets,
     .keys = kCounted,
     .run = HIncrBy,
     .since = "2.0.0",
     .complexity = "O(1)",
     .usage = "key field increment",
     .summary = "Add a whole number to a field; a missing one starts at zero."},
    {.name = "HINCRBYFLOAT",
     .arity = 4,
     .flags = kSets,
     .keys = kCounted,
     .run = HIncrByFloat,
     .since = "2.6.0",
     .complexity = "O(1)",
     .usage = "key field increment:double",
     .summary = "Add a decimal number to a field; a missing one starts at zero."},
    {.name = "HLEN",
     .arity = 2,
     .flags = kReads,
     .keys = kLooked,
     .run = HLen,
     .since = "2.0.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "How many fields a hash has."},
    {.name = "HMGET",
     .arity = -3,
     .flags = kReads,
     .keys = kReadHash,
     .run = HMGet,
     .since = "2.0.0",
     .complexity = "O(N) where N is the number of fields being requested.",
     .usage = "key field [field ...]",
     .summary = "The values of several fields of a hash."},
    {.name = "HMSET",
     .arity = -4,
     .flags = kSets,
     .keys = kChanged,
     .run = HMSet,
     .since = "2.0.0",
     .complexity = "O(N) where N is the number of fields being set.",
     .usage = "key field value [field value ...]",
     .summary = "Set fields of a hash.",
     .deprecated_since = "4.0.0",
     .replaced_by = "`HSET` with multiple field-value pairs"},
    {.name = "HSET",
     .arity = -4,
     .flags = kSets,
     .keys = kChanged,
     .run = HSet,
     .since = "2.0.0",
     .complexity = "O(1) for each field/value pair added, so O(N) to add N field/value pairs when "
                   "the command is called with multiple field/value pairs.",
     .usage = "key field value [field value ...]",
     .summary = "Set fields of a hash; how many of them are new.",
     .history = "4.0.0 Several pairs of `field` and `value`."},
    {.name = "HSETNX",
     .arity = 4,
     .flags = kSets,
     .keys = KeyAt(1, kKeyRw | kKeyInsert),
     .run = HSetNx,
     .since = "2.0.0",
     .complexity = "O(1)",
     .usage = "key field value",
     .summary = "Set a field unless it is there already."},
    {.name = "HSTRLEN",
     .arity = 3,
     .flags = kReads,
     .keys = kLooked,
     .run = HStrLen,
     .since = "3.2.0",
     .complexity = "O(1)",
     .usage = "key field",
     .summary = "How many bytes the value of a field has."},
};
constexpr auto kHashesRows = RowsOf(kHashesListed, {.categories = kCatHash, .group = "hash"});

}  // namespace

CommandFamily HashesFamily() { return {"hashes", kSpecsOf<kHashesRows>}; }

}  // namespace sluice
