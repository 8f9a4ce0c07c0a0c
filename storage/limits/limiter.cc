// See limiter.h.
#include "storage/limits/limiter.h"

#include <cstring>
#include <utility>

namespace sluice {
Limiter::Limiter(const LimitConfig& config) : state_(config) {
  if (NeedsLog(config.algorithm)) log_ = std::make_unique<RequestLog>();
}

Limiter::Limiter(const LimiterState& state, std::unique_ptr<RequestLog> log)
    : state_(state), log_(std::move(log)) {
  assert(AuditLimiter(state_, log_.get()).empty());
}

std::unique_ptr<Limiter> Limiter::Unpack(std::string_view packed) {
  if (packed.size() < kNarrowLimiterBytes) return nullptr;
  const LimiterState state = UnpackLimiter(packed);
  if (!NeedsLog(state.config.algorithm)) {
    const bool has_form =
        packed.size() == kNarrowLimiterBytes || packed.size() == kWideLimiterBytes;
    return has_form ? std::make_unique<Limiter>(state, nullptr) : nullptr;
  }
  // A run follows the narrow form of LOG and LEAKY; it has to be sound.
  if (!TickRun(packed.substr(kNarrowLimiterBytes)).Audit().empty()) return nullptr;
  return std::make_unique<Limiter>(state, std::make_unique<RequestLog>(UnpackLog(packed)));
}

size_t Limiter::Pack(char* out, size_t room) const {
  char bytes[kPackedLimiterMax];
  const size_t size = PackLimiter(state_, log_.get(), bytes);
  if (size > room) return 0;
  std::memcpy(out, bytes, size);
  return size;
}

std::unique_ptr<Limiter> Limiter::TakeUnused() {
  if (!log_ || !log_->HasUnused()) return nullptr;
  // As a Limiter, since the reclaimer frees Values: one without requests, but with the chunks.
  auto unused = std::make_unique<Limiter>(config());
  log_->TakeUnusedTo(*unused->log_);
  return unused;
}

std::string_view Limiter::Encoding() const { return LimitEncoding(algorithm()); }

size_t Limiter::MemoryBytes() const {
  return sizeof(*this) + (log_ == nullptr ? 0 : sizeof(RequestLog) + log_->heap_bytes());
}

// COPY's: the same limit, as much of it used.
std::unique_ptr<Value> Limiter::Clone() const {
  auto clone = std::make_unique<Limiter>(config());
  clone->state_ = state_;
  if (log_ != nullptr) *clone->log_ = *log_;
  return clone;
}

}  // namespace sluice
