// See expiry_args.h.
#include "server/commands/shared/expiry_args.h"

#include <limits>
#include <optional>
#include <string>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/shared/deadline_kinds.h"
#include "server/commands/shared/lookup.h"

namespace sluice {
namespace {

struct TimedOption {
  std::string_view word;
  ExpiryKind kind;
};
constexpr TimedOption kTimedOptions[] = {
    {"EX", ExpiryKind::kEx},
    {"PX", ExpiryKind::kPx},
    {"EXAT", ExpiryKind::kExat},
    {"PXAT", ExpiryKind::kPxat},
};

bool MayBe(const ExpiryArg& expiry, ExpiryKind kind) {
  return expiry.kind == ExpiryKind::kNone || expiry.kind == kind;
}

bool TakeBareWord(ArgReader& args, ExpiryArg& expiry, std::string_view word, ExpiryKind kind) {
  if (!MayBe(expiry, kind) || !args.TakeWord(word)) return false;
  expiry.kind = kind;
  return true;
}

bool FailExpireTime(CommandCall& call) {
  std::string name(call.spec().name);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  call.reply.Error(Concat("ERR invalid expire time in '", name, "' command"));
  return false;
}

}  // namespace

bool TakeExpiry(ArgReader& args, ExpiryArg& expiry) {
  if (args.left() < 2) return false;
  for (const TimedOption& option : kTimedOptions) {
    if (!IsWord(args.Peek(), option.word)) continue;
    if (!MayBe(expiry, option.kind)) return false;
    args.Skip();
    expiry = {option.kind, args.Bytes()};
    return true;
  }
  return false;
}

bool TakeKeepTtl(ArgReader& args, ExpiryArg& expiry) {
  return TakeBareWord(args, expiry, "KEEPTTL", ExpiryKind::kKeepTtl);
}

bool TakePersist(ArgReader& args, ExpiryArg& expiry) {
  return TakeBareWord(args, expiry, "PERSIST", ExpiryKind::kPersist);
}

bool ReadDeadline(CommandCall& call, const ExpiryArg& expiry, Deadline& deadline) {
  const std::optional<int64_t> number = ParseInt64(expiry.number);
  if (!number) {
    call.reply.Error(ErrorCode::kNotInteger);
    return false;
  }
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const bool seconds = expiry.kind == ExpiryKind::kEx || expiry.kind == ExpiryKind::kExat;
  if (*number <= 0 || (seconds && *number > kMax / 1000)) return FailExpireTime(call);
  const int64_t ms = seconds ? *number * 1000 : *number;
  if (expiry.kind == ExpiryKind::kExat || expiry.kind == ExpiryKind::kPxat) {
    deadline = DeadlineAt(call, ms);
    return true;
  }
  // The moment must be a Unix time too: that is how it is shown, logged and saved.
  if (ms > kMax - call.now.unix_ms() || ms > kMax - call.now.ms()) return FailExpireTime(call);
  deadline = Deadline::Steady(call.now.ms() + ms);
  return true;
}

void ReplaceWithSet(CommandCall& call, std::string_view key, std::string_view value,
                    Deadline deadline) {
  if (deadline.none()) return call.ReplaceWith({"SET", key, value});
  if (!call.wants_effects()) return;
  const std::string unix_ms = Int64Text(deadline.UnixMs(call.now));
  call.ReplaceWith({"SET", key, value, "PXAT", unix_ms}, EffectTimeOf(deadline));
}

void EndKeyAt(CommandCall& call, HashedKey key, const Entry& entry, Deadline deadline) {
  if (deadline.Passed(call.now)) {
    DeleteAsEffect(call, key);
    return;
  }
  call.db.SetDeadline(call.db.Modify(entry, call.now), deadline);
  call.Changed(kNotifyGeneric, "expire", key.bytes);
  if (!call.wants_effects()) return;
  const std::string unix_ms = Int64Text(deadline.UnixMs(call.now));
  call.ReplaceWith({"PEXPIREAT", key.bytes, unix_ms}, EffectTimeOf(deadline));
}

}  // namespace sluice
