// See limiter_key.h. The end of the key follows from the state after every change, but a client may
// have given it an earlier one (EXPIRE), which stays: no answer says that the limiter remembers for
// longer than its key lives (KeepWithin).
#include "storage/limits/limiter_key.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "protocol/text/same_bytes.h"

namespace sluice {

LimiterKey::LimiterKey(Database& db, const HashedKey& key, const Now& now)
    : db_(db), key_(key), now_(now), entry_(db_.Find(key, now)) {
  if (!entry_ || entry_->type() != ValueType::kLimiter) return;
  if (entry_->is_packed()) {
    packed_ = UnpackLimiter(entry_->packed());
    if (NeedsLog(packed_->config.algorithm)) [[unlikely]] {
      log_ = UnpackLog(entry_->packed());
      old_end_ms_ = LimitEndsAtMs(*packed_, log(), now_);  // before a request changes the log
    }
  } else {
    object_ = static_cast<Limiter*>(&entry_->value());
  }
}

// --- taking
// Three ways, by where the limiter is: not there, packed in its entry, or an object beside it. Most
// requests take the second, and cost one look-up, some arithmetic and a few bytes written.

LimitVerdict LimiterKey::Take(const LimitRequest& request) {
  if (packed_) return TakePacked(request);
  return object_ ? TakeObject(request) : TakeNew(request);
}

// The request is asked of a new limiter outside of the keyspace, which is stored only if it
// remembers something.
LimitVerdict LimiterKey::TakeNew(const LimitRequest& request) {
  packed_.emplace(request.config);
  if (NeedsLog(request.config.algorithm)) log_.emplace();
  const LimitVerdict verdict = TakeLimit(*packed_, log(), request, now_);
  const int64_t end_ms = LimitEndsAtMs(*packed_, log(), now_);
  if (end_ms <= now_.ms()) return verdict;  // a refusal leaves nothing behind
  changed_ = true;
  const Deadline deadline = EndOf(request.config.algorithm, end_ms);
  char bytes[kPackedLimiterMax];
  const size_t size = PackLimiter(*packed_, log(), bytes);
  if (size > 0) [[likely]] {
    db_.AddPacked(key_, ValueType::kLimiter, {bytes, size}, deadline, now_);
  } else {
    db_.PutValue(key_, MakeObject(), deadline, now_);
  }
  return verdict;
}

// A copy of the state on the stack is asked and changed; StorePacked writes it back.
LimitVerdict LimiterKey::TakePacked(const LimitRequest& request) {
  LimitVerdict verdict = TakeLimit(*packed_, log(), request, now_);
  if (verdict.allowed) {
    KeepWithin(StorePacked(verdict.EndsAtMs(now_), Change::kSurely), verdict);
  } else if (request.ban_ms == 0) {
    KeepWithin(entry_->deadline(), verdict);
  } else {
    KeepWithin(StorePacked(LimitEndsAtMs(*packed_, log(), now_), Change::kPerhaps), verdict);
  }
  return verdict;
}

// Asks first: Modify tells watchers and saves old images, and a refusal must not do either.
LimitVerdict LimiterKey::TakeObject(const LimitRequest& request) {
  LimitVerdict verdict = object_->Peek(request.config, request.cost, now_);
  const bool bans = request.ban_ms > 0 && !object_->state().Banned(now_);
  if (verdict.allowed || bans) {
    Entry& entry = db_.Modify(*entry_, now_);
    const int64_t old_end_ms = object_->EndsAtMs(now_);
    verdict = object_->Take(request, now_);
    KeepWithin(StoreObject(entry, old_end_ms), verdict);
  } else {
    KeepWithin(entry_->deadline(), verdict);
  }
  return verdict;
}

LimitVerdict LimiterKey::Peek(const LimitConfig& config, int64_t cost) const {
  if (!entry_) {
    const RequestLog none;
    return PeekLimit(LimiterState(config), NeedsLog(config.algorithm) ? &none : nullptr, config,
                     cost, now_);
  }
  LimitVerdict verdict =
      packed_ ? PeekLimit(*packed_, log(), config, cost, now_) : object_->Peek(config, cost, now_);
  KeepWithin(entry_->deadline(), verdict);
  return verdict;
}

// A key that EXPIRE ends at 5 s and a limiter that is whole at 60 s: at 5 s the key is gone, and a
// new limiter is whole. So the answers say 5 s.
void LimiterKey::KeepWithin(const Deadline& deadline, LimitVerdict& verdict) const {
  if (deadline.none()) return;
  const int64_t left_ms = deadline.LeftMs(now_);
  if (verdict.reset_ms <= left_ms) [[likely]]
    return;
  verdict.reset_ms = left_ms;
  verdict.reset_at_ms = now_.unix_ms() + left_ms;
  if (verdict.retry_ms > left_ms) verdict.retry_ms = left_ms;
}

// --- giving back, and telling

int64_t LimiterKey::Refund(int64_t units) {
  if (packed_) {
    const int64_t remaining = RefundLimit(*packed_, log(), units, now_);
    StorePacked(LimitEndsAtMs(*packed_, log(), now_), Change::kPerhaps);
    return remaining;
  }
  Entry& entry = db_.Modify(*entry_, now_);
  const int64_t old_end_ms = object_->EndsAtMs(now_);
  const int64_t remaining = object_->Refund(units, now_);
  StoreObject(entry, old_end_ms);
  return remaining;
}

LimitInfo LimiterKey::Info() const {
  LimitInfo info = packed_ ? DescribeLimit(*packed_, log(), now_) : object_->Info(now_);
  const Deadline deadline = entry_->deadline();
  if (!deadline.none()) info.reset_at_ms = std::min(info.reset_at_ms, deadline.UnixMs(now_));
  return info;
}

// --- storing

// A CALENDAR limiter's windows end by the wall clock, and so does its key.
Deadline LimiterKey::EndOf(LimitAlgorithm algorithm, int64_t end_ms) const {
  if (algorithm == LimitAlgorithm::kCalendar) [[unlikely]]
    return Deadline::Unix(end_ms + now_.unix_offset_ms);
  return Deadline::Steady(end_ms);
}

// The limiter's own end, unless a client has set an earlier one (EXPIRE). One that is whole again
// stays until the tick after: then what is left of that tick was its own end, too.
Deadline LimiterKey::Following(int64_t old_end_ms, int64_t end_ms) const {
  const LimitAlgorithm algorithm = packed_ ? packed_->config.algorithm : object_->algorithm();
  const Deadline end = EndOf(algorithm, end_ms);
  const Deadline old = entry_->deadline();
  if (old == EndOf(algorithm, old_end_ms) || old.none()) return end;
  if (old_end_ms <= now_.ms() && old == EndOf(algorithm, now_.ms() + 1)) return end;
  return old.LeftMs(now_) < end.LeftMs(now_) ? old : end;
}

std::unique_ptr<Limiter> LimiterKey::MakeObject() const {
  return std::make_unique<Limiter>(*packed_, log_ ? std::make_unique<RequestLog>(*log_) : nullptr);
}

// The end of the packed state as it was before this command.
int64_t LimiterKey::OldEndMs() const {
  return log_ ? old_end_ms_ : LimitEndsAtMs(UnpackLimiter(entry_->packed()), nullptr, now_);
}

// Returns the key's deadline afterwards; of a deleted key now. Tries four ways from the cheapest:
// nothing has changed; bytes over bytes; bytes and a deadline; an object, as it has outgrown its
// entry.
Deadline LimiterKey::StorePacked(int64_t end_ms, Change change) {
  char bytes[kPackedLimiterMax];
  const size_t size = PackLimiter(*packed_, log(), bytes, entry_->packed().size());
  const std::string_view packed(bytes, size);
  if (change == Change::kPerhaps && SameBytes(packed, entry_->packed())) return entry_->deadline();
  changed_ = true;
  Deadline deadline = EndOf(packed_->config.algorithm, end_ms);
  if (end_ms <= now_.ms()) {
    db_.Delete(key_, now_);
    return deadline;
  }
  // WINDOW's end stays while its window is open: then only bytes change, and no timer is touched.
  const bool keeps_deadline = entry_->deadline() == deadline;
  if (!keeps_deadline) deadline = Following(OldEndMs(), end_ms);
  Entry& entry = db_.Modify(*entry_, now_);
  if (keeps_deadline && size == entry.packed().size()) {
    db_.OverwritePacked(entry, packed);
  } else if (size > 0) [[likely]] {
    db_.SetPacked(entry, packed, deadline);
  } else {
    db_.SetDeadline(db_.SetValue(entry, MakeObject()), deadline);
  }
  return deadline;
}

// The other way round: a log that has shrunk goes back into the entry.
Deadline LimiterKey::StoreObject(Entry& entry, int64_t old_end_ms) {
  changed_ = true;
  // Before the memory is accounted, so that what left with the requests is not counted twice.
  if (std::unique_ptr<Limiter> unused = object_->TakeUnused()) db_.Discard(std::move(unused));
  db_.ValueChanged(entry);
  const int64_t end_ms = object_->EndsAtMs(now_);
  if (end_ms <= now_.ms()) {
    db_.Delete(key_, now_);
    return Deadline::Steady(end_ms);
  }
  const Deadline deadline = Following(old_end_ms, end_ms);
  const bool is_few = object_->IsFew();
  Entry& at = db_.SetDeadline(entry, deadline);
  if (is_few) db_.PackIfSmall(at);
  return deadline;
}

}  // namespace sluice
