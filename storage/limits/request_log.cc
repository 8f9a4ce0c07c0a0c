// See request_log.h.
#include "storage/limits/request_log.h"

namespace sluice {

size_t RequestLog::FirstCounting(int64_t tick, int64_t period_ms) const {
  // Nearly always the front has been pruned a moment ago.
  if (records_.empty() || tick - records_[0].tick < period_ms) return 0;
  size_t low = 1;
  size_t high = records_.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (tick - records_[middle].tick < period_ms) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

int64_t RequestLog::Counted(size_t first) const {
  if (first == records_.size()) return 0;
  return static_cast<int64_t>(records_.back().sum - SumBefore(first));
}

size_t RequestLog::FirstLeaving(int64_t most) const {
  size_t low = 0;
  size_t high = records_.size() - 1;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (records_.back().sum - records_[middle].sum <= static_cast<uint64_t>(most)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

LimitAnswer RequestLog::Ask(const LimitConfig& config, int64_t now_us, int64_t cost) const {
  const int64_t counted = Counted(FirstCounting(TickOf(now_us), config.period_ms));
  LimitAnswer answer;
  answer.remaining = std::max<int64_t>(0, config.max - counted);
  answer.fits = cost <= answer.remaining;
  answer.whole_at_us = WholeAtUs(config, now_us);
  if (answer.fits) {
    answer.fits_at_us = now_us;
  } else if (cost > config.max) {
    answer.fits_at_us = kNeverUs;
  } else {
    const size_t last_to_leave = FirstLeaving(config.max - cost);
    answer.fits_at_us = (records_[last_to_leave].tick + config.period_ms) * 1000;
  }
  return answer;
}

void RequestLog::Consume(const LimitConfig& config, int64_t now_us, int64_t cost) {
  Prune(config, now_us);
  const int64_t tick = TickOf(now_us);
  const auto units = static_cast<uint64_t>(cost);
  if (!records_.empty() && records_.back().tick >= tick) {
    records_.back().sum += units;
  } else {
    records_.PushBack({tick, (records_.empty() ? gone_ : records_.back().sum) + units});
  }
  assert(Counted(0) <= config.max);
}

void RequestLog::Refund(const LimitConfig& config, int64_t now_us, int64_t units) {
  Prune(config, now_us);
  auto left = static_cast<uint64_t>(std::min(units, Counted(0)));
  while (left > 0) {
    Record& newest = records_.back();
    const uint64_t held = newest.sum - SumBefore(records_.size() - 1);
    if (held > left) {
      newest.sum -= left;
      return;
    }
    left -= held;
    records_.PopBack();
  }
}

void RequestLog::Prune(const LimitConfig& config, int64_t now_us) {
  const int64_t tick = TickOf(now_us);
  while (!records_.empty() && tick - records_.front().tick >= config.period_ms) {
    gone_ = records_.front().sum;
    records_.PopFront();
  }
}

// Scales the running sums instead of the counts, so that only the whole is rounded up, once. Seen
// from the newest: a sum "from here to the end" is what a rounding may not lower.
void RequestLog::Reconfigure(const LimitConfig& from, const LimitConfig& to, int64_t now_us) {
  Prune(from, now_us);
  const int64_t tick = TickOf(now_us);
  const auto scaled = [&](uint64_t units) {
    return static_cast<uint64_t>(
        DivideUp(Wide{units} * static_cast<uint64_t>(to.max), static_cast<Wide>(from.max)));
  };
  const auto total = static_cast<uint64_t>(Counted(0));
  const uint64_t scaled_total = scaled(total);
  Ring<Record> records;
  for (size_t i = 0; i < records_.size(); ++i) {
    const uint64_t later = records_.back().sum - records_[i].sum;
    const uint64_t sum = scaled_total - scaled(later);
    const Wide age_ms = static_cast<Wide>(std::max<int64_t>(0, tick - records_[i].tick));
    const Wide scaled_age_ms =
        DivideDown(age_ms * static_cast<uint64_t>(to.period_ms), static_cast<Wide>(from.period_ms));
    const int64_t at = tick - static_cast<int64_t>(scaled_age_ms);
    if (sum == (records.empty() ? 0 : records.back().sum)) continue;  // rounded away
    if (!records.empty() && records.back().tick == at) {
      records.back().sum = sum;
    } else {
      records.PushBack({at, sum});
    }
  }
  records_ = records;
  gone_ = 0;
}

void RequestLog::ForEach(const LimitConfig& config, int64_t now_us,
                         absl::FunctionRef<void(int64_t, uint64_t)> visit) const {
  for (size_t i = FirstCounting(TickOf(now_us), config.period_ms); i < records_.size(); ++i)
    visit(records_[i].tick, records_[i].sum - SumBefore(i));
}

std::string RequestLog::Audit(const LimitConfig& config) const {
  for (size_t i = 1; i < records_.size(); ++i) {
    if (records_[i].tick <= records_[i - 1].tick)
      return "the requests of a limiter are out of order";
    if (records_[i].sum == records_[i - 1].sum) return "a limiter keeps an empty request";
  }
  // After a lowered max the whole is scaled, so this holds then too.
  if (!records_.empty() &&
      Counted(FirstCounting(records_.back().tick, config.period_ms)) > config.max)
    return "a limiter counts more requests than it allows";
  return {};
}

int64_t RequestLog::WholeAtUs(const LimitConfig& config, int64_t now_us) const {
  if (records_.empty()) return now_us;
  return std::max(now_us, (records_.back().tick + config.period_ms) * 1000);
}

}  // namespace sluice
