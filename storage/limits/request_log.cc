// See request_log.h. The hard part is a change of the period under a million requests. Each tick
// moves so that it has the same share of the new period behind it; TickMover does that with a
// multiplication where that gives the same quotients, and records that come to share a tick become
// one.
#include "storage/limits/request_log.h"

#include <span>

namespace sluice {
namespace {

// The tick that has the same share of the new period behind it as this one has of the old.
int64_t MovedTick(int64_t tick, int64_t now_tick, int64_t from_ms, int64_t to_ms) {
  if (tick >= now_tick || from_ms == to_ms) return tick;
  const Wide age = DivideDown(Product(now_tick - tick, to_ms), static_cast<Wide>(from_ms));
  return now_tick - static_cast<int64_t>(age);
}

// The same for many ticks, without a division each: multiplies by the reciprocal, rounded up
// (Granlund and Montgomery 1994). It is too large by less than 1 / 2^shift, so the product is too
// large by less than 1 / from_ms, which no quotient needs to be the next one, while the oldest age
// times from_ms is at most 2^shift: for days and more.
class TickMover {
 public:
  TickMover(int64_t oldest_tick, int64_t now_tick, int64_t from_ms, int64_t to_ms)
      : now_tick_(now_tick) {
    const auto from = static_cast<Wide>(from_ms);
    const auto scaled = [&] { return static_cast<Wide>(to_ms) << shift_; };
    while (shift_ > 0 && DivideUp(scaled(), from) >> 64 != 0) --shift_;
    reciprocal_ = static_cast<uint64_t>(DivideUp(scaled(), from));
    is_exact_ = Product(std::max<int64_t>(0, now_tick - oldest_tick), from_ms) <= Wide{1} << shift_;
  }
  bool is_exact() const { return is_exact_; }
  int64_t operator()(int64_t tick) const {
    if (tick >= now_tick_) return tick;
    const auto age = static_cast<uint64_t>(now_tick_ - tick);
    return now_tick_ - static_cast<int64_t>(Wide{age << (64 - shift_)} * reciprocal_ >> 64);
  }

 private:
  const int64_t now_tick_;
  int shift_ = 63;
  uint64_t reciprocal_ = 0;
  bool is_exact_ = false;
};

}  // namespace

// --- the packed form

RequestLog::RequestLog(const TickRun& run, int64_t whole) : whole_(whole) {
  records_.Reserve(run.records() + 1);  // one is going to come
  run.ForEach([this](int64_t tick, uint64_t shares) { Add(tick, static_cast<int64_t>(shares)); });
}

bool RequestLog::CopyTo(TickRun& run) const {
  uint64_t before = gone_;
  for (size_t i = 0; i < records_.size(); ++i) {
    if (!run.Add(records_[i].tick, records_[i].sum - before)) return false;
    before = records_[i].sum;
  }
  return true;
}

// --- asking

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

// A difference of two sums, right also where the sums have wrapped.
int64_t RequestLog::Counted(size_t first) const {
  if (first == records_.size()) return 0;
  return static_cast<int64_t>(records_.back().sum - SumBefore(first));
}

size_t RequestLog::FirstLeaving(int64_t most) const {
  // Sums increase, so "what is behind this record is at most `most`" is false up to some record and
  // true from it on.
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

int64_t RequestLog::LeavesAtUs(const Record& record, const LimitConfig& own,
                               const LimitConfig& asked, int64_t now_us) {
  const int64_t tick = MovedTick(record.tick, TickOf(now_us), own.period_ms, asked.period_ms);
  return (tick + asked.period_ms) * 1000;
}

LimitAnswer RequestLog::AskAs(const LimitConfig& own, const LimitConfig& asked, int64_t now_us,
                              int64_t cost) const {
  const int64_t whole = Whole(own);
  const int64_t counted = Counted(FirstCounting(TickOf(now_us), own.period_ms));
  LimitAnswer answer;
  answer.remaining = UnitsIn(std::max<int64_t>(0, whole - counted), asked.max, whole);
  answer.fits = cost <= answer.remaining;
  answer.whole_at_us =
      counted == 0 ? now_us : std::max(now_us, LeavesAtUs(records_.back(), own, asked, now_us));
  if (answer.fits) {
    answer.fits_at_us = now_us;
  } else if (cost > asked.max) {
    answer.fits_at_us = kNeverUs;
  } else {
    // Under another period each record would leave at another time, but in the same order: so the
    // search is the same, and only its result is converted.
    const size_t last_to_leave = FirstLeaving(whole - SharesOf(cost, asked.max, whole));
    answer.fits_at_us = LeavesAtUs(records_[last_to_leave], own, asked, now_us);
  }
  return answer;
}

// --- changing

void RequestLog::Add(int64_t tick, int64_t shares) {
  const auto units = static_cast<uint64_t>(shares);
  if (!records_.empty() && records_.back().tick >= tick) {
    records_.back().sum += units;
  } else {
    records_.PushBack({tick, (records_.empty() ? gone_ : records_.back().sum) + units});
  }
}

// A request within a ms counts from the next whole one: it never leaves early.
void RequestLog::Consume(const LimitConfig& config, int64_t now_us, int64_t cost) {
  Prune(config, now_us);
  Refine(config);
  const int64_t now_tick = TickOf(now_us);
  Add(now_tick + (now_us > now_tick * 1000 ? 1 : 0), SharesOf(cost, config.max, Whole(config)));
  assert(Counted(0) <= Whole(config));
}

void RequestLog::Refund(const LimitConfig& config, int64_t now_us, int64_t units) {
  Prune(config, now_us);
  Refine(config);
  const int64_t back = SharesBack(units, config.max, Whole(config), Counted(0));
  if (back > 0) {
    // The first record that gives something back, and all after it, go; it stays for what it keeps.
    // Sums 2, 5, 9 and a refund of 5: 4 stay, the record of 5 keeps 2 of its 3, that of 9 goes.
    const uint64_t kept = records_.back().sum - static_cast<uint64_t>(back);
    const size_t first = FirstLeaving(back - 1);
    const bool keeps = kept != SumBefore(first);
    records_.Truncate(first + (keeps ? 1 : 0));
    if (keeps) records_.back().sum = kept;
  }
  if (records_.empty()) whole_ = 0;
}

void RequestLog::Prune(const LimitConfig& config, int64_t now_us) {
  const size_t left = FirstCounting(TickOf(now_us), config.period_ms);
  if (left > 0) {
    gone_ = records_[left - 1].sum;
    records_.DropFront(left);
  }
  if (records_.empty()) whole_ = 0;
}

// --- other numbers

void RequestLog::Reconfigure(const LimitConfig& from, const LimitConfig& to, int64_t now_us) {
  Prune(from, now_us);
  if (records_.empty()) return;
  if (from.period_ms != to.period_ms) MoveTicks(from, to, now_us);
  set_whole(to, Whole(from));
}

void RequestLog::MoveTicks(const LimitConfig& from, const LimitConfig& to, int64_t now_us) {
  const int64_t now_tick = TickOf(now_us);
  const TickMover mover(records_[0].tick, now_tick, from.period_ms, to.period_ms);
  if (mover.is_exact()) return MoveTicks(mover);
  MoveTicks([&](int64_t tick) { return MovedTick(tick, now_tick, from.period_ms, to.period_ms); });
}

// Run by run through a buffer on the stack: records that come to share a tick become one, so fewer
// are written back than were read, over those already read.
template <typename Moved>
void RequestLog::MoveTicks(const Moved& moved) {
  Record kept[RecordQueue<Record>::kChunk + 1];  // the first is the last of the run before
  kept[0].tick = moved(records_[0].tick);
  size_t count = 0;
  records_.ForEachRun([&](std::span<const Record> run) {
    // In registers: what is read back from beside what has just been written takes half as long
    // again, 1.8 ms instead of 1.2 for a million records.
    const Moved to = moved;
    Record* last = kept;
    int64_t last_tick = kept[0].tick;
    for (const Record& record : run) {
      const int64_t tick = to(record.tick);
      last += tick != last_tick ? 1 : 0;  // else its sum contains that of the same tick
      last_tick = tick;
      *last = {tick, record.sum};
    }
    records_.Overwrite(count, {kept, last});
    count += static_cast<size_t>(last - kept);
    kept[0] = *last;
  });
  records_.Overwrite(count, {kept, 1});
  records_.Truncate(count + 1);
}

void RequestLog::Refine(const LimitConfig& config) {
  if (whole_ == 0) [[likely]]
    return;
  const Refinement finer = sluice::Refine(whole_, config.max);
  if (!finer.None() && !records_.empty() && finer.IsExact()) {
    // All that is asked of the sums is their differences, so they are scaled as they are.
    const auto factor = static_cast<uint64_t>(finer.whole / finer.from);
    gone_ *= factor;
    records_.ForEachRun([factor](std::span<Record> run) {
      for (Record& record : run) record.sum *= factor;
    });
  } else if (!finer.None() && !records_.empty()) {
    // Seen from the newest: a sum "from here to the end" is what a rounding may not lower.
    const uint64_t end = records_.back().sum;
    const int64_t total = finer.Scaled(Counted(0));
    size_t kept = 0;
    for (size_t i = 0; i < records_.size(); ++i) {
      const auto later = static_cast<int64_t>(end - records_[i].sum);
      const auto sum = static_cast<uint64_t>(total - finer.Scaled(later));
      if (sum == (kept == 0 ? 0 : records_[kept - 1].sum)) continue;  // rounded away
      records_[kept++] = {records_[i].tick, sum};
    }
    records_.Truncate(kept);
    gone_ = 0;
  }
  set_whole(config, finer.whole);
}

void RequestLog::ForEach(const LimitConfig& config, int64_t now_us,
                         absl::FunctionRef<void(int64_t, uint64_t)> visit) const {
  for (size_t i = FirstCounting(config, now_us); i < records_.size(); ++i)
    visit(TickAt(i), SharesAt(i));
}

// --- looking

std::string RequestLog::Audit(const LimitConfig& config) const {
  for (size_t i = 1; i < records_.size(); ++i) {
    if (records_[i].tick <= records_[i - 1].tick)
      return "the requests of a limiter are out of order";
    if (records_[i].sum == records_[i - 1].sum) return "a limiter keeps an empty request";
  }
  if (records_.empty() && whole_ != 0) return "an empty log of requests has shares of its own";
  if (!records_.empty() &&
      Counted(FirstCounting(records_.back().tick, config.period_ms)) > Whole(config))
    return "a limiter counts more requests than it allows";
  return {};
}

int64_t RequestLog::WholeAtUs(const LimitConfig& config, int64_t now_us) const {
  if (records_.empty()) return now_us;
  return std::max(now_us, LeavesAtUs(records_.back(), config, config, now_us));
}

}  // namespace sluice
