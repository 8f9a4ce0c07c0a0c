// See sliding_window.h. The answer to "when will this fit" is found without a search: what is left
// of the older window falls evenly, so the first tick at which there is room is one division, in
// this window or in the next, where the current count has become the older.
#include "storage/limits/sliding_window.h"

namespace sluice {
namespace {

// The part of `previous` that still counts after `elapsed_ms` of the window, rounded up: a request
// fits beside it exactly when it fits beside the unrounded share.
int64_t Share(int64_t previous, int64_t elapsed_ms, int64_t period_ms) {
  return static_cast<int64_t>(
      DivideUp(Product(previous, period_ms - elapsed_ms), static_cast<Wide>(period_ms)));
}

// The first tick of a window at which what is left of `previous` is at most `room` (>= 0).
int64_t TickOfRoom(int64_t previous, int64_t room, int64_t period_ms) {
  if (room >= previous) return 0;
  return period_ms -
         static_cast<int64_t>(DivideDown(Product(room, period_ms), static_cast<Wide>(previous)));
}

}  // namespace

SlidingWindowState SlidingWindowState::At(const LimitConfig& config, int64_t now_us) const {
  const int64_t tick = TickOf(now_us);
  const int64_t elapsed_ms = std::max<int64_t>(0, tick - start_ms);
  if (previous == 0 && current == 0) return {tick, 0, 0, 0};
  if (elapsed_ms < config.period_ms) return *this;
  if (elapsed_ms - config.period_ms >= config.period_ms || current == 0) return {tick, 0, 0, 0};
  return {start_ms + config.period_ms, current, 0, whole};
}

// The current count may be above the room that the request leaves: then nothing fits until the next
// window, in which the current count is the one that slides.
LimitAnswer SlidingWindowState::Ask(const LimitConfig& config, int64_t now_us, int64_t cost) const {
  const SlidingWindowState now = At(config, now_us);
  const int64_t elapsed_ms = std::max<int64_t>(0, TickOf(now_us) - now.start_ms);
  const int64_t counted = now.current + Share(now.previous, elapsed_ms, config.period_ms);
  const int64_t whole = now.Whole(config);
  LimitAnswer answer;
  answer.remaining = UnitsIn(std::max<int64_t>(0, whole - counted), config.max, whole);
  answer.fits = cost <= answer.remaining;
  answer.whole_at_us = WholeAtUs(config, now_us);
  if (answer.fits) {
    answer.fits_at_us = now_us;
    return answer;
  }
  if (cost > config.max) {
    answer.fits_at_us = kNeverUs;
    return answer;
  }
  const int64_t room = whole - SharesOf(cost, config.max, whole);  // what others may hold
  if (now.current <= room) {  // in this window, when enough of the other is gone
    const int64_t tick = TickOfRoom(now.previous, room - now.current, config.period_ms);
    answer.fits_at_us = (now.start_ms + tick) * 1000;
  } else {  // in the next one, in which what is current now will be the older
    const int64_t tick = TickOfRoom(now.current, room, config.period_ms);
    answer.fits_at_us = (now.start_ms + config.period_ms + tick) * 1000;
  }
  return answer;
}

void SlidingWindowState::Consume(const LimitConfig& config, int64_t now_us, int64_t cost) {
  *this = At(config, now_us);
  Refine(config);
  current += SharesOf(cost, config.max, Whole(config));
  assert(current <= Whole(config));
}

void SlidingWindowState::Refund(const LimitConfig& config, int64_t now_us, int64_t units) {
  *this = At(config, now_us);
  Refine(config);
  const int64_t whole_now = Whole(config);
  const int64_t back = SharesBack(units, config.max, whole_now, current + previous);
  const int64_t from_current = std::min(back, current);
  current -= from_current;
  previous -= back - from_current;
  if (previous == 0 && current == 0) whole = 0;
}

void SlidingWindowState::Refine(const LimitConfig& config) {
  if (whole == 0) [[likely]]
    return;
  const Refinement finer = sluice::Refine(whole, config.max);
  previous = finer.Scaled(previous);
  current = finer.Scaled(current);
  whole = finer.whole == config.max ? 0 : finer.whole;
}

// The window keeps the share of the period that has passed: its start moves.
void SlidingWindowState::Reconfigure(const LimitConfig& from, const LimitConfig& to,
                                     int64_t now_us) {
  *this = At(from, now_us);
  if (previous == 0 && current == 0) return;
  const int64_t tick = TickOf(now_us);
  const auto elapsed_ms = static_cast<Wide>(std::max<int64_t>(0, tick - start_ms));
  const auto scaled_ms =
      DivideDown(elapsed_ms * static_cast<Wide>(to.period_ms), static_cast<Wide>(from.period_ms));
  start_ms = tick - static_cast<int64_t>(scaled_ms);
  whole = Whole(from) == to.max ? 0 : Whole(from);
  Refine(to);  // what is left of the older window is rounded to shares
}

// A current count is gone when its window has slid out: two periods after it began.
int64_t SlidingWindowState::WholeAtUs(const LimitConfig& config, int64_t now_us) const {
  const SlidingWindowState now = At(config, now_us);
  if (now.current > 0) return (now.start_ms + 2 * config.period_ms) * 1000;
  if (now.previous > 0) return (now.start_ms + config.period_ms) * 1000;
  return now_us;
}

}  // namespace sluice
