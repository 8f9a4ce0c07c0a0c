// See limiter_key.h.
#include "server/commands/limiter_key.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "protocol/concat.h"
#include "protocol/same_bytes.h"

namespace sluice {

LimiterKey::LimiterKey(Database& db, HashedKey key, const Now& now)
    : db_(db), key_(key), now_(now), entry_(db_.Find(key, now)) {
  if (!entry_ || entry_->type() != ValueType::kLimiter) return;
  if (entry_->is_packed()) {
    packed_ = UnpackLimiter(entry_->packed());
  } else {
    object_ = static_cast<Limiter*>(&entry_->value());
  }
}

bool LimiterKey::IsOpenTo(LimitAlgorithm algorithm) const {
  if (!entry_) return true;
  if (packed_) [[likely]]
    return packed_->config.algorithm == algorithm;
  return object_ && object_->algorithm() == algorithm;
}

bool LimiterKey::IsLimiter(ReplySink& reply) const {
  if (!entry_ || packed_ || object_) [[likely]]
    return true;
  reply.Error(ErrorCode::kWrongType);
  return false;
}

bool LimiterKey::Accepts(ReplySink& reply, LimitAlgorithm algorithm) const {
  if (IsOpenTo(algorithm)) [[likely]]
    return true;
  if (!IsLimiter(reply)) return false;
  const LimitAlgorithm own = packed_ ? packed_->config.algorithm : object_->algorithm();
  reply.Error(
      Concat("ERR limiter is ", LimitAlgorithmName(own), ", not ", LimitAlgorithmName(algorithm)));
  return false;
}

// --- taking

LimitVerdict LimiterKey::Take(const LimitRequest& request) {
  if (packed_) return TakePacked(request);
  return object_ ? TakeObject(request) : TakeNew(request);
}

LimitVerdict LimiterKey::TakeNew(const LimitRequest& request) {
  const bool with_log = NeedsLog(request.config.algorithm);
  std::unique_ptr<Limiter> object = with_log ? std::make_unique<Limiter>(request.config) : nullptr;
  LimiterState state(request.config);
  const LimitVerdict verdict =
      with_log ? object->Take(request, now_) : TakeLimit(state, nullptr, request, now_);
  const int64_t end_ms = with_log ? object->EndsAtMs(now_) : LimitEndsAtMs(state, nullptr, now_);
  if (end_ms <= now_.ms()) return verdict;  // a refusal leaves nothing behind
  changed_ = true;
  if (with_log) {
    db_.PutValue(key_, std::move(object), Deadline::Steady(end_ms), now_);
    return verdict;
  }
  char bytes[kWideLimiterBytes];
  db_.PutPacked(key_, {bytes, PackLimiter(state, bytes)}, Deadline::Steady(end_ms), now_);
  return verdict;
}

LimitVerdict LimiterKey::TakePacked(const LimitRequest& request) {
  const LimitVerdict verdict = TakeLimit(*packed_, nullptr, request, now_);
  if (verdict.allowed) [[likely]]
    return WithinDeadline(verdict, StorePacked(*packed_, verdict.EndsAtMs(now_)));
  if (request.ban_ms == 0) return WithinDeadline(verdict, entry_->deadline());
  return WithinDeadline(verdict, StorePacked(*packed_, LimitEndsAtMs(*packed_, nullptr, now_)));
}

LimitVerdict LimiterKey::TakeObject(const LimitRequest& request) {
  const LimitVerdict seen = object_->Peek(request.config, request.cost, now_);
  const bool bans = request.ban_ms > 0 && !object_->state().Banned(now_);
  if (!seen.allowed && !bans) return WithinDeadline(seen, entry_->deadline());
  Entry& entry = db_.Modify(*entry_, now_);
  const int64_t old_end_ms = object_->EndsAtMs(now_);
  const LimitVerdict verdict = object_->Take(request, now_);
  return WithinDeadline(verdict, StoreObject(entry, old_end_ms));
}

LimitVerdict LimiterKey::Peek(const LimitConfig& config, int64_t cost) const {
  if (!entry_) {
    const RequestLog none;
    return PeekLimit(LimiterState(config), NeedsLog(config.algorithm) ? &none : nullptr, config,
                     cost, now_);
  }
  return WithinDeadline(packed_ ? PeekLimit(*packed_, nullptr, config, cost, now_)
                                : object_->Peek(config, cost, now_),
                        entry_->deadline());
}

LimitVerdict LimiterKey::WithinDeadline(LimitVerdict verdict, const Deadline& deadline) const {
  if (deadline.none()) return verdict;
  const int64_t left_ms = deadline.LeftMs(now_);
  if (verdict.reset_ms <= left_ms) [[likely]]
    return verdict;
  verdict.reset_ms = left_ms;
  verdict.reset_at_ms = now_.unix_ms() + left_ms;
  if (verdict.retry_ms > left_ms) verdict.retry_ms = left_ms;
  return verdict;
}

// --- giving back, and telling

int64_t LimiterKey::Refund(int64_t units) {
  if (packed_) {
    const int64_t remaining = RefundLimit(*packed_, nullptr, units, now_);
    StorePacked(*packed_, LimitEndsAtMs(*packed_, nullptr, now_));
    return remaining;
  }
  Entry& entry = db_.Modify(*entry_, now_);
  const int64_t old_end_ms = object_->EndsAtMs(now_);
  const int64_t remaining = object_->Refund(units, now_);
  StoreObject(entry, old_end_ms);
  return remaining;
}

LimitInfo LimiterKey::Info() const {
  LimitInfo info = packed_ ? DescribeLimit(*packed_, nullptr, now_) : object_->Info(now_);
  const Deadline deadline = entry_->deadline();
  if (!deadline.none()) info.reset_at_ms = std::min(info.reset_at_ms, deadline.UnixMs(now_));
  return info;
}

// --- storing

// The limiter's own end, unless somebody has set an earlier one (EXPIRE). One that is whole again
// stays until the tick after: then what is left of that tick was its own end, too.
Deadline LimiterKey::Following(int64_t old_end_ms, int64_t end_ms) const {
  const Deadline end = Deadline::Steady(end_ms);
  const Deadline old = entry_->deadline();
  if (old == Deadline::Steady(old_end_ms) || old.none()) return end;
  if (old_end_ms <= now_.ms() && old == Deadline::Steady(now_.ms() + 1)) return end;
  return old.LeftMs(now_) < end.LeftMs(now_) ? old : end;
}

// Returns the key's deadline afterwards; of a deleted key now.
Deadline LimiterKey::StorePacked(const LimiterState& state, int64_t end_ms) {
  char bytes[kWideLimiterBytes];
  const std::string_view packed(bytes, PackLimiter(state, bytes));
  if (SameBytes(packed, entry_->packed())) return entry_->deadline();
  changed_ = true;
  Deadline deadline = Deadline::Steady(end_ms);
  if (end_ms <= now_.ms()) {
    db_.Delete(key_, now_);
    return deadline;
  }
  if (entry_->deadline() != deadline) {
    const LimiterState old = UnpackLimiter(entry_->packed());
    deadline = Following(LimitEndsAtMs(old, nullptr, now_), end_ms);
  }
  db_.SetPacked(db_.Modify(*entry_, now_), packed, deadline);
  return deadline;
}

Deadline LimiterKey::StoreObject(Entry& entry, int64_t old_end_ms) {
  changed_ = true;
  db_.ValueChanged(entry);
  const int64_t end_ms = object_->EndsAtMs(now_);
  if (end_ms <= now_.ms()) {
    db_.Delete(key_, now_);
    return Deadline::Steady(end_ms);
  }
  const Deadline deadline = Following(old_end_ms, end_ms);
  db_.SetDeadline(entry, deadline);
  return deadline;
}

}  // namespace sluice
