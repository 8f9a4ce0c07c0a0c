// The terms that all limiter algorithms share: the configuration they work under, and their answer.
//
// Each algorithm is a state, a plain struct with pure functions of (state, config, now):
//
//   LimitAnswer Ask(config, now_us, cost) const    what would be said; nothing changes
//   void Consume(config, now_us, cost)             requires: cost <= Ask().remaining
//   void Refund(config, now_us, units)             gives back, never beyond an unused limiter
//   void Reconfigure(from, to, now_us)             keeps the consumed fraction, rounded up (WINDOW:
//                                                  the count)
//   int64_t WholeAtUs(config, now_us) const        from when on it is as good as a new one
//
// Which one for what:
//
//   WINDOW    a count that starts anew each period; cheapest; up to twice max around a border
//   CALENDAR  the same, with the windows of a time zone's calendar, by the wall clock
//   SLIDING   two counts, weighted; no border, but exact only for requests that come evenly
//   LOG       every request is kept; exact: at most max in any period; 16 bytes a tick
//   LEAKY     the same rule, seen as a meter whose units drain one by one
//   GCRA      units evenly spaced, and `burst` more at once
//   ROLLING   a token bucket: up to `burst` at once, refilled evenly
//
// A new limiter is a value-initialized state. Times are engine time, in µs between functions. The
// algorithms that keep counts (WINDOW, SLIDING, LOG, LEAKY) count in whole ticks of 1 ms, as
// everything on the timer wheel does; ROLLING and GCRA refill from µs to µs, so that a million a
// second, evenly spaced, is what it says. `now` never goes back; a time before one seen earlier
// counts as that one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/base/attributes.h"
#include "protocol/error_text.h"
#include "storage/limits/wide.h"

namespace sluice {

// The numbers stand in files.
enum class LimitAlgorithm : uint8_t {
  kWindow = 0,
  kRolling = 1,
  kSliding = 2,
  kLog = 3,
  kGcra = 4,
  kLeaky = 5,
  kCalendar = 6
};
inline constexpr size_t kLimitAlgorithms = 7;

// "WINDOW", "ROLLING" ..., as LIMIT.TAKE takes and LIMIT.INFO gives them.
std::string_view LimitAlgorithmName(LimitAlgorithm algorithm);
// "window", "rolling" ..., as OBJECT ENCODING gives them.
std::string_view LimitEncoding(LimitAlgorithm algorithm);
// In any case; false for anything else.
bool ParseLimitAlgorithm(std::string_view text, LimitAlgorithm* algorithm);

// A WindowState is what they keep.
inline bool HasWindow(LimitAlgorithm algorithm) {
  return algorithm == LimitAlgorithm::kWindow || algorithm == LimitAlgorithm::kCalendar;
}
// ROLLING and GCRA: the others take no burst.
inline bool HasBurst(LimitAlgorithm algorithm) {
  return algorithm == LimitAlgorithm::kRolling || algorithm == LimitAlgorithm::kGcra;
}

// kNotGiven: the burst that the algorithm has when none is named.
inline constexpr int64_t kNotGiven = -1;

// 2,229 years; its µs and those of any engine time add up within 62 bits.
inline constexpr int64_t kPeriodMsMax = int64_t{1} << 46;
// Consumed units must come back within 73,000 years, so that their end is a 64-bit time.
inline constexpr int64_t kRefillUsMax = int64_t{1} << 61;
inline constexpr int64_t kUnitsMax = int64_t{1} << 62;  // of max and burst
inline constexpr int64_t kBanMsMax = kPeriodMsMax;
// Before any engine time, which may be below 0: what a state holds that has never been used.
inline constexpr int64_t kLongAgo = -(int64_t{1} << 61);

class Calendar;

// Plain numbers, copied about; valid if MakeLimitConfig has made it.
struct LimitConfig {
  LimitAlgorithm algorithm = LimitAlgorithm::kWindow;
  int64_t max = 0;  // units a period
  int64_t period_ms = 0;
  int64_t burst = 0;  // ROLLING: the capacity; GCRA: extra units at once; 0 for the others
  // CALENDAR: by what a window ends that opens now, be it a calendar or (null) a Unix time. A
  // limiter keeps neither: each request brings it along.
  const Calendar* calendar = nullptr;
  int64_t window_end_ms = 0;

  // The most that an unused limiter grants at once: the `limit` of replies.
  int64_t Capacity() const {
    if (algorithm == LimitAlgorithm::kRolling) return burst;
    return algorithm == LimitAlgorithm::kGcra ? burst + 1 : max;
  }
  int64_t PeriodUs() const { return period_ms * 1000; }
  bool operator==(const LimitConfig& other) const {
    return algorithm == other.algorithm && max == other.max && period_ms == other.period_ms &&
           burst == other.burst;
  }
};

// An error in the numbers of a configuration.
enum class LimitFault : uint8_t {
  kNone,
  kMax,           // not 1 .. kUnitsMax
  kPeriod,        // not 1 .. kPeriodMsMax
  kBurst,         // below 0 (GCRA) or 1 (ROLLING), or above kUnitsMax
  kBurstUnknown,  // given for an algorithm without one
  kRefill,        // the burst would take more than kRefillUsMax to come back
};

// Fills in the burst and checks everything; `config` is set if the answer is kNone.
LimitFault MakeLimitConfig(LimitAlgorithm algorithm, int64_t max, int64_t period_ms, int64_t burst,
                           LimitConfig* config);

inline constexpr int64_t kNeverUs = kInt64Max;

// The answer of Ask. Times are engine µs, absolute.
struct LimitAnswer {
  bool fits = false;
  int64_t remaining = 0;    // whole units that could be taken now, 0 .. capacity
  int64_t fits_at_us = 0;   // the first moment at which the cost fits if no other caller takes; now
                            // if it does, kNeverUs if it is above the capacity
  int64_t whole_at_us = 0;  // when the limit is whole again; <= now if it is
};

// One request: consumed if it fits, else nothing changes. Requires: cost >= 1; `state` was made
// under `config` or reconfigured to it. Inlined, it takes 30 instructions less of a WINDOW's 2,150
// (tools/bench --instructions).
template <typename State>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline LimitAnswer TakeFrom(State& state, const LimitConfig& config,
                                                         int64_t now_us, int64_t cost) {
  LimitAnswer answer = state.Ask(config, now_us, cost);
  if (!answer.fits) return answer;
  state.Consume(config, now_us, cost);
  answer.remaining -= cost;
  answer.whole_at_us = state.WholeAtUs(config, now_us);
  return answer;
}

// Rounded down: a log of another machine is replayed at times before this one's engine time began.
inline int64_t TickOf(int64_t now_us) { return now_us / 1000 - (now_us % 1000 < 0 ? 1 : 0); }

}  // namespace sluice
