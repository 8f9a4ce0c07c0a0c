// The expiry family: when a key ends. A relative time becomes a deadline on engine time, which no
// step of the wall clock moves; EXPIREAT's stay Unix times. A time that has passed deletes the key.
//
// Worked example, with 10 s left: EXPIRE k 20 GT gives 1, EXPIRE k 5 GT gives 0, EXPIRE k -1
// deletes k and gives 1. A lock has a lease instead, so every writer here refuses one. The effect
// is PEXPIREAT, or DEL; see EndKeyAt.
//
//   command                   missing key   no deadline     event     effect
//   EXPIRE PEXPIRE and AT     0             set             expire    PEXPIREAT, with its kind
//     with a time in the past 0             deleted         del       DEL
//   PERSIST                   0             0               persist   itself
//   TTL PTTL                  -2            -1
//   EXPIRETIME PEXPIRETIME    -2            -1

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/locks/lock_keys.h"
#include "server/commands/shared/deadline_kinds.h"
#include "server/commands/shared/expiry_args.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

struct Conditions {
  bool nx = false;  // only a key without a deadline
  bool xx = false;  // only a key with one
  bool gt = false;  // only to end later; no deadline is the latest
  bool lt = false;  // only to end earlier

  bool Hold(const Entry& entry, int64_t unix_ms, const Now& now) const {
    const Deadline current = entry.deadline();
    if (current.none()) return !xx && !gt;
    if (nx) return false;
    if (gt && unix_ms <= current.UnixMs(now)) return false;
    return !lt || unix_ms < current.UnixMs(now);
  }
};

// EXPIRE key seconds [NX | XX | GT | LT]; which of them exclude each other is checked behind the
// table.
constexpr OptionRow<Conditions> kConditions[] = {
    {"NX", kRaise<&Conditions::nx>},
    {"XX", kRaise<&Conditions::xx>},
    {"GT", kRaise<&Conditions::gt>},
    {"LT", kRaise<&Conditions::lt>},
};

// All words are read before they are compared: an unknown word wins over two that exclude each
// other. XX with GT or LT is fine, and so is the same word twice. False: the error has been
// answered.
bool ReadConditions(CommandCall& call, Conditions& conditions) {
  ArgReader args(call.args, 3);
  while (args.more()) {
    if (TakeOption(args, kConditions, conditions)) continue;
    // Redis formats it as a C string.
    const std::string_view option = args.Peek();
    args.Fail(Concat("ERR Unsupported option ", option.substr(0, option.find('\0'))));
  }
  if (conditions.nx && (conditions.xx || conditions.gt || conditions.lt)) {
    args.Fail("ERR NX and XX, GT or LT options at the same time are not compatible");
  }
  if (conditions.gt && conditions.lt) {
    args.Fail("ERR GT and LT options at the same time are not compatible");
  }
  if (args.failed()) call.reply.Error(args.error());
  return !args.failed();
}

// The four commands' forms of a time: EXPIRE and PEXPIRE count from now, the AT forms from 1970.
enum class Unit : uint8_t { kSeconds, kMilliseconds };
enum class Base : uint8_t { kNow, kEpoch };

// The time argument in ms; null when it is no integer or too large: the error has been answered.
std::optional<int64_t> ReadTime(CommandCall& call, Unit unit, Base base, const Now& present) {
  const std::optional<int64_t> number = ParseInt64(call.args[2]);
  if (!number) {
    call.reply.Error(ErrorCode::kNotInteger);
    return std::nullopt;
  }
  // Division instead of multiplication: the product may not fit.
  const bool scales =
      unit == Unit::kMilliseconds || (*number <= kMax / 1000 && *number >= kMin / 1000);
  const int64_t ms = scales && unit == Unit::kSeconds ? *number * 1000 : *number;
  // It must fit as a Unix time too: that is how it is shown, logged and saved.
  int64_t moment;
  const bool fits =
      base == Base::kEpoch || (!__builtin_add_overflow(ms, present.unix_ms(), &moment) &&
                               !__builtin_add_overflow(ms, present.ms(), &moment));
  if (scales && fits) return ms;
  call.reply.Error(
      Concat("ERR invalid expire time in '", LowerCase(call.spec().name), "' command"));
  return std::nullopt;
}

// Options, then the time, then the key: EXPIRE of a missing key with a bad number is an error, not
// 0. The conditions compare Unix times, which tell both kinds of deadlines. After `SET k v`:
//   EXPIRE k 100 XX   → 0  it has no time to be changed
//   EXPIRE k 100 GT   → 0  no time is longer than any
//   EXPIRE k 100 LT   → 1
//   EXPIRE k 50 GT    → 0
//   EXPIRE k -1       → 1  a time that has passed deletes the key
//   EXISTS k          → 0
//   EXPIRE k 1 NX XX  → -ERR NX and XX, GT or LT options at the same time are not compatible
void ExpireIn(CommandCall& call, Unit unit, Base base) {
  Conditions conditions;
  if (!ReadConditions(call, conditions)) return;
  const Now present = call.Present();
  const std::optional<int64_t> ms = ReadTime(call, unit, base, present);
  if (!ms) return;
  const HashedKey key = call.Key(1);
  const Entry* const entry = LookUp(call, key);
  if (!entry) return call.reply.Integer(0);
  // Behind the look-up: a missing key is 0, whatever may come to be there.
  if (entry->type() == ValueType::kLock) return call.reply.Error(kLockHasNoTtl);
  const Deadline deadline =
      base == Base::kNow ? Deadline::Steady(present.ms() + *ms) : DeadlineAt(call, *ms);
  const int64_t unix_ms = deadline.UnixMs(call.now);
  if (!conditions.Hold(*entry, unix_ms, call.now)) return call.reply.Integer(0);

  EndKeyAt(call, key, *entry, deadline);
  call.reply.Integer(1);
}

void Expire(CommandCall& call) { ExpireIn(call, Unit::kSeconds, Base::kNow); }
void PExpire(CommandCall& call) { ExpireIn(call, Unit::kMilliseconds, Base::kNow); }
void ExpireAt(CommandCall& call) { ExpireIn(call, Unit::kSeconds, Base::kEpoch); }
void PExpireAt(CommandCall& call) { ExpireIn(call, Unit::kMilliseconds, Base::kEpoch); }

// --- when does it end?

// -2 without a key, -1 without a deadline. The look marks no access, so watching a key's TTL does
// not keep it from eviction. After `SET k v`:
//   TTL k        → -1
//   TTL nothing  → -2
void TimeLeft(CommandCall& call, Unit unit, Base base) {
  const Entry* const entry = PeekToRead(call, call.Key(1));
  if (!entry) return call.reply.Integer(-2);
  const Deadline deadline = entry->deadline();
  if (deadline.none()) return call.reply.Integer(-1);
  // In a script one whose time has passed meanwhile is there until the script ends, with 0 left.
  const int64_t ms = base == Base::kNow ? std::max<int64_t>(deadline.LeftMs(call.Present()), 0)
                                        : deadline.UnixMs(call.now);
  // Rounded to the nearest second, so that a fresh EXPIRE 10 shows 10.
  const int64_t seconds = ms / 1000 + (ms % 1000 >= 500 ? 1 : 0);
  call.reply.Integer(unit == Unit::kSeconds ? seconds : ms);
}

void Ttl(CommandCall& call) { TimeLeft(call, Unit::kSeconds, Base::kNow); }
void PTtl(CommandCall& call) { TimeLeft(call, Unit::kMilliseconds, Base::kNow); }
void ExpireTime(CommandCall& call) { TimeLeft(call, Unit::kSeconds, Base::kEpoch); }
void PExpireTime(CommandCall& call) { TimeLeft(call, Unit::kMilliseconds, Base::kEpoch); }

// 0 if there is nothing to end: no key or deadline. It is its own effect. After `SET k v EX 100`:
//   PERSIST k  → 1
//   PERSIST k  → 0
void Persist(CommandCall& call) {
  const Entry* const entry = LookUp(call, call.Key(1));
  if (entry && entry->type() == ValueType::kLock) return call.reply.Error(kLockHasNoTtl);
  if (!entry || !entry->is_volatile()) return call.reply.Integer(0);
  call.db.SetDeadline(call.db.Modify(*entry, call.now), Deadline::None());
  call.Changed(kNotifyGeneric, "persist", call.args[1]);
  call.reply.Integer(1);
}

// --- the table

constexpr uint32_t kSets = kWrite | kFast;
constexpr uint32_t kTells = kReadOnly | kFast;
constexpr KeySpecs kChanged = KeyAt(1, kKeyRw | kKeyUpdate);
constexpr KeySpecs kRead = KeyAt(1, kKeyRo | kKeyAccess);

constexpr CommandRow kExpiryRows[] = {
    {.name = "EXPIRE",
     .arity = -3,
     .flags = kSets,
     .categories = kCatKeyspace,
     .keys = kChanged,
     .run = Expire,
     .group = "generic",
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "key seconds [NX | XX | GT | LT]@7.0.0",
     .summary = "Let a key end after so many seconds.",
     .history = "7.0.0 `NX`, `XX`, `GT` and `LT`."},
    {.name = "PEXPIRE",
     .arity = -3,
     .flags = kSets,
     .categories = kCatKeyspace,
     .keys = kChanged,
     .run = PExpire,
     .group = "generic",
     .since = "2.6.0",
     .complexity = "O(1)",
     .usage = "key milliseconds [NX | XX | GT | LT]@7.0.0",
     .summary = "Let a key end after so many milliseconds.",
     .history = "7.0.0 `NX`, `XX`, `GT` and `LT`."},
    {.name = "EXPIREAT",
     .arity = -3,
     .flags = kSets,
     .categories = kCatKeyspace,
     .keys = kChanged,
     .run = ExpireAt,
     .group = "generic",
     .since = "1.2.0",
     .complexity = "O(1)",
     .usage = "key unix-time-seconds [NX | XX | GT | LT]@7.0.0",
     .summary = "Let a key end at a Unix time in seconds.",
     .history = "7.0.0 `NX`, `XX`, `GT` and `LT`."},
    {.name = "PEXPIREAT",
     .arity = -3,
     .flags = kSets,
     .categories = kCatKeyspace,
     .keys = kChanged,
     .run = PExpireAt,
     .group = "generic",
     .since = "2.6.0",
     .complexity = "O(1)",
     .usage = "key unix-time-milliseconds [NX | XX | GT | LT]@7.0.0",
     .summary = "Let a key end at a Unix time in milliseconds.",
     .history = "7.0.0 `NX`, `XX`, `GT` and `LT`."},
    {.name = "EXPIRETIME",
     .arity = 2,
     .flags = kTells,
     .categories = kCatKeyspace,
     .keys = kRead,
     .run = ExpireTime,
     .group = "generic",
     .since = "7.0.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "The Unix time in seconds at which a key ends; -1: never, -2: no key."},
    {.name = "PEXPIRETIME",
     .arity = 2,
     .flags = kTells,
     .categories = kCatKeyspace,
     .keys = kRead,
     .run = PExpireTime,
     .group = "generic",
     .since = "7.0.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "The Unix time in milliseconds at which a key ends; -1: never, -2: no key."},
    {.name = "TTL",
     .arity = 2,
     .flags = kTells,
     .categories = kCatKeyspace,
     .keys = kRead,
     .run = Ttl,
     .group = "generic",
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "How many seconds a key has left; -1: no end, -2: no key.",
     .history = "2.8.0 A key that is missing answers -2.",
     .tips = "nondeterministic_output"},
    {.name = "PTTL",
     .arity = 2,
     .flags = kTells,
     .categories = kCatKeyspace,
     .keys = kRead,
     .run = PTtl,
     .group = "generic",
     .since = "2.6.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "How many milliseconds a key has left; -1: no end, -2: no key.",
     .history = "2.8.0 A key that is missing answers -2.",
     .tips = "nondeterministic_output"},
    {.name = "PERSIST",
     .arity = 2,
     .flags = kSets,
     .categories = kCatKeyspace,
     .keys = kChanged,
     .run = Persist,
     .group = "generic",
     .since = "2.2.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "Let a key live for ever; 1 if it had an end."},
};

}  // namespace

CommandFamily ExpiryFamily() { return {"expiry", kSpecsOf<kExpiryRows>}; }

}  // namespace sluice
