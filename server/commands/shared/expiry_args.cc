// See expiry_args.h.
#include "server/commands/shared/expiry_args.h"

#include <limits>
#include <optional>
#include <string>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "server/commands/shared/deadline_kinds.h"
#include "server/commands/shared/lookup.h"

namespace sluice {
namespace {

// Redis's sentence names the command in lower case. Always false, so that a check can return it.
bool FailExpireTime(CommandCall& call) {
  call.reply.Error(
      Concat("ERR invalid expire time in '", LowerCase(call.spec().name), "' command"));
  return false;
}

}  // namespace

// The order is Redis's: first whether it is an integer, then its sign, then the overflow. Seconds
// are checked before they are multiplied, because the product may not fit.
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
  const Now present = call.Present();
  int64_t moment;
  if (__builtin_add_overflow(ms, present.unix_ms(), &moment) ||
      __builtin_add_overflow(ms, present.ms(), &moment))
    return FailExpireTime(call);
  deadline = Deadline::Steady(moment);
  return true;
}

// A relative time must not reach the log: replayed an hour later, EX 10 would live an hour too
// long. So the effect has the absolute time, with a mark for what it was.
void ReplaceWithSet(CommandCall& call, std::string_view key, std::string_view value,
                    Deadline deadline) {
  if (deadline.none()) return call.ReplaceWith({"SET", key, value});
  if (!call.wants_effects()) return;
  const std::string unix_ms = Int64Text(deadline.UnixMs(call.now));
  call.ReplaceWith({"SET", key, value, "PXAT", unix_ms}, EffectTimeOf(deadline));
}

void ReplaceWithSetKeeping(CommandCall& call, std::string_view key, std::string_view value,
                           Deadline deadline, bool over_ours) {
  if (over_ours) return ReplaceWithSet(call, key, value, deadline);
  call.ReplaceWith({"SET", key, value, "KEEPTTL"});
}

// EXPIRE and its kin with a past time are a deletion, with a `del` event and a DEL in the log, as
// in Redis; an `expired` event is for deadlines that passed while the key was there.
void EndKeyAt(CommandCall& call, HashedKey key, const Entry& entry, Deadline deadline) {
  if (deadline.Passed(call.Present())) {
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
