// The counter family: strings that are numbers. INCR and its kin keep the key's time to live and
// refuse to leave 64 bits; INCRBYFLOAT counts in long doubles, as Redis does.
//
// A string that was sent as digits is held as an integer from the start, so the usual INCR parses
// and prints nothing but its answer. The effect is the command itself, since INCR of the same state
// gives the same number; only INCRBYFLOAT is rewritten.
//
//   command        missing   event          effect
//   INCR INCRBY    0         incrby         itself
//   DECR DECRBY    0         incrby         itself
//   INCRBYFLOAT    0         incrbyfloat    SET key sum KEEPTTL

#include <cmath>
#include <limits>
#include <optional>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// All four, since DECR is INCR by -1 and Redis gives all of them the event `incrby`. A missing key
// counts from 0. The type is checked before the number, the number before the overflow. A text that
// is no canonical integer (" 5", "05", "5.0") is an error. After `SET k 9223372036854775807`:
//   INCR k      → -ERR increment or decrement would overflow
// After `SET k 1.5`:
//   INCRBY k 1  → -ERR value is not an integer or out of range
void Add(CommandCall& call, int64_t increment) {
  const HashedKey key = call.Key(1);
  const Entry* const old = LookUp(call, key);
  int64_t value = 0;
  if (old) {
    if (!IsTextOrMissing(call, old)) return;
    if (old->is_integer()) {
      value = old->integer();
    } else {
      char scratch[Entry::kTextScratch];
      const std::optional<int64_t> parsed = ParseInt64(old->Text(scratch));
      if (!parsed) return call.reply.Error(ErrorCode::kNotInteger);
      value = *parsed;
    }
  }
  if (__builtin_add_overflow(value, increment, &value)) {
    return call.reply.Error(ErrorCode::kOverflow);
  }
  if (old) {
    call.db.SetInteger(call.db.Modify(*old, call.now), value);
  } else {
    call.db.PutInteger(key, value, Deadline::None(), call.now);
  }
  call.Changed(kNotifyString, "incrby", key.bytes);
  call.reply.Integer(value);
}

void Incr(CommandCall& call) { Add(call, 1); }
void Decr(CommandCall& call) { Add(call, -1); }

// The increment is read before the key: a bad one wins over WRONGTYPE.
void IncrBy(CommandCall& call) {
  const std::optional<int64_t> increment = ParseInt64(call.args[2]);
  if (!increment) return call.reply.Error(ErrorCode::kNotInteger);
  Add(call, *increment);
}

// -2^63 has no negation in 64 bits. Redis refuses it whatever the key holds, so this comes first.
//   DECRBY k 5                     → -5
//   DECRBY k -9223372036854775808  → -ERR decrement would overflow
void DecrBy(CommandCall& call) {
  const std::optional<int64_t> decrement = ParseInt64(call.args[2]);
  if (!decrement) return call.reply.Error(ErrorCode::kNotInteger);
  if (*decrement == std::numeric_limits<int64_t>::min()) {
    return call.reply.Error("ERR decrement would overflow");
  }
  Add(call, -*decrement);
}

// WRONGTYPE wins over a bad increment, and either number is "not a valid float". Infinity may not
// be reached, nor stay: the sum is refused and the key unchanged. The answer is text without an
// exponent (at most 17 digits behind the point), and so is what the key holds afterwards.
//   INCRBYFLOAT k 0.1  → "0.1"
//   INCRBYFLOAT k 0.2  → "0.3"
//   INCRBYFLOAT k inf  → -ERR increment would produce NaN or Infinity
void IncrByFloat(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const Entry* const old = LookUp(call, key);
  if (!IsTextOrMissing(call, old)) return;
  char scratch[Entry::kTextScratch];
  const std::optional<long double> value = old ? ParseLongDouble(old->Text(scratch)) : 0.0L;
  const std::optional<long double> increment = ParseLongDouble(call.args[2]);
  if (!value || !increment) return call.reply.Error(ErrorCode::kNotFloat);
  const long double sum = *value + *increment;
  if (!std::isfinite(sum)) return call.reply.Error(ErrorCode::kNanOrInfinity);

  // The answer, the value and the effect are this text, digit by digit.
  const std::string text = HumanLongDoubleText(sum);
  if (old) {
    call.db.SetText(call.db.Modify(*old, call.now), text);
  } else {
    call.db.PutTextAsIs(key, text, Deadline::None(), call.now);
  }
  call.Changed(kNotifyString, "incrbyfloat", key.bytes);
  // The sum itself: another machine's long double may be shorter.
  call.ReplaceWith({"SET", call.args[1], text, "KEEPTTL"});
  call.reply.Bulk(text);
}

// --- the table

constexpr uint32_t kCount = kWrite | kDenyOom | kFast;
constexpr KeySpecs kKey = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate);

constexpr CommandRow kCountersListed[] = {
    {.name = "INCR",
     .arity = 2,
     .flags = kCount,
     .keys = kKey,
     .run = Incr,
     .since = "1.0.0",
     .usage = "key",
     .summary = "Add one to a counter; a missing one starts at zero."},
    {.name = "DECR",
     .arity = 2,
     .flags = kCount,
     .keys = kKey,
     .run = Decr,
     .since = "1.0.0",
     .usage = "key",
     .summary = "Take one from a counter; a missing one starts at zero."},
    {.name = "INCRBY",
     .arity = 3,
     .flags = kCount,
     .keys = kKey,
     .run = IncrBy,
     .since = "1.0.0",
     .usage = "key increment",
     .summary = "Add a whole number to a counter."},
    {.name = "DECRBY",
     .arity = 3,
     .flags = kCount,
     .keys = kKey,
     .run = DecrBy,
     .since = "1.0.0",
     .usage = "key decrement",
     .summary = "Take a whole number from a counter."},
    {.name = "INCRBYFLOAT",
     .arity = 3,
     .flags = kCount,
     .keys = kKey,
     .run = IncrByFloat,
     .since = "2.6.0",
     .usage = "key increment:double",
     .summary = "Add a decimal number to a counter; the sum as text."},
};
constexpr auto kCountersRows =
    RowsOf(kCountersListed, {.categories = kCatString, .group = "string", .complexity = "O(1)"});

}  // namespace

CommandFamily CountersFamily() { return {"counters", kSpecsOf<kCountersRows>}; }

}  // namespace sluice
