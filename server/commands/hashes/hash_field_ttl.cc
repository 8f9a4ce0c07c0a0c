// See hash_field_ttl.h. The bound of a field's end (46 bits of Unix ms) is Redis 7.4's.
#include "server/commands/hashes/hash_field_ttl.h"

#include <string>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/shared/deadline_kinds.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// About the year 4199. Larger numbers are refused even where a deadline of ours could hold them.
constexpr int64_t kUnixMsMax = ((int64_t{1} << 48) - 1) >> 2;  // of a field's end
constexpr std::string_view kFieldsDiffer =
    "ERR The `numfields` parameter must match the number of arguments";

}  // namespace

// --- arguments

// Below zero is a fault, zero is not: it is a time that has passed, and deletes. The bound is
// compared before anything is multiplied or added, as numbers come from clients.
Deadline TakeFieldTime(ArgReader& args, const CommandCall& call, TimeForm form) {
  const int64_t number = args.Int();
  if (number < 0) args.Fail("ERR invalid expire time, must be >= 0");
  if (args.failed()) return Deadline::None();
  const bool scales = form.unit == TimeUnit::kMilliseconds || number <= kUnixMsMax / 1000;
  const int64_t ms = form.unit == TimeUnit::kSeconds && scales ? number * 1000 : number;
  const int64_t base_ms = form.base == TimeBase::kNow ? call.now.unix_ms() : 0;
  if (!scales || ms > kUnixMsMax - base_ms) {
    args.Fail(Concat("ERR invalid expire time in '", LowerName(call), "' command"));
    return Deadline::None();
  }
  return form.base == TimeBase::kNow ? Deadline::Steady(call.Present().ms() + ms)
                                     : DeadlineAt(call, ms);
}

// Three faults, in the order of Redis 7.4: the word, the count's form, the count against what
// follows.
size_t ReadFields(CommandCall& call, size_t at, std::string_view count_fault) {
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

void RecordFieldsEnd(const CommandCall& call, Args names, const Deadline& deadline) {
  const std::string unix_ms = Int64Text(deadline.UnixMs(call.now));
  const std::string count = Int64Text(static_cast<int64_t>(names.size()));
  std::vector<std::string_view> command = {"HPEXPIREAT", call.args[1], unix_ms, "FIELDS", count};
  command.insert(command.end(), names.begin(), names.end());
  call.ReplaceWith(Args(command), EffectTimeOf(deadline));
}

// Opening is what WATCH and the log see, so a request that changes no field leaves no trace.
Hash& FieldEdit::Opened() {
  if (!opened_.entry) opened_ = OpenFound(call_, key_, found_);
  return *opened_;
}

FieldAnswer FieldEdit::SetDeadline(std::string_view name, const Deadline& deadline) {
  if (deadline.Passed(call_.Present())) {
    Delete(name);  // on a replay too: the effect is HDEL
    return kDeleted;
  }
  Opened().SetDeadline(name, deadline, HashLimits(call_));
  timed_.push_back(name);
  return kDone;
}

// The name is a view of the request, as is each name that is kept.
void FieldEdit::Delete(std::string_view name) {
  Opened().Erase(name, call_.now);
  deleted_.push_back(name);
}

void FieldEdit::Finish(std::string_view event, std::vector<std::string_view> effect,
                       EffectTime time) {
  if (!opened_.entry) return;
  Record(std::move(effect), time);
  // The fields share one time: all that have changed were deleted, or all have a new end.
  CloseTyped(call_, opened_, kNotifyHash, deleted_.empty() ? event : "hdel");
}

// HDEL for the fields that went, and the command itself for those that have a new end.
void FieldEdit::Record(std::vector<std::string_view> effect, EffectTime time) {
  if (!call_.wants_effects()) return;
  if (!deleted_.empty()) {
    std::vector<std::string_view> removal = {"HDEL", key_.bytes};
    removal.insert(removal.end(), deleted_.begin(), deleted_.end());
    call_.ReplaceWith(removal);
  }
  if (timed_.empty()) return;
  const std::string count = std::to_string(timed_.size());
  effect.insert(effect.end(), {"FIELDS", count});
  effect.insert(effect.end(), timed_.begin(), timed_.end());
  call_.ReplaceWith(effect, time);
}

}  // namespace sluice
