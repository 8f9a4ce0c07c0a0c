// See limiter.h.
#include "storage/limits/limiter.h"

#include <utility>

namespace sluice {
Limiter::Limiter(const LimitConfig& config) : state_(config) {
  if (NeedsLog(config.algorithm)) log_ = std::make_unique<RequestLog>();
}

Limiter::Limiter(const LimiterState& state, std::unique_ptr<RequestLog> log)
    : state_(state), log_(std::move(log)) {
  assert(AuditLimiter(state_, log_.get()).empty());
}

std::string_view Limiter::Encoding() const { return LimitEncoding(algorithm()); }

size_t Limiter::MemoryBytes() const {
  return sizeof(*this) + (log_ == nullptr ? 0 : sizeof(RequestLog) + log_->heap_bytes());
}

std::unique_ptr<Value> Limiter::Clone() const {
  auto clone = std::make_unique<Limiter>(config());
  clone->state_ = state_;
  if (log_ != nullptr) *clone->log_ = *log_;
  return clone;
}

}  // namespace sluice
