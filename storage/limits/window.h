// WINDOW: the fixed window counter, as in INCR's documentation and GitHub's limiter, but opened by
// its first request instead of by the clock. At most max units from the tick in which it opens
// until one period later; that end never moves, whatever comes meanwhile.
//
// max 3, period 10 s; its border is where it opened, and can be used twice:
//
//   0 s opens, 1 used | 9 s 2 more: full | 9.5 s refused until 10 s | 10 s opens anew, 3 at once
//
// Units: requests, and ticks of 1 ms. A window of which everything was refunded stays open.
#pragma once

#include <algorithm>
#include <cassert>

#include "storage/limits/limit.h"

namespace sluice {

// All O(1), in 16 bytes. WholeAtUs is the end while it is open, even if all was refunded.
struct WindowState {
  int64_t end_ms = kLongAgo;  // open while now < end_ms
  int64_t used = 0;           // may be above max after max was lowered

  bool Open(int64_t now_us) const { return TickOf(now_us) < end_ms; }
  LimitAnswer Ask(const LimitConfig& config, int64_t now_us, int64_t cost) const {
    const int64_t taken = Open(now_us) ? used : 0;
    LimitAnswer answer;
    answer.remaining = std::max<int64_t>(0, config.max - taken);
    answer.fits = cost <= answer.remaining;
    answer.whole_at_us = WholeAtUs(config, now_us);
    answer.fits_at_us = answer.fits ? now_us : cost > config.max ? kNeverUs : answer.whole_at_us;
    return answer;
  }
  void Consume(const LimitConfig& config, int64_t now_us, int64_t cost) {
    if (!Open(now_us)) *this = {EndOfNew(config, TickOf(now_us)), 0};
    used += cost;
    assert(used <= config.max);
  }
  // CALENDAR: on the wall clock, as all of its times.
  static int64_t EndOfNew(const LimitConfig& config, int64_t tick) {
    if (config.algorithm == LimitAlgorithm::kWindow) [[likely]]
      return tick + config.period_ms;
    return EndOfCalendarWindow(config, tick);
  }
  static int64_t EndOfCalendarWindow(const LimitConfig& config, int64_t unix_ms);
  void Refund(const LimitConfig& config, int64_t now_us, int64_t units);
  // The open window keeps its end and its count.
  void Reconfigure(const LimitConfig& from, const LimitConfig& to, int64_t now_us);
  int64_t WholeAtUs(const LimitConfig&, int64_t now_us) const {
    return Open(now_us) ? end_ms * 1000 : now_us;
  }
};
static_assert(sizeof(WindowState) == 16);

}  // namespace sluice
