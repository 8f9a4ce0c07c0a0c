// See window.h.
#include "storage/limits/window.h"

namespace sluice {

LimitAnswer WindowState::Ask(const LimitConfig& config, int64_t now_us, int64_t cost) const {
  const int64_t taken = Open(now_us) ? used : 0;
  LimitAnswer answer;
  answer.remaining = std::max<int64_t>(0, config.max - taken);
  answer.fits = cost <= answer.remaining;
  answer.whole_at_us = WholeAtUs(config, now_us);
  answer.fits_at_us = answer.fits ? now_us : cost > config.max ? kNeverUs : answer.whole_at_us;
  return answer;
}

void WindowState::Consume(const LimitConfig& config, int64_t now_us, int64_t cost) {
  if (!Open(now_us)) *this = {TickOf(now_us) + config.period_ms, 0};
  used += cost;
  assert(used <= config.max);
}

void WindowState::Refund(const LimitConfig&, int64_t now_us, int64_t units) {
  if (Open(now_us)) used -= std::min(units, used);
}

void WindowState::Reconfigure(const LimitConfig&, const LimitConfig&, int64_t) {}

int64_t WindowState::WholeAtUs(const LimitConfig&, int64_t now_us) const {
  return Open(now_us) ? end_ms * 1000 : now_us;
}

}  // namespace sluice
