// See limiter_key.h.
#include "server/commands/limiter_key.h"

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
  StorePacked(*packed_, verdict.EndsAtMs(now_));
  return verdict;
}

LimitVerdict LimiterKey::TakeObject(const LimitRequest& request) {
  if (!WouldChange(request)) return object_->Peek(request.config, request.cost, now_);
  Entry& entry = db_.Modify(*entry_, now_);
  const int64_t old_end_ms = object_->EndsAtMs(now_);
  const LimitVerdict verdict = object_->Take(request, now_);
  StoreObject(entry, old_end_ms);
  return verdict;
}

bool LimiterKey::WouldChange(const LimitRequest& request) const {
  return request.shadow || request.ban_ms > 0 || !(request.config == object_->config()) ||
         object_->Peek(request.config, request.cost, now_).allowed;
}

LimitVerdict LimiterKey::Peek(const LimitConfig& config, int64_t cost) const {
  if (packed_) return PeekLimit(*packed_, nullptr, config, cost, now_);
  if (object_) return object_->Peek(config, cost, now_);
  const RequestLog none;
  return PeekLimit(LimiterState(config), NeedsLog(config.algorithm) ? &none : nullptr, config, cost,
                   now_);
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
  return packed_ ? DescribeLimit(*packed_, nullptr, now_) : object_->Info(now_);
}

// --- storing

// The limiter's own end, unless somebody has set an earlier one (EXPIRE). One that is whole again stays
// until the tick after: then what is left of that tick was its own end, too.
Deadline LimiterKey::Following(int64_t old_end_ms, int64_t end_ms) const {
  const Deadline end = Deadline::Steady(end_ms);
  const Deadline old = entry_->deadline();
  if (old == Deadline::Steady(old_end_ms) || old.none()) return end;
  if (old_end_ms <= now_.ms() && old == Deadline::Steady(now_.ms() + 1)) return end;
  return old.LeftMs(now_) < end.LeftMs(now_) ? old : end;
}

void LimiterKey::StorePacked(const LimiterState& state, int64_t end_ms) {
  char bytes[kWideLimiterBytes];
  const std::string_view packed(bytes, PackLimiter(state, bytes));
  if (SameBytes(packed, entry_->packed())) return;
  changed_ = true;
  if (end_ms <= now_.ms()) {
    db_.Delete(key_, now_);
    return;
  }
  Deadline deadline = Deadline::Steady(end_ms);
  if (entry_->deadline() != deadline) {
    const LimiterState old = UnpackLimiter(entry_->packed());
    deadline = Following(LimitEndsAtMs(old, nullptr, now_), end_ms);
  }
  db_.SetPacked(db_.Modify(*entry_, now_), packed, deadline);
}

void LimiterKey::StoreObject(Entry& entry, int64_t old_end_ms) {
  changed_ = true;
  db_.ValueChanged(entry);
  const int64_t end_ms = object_->EndsAtMs(now_);
  if (end_ms <= now_.ms()) {
    db_.Delete(key_, now_);
    return;
  }
  db_.SetDeadline(entry, Following(old_end_ms, end_ms));
}

}  // namespace sluice
