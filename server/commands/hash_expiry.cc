// Fields of hashes that end: HEXPIRE and its kin of Redis 7.4, HGETDEL, HGETEX and HSETEX of 8.0.
// Relative times become deadlines on engine time, those of the AT forms stay Unix times. A time
// that has passed deletes the field. What is written down are absolute times and removals.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "protocol/concat.h"
#include "protocol/number_text.h"
#include "server/commands/families.h"
#include "server/commands/hash_access.h"
#include "server/engine/arg_reader.h"
#include "server/engine/effects.h"

namespace sluice {
namespace {

enum class Unit : uint8_t { kSeconds, kMilliseconds };
enum class Base : uint8_t { kNow, kEpoch };

struct TimeForm {
  Unit unit;
  Base base;
};

// What a field's answer to a command about its end can be.
enum FieldAnswer : int64_t { kNoField = -2, kNoEnd = -1, kNotMet = 0, kDone = 1, kDeleted = 2 };

constexpr int64_t kUnixMsMax = ((int64_t{1} << 48) - 1) >> 2;  // of a field's end
constexpr std::string_view kNoFields =
    "ERR Mandatory argument FIELDS is missing or not at the right position";
constexpr std::string_view kFieldsDiffer =
    "ERR The `numfields` parameter must match the number of arguments";
constexpr std::string_view kFieldsFault = "ERR Number of fields must be a positive integer";
constexpr std::string_view kExpireFieldsFault =
    "ERR Parameter `numFields` should be greater than 0";

// --- arguments

// The deadline that a time argument names; null: the error has been answered.
std::optional<Deadline> ReadFieldTime(CommandCall& call, std::string_view text, TimeForm form) {
  const std::optional<int64_t> number = ParseInt64(text);
  if (!number) {
    call.reply.Error(ErrorCode::kNotInteger);
    return std::nullopt;
  }
  if (*number < 0) {
    call.reply.Error("ERR invalid expire time, must be >= 0");
    return std::nullopt;
  }
  const bool scales = form.unit == Unit::kMilliseconds || *number <= kUnixMsMax / 1000;
  const int64_t ms = form.unit == Unit::kSeconds && scales ? *number * 1000 : *number;
  const int64_t base_ms = form.base == Base::kNow ? call.now.unix_ms() : 0;
  if (!scales || ms > kUnixMsMax - base_ms) {
    call.reply.Error(Concat("ERR invalid expire time in '", LowerName(call), "' command"));
    return std::nullopt;
  }
  return form.base == Base::kNow ? Deadline::Steady(call.now.ms() + ms) : Deadline::Unix(ms);
}

// Reads "FIELDS numfields field ..." from the argument `at` to the end: where the names begin, 0
// after an error has been answered.
size_t ReadFields(CommandCall& call, size_t at, std::string_view count_fault = kFieldsFault) {
  if (at >= call.args.size() || !IsWord(call.args[at], "FIELDS")) {
    call.reply.Error(kNoFields);
    return 0;
  }
  const std::optional<int64_t> count =
      at + 1 < call.args.size() ? ParseInt64(call.args[at + 1]) : std::nullopt;
  if (!count || *count < 1) {
    call.reply.Error(count_fault);
    return 0;
  }
  if (static_cast<uint64_t>(*count) != call.args.size() - at - 2) {
    call.reply.Error(kFieldsDiffer);
    return 0;
  }
  return at + 2;
}

// --- changes of several fields

// Opens the hash at the first change, gathers what happened, and tells it at the end.
class FieldEdit {
 public:
  FieldEdit(CommandCall& call, HashedKey key, const Typed<Hash>& found)
      : call_(call), key_(key), found_(found) {}

  Hash& hash() {
    if (!opened_.entry) opened_ = OpenFound(call_, key_, found_);
    return *opened_;
  }
  // Precondition: the field is there.
  FieldAnswer SetDeadline(std::string_view name, const Deadline& deadline) {
    if (deadline.Passed(call_.now)) {
      Delete(name);
      return kDeleted;
    }
    hash().SetDeadline(name, deadline, HashLimits(call_));
    timed_.push_back(name);
    return kDone;
  }
  void Delete(std::string_view name) {
    hash().Erase(name, call_.now);
    deleted_.push_back(name);
  }
  const std::vector<std::string_view>& timed() const { return timed_; }
  const std::vector<std::string_view>& deleted() const { return deleted_; }

  // `effect`: what stands for the fields with a new time: a command up to its FIELDS.
  void Finish(std::string_view event, std::vector<std::string_view> effect) {
    if (!opened_.entry) return;
    Record(std::move(effect));
    CloseHash(call_, opened_, deleted_.empty() ? event : "hdel");
  }

 private:
  void Record(std::vector<std::string_view> effect) {
    if (!call_.effects.wanted()) return;
    if (!deleted_.empty()) {
      std::vector<std::string_view> removal = {"HDEL", key_.bytes};
      removal.insert(removal.end(), deleted_.begin(), deleted_.end());
      call_.effects.Instead(removal);
    }
    if (timed_.empty()) return;
    const std::string count = std::to_string(timed_.size());
    effect.insert(effect.end(), {"FIELDS", count});
    effect.insert(effect.end(), timed_.begin(), timed_.end());
    call_.effects.Instead(effect);
  }

  CommandCall& call_;
  HashedKey key_;
  Typed<Hash> found_;
  Opened<Hash> opened_;
  std::vector<std::string_view> timed_;
  std::vector<std::string_view> deleted_;
};

// --- HEXPIRE and its kin

enum class Condition : uint8_t { kNone, kNx, kXx, kGt, kLt };

Condition ReadCondition(std::string_view word) {
  if (IsWord(word, "NX")) return Condition::kNx;
  if (IsWord(word, "XX")) return Condition::kXx;
  if (IsWord(word, "GT")) return Condition::kGt;
  return IsWord(word, "LT") ? Condition::kLt : Condition::kNone;
}

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

void ReplyToAll(CommandCall& call, size_t first, int64_t answer) {
  call.reply.Array(call.args.size() - first);
  for (size_t i = first; i < call.args.size(); ++i) call.reply.Integer(answer);
}

void ExpireFields(CommandCall& call, TimeForm form) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  const std::optional<Deadline> deadline = ReadFieldTime(call, call.args[2], form);
  if (!deadline) return;
  const Condition condition = ReadCondition(call.args[3]);
  const size_t first = ReadFields(call, condition == Condition::kNone ? 3 : 4, kExpireFieldsFault);
  if (first == 0) return;
  if (!found) return ReplyToAll(call, first, kNoField);

  FieldEdit edit(call, key, found);
  call.reply.Array(call.args.size() - first);
  for (const std::string_view name : call.args.subspan(first)) {
    FieldValue old;
    FieldAnswer answer = kNoField;
    if (found->Get(name, call.now, old)) {
      const bool holds = Holds(condition, old.deadline, *deadline, call.now);
      answer = holds ? edit.SetDeadline(name, *deadline) : kNotMet;
    }
    call.reply.Integer(answer);
  }
  const std::string unix_ms = Int64Text(deadline->UnixMs(call.now));
  edit.Finish("hexpire", {"HPEXPIREAT", key.bytes, unix_ms});
}

void HExpire(CommandCall& call) { ExpireFields(call, {Unit::kSeconds, Base::kNow}); }
void HPExpire(CommandCall& call) { ExpireFields(call, {Unit::kMilliseconds, Base::kNow}); }
void HExpireAt(CommandCall& call) { ExpireFields(call, {Unit::kSeconds, Base::kEpoch}); }
void HPExpireAt(CommandCall& call) { ExpireFields(call, {Unit::kMilliseconds, Base::kEpoch}); }

void HPersist(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  const size_t first = ReadFields(call, 2);
  if (first == 0) return;
  if (!found) return ReplyToAll(call, first, kNoField);
  FieldEdit edit(call, key, found);
  call.reply.Array(call.args.size() - first);
  for (const std::string_view name : call.args.subspan(first)) {
    FieldValue old;
    FieldAnswer answer = kNoField;
    if (found->Get(name, call.now, old)) {
      answer = old.deadline.none() ? kNoEnd : edit.SetDeadline(name, Deadline::None());
    }
    call.reply.Integer(answer);
  }
  edit.Finish("hpersist", {"HPERSIST", key.bytes});
}

// --- when do they end?

int64_t ShowTime(const Deadline& deadline, TimeForm form, const Now& now) {
  const int64_t ms = form.base == Base::kNow ? deadline.LeftMs(now) : deadline.UnixMs(now);
  return form.unit == Unit::kSeconds ? (ms + 999) / 1000 : ms;
}

void TellTimes(CommandCall& call, TimeForm form) {
  const auto found = FindTyped<Hash>(call, call.Key(1));
  if (found.refused) return;
  const size_t first = ReadFields(call, 2);
  if (first == 0) return;
  if (!found) return ReplyToAll(call, first, kNoField);
  call.reply.Array(call.args.size() - first);
  for (const std::string_view name : call.args.subspan(first)) {
    FieldValue value;
    const bool there = found->Get(name, call.now, value);
    if (there && !value.deadline.none()) {
      call.reply.Integer(ShowTime(value.deadline, form, call.now));
    } else {
      call.reply.Integer(there ? kNoEnd : kNoField);
    }
  }
}

void HTtl(CommandCall& call) { TellTimes(call, {Unit::kSeconds, Base::kNow}); }
void HPTtl(CommandCall& call) { TellTimes(call, {Unit::kMilliseconds, Base::kNow}); }
void HExpireTime(CommandCall& call) { TellTimes(call, {Unit::kSeconds, Base::kEpoch}); }
void HPExpireTime(CommandCall& call) { TellTimes(call, {Unit::kMilliseconds, Base::kEpoch}); }

// --- HGETDEL, HGETEX

void ReplyNulls(CommandCall& call, size_t first) {
  call.reply.Array(call.args.size() - first);
  for (size_t i = first; i < call.args.size(); ++i) call.reply.Null();
}

// Answers with every field named from `first` on, and does `then` with those that are there.
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

struct TimeWord {
  std::string_view word;
  TimeForm form;
};
constexpr TimeWord kTimeWords[] = {
    {"EX", {Unit::kSeconds, Base::kNow}},
    {"PX", {Unit::kMilliseconds, Base::kNow}},
    {"EXAT", {Unit::kSeconds, Base::kEpoch}},
    {"PXAT", {Unit::kMilliseconds, Base::kEpoch}},
};

const TimeWord* FindTimeWord(std::string_view word) {
  for (const TimeWord& row : kTimeWords) {
    if (IsWord(word, row.word)) return &row;
  }
  return nullptr;
}

void HGetEx(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  const TimeWord* const word = FindTimeWord(call.args[2]);
  const bool persist = IsWord(call.args[2], "PERSIST");
  std::optional<Deadline> deadline;
  if (word && !(deadline = ReadFieldTime(call, call.args[3], word->form))) return;
  const size_t first = ReadFields(call, word ? 4 : persist ? 3 : 2);
  if (first == 0) return;
  if (!found) return ReplyNulls(call, first);

  FieldEdit edit(call, key, found);
  ReplyFields(call, *found, first, [&](std::string_view name, const FieldValue& value) {
    if (deadline) {
      edit.SetDeadline(name, *deadline);
    } else if (persist && !value.deadline.none()) {
      edit.SetDeadline(name, Deadline::None());
    }
  });
  if (persist) return edit.Finish("hpersist", {"HPERSIST", key.bytes});
  const std::string unix_ms = deadline ? Int64Text(deadline->UnixMs(call.now)) : "";
  edit.Finish("hexpire", {"HPEXPIREAT", key.bytes, unix_ms});
}

// --- HSETEX

struct SetOptions {
  bool fxx = false;
  bool fnx = false;
  bool keep_ttl = false;
  std::optional<Deadline> deadline;
  size_t first = 0;  // of the pairs
};

// Reads "FIELDS numfields field value ..." to the end; false: the error has been answered.
bool ReadPairs(CommandCall& call, size_t at, SetOptions& options) {
  if (at + 3 >= call.args.size()) {
    ReplyArity(call);
    return false;
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const std::optional<int64_t> count = ParseInt64(call.args[at + 1]);
  if (!count || *count < 1 || *count > kMost) {
    call.reply.Error("ERR invalid number of fields");
    return false;
  }
  options.first = at + 2;
  const size_t left = call.args.size() - options.first;
  if (left != 2 * static_cast<size_t>(*count)) {
    ReplyArity(call);
    return false;
  }
  return true;
}

bool ReadSetOption(CommandCall& call, size_t& at, SetOptions& options) {
  const std::string_view word = call.args[at];
  const TimeWord* const time = FindTimeWord(word);
  const bool keep_ttl = IsWord(word, "KEEPTTL");
  const bool fxx = IsWord(word, "FXX");
  const bool fnx = IsWord(word, "FNX");
  if ((time || keep_ttl) && (options.deadline || options.keep_ttl)) {
    call.reply.Error("ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified");
    return false;
  }
  if ((fxx || fnx) && (options.fxx || options.fnx)) {
    call.reply.Error("ERR Only one of FXX or FNX arguments can be specified");
    return false;
  }
  if (!time && !keep_ttl && !fxx && !fnx) {
    // Redis formats it as a C string.
    call.reply.Error(Concat("ERR unknown argument: ", word.substr(0, word.find('\0'))));
    return false;
  }
  options.keep_ttl |= keep_ttl;
  options.fxx |= fxx;
  options.fnx |= fnx;
  if (!time) return true;
  if (++at >= call.args.size()) {
    call.reply.Error("ERR missing expire time");
    return false;
  }
  options.deadline = ReadFieldTime(call, call.args[at], time->form);
  return options.deadline.has_value();
}

bool ReadSetOptions(CommandCall& call, SetOptions& options) {
  for (size_t at = 2; at < call.args.size(); ++at) {
    if (IsWord(call.args[at], "FIELDS")) return ReadPairs(call, at, options);
    if (!ReadSetOption(call, at, options)) return false;
  }
  call.reply.Error(kNoFields);
  return false;
}

bool ConditionHolds(CommandCall& call, const Typed<Hash>& found, const SetOptions& options) {
  if (!options.fxx && !options.fnx) return true;
  for (size_t i = options.first; i < call.args.size(); i += 2) {
    const bool there = found && found->Has(call.args[i], call.now);
    if (there != options.fxx) return false;
  }
  return true;
}

void RecordSetEx(CommandCall& call, const SetOptions& options) {
  if (!call.effects.wanted()) return;
  std::vector<std::string_view> command = {"HSETEX", call.args[1]};
  const std::string unix_ms =
      options.deadline ? Int64Text(options.deadline->UnixMs(call.now)) : std::string();
  if (options.deadline) command.insert(command.end(), {"PXAT", unix_ms});
  if (options.keep_ttl) command.push_back("KEEPTTL");
  command.push_back("FIELDS");
  command.insert(command.end(), call.args.begin() + options.first - 1, call.args.end());
  call.effects.Instead(command);
}

// All pairs have a time that has passed: what was there goes, and what was not does not come.
void DeletePairs(CommandCall& call, const Opened<Hash>& hash, const SetOptions& options) {
  std::vector<std::string_view> removal = {"HDEL", hash.key.bytes};
  for (size_t i = options.first; i < call.args.size(); i += 2) {
    hash->Erase(call.args[i], call.now);
    removal.push_back(call.args[i]);
  }
  if (call.effects.wanted()) call.effects.Instead(removal);
  call.Notify(kNotifyHash, "hset", hash.key.bytes);
  CloseHash(call, hash, "hdel");
}

void HSetEx(CommandCall& call) {
  SetOptions options;
  if (!ReadSetOptions(call, options)) return;
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Hash>(call, key);
  if (found.refused) return;
  if (!ConditionHolds(call, found, options)) return call.reply.Integer(0);
  const auto hash = found ? OpenFound(call, key, found) : CreateTyped<Hash>(call, key);
  const bool passed = options.deadline && options.deadline->Passed(call.now);
  if (passed) {
    DeletePairs(call, hash, options);
    return call.reply.Integer(1);
  }
  const Hash::Limits limits = HashLimits(call);
  const auto ttl = options.keep_ttl ? Hash::Ttl::kKeep : Hash::Ttl::kClear;
  for (size_t i = options.first; i < call.args.size(); i += 2) {
    hash->Set(call.args[i], call.args[i + 1], limits, call.now, ttl);
    if (options.deadline) hash->SetDeadline(call.args[i], *options.deadline, limits);
  }
  RecordSetEx(call, options);
  CloseTyped(call, hash);
  call.Notify(kNotifyHash, "hset", key.bytes);
  if (options.deadline) call.Notify(kNotifyHash, "hexpire", key.bytes);
  call.reply.Integer(1);
}

// --- the table

constexpr uint32_t kSets = kWrite | kDenyOom | kFast;
constexpr uint32_t kTells = kReadOnly | kFast;
constexpr KeySpecs kChanged = KeyAt(1, kKeyRw | kKeyUpdate);
constexpr KeySpecs kRead = KeyAt(1, kKeyRo | kKeyAccess);
constexpr std::string_view kEach = "O(N) where N is the number of specified fields";

constexpr CommandSpec kRows[] = {
    {.name = "HEXPIRE",
     .arity = -6,
     .flags = kSets,
     .categories = kCatHash,
     .keys = kChanged,
     .run = HExpire,
     .group = "hash",
     .since = "7.4.0",
     .complexity = kEach,
     .usage = "key seconds [NX | XX | GT | LT] fields=<FIELDS numfields field [field ...]>",
     .summary = "Let fields of a hash end after so many seconds."},
    {.name = "HEXPIREAT",
     .arity = -6,
     .flags = kSets,
     .categories = kCatHash,
     .keys = kChanged,
     .run = HExpireAt,
     .group = "hash",
     .since = "7.4.0",
     .complexity = kEach,
     .usage = "key unix-time-seconds [NX | XX | GT | LT] "
              "fields=<FIELDS numfields field [field ...]>",
     .summary = "Let fields of a hash end at a Unix time in seconds."},
    {.name = "HEXPIRETIME",
     .arity = -5,
     .flags = kTells,
     .categories = kCatHash,
     .keys = kRead,
     .run = HExpireTime,
     .group = "hash",
     .since = "7.4.0",
     .complexity = kEach,
     .usage = "key fields=<FIELDS numfields field [field ...]>",
     .summary = "The Unix times in seconds at which fields end; -1: never, -2: no field."},
    {.name = "HGETDEL",
     .arity = -5,
     .flags = kWrite | kFast,
     .categories = kCatHash,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = HGetDel,
     .group = "hash",
     .since = "8.0.0",
     .complexity = kEach,
     .usage = "key fields=<FIELDS numfields field [field ...]>",
     .summary = "The values of fields, which are removed."},
    {.name = "HGETEX",
     .arity = -5,
     .flags = kWrite | kFast,
     .categories = kCatHash,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = HGetEx,
     .group = "hash",
     .since = "8.0.0",
     .complexity = kEach,
     .usage = "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
              "unix-time-milliseconds | PERSIST] fields=<FIELDS numfields field [field ...]>",
     .summary = "The values of fields, which get another end."},
    {.name = "HPERSIST",
     .arity = -5,
     .flags = kWrite | kFast,
     .categories = kCatHash,
     .keys = kChanged,
     .run = HPersist,
     .group = "hash",
     .since = "7.4.0",
     .complexity = kEach,
     .usage = "key fields=<FIELDS numfields field [field ...]>",
     .summary = "Let fields of a hash live for ever; 1 where one had an end."},
    {.name = "HPEXPIRE",
     .arity = -6,
     .flags = kSets,
     .categories = kCatHash,
     .keys = kChanged,
     .run = HPExpire,
     .group = "hash",
     .since = "7.4.0",
     .complexity = kEach,
     .usage = "key milliseconds [NX | XX | GT | LT] fields=<FIELDS numfields field [field ...]>",
     .summary = "Let fields of a hash end after so many milliseconds."},
    {.name = "HPEXPIREAT",
     .arity = -6,
     .flags = kSets,
     .categories = kCatHash,
     .keys = kChanged,
     .run = HPExpireAt,
     .group = "hash",
     .since = "7.4.0",
     .complexity = kEach,
     .usage = "key unix-time-milliseconds [NX | XX | GT | LT] "
              "fields=<FIELDS numfields field [field ...]>",
     .summary = "Let fields of a hash end at a Unix time in milliseconds."},
    {.name = "HPEXPIRETIME",
     .arity = -5,
     .flags = kTells,
     .categories = kCatHash,
     .keys = kRead,
     .run = HPExpireTime,
     .group = "hash",
     .since = "7.4.0",
     .complexity = kEach,
     .usage = "key fields=<FIELDS numfields field [field ...]>",
     .summary = "The Unix times in ms at which fields end; -1: never, -2: no field."},
    {.name = "HPTTL",
     .arity = -5,
     .flags = kTells,
     .categories = kCatHash,
     .keys = kRead,
     .run = HPTtl,
     .group = "hash",
     .since = "7.4.0",
     .complexity = kEach,
     .usage = "key fields=<FIELDS numfields field [field ...]>",
     .summary = "How many milliseconds fields have left; -1: no end, -2: no field.",
     .tips = "nondeterministic_output"},
    {.name = "HSETEX",
     .arity = -6,
     .flags = kSets,
     .categories = kCatHash,
     .keys = kChanged,
     .run = HSetEx,
     .group = "hash",
     .since = "8.0.0",
     .complexity = kEach,
     .usage = "key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
              "unix-time-milliseconds | KEEPTTL] "
              "fields=<FIELDS numfields field value [field value ...]>",
     .summary = "Set fields of a hash with an end; 1 if they were set."},
    {.name = "HTTL",
     .arity = -5,
     .flags = kTells,
     .categories = kCatHash,
     .keys = kRead,
     .run = HTtl,
     .group = "hash",
     .since = "7.4.0",
     .complexity = kEach,
     .usage = "key fields=<FIELDS numfields field [field ...]>",
     .summary = "How many seconds fields have left; -1: no end, -2: no field.",
     .tips = "nondeterministic_output"},
};
static_assert(RowsAreSound(kRows));

}  // namespace

CommandFamily HashExpiryFamily() { return {"hash_expiry", kRows}; }

}  // namespace sluice
