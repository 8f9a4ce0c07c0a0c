// WINDOW: the fixed window counter, as in INCR's documentation and GitHub's limiter, but opened by
// its first request instead of by the clock. At most max units from the tick in which it opens
// until one period later; that end never moves, whatever comes meanwhile.
//
// Units: requests, and ticks of 1 ms. A window of which everything was refunded stays open.
#pragma once

#include "storage/limits/limit.h"

namespace sluice {

struct WindowState {
  int64_t end_ms = kLongAgo;  // open while now < end_ms
  int64_t used = 0;           // may be above max after max was lowered

  bool Open(int64_t now_us) const { return TickOf(now_us) < end_ms; }
  LimitAnswer Ask(const LimitConfig& config, int64_t now_us, int64_t cost) const;
  void Consume(const LimitConfig& config, int64_t now_us, int64_t cost);
  void Refund(const LimitConfig& config, int64_t now_us, int64_t units);
  // The open window keeps its end and its count.
  void Reconfigure(const LimitConfig& from, const LimitConfig& to, int64_t now_us);
  int64_t WholeAtUs(const LimitConfig& config, int64_t now_us) const;
};
static_assert(sizeof(WindowState) == 16);

}  // namespace sluice
