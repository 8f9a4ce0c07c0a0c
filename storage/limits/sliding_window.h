// SLIDING: the sliding window counter (Figma 2017, Cloudflare 2017). Two counters, of the current
// window and of the one before; the older counts with the share of it that still lies within one
// period:
//
//   previous x (period - elapsed) / period + current + cost <= max
//
// compared exactly, multiplied by the period. It supposes that what came in the older window came
// evenly, so it is exact to that model and not to the log of requests (LOG is). Windows follow each
// other without a gap from the first request on, until one ends in which nothing came.
//
// max 10 in 60 s, 8 in the window before, 4 in this one, 15 s into it:
//
//   8 x 45/60 + 4 = 10      full: the next unit fits when one more of the 8 has slid out, at 22.5 s
//
// Units: shares (shares.h), and ticks of 1 ms.
#pragma once

#include "storage/limits/limit.h"
#include "storage/limits/shares.h"

namespace sluice {

// All functions are O(1). Around a border it lets through what its model allows, not twice max as
// WINDOW.
struct SlidingWindowState {
  int64_t start_ms = 0;  // of the current window; no meaning while both counts are 0
  int64_t previous = 0;
  int64_t current = 0;
  int64_t whole =
      0;  // shares in all; 0: as many as max, which has not changed since counting began

  LimitAnswer Ask(const LimitConfig& config, int64_t now_us, int64_t cost) const;
  void Consume(const LimitConfig& config, int64_t now_us, int64_t cost);
  // From the current window first: the newest requests are those that come back.
  void Refund(const LimitConfig& config, int64_t now_us, int64_t units);
  void Reconfigure(const LimitConfig& from, const LimitConfig& to, int64_t now_us);
  int64_t WholeAtUs(const LimitConfig& config, int64_t now_us) const;

 private:
  // The state as of now: within the current window; in the next one, where current becomes
  // previous; or later, where both are behind. An empty window starts anew with the next request.
  SlidingWindowState At(const LimitConfig& config, int64_t now_us) const;
  // Makes the shares so fine that a unit is a whole number of them.
  void Refine(const LimitConfig& config);
  int64_t Whole(const LimitConfig& config) const { return whole == 0 ? config.max : whole; }
};
static_assert(sizeof(SlidingWindowState) == 32);

}  // namespace sluice
