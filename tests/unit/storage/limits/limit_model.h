// Exact models of the limiter algorithms, written another way than the code: a log of all events,
// or token arithmetic on integers so scaled that nothing is rounded. Shared by the tests beside it.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "storage/limits/limit.h"

namespace sluice {

// Everything that was ever admitted, walked for each question.
class EventLog {
 public:
  void Add(int64_t tick, int64_t cost) { events_.push_back({tick, cost}); }
  // Units that came at ticks in [from, to).
  int64_t Sum(int64_t from, int64_t to) const {
    int64_t sum = 0;
    for (size_t i = events_.size(); i > 0 && events_[i - 1].tick >= from; --i)
      if (events_[i - 1].tick < to) sum += events_[i - 1].cost;
    return sum;
  }
  bool empty() const { return events_.empty(); }
  void Clear() { events_.clear(); }

 private:
  struct Event {
    int64_t tick;
    int64_t cost;
  };
  std::vector<Event> events_;
};

// Tokens that drip, in units of 1/period_us tokens: max of them a µs.
class TokenModel {
 public:
  explicit TokenModel(const LimitConfig& config)
      : config_(config), full_(static_cast<__int128>(config.Capacity()) * config.PeriodUs()) {
    tokens_ = full_;
  }
  void AdvanceTo(int64_t now_us) {
    tokens_ += static_cast<__int128>(now_us - at_us_) * config_.max;
    if (tokens_ > full_) tokens_ = full_;
    at_us_ = now_us;
  }
  bool Take(int64_t cost) {
    const __int128 price = static_cast<__int128>(cost) * config_.PeriodUs();
    if (price > tokens_) return false;
    tokens_ -= price;
    return true;
  }
  void Refund(int64_t units) {
    tokens_ += static_cast<__int128>(units) * config_.PeriodUs();
    if (tokens_ > full_) tokens_ = full_;
  }
  int64_t Remaining() const { return static_cast<int64_t>(tokens_ / config_.PeriodUs()); }
  bool full() const { return tokens_ == full_; }
  // The first µs at which `cost` fits.
  int64_t FitsAt(int64_t cost) const {
    const __int128 missing = static_cast<__int128>(cost) * config_.PeriodUs() - tokens_;
    if (missing <= 0) return at_us_;
    return at_us_ + static_cast<int64_t>((missing + config_.max - 1) / config_.max);
  }
  int64_t FullAt() const {
    return at_us_ + static_cast<int64_t>((full_ - tokens_ + config_.max - 1) / config_.max);
  }

 private:
  LimitConfig config_;
  __int128 full_;
  __int128 tokens_;
  int64_t at_us_ = 0;
};

struct Dice {
  explicit Dice(uint64_t seed) : random(seed) {}
  int64_t In(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  bool OneIn(int64_t n) { return In(1, n) == 1; }
  std::mt19937_64 random;
};

inline LimitConfig Config(LimitAlgorithm algorithm, int64_t max, int64_t period_ms,
                          int64_t burst = kNotGiven) {
  LimitConfig config;
  const LimitFault fault = MakeLimitConfig(algorithm, max, period_ms, burst, &config);
  if (fault != LimitFault::kNone) std::abort();
  return config;
}

}  // namespace sluice
