// See master_clock.h.
#include "server/following/master_clock.h"

#include <algorithm>

namespace sluice {
namespace {

// The largest whole number of ms that is not above.
int64_t FloorMs(int64_t us) { return us >= 0 ? us / 1000 : -((-us + 999) / 1000); }

}  // namespace

// Rounded up: what is lost counts in full.
int64_t MasterClock::Worth(const Second& second, int64_t own_us) {
  constexpr int64_t kUsPerDriftUs = 1'000'000 / kDriftPpm;
  const int64_t age_us = std::max<int64_t>(0, own_us - second.own_us);
  return second.difference_us - (age_us + kUsPerDriftUs - 1) / kUsPerDriftUs;
}

void MasterClock::Sample(int64_t master_us, int64_t own_us) {
  const Second sample = {
      .number = own_us / kSecondUs, .difference_us = master_us - own_us, .own_us = own_us};
  Second& second = seconds_[static_cast<size_t>(sample.number) % seconds_.size()];
  if (second.number != sample.number || Worth(second, own_us) <= sample.difference_us)
    second = sample;
}

std::optional<int64_t> MasterClock::DifferenceUs(int64_t own_us) const {
  std::optional<int64_t> best;
  for (const Second& second : seconds_) {
    if (second.number < 0 || own_us - second.own_us > kWindowUs) continue;
    const int64_t worth = Worth(second, own_us);
    best = std::max(best.value_or(worth), worth);
  }
  return best;
}

int64_t MasterClock::Correct(int64_t own_us, int64_t shift_ms) {
  if (corrected_us_ && own_us - *corrected_us_ < kCorrectionsApartUs) return 0;
  const std::optional<int64_t> difference_us = DifferenceUs(own_us);
  if (!difference_us) return 0;
  const int64_t by_ms = FloorMs(*difference_us) - shift_ms;
  if (by_ms != 0) corrected_us_ = own_us;
  return by_ms;
}

}  // namespace sluice
