// LimitModel: what the documentation says of a limiter, as plainly as can be and in exact
// fractions: a walk over all that counts for each question, and a search through the ms for each
// moment. It knows nothing of storage/limits. Times are engine time, in µs or ms as they are named.
//
//   WINDOW         a count, and the end of the window, which keeps both when its numbers change
//   ROLLING, GCRA  what is still owed, in 1/max of a µs
//   SLIDING        the shares of the limit that came in this window and in the one before
//   LOG, LEAKY     the share of the limit that came in each ms; it counts from the end of the ms on
//
// A change of numbers keeps the consumed share of the limit, and of the period what has passed of
// it, rounded against the caller. Only a request that is let through brings its numbers along.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

// A share of a whole; small terms only.
class Fraction {
 public:
  Fraction(__int128 top = 0, __int128 bottom = 1);
  Fraction operator+(const Fraction& other) const;
  Fraction operator-(const Fraction& other) const;
  Fraction operator*(const Fraction& other) const;
  bool operator<(const Fraction& other) const {
    return top_ * other.bottom_ < other.top_ * bottom_;
  }
  bool IsZero() const { return top_ == 0; }
  int64_t Floor() const;  // of what is not negative

 private:
  __int128 top_;
  __int128 bottom_;
};

struct LimitNumbers {
  enum class Algorithm : uint8_t { kWindow, kRolling, kSliding, kLog, kGcra, kLeaky };
  Algorithm algorithm = Algorithm::kWindow;
  int64_t max = 1;
  int64_t period_ms = 1;
  int64_t burst = 0;

  int64_t capacity() const {
    if (algorithm == Algorithm::kRolling) return burst;
    return algorithm == Algorithm::kGcra ? burst + 1 : max;
  }
  bool operator==(const LimitNumbers&) const = default;
};

// LIMIT.TAKE's answer, in its order.
struct LimitSaid {
  int64_t allowed, limit, remaining, retry_ms, reset_ms, reset_at_ms;
  bool operator==(const LimitSaid&) const = default;
};

class LimitModel {
 public:
  struct Moment {
    int64_t us;
    int64_t unix_offset_ms;
    int64_t ms() const { return us / 1000; }
  };

  LimitSaid Take(const LimitNumbers& asked, int64_t cost, int64_t ban_ms, Moment now);
  LimitSaid Peek(const LimitNumbers& asked, int64_t cost, Moment now) const;
  // What remains then; null when there is no such limiter.
  std::optional<int64_t> Refund(int64_t units, Moment now);
  bool Exists(Moment now) const { return numbers_.has_value() && now.ms() < ends_ms_; }
  // It has become whole within this ms: the key may be there until the next, or not.
  bool IsLeaving(Moment now) const {
    return Exists(now) && banned_until_ms_ <= now.ms() && IsWholeAt(now.us);
  }
  const LimitNumbers& numbers() const { return *numbers_; }  // requires: it exists
  void Forget() { *this = LimitModel(); }

 private:
  struct Came {
    int64_t tick;
    Fraction share;
  };

  int64_t RemainingAt(const LimitNumbers& asked, int64_t at_us) const;
  int64_t Remaining(int64_t at_us) const;
  bool IsWholeAt(int64_t at_us) const;
  int64_t WholeAtUs(int64_t now_us) const;
  void SettleTo(int64_t at_us);
  void SettleWindows(int64_t tick);
  void ChangeTo(const LimitNumbers& to, int64_t at_us);
  void Consume(int64_t cost, int64_t at_us);
  void GiveBack(int64_t units);
  void SetEnd(Moment now);

  std::optional<LimitNumbers> numbers_;
  int64_t ends_ms_ = 0;  // the key's deadline
  int64_t banned_until_ms_ = 0;
  std::optional<int64_t> window_end_ms_;
  int64_t window_used_ = 0;
  __int128 owed_ = 0;
  int64_t owed_at_us_ = 0;
  int64_t start_ms_ = 0;
  Fraction previous_;
  Fraction current_;
  std::vector<Came> log_;
};

}  // namespace sluice
