// Limiter: a key's value of type `limiter`, any algorithm. A thin object around the pure functions
// of limiter_state.h, where everything is documented: it holds a state and, for LOG and LEAKY, the
// requests.
//
//   if (limiter.algorithm() != config.algorithm) return WrongAlgorithm(...);
//   const LimitVerdict verdict = limiter.Take({config, cost}, now);
//   entry deadline <- Deadline::Steady(limiter.EndsAtMs(now)), or delete the key if that is past
#pragma once

#include <memory>

#include "storage/keyspace/value.h"
#include "storage/limits/limiter_state.h"

namespace sluice {

class Limiter final : public Value {
 public:
  explicit Limiter(const LimitConfig& config);
  // From a file. Requires: as AuditLimiter has it.
  Limiter(const LimiterState& state, std::unique_ptr<RequestLog> log);
  // Null: the bytes are no limiter's (limiter_packing.cc has the forms).
  static std::unique_ptr<Limiter> Unpack(std::string_view packed);

  LimitAlgorithm algorithm() const { return state_.config.algorithm; }
  const LimitConfig& config() const { return state_.config; }
  const LimiterState& state() const { return state_; }
  const RequestLog* log() const { return log_.get(); }  // null unless the algorithm needs it

  // So few requests that it is worth a look whether they fit into the entry again.
  bool IsFew() const { return !log_ || log_->records() <= kFew; }

  LimitVerdict Take(const LimitRequest& request, const Now& now) {
    return TakeLimit(state_, log_.get(), request, now);
  }
  LimitVerdict Peek(const LimitConfig& config, int64_t cost, const Now& now) const {
    return PeekLimit(state_, log_.get(), config, cost, now);
  }
  int64_t Refund(int64_t units, const Now& now) {
    return RefundLimit(state_, log_.get(), units, now);
  }
  LimitInfo Info(const Now& now) const { return DescribeLimit(state_, log_.get(), now); }

  // Memory of requests that have left, which is to be freed as a value of many pieces; null: none.
  std::unique_ptr<Limiter> TakeUnused();

  ValueType type() const override { return ValueType::kLimiter; }
  std::string_view Encoding() const override;  // "window", "gcra" ...
  size_t MemoryBytes() const override;
  std::unique_ptr<Value> Clone() const override;
  size_t Pack(char* out, size_t room) const override;
  size_t Elements() const override { return 1 + (log_ ? log_->Elements() : 0); }
  size_t FreeSome(size_t budget) override { return log_ ? log_->FreeSome(budget) : 0; }
  int64_t EndsAtMs(const Now& now) const override { return LimitEndsAtMs(state_, log_.get(), now); }
  bool EndsByWallClock() const override { return algorithm() == LimitAlgorithm::kCalendar; }
  std::string Audit() const override { return AuditLimiter(state_, log_.get()); }

 private:
  static constexpr size_t kFew = 8;

  LimiterState state_;
  std::unique_ptr<RequestLog> log_;  // null unless the algorithm needs it
};

}  // namespace sluice
