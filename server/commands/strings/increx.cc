// INCREX: a counter with bounds and a deadline in one step, which is a fixed-window rate limit
// without a script. Both grammars are read, Redis 8.8's and Valkey 9.2's (which adds NX and XX):
// their options come in any order.
//
// The answer is [value, increment applied]. A step that would leave the bounds, or the type, is not
// made: [value, 0] and neither value nor deadline is touched; with SATURATE it goes to the bound.
//
// A limit of 100 requests a minute: the first request opens the window, and ENX keeps its end where
// it is.
//
//   > INCREX api:42 UBOUND 100 EX 60 ENX
//   < 1) (integer) 57
//     2) (integer) 1       0 here means: refused, try again later
//
// The log gets the outcome: SET with an absolute time or KEEPTTL.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/expiry_args.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/shared/value_condition.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// Numbers stay text until all words are read: whether they are integers or decimals depends on
// BYFLOAT, which may come behind them.
struct IncrExOptions {
  std::optional<std::string_view> by_int;
  std::optional<std::string_view> by_float;
  std::optional<std::string_view> low;
  std::optional<std::string_view> high;
  bool saturate = false;
  bool only_if_persistent = false;  // ENX: the deadline is set if there is none
  ValueCondition condition;         // NX, XX
  ExpiryArg expiry;
};

// INCREX key [BYINT n | BYFLOAT x] [LBOUND n] [UBOUND n] [SATURATE] [EX s | PX ms | EXAT s | PXAT
// ms | PERSIST] [ENX] [NX | XX], in any order.
constexpr OptionRow<IncrExOptions> kIncrExOptions[] = {
    {"BYINT", kTakeBytes<&IncrExOptions::by_int>, 1,
     [](const IncrExOptions& before) { return !before.by_float; }},
    {"BYFLOAT", kTakeBytes<&IncrExOptions::by_float>, 1,
     [](const IncrExOptions& before) { return !before.by_int; }},
    {"LBOUND", kTakeBytes<&IncrExOptions::low>, 1},
    {"UBOUND", kTakeBytes<&IncrExOptions::high>, 1},
    {"SATURATE", kRaise<&IncrExOptions::saturate>},
    {"ENX", kRaise<&IncrExOptions::only_if_persistent>},
    kExpiryRow<IncrExOptions, ExpiryKind::kEx>,
    kExpiryRow<IncrExOptions, ExpiryKind::kPx>,
    kExpiryRow<IncrExOptions, ExpiryKind::kExat>,
    kExpiryRow<IncrExOptions, ExpiryKind::kPxat>,
    kExpiryRow<IncrExOptions, ExpiryKind::kPersist>,
    kConditionRow<IncrExOptions, ValueCondition::Kind::kMissing>,
    kConditionRow<IncrExOptions, ValueCondition::Kind::kPresent>,
};

// ENX without a deadline makes no sense; whether one was given is known only at the end.
bool ReadIncrExOptions(CommandCall& call, IncrExOptions& options) {
  ArgReader args(call.args, 2);
  ReadOptions(args, kIncrExOptions, options);
  if (options.only_if_persistent && !options.expiry.timed()) args.Fail(ErrorCode::kSyntax);
  if (!args.failed()) return true;
  call.reply.Error(args.error());
  return false;
}

// --- the two kinds of numbers. A step is computed where it cannot overflow.

// BYINT, and the step of 1 without either word: 64-bit integers, computed in 128 bits.
struct Whole {
  using Number = int64_t;
  using Wide = __int128;
  static constexpr ErrorCode kFault = ErrorCode::kNotInteger;
  static constexpr Number kLowest = std::numeric_limits<int64_t>::min();
  static constexpr Number kHighest = std::numeric_limits<int64_t>::max();

  static std::optional<Number> Parse(std::string_view text) { return ParseInt64(text); }
  static void Reply(ReplySink& reply, Number value) { reply.Integer(value); }
};

// BYFLOAT: long doubles, as INCRBYFLOAT has them. RESP3 has a type for them; RESP2 gets the text.
struct Decimal {
  using Number = long double;
  using Wide = long double;
  static constexpr ErrorCode kFault = ErrorCode::kNotFloat;
  static constexpr Number kLowest = std::numeric_limits<long double>::lowest();
  static constexpr Number kHighest = std::numeric_limits<long double>::max();

  static std::optional<Number> Parse(std::string_view text) { return ParseLongDouble(text); }
  static void Reply(ReplySink& reply, Number value) {
    if (reply.version() > 2) return reply.Double(static_cast<double>(value));
    reply.Bulk(HumanLongDoubleText(value));  // all the digits that are stored
  }
};

template <typename Kind>
struct Step {
  typename Kind::Number increment = 1;
  typename Kind::Number low = Kind::kLowest;
  typename Kind::Number high = Kind::kHighest;
  bool saturate = false;

  // Where the step leads from `value`; null when it may not be made, or when the way there is
  // longer than a number can say.
  std::optional<typename Kind::Number> From(typename Kind::Number value) const {
    using Wide = typename Kind::Wide;
    Wide sum = Wide{value} + increment;
    if (sum < low || sum > high) {
      if (!saturate) return std::nullopt;
      sum = std::clamp<Wide>(sum, low, high);
    }
    const Wide applied = sum - value;
    if (applied < Kind::kLowest || applied > Kind::kHighest) return std::nullopt;
    return static_cast<typename Kind::Number>(sum);
  }
};

// Reads an operand if it is given; false when it is no number (answered).
template <typename Kind>
bool ReadNumber(CommandCall& call, const std::optional<std::string_view>& text,
                typename Kind::Number& number) {
  if (!text) return true;
  const std::optional<typename Kind::Number> value = Kind::Parse(*text);
  if (!value) {
    call.reply.Error(Kind::kFault);
    return false;
  }
  number = *value;
  return true;
}

template <typename Kind>
bool ReadStep(CommandCall& call, const IncrExOptions& options, Step<Kind>& step) {
  if (!ReadNumber<Kind>(call, options.by_float ? options.by_float : options.by_int,
                        step.increment) ||
      !ReadNumber<Kind>(call, options.low, step.low) ||
      !ReadNumber<Kind>(call, options.high, step.high)) {
    return false;
  }
  step.low = std::max(step.low, Kind::kLowest);  // an infinite bound is none
  step.high = std::min(step.high, Kind::kHighest);
  step.saturate = options.saturate;
  if (!std::isfinite(static_cast<long double>(step.increment))) {
    call.reply.Error(ErrorCode::kNanOrInfinity);
    return false;
  }
  if (step.low > step.high) {
    call.reply.Error("ERR LBOUND can't be greater than UBOUND");
    return false;
  }
  return true;
}

// --- what becomes of the key

// Its deadline after a step that is made.
Deadline NewDeadline(const IncrExOptions& options, const Entry* old, Deadline asked) {
  const Deadline before = old ? old->deadline() : Deadline::None();
  if (options.expiry.kind == ExpiryKind::kPersist) return Deadline::None();
  if (!options.expiry.timed() || (options.only_if_persistent && !before.none())) return before;
  return asked;
}

// The outcome as a SET: KEEPTTL where the deadline stays as it was.
void Record(CommandCall& call, std::string_view value, bool keeps, Deadline deadline) {
  const std::string_view key = call.args[1];
  if (keeps) return call.ReplaceWith({"SET", key, value, "KEEPTTL"});
  ReplaceWithSet(call, key, value, deadline);
}

// One overload for each kind of number; so it is with the event and the text.
void Store(CommandCall& call, HashedKey key, int64_t value, Deadline deadline) {
  call.db.PutInteger(key, value, deadline, call.now);
}
void Store(CommandCall& call, HashedKey key, long double value, Deadline deadline) {
  call.db.PutTextAsIs(key, HumanLongDoubleText(value), deadline, call.now);
}
std::string_view EventOf(int64_t) { return "incrby"; }
std::string_view EventOf(long double) { return "incrbyfloat"; }
std::string TextOf(int64_t value) { return Int64Text(value); }
std::string TextOf(long double value) { return HumanLongDoubleText(value); }

template <typename Number>
void Apply(CommandCall& call, HashedKey key, const Entry* old, Number value, Deadline deadline) {
  // The same moment and the same kind: then KEEPTTL says it better than a time.
  const bool keeps = old && old->deadline() == deadline;
  // Only a Unix time can have passed already: the key is gone, if it was there at all.
  if (deadline.Passed(call.Present())) {
    DeleteAsEffect(call, key);
    return;
  }
  Store(call, key, value, deadline);
  call.Changed(kNotifyString, EventOf(value), key.bytes);
  if (!keeps && !deadline.none()) call.Changed(kNotifyGeneric, "expire", key.bytes);
  if (call.wants_effects()) Record(call, TextOf(value), keeps, deadline);
}

template <typename Kind>
void Run(CommandCall& call, const IncrExOptions& options) {
  Step<Kind> step;
  Deadline asked;
  if (!ReadStep(call, options, step)) return;
  if (options.expiry.timed() && !ReadDeadline(call, options.expiry, asked)) return;

  const HashedKey key = call.Key(1);
  const Entry* const old = LookUp(call, key);
  if (!IsTextOrMissing(call, old)) return;
  char scratch[Entry::kTextScratch];
  typename Kind::Number value = 0;
  if (old && !ReadNumber<Kind>(call, old->Text(scratch), value)) return;
  if (!std::isfinite(static_cast<long double>(value))) {
    return call.reply.Error(ErrorCode::kNanOrInfinity);
  }

  std::optional<typename Kind::Number> result;
  // A condition that fails, and a step that may not be made, have the same answer.
  if (options.condition.Holds(old)) result = step.From(value);
  call.reply.Array(2);
  Kind::Reply(call.reply, result.value_or(value));
  Kind::Reply(call.reply, result ? *result - value : 0);
  if (result) Apply(call, key, old, *result, NewDeadline(options, old, asked));
}

//   INCREX k BYINT 5 UBOUND 10           → [5, 5]  the value, and what was added
//   INCREX k BYINT 8 UBOUND 10           → [5, 0]  refused: nothing is added
//   INCREX k BYINT 8 UBOUND 10 SATURATE  → [10, 5]
//   INCREX k BYFLOAT 0.5                 → ["10.5", "0.5"]
//   INCREX k LBOUND 5 UBOUND 1           → -ERR LBOUND can't be greater than UBOUND
//   INCREX k BYINT 1 BYFLOAT 1           → -ERR syntax error
void IncrEx(CommandCall& call) {
  IncrExOptions options;
  if (!ReadIncrExOptions(call, options)) return;
  options.by_float ? Run<Decimal>(call, options) : Run<Whole>(call, options);
}

// --- the table

constexpr CommandRow kIncrExRows[] = {
    {.name = "INCREX",
     .arity = -2,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kFast,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = IncrEx,
     .group = "string",
     .since = "8.8.0",
     .complexity = "O(1)",
     .usage =
         "key [NX | XX] [BYFLOAT increment:double | BYINT increment] [LBOUND lowerbound:double] "
         "[UBOUND upperbound:double] [SATURATE] [EX seconds | PX milliseconds | EXAT "
         "unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX]",
     .summary =
         "Add to a counter within bounds and say when it ends; the value and what was added."},
};

}  // namespace

CommandFamily IncrExFamily() { return {"increx", kSpecsOf<kIncrExRows>}; }

}  // namespace sluice
