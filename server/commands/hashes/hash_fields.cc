// Fields of hashes read or set together with their ends: HGETDEL, HGETEX and HSETEX of Redis 8.0.
// The effects are absolute times and removals.
//
// The three answer for all named fields or change all of them in one step. The type is checked
// first in the two readers, the grammar first in HSETEX.
//
//   command     event                    effect
//   HGETDEL     hdel (and del)           HDEL key field ...
//   HGETEX      hexpire or hpersist      HPEXPIREAT or HPERSIST; HDEL where the time has passed
//   HSETEX      hset, hexpire            HSET, then HPEXPIREAT for the fields that have an end

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/hashes/hash_field_ttl.h"
#include "server/commands/shared/deadline_kinds.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// --- HGETDEL, HGETEX

// A missing key: as many nulls as there are fields, never a null array.
void ReplyNulls(CommandCall& call, size_t first) {
  call.reply.Array(call.args.size() - first);
  for (size_t i = first; i < call.args.size(); ++i) call.reply.Null();
}

// Answers with every field named from `first` on, and does `then` with those that are there.
// Deleting in `then` is fine: the value is answered before it.
template <typename Then>
void ReplyFields(CommandCall& call, const Hash& hash, size_t first, const Then& then) {
  call.reply.Array(call.args.size() - first);
  for (const std::string_view name : call.args.subspan(first)) {
    FieldValue value;
    if (!hash.Get(name, call.now, value)) {
      call.reply.Null();
      continue;
    }
    call.reply.Bulk(value.text);
    then(name, value);
  }
}

// A hash that loses its last field is gone, with `hdel` and then `del`. After `HSET h a 1 b 2`:
//   HGETDEL h FIELDS 2 a nothing  → ["1", nil]
//   HGETDEL h FIELDS 3 a b        → -ERR The `numfields` parameter must match the number of ...
//   HGETDEL nothing FIELDS 1 a    → [nil]
void HGetDel(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  const size_t first = ReadFields(call, 2);
  if (first == 0) return;
  if (!found) return ReplyNulls(call, first);
  FieldEdit edit(call, key, found);
  ReplyFields(call, *found, first,
              [&edit](std::string_view name, const FieldValue&) { edit.Delete(name); });
  edit.Finish("hdel", {});
}

// At most one of the options, and it stands before FIELDS.
struct GetOptions {
  const CommandCall& call;
  bool persist = false;
  std::optional<Deadline> deadline;
};

template <const TimeForm& form, typename Options>
void ReadTime(ArgReader& args, Options& options) {
  options.deadline = TakeFieldTime(args, options.call, form);
}

// HGETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST] FIELDS n field ...
constexpr OptionRow<GetOptions> kGetOptions[] = {
    {"EX", ReadTime<kInSeconds>},
    {"PX", ReadTime<kInMilliseconds>},
    {"EXAT", ReadTime<kAtSecond>},
    {"PXAT", ReadTime<kAtMillisecond>},
    {"PERSIST", kRaise<&GetOptions::persist>},
};

// Without an option it is HMGET. PERSIST of a field without an end and a missing field change
// nothing; what has changed is told by the effect, field by field. After `HSET h a 1`:
//   HGETEX h EX 100 FIELDS 1 a  → ["1"]
//   HTTL h FIELDS 1 a           → [100]
//   HGETEX h PXAT 1 FIELDS 1 a  → ["1"]  the answer, then it goes
//   EXISTS h                    → 0
void HGetEx(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  ArgReader args(call.args, 2);
  GetOptions options{call};
  TakeOption(args, kGetOptions, options);
  if (args.failed()) return call.reply.Error(args.error());
  const std::optional<Deadline>& deadline = options.deadline;
  const size_t first = ReadFields(call, args.position());
  if (first == 0) return;
  if (!found) return ReplyNulls(call, first);

  FieldEdit edit(call, key, found);
  ReplyFields(call, *found, first, [&](std::string_view name, const FieldValue& value) {
    if (deadline) {
      edit.SetDeadline(name, *deadline);
    } else if (options.persist && !value.deadline.none()) {
      edit.SetDeadline(name, Deadline::None());
    }
  });
  if (options.persist) return edit.Finish("hpersist", {"HPERSIST", key.bytes});
  const std::string unix_ms = deadline ? Int64Text(deadline->UnixMs(call.now)) : "";
  edit.Finish("hexpire", {"HPEXPIREAT", key.bytes, unix_ms},
              EffectTimeOf(deadline.value_or(Deadline::None())));
}

// --- HSETEX

// FXX: all fields must be there. FNX: none may be. Without a time or KEEPTTL a field that is set
// loses its end, as with HSET.
struct SetOptions {
  const CommandCall& call;
  bool fxx = false;
  bool fnx = false;
  bool keep_ttl = false;
  std::optional<Deadline> deadline;
  size_t first = 0;  // of the pairs
};

template <bool SetOptions::*condition>
void ReadCondition(ArgReader& args, SetOptions& options) {
  if (options.fxx || options.fnx) {
    return args.Fail("ERR Only one of FXX or FNX arguments can be specified");
  }
  options.*condition = true;
}

// False: there is a fault.
bool IsFirstTime(ArgReader& args, const SetOptions& options) {
  if (options.deadline || options.keep_ttl) {
    args.Fail("ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified");
  }
  return !args.failed();
}

template <const TimeForm& form>
void ReadOnlyTime(ArgReader& args, SetOptions& options) {
  if (!IsFirstTime(args, options)) return;
  if (!args.more()) return args.Fail("ERR missing expire time");
  ReadTime<form>(args, options);
}

// "numfields field value ..." to the end.
void ReadPairs(ArgReader& args, SetOptions& options) {
  if (args.left() < 3) return args.Fail(ArityText(options.call));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const std::optional<int64_t> count = ParseInt64(args.Bytes());
  if (!count || *count < 1 || *count > kMost) return args.Fail("ERR invalid number of fields");
  if (args.left() != 2 * static_cast<size_t>(*count)) return args.Fail(ArityText(options.call));
  options.first = args.position();
  args.Skip(args.left());
}

// HSETEX key [FXX | FNX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL] FIELDS n field value ...
constexpr OptionRow<SetOptions> kSetOptions[] = {
    {"FIELDS", ReadPairs},
    {"FXX", ReadCondition<&SetOptions::fxx>},
    {"FNX", ReadCondition<&SetOptions::fnx>},
    {"KEEPTTL",
     [](ArgReader& args, SetOptions& options) { options.keep_ttl = IsFirstTime(args, options); }},
    {"EX", ReadOnlyTime<kInSeconds>},
    {"PX", ReadOnlyTime<kInMilliseconds>},
    {"EXAT", ReadOnlyTime<kAtSecond>},
    {"PXAT", ReadOnlyTime<kAtMillisecond>},
};

// False: the error has been answered. FIELDS takes all that is left: the options stand before it.
bool ReadSetOptions(CommandCall& call, SetOptions& options) {
  ArgReader args(call.args, 2);
  while (args.more()) {
    if (TakeOption(args, kSetOptions, options)) continue;
    // Redis formats it as a C string.
    args.Fail(Concat("ERR unknown argument: ", args.Peek().substr(0, args.Peek().find('\0'))));
  }
  if (options.first == 0) args.Fail(std::string(kNoFields));
  if (args.failed()) call.reply.Error(args.error());
  return !args.failed();
}

// All or nothing: one field that breaks the rule makes the answer 0, and nothing is set.
bool ConditionHolds(CommandCall& call, const Typed<Hash>& found, const SetOptions& options) {
  if (!options.fxx && !options.fnx) return true;
  for (size_t i = options.first; i < call.args.size(); i += 2) {
    const bool there = found && found->Has(call.args[i], call.now);
    if (there != options.fxx) return false;
  }
  return true;
}

// Tells what HSETEX did, as effects: HSET, which Redis 7.0 knows too and which takes the fields'
// ends away, and then the ends that they have.
class SetExEffects {
 public:
  SetExEffects(CommandCall& call, const SetOptions& options) : call_(call), options_(options) {}

  // To be called before the pair at `i` of the arguments is set: only then it can be seen which end
  // the field keeps. One that is not there, or is over, has none.
  void Setting(const Hash& hash, size_t i) {
    if (!options_.keep_ttl || !call_.wants_effects()) return;
    FieldValue field;
    if (!hash.Get(call_.args[i], call_.now, field) || field.deadline.none()) return;
    kept_.emplace_back(call_.args[i], field.deadline);
  }

  // FXX and FNX are left out: the condition held.
  void Tell() {
    if (!call_.wants_effects()) return;
    std::vector<std::string_view> command = {"HSET", call_.args[1]};
    const Args pairs = call_.args.subspan(options_.first);
    command.insert(command.end(), pairs.begin(), pairs.end());
    call_.ReplaceWith(command);
    if (options_.deadline) {
      std::vector<std::string_view> names;
      for (size_t i = 0; i < pairs.size(); i += 2) names.push_back(pairs[i]);
      RecordFieldsEnd(call_, names, *options_.deadline);
    }
    for (const auto& [name, deadline] : kept_) RecordFieldsEnd(call_, {&name, 1}, deadline);
  }

 private:
  CommandCall& call_;
  const SetOptions& options_;
  std::vector<std::pair<std::string_view, Deadline>> kept_;
};

// All pairs have a time that has passed: what was there goes, and what was not does not come. Sends
// two events, hset and hdel, as Redis 8 does, and logs HDEL.
void DeletePairs(CommandCall& call, const Opened<Hash>& hash, const SetOptions& options) {
  std::vector<std::string_view> removal = {"HDEL", hash.key.bytes};
  for (size_t i = options.first; i < call.args.size(); i += 2) {
    hash->Erase(call.args[i], call.now);
    removal.push_back(call.args[i]);
  }
  call.ReplaceWith(removal);
  call.Changed(kNotifyHash, "hset", hash.key.bytes);
  CloseTyped(call, hash, kNotifyHash, "hdel");
}

// The answer is 1 also for a past time, which sets nothing: the condition held. After `HSET h a 1`:
//   HSETEX h FNX FIELDS 2 a 2 b 2     → 0  all or nothing
//   HSETEX h FXX EX 100 FIELDS 1 a 2  → 1
//   HSETEX h FIELDS 2 a 3             → -ERR wrong number of arguments for 'hsetex' command
void HSetEx(CommandCall& call) {
  SetOptions options{call};
  if (!ReadSetOptions(call, options)) return;
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  if (!ConditionHolds(call, found, options)) return call.reply.Integer(0);
  const auto hash = found ? OpenFound(call, key, found) : CreateTyped<Hash>(call, key);
  const bool passed = options.deadline && options.deadline->Passed(call.Present());
  // An empty hash that was made for it goes again in CloseTyped.
  if (passed) {
    DeletePairs(call, hash, options);
    return call.reply.Integer(1);
  }
  const Hash::Limits limits = HashLimits(call);
  const auto ttl = options.keep_ttl ? Hash::Ttl::kKeep : Hash::Ttl::kClear;
  SetExEffects effects(call, options);
  for (size_t i = options.first; i < call.args.size(); i += 2) {
    effects.Setting(*hash, i);
    hash->Set(call.args[i], call.args[i + 1], limits, call.now, ttl);
    if (options.deadline) hash->SetDeadline(call.args[i], *options.deadline, limits);
  }
  effects.Tell();
  CloseTyped(call, hash, kNotifyHash, "hset");
  if (options.deadline) call.Changed(kNotifyHash, "hexpire", key.bytes);
  call.reply.Integer(1);
}

// --- the table

constexpr CommandRow kHashFieldsListed[] = {
    {.name = "HGETDEL",
     .arity = -5,
     .flags = kNotInRedis70 | kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = HGetDel,
     .usage = "key fields=<FIELDS numfields field [field ...]>",
     .summary = "The values of fields, which are removed."},
    {.name = "HGETEX",
     .arity = -5,
     .flags = kNotInRedis70 | kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = HGetEx,
     .usage = "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
              "unix-time-milliseconds | PERSIST] fields=<FIELDS numfields field [field ...]>",
     .summary = "The values of fields, which get another end."},
    {.name = "HSETEX",
     .arity = -6,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate),
     .run = HSetEx,
     .usage = "key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
              "unix-time-milliseconds | KEEPTTL] "
              "fields=<FIELDS numfields field value [field value ...]>",
     .summary = "Set fields of a hash with an end; 1 if they were set."},
};
constexpr auto kHashFieldsRows =
    RowsOf(kHashFieldsListed, {.categories = kCatHash,
                               .group = "hash",
                               .since = "8.0.0",
                               .complexity = "O(N) where N is the number of specified fields"});

}  // namespace

CommandFamily HashFieldsFamily() { return {"hash_fields", kSpecsOf<kHashFieldsRows>}; }

}  // namespace sluice
