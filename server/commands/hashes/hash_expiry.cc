// Ends of hash fields: HEXPIRE and its kin of Redis 7.4. Relative times become deadlines on
// engine time, those of the AT forms stay Unix times. The effects are absolute times and removals.
//
// One answer for each field, in the order of the request:
//
//   -2 no such field    0 the condition does not hold    2 deleted, as the time has passed
//   -1 it has no end    1 done
//
//   > HEXPIRE h 60 FIELDS 2 a nofield
//   < 1) (integer) 1
//     2) (integer) -2
//
// A key of another type is the first fault of all, the grammar comes next, a missing key last.
//
//   command                 event                        effect
//   HEXPIRE and its kin     hexpire                      HPEXPIREAT key ms FIELDS n field ...
//     with a passed time    hdel (and del)               HDEL key field ...
//   HPERSIST                hpersist                     HPERSIST key FIELDS n field ...
//   HTTL and its kin        none: they only look

#include <string>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/hashes/hash_field_ttl.h"
#include "server/commands/shared/deadline_kinds.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// --- HEXPIRE and its kin

enum class Condition : uint8_t { kNone, kNx, kXx, kGt, kLt };

// At most one condition, unlike in EXPIRE: a second word is not at the place of FIELDS and so a
// fault.
struct ExpireOptions {
  Condition condition = Condition::kNone;
};

// HEXPIRE key seconds [NX | XX | GT | LT] FIELDS n field ...
constexpr OptionRow<ExpireOptions> kExpireOptions[] = {
    {"NX", kAssign<&ExpireOptions::condition, Condition::kNx>},
    {"XX", kAssign<&ExpireOptions::condition, Condition::kXx>},
    {"GT", kAssign<&ExpireOptions::condition, Condition::kGt>},
    {"LT", kAssign<&ExpireOptions::condition, Condition::kLt>},
};

// No end is the latest.
bool Holds(Condition condition, const Deadline& old, const Deadline& fresh, const Now& now) {
  if (old.none()) return condition != Condition::kXx && condition != Condition::kGt;
  switch (condition) {
    case Condition::kNx:
      return false;
    case Condition::kGt:
      return fresh.UnixMs(now) > old.UnixMs(now);
    case Condition::kLt:
      return fresh.UnixMs(now) < old.UnixMs(now);
    default:
      return true;
  }
}

// The answer for a key that is missing, after the grammar was checked.
void ReplyToAll(CommandCall& call, size_t first, int64_t answer) {
  call.reply.Array(call.args.size() - first);
  for (size_t i = first; i < call.args.size(); ++i) call.reply.Integer(answer);
}

// For each field that the call names from `first` on: what `answer` says of one that is there.
template <typename Answer>
void AnswerEach(CommandCall& call, size_t first, const Hash& hash, const Answer& answer) {
  call.reply.Array(call.args.size() - first);
  for (const std::string_view name : call.args.subspan(first)) {
    FieldValue field;
    const bool is_there = hash.Get(name, call.now, field);
    call.reply.Integer(is_there ? answer(name, field.deadline) : int64_t{kNoField});
  }
}

// After `HSET h a 1 b 2`:
//   HEXPIRE h 100 XX FIELDS 1 a     → [0]
//   HEXPIRE h 100 GT FIELDS 1 a     → [0]  no time is longer than any
//   HEXPIRE h 0 FIELDS 1 a          → [2]  deleted
//   HEXPIRE nothing 100 FIELDS 1 a  → [-2]
//   HEXPIRE h -1 FIELDS 1 b         → -ERR invalid expire time, must be >= 0
template <const TimeForm& form>
void ExpireFields(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  ArgReader args(call.args, 2);
  const Deadline deadline = TakeFieldTime(args, call, form);
  ExpireOptions options;
  TakeOption(args, kExpireOptions, options);
  if (args.failed()) return call.reply.Error(args.error());
  const size_t first =
      ReadFields(call, args.position(), "ERR Parameter `numFields` should be greater than 0");
  if (first == 0) return;
  if (!found) return ReplyToAll(call, first, kNoField);

  FieldEdit edit(call, key, found);
  AnswerEach(call, first, *found, [&](std::string_view name, const Deadline& old) {
    const bool holds = Holds(options.condition, old, deadline, call.now);
    return holds ? edit.SetDeadline(name, deadline) : kNotMet;
  });
  const std::string unix_ms = Int64Text(deadline.UnixMs(call.now));
  edit.Finish("hexpire", {"HPEXPIREAT", key.bytes, unix_ms}, EffectTimeOf(deadline));
}

// -1 for a field without an end: it is no change, and it is told apart from 1. After `HSET h a 1`:
//   HPERSIST h FIELDS 2 a nothing  → [-1, -2]
void HPersist(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  const size_t first = ReadFields(call, 2);
  if (first == 0) return;
  if (!found) return ReplyToAll(call, first, kNoField);
  FieldEdit edit(call, key, found);
  AnswerEach(call, first, *found, [&](std::string_view name, const Deadline& old) {
    return old.none() ? kNoEnd : edit.SetDeadline(name, Deadline::None());
  });
  edit.Finish("hpersist", {"HPERSIST", key.bytes});
}

// --- when do they end?

// Seconds are rounded up, where TTL rounds to the nearest: a field that is there never shows 0, but
// in a script that runs past its end.
int64_t ShowTime(const Deadline& deadline, TimeForm form, const Now& present) {
  const int64_t ms = form.base == TimeBase::kNow ? std::max<int64_t>(deadline.LeftMs(present), 0)
                                                 : deadline.UnixMs(present);
  return form.unit == TimeUnit::kSeconds ? (ms + 999) / 1000 : ms;
}

template <const TimeForm& form>
void TellTimes(CommandCall& call) {
  const auto found = FindTyped<Hash>(call, call.Key(1));
  if (found.refused) return;
  const size_t first = ReadFields(call, 2);
  if (first == 0) return;
  if (!found) return ReplyToAll(call, first, kNoField);
  const Now present = call.Present();
  AnswerEach(call, first, *found, [&](std::string_view, const Deadline& deadline) {
    return deadline.none() ? int64_t{kNoEnd} : ShowTime(deadline, form, present);
  });
}

// --- the table

// The four commands that set ends differ in name and words alone.
constexpr CommandRow ExpireRow(std::string_view name, Handler run, std::string_view usage,
                               std::string_view summary) {
  return {.name = name,
          .arity = -6,
          .flags = kNotInRedis70 | kWrite | kDenyOom | kFast,
          .keys = KeyAt(1, kKeyRw | kKeyUpdate),
          .run = run,
          .usage = usage,
          .summary = summary};
}

// As do the four that tell of them.
constexpr CommandRow TimeRow(std::string_view name, Handler run, std::string_view summary,
                             std::string_view tips = {}) {
  return {.name = name,
          .arity = -5,
          .flags = kReadOnly | kFast,
          .keys = KeyAt(1, kKeyRo | kKeyAccess),
          .run = run,
          .usage = "key fields=<FIELDS numfields field [field ...]>",
          .summary = summary,
          .tips = tips};
}

constexpr std::string_view kRunning = "nondeterministic_output";

constexpr CommandRow kHashExpiryListed[] = {
    ExpireRow("HEXPIRE", ExpireFields<kInSeconds>,
              "key seconds [NX | XX | GT | LT] fields=<FIELDS numfields field [field ...]>",
              "Let fields of a hash end after so many seconds."),
    ExpireRow("HEXPIREAT", ExpireFields<kAtSecond>,
              "key unix-time-seconds [NX | XX | GT | LT] "
              "fields=<FIELDS numfields field [field ...]>",
              "Let fields of a hash end at a Unix time in seconds."),
    TimeRow("HEXPIRETIME", TellTimes<kAtSecond>,
            "The Unix times in seconds at which fields end; -1: never, -2: no field."),
    {.name = "HPERSIST",
     .arity = -5,
     .flags = kNotInRedis70 | kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate),
     .run = HPersist,
     .usage = "key fields=<FIELDS numfields field [field ...]>",
     .summary = "Let fields of a hash live for ever; 1 where one had an end."},
    ExpireRow("HPEXPIRE", ExpireFields<kInMilliseconds>,
              "key milliseconds [NX | XX | GT | LT] fields=<FIELDS numfields field [field ...]>",
              "Let fields of a hash end after so many milliseconds."),
    ExpireRow("HPEXPIREAT", ExpireFields<kAtMillisecond>,
              "key unix-time-milliseconds [NX | XX | GT | LT] "
              "fields=<FIELDS numfields field [field ...]>",
              "Let fields of a hash end at a Unix time in milliseconds."),
    TimeRow("HPEXPIRETIME", TellTimes<kAtMillisecond>,
            "The Unix times in ms at which fields end; -1: never, -2: no field."),
    TimeRow("HPTTL", TellTimes<kInMilliseconds>,
            "How many milliseconds fields have left; -1: no end, -2: no field.", kRunning),
    TimeRow("HTTL", TellTimes<kInSeconds>,
            "How many seconds fields have left; -1: no end, -2: no field.", kRunning),
};
constexpr auto kHashExpiryRows =
    RowsOf(kHashExpiryListed, {.categories = kCatHash,
                               .group = "hash",
                               .since = "7.4.0",
                               .complexity = "O(N) where N is the number of specified fields"});

}  // namespace

CommandFamily HashExpiryFamily() { return {"hash_expiry", kSpecsOf<kHashExpiryRows>}; }

}  // namespace sluice
