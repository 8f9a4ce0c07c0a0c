// See gcra.h. All products are of a count below 2^63 and a span below 2^57 µs, or of a span below
// 2^62 µs and a count: at most 125 bits.
#include "storage/limits/gcra.h"

namespace sluice {
namespace {

// The whole capacity in units of 1/max µs.
Wide CapacityUnits(const LimitConfig& config) {
  return Product(config.Capacity(), config.PeriodUs());
}

}  // namespace

Wide GcraState::Consumed(const LimitConfig& config, int64_t now_us) const {
  if (tat_us < now_us) return 0;
  // The bound holds anyway, unless a clock went back.
  return std::min(Product(tat_us - now_us, config.max) + static_cast<Wide>(tat_part),
                  CapacityUnits(config));
}

void GcraState::SetConsumed(const LimitConfig& config, int64_t now_us, Wide consumed) {
  assert(consumed <= CapacityUnits(config));
  const auto max = static_cast<Wide>(config.max);
  const Wide whole_us = DivideDown(consumed, max);
  tat_us = now_us + static_cast<int64_t>(whole_us);
  tat_part = static_cast<int64_t>(consumed - whole_us * max);
}

// All in units of 1/max µs, in which nothing is rounded; divisions come last.
LimitAnswer GcraState::Ask(const LimitConfig& config, int64_t now_us, int64_t cost) const {
  const Wide capacity = CapacityUnits(config);
  // The rest is rounded down to whole units, and what is missing up to whole µs: neither promises
  // more than there is.
  const Wide left = capacity - Consumed(config, now_us);
  LimitAnswer answer;
  answer.remaining = static_cast<int64_t>(DivideDown(left, static_cast<Wide>(config.PeriodUs())));
  answer.fits = cost <= answer.remaining;
  answer.whole_at_us = WholeAtUs(config, now_us);
  if (answer.fits) {
    answer.fits_at_us = now_us;
  } else if (cost > config.Capacity()) {
    answer.fits_at_us = kNeverUs;
  } else {
    const Wide missing = Product(cost, config.PeriodUs()) - left;
    answer.fits_at_us =
        now_us + static_cast<int64_t>(DivideUp(missing, static_cast<Wide>(config.max)));
  }
  return answer;
}

void GcraState::Consume(const LimitConfig& config, int64_t now_us, int64_t cost) {
  SetConsumed(config, now_us, Consumed(config, now_us) + Product(cost, config.PeriodUs()));
}

void GcraState::Refund(const LimitConfig& config, int64_t now_us, int64_t units) {
  const Wide consumed = Consumed(config, now_us);
  SetConsumed(config, now_us, consumed - std::min(consumed, Product(units, config.PeriodUs())));
}

// The same fraction of the new capacity is consumed as was of the old, rounded up: no change of the
// numbers gives back what was consumed.
void GcraState::Reconfigure(const LimitConfig& from, const LimitConfig& to, int64_t now_us) {
  const Wide consumed = Consumed(from, now_us);
  SetConsumed(to, now_us, ScaleUp(consumed, CapacityUnits(from), CapacityUnits(to)));
}

int64_t GcraState::WholeAtUs(const LimitConfig&, int64_t now_us) const {
  return std::max(now_us, tat_us + (tat_part > 0 ? 1 : 0));
}

}  // namespace sluice
