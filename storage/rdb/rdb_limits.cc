// See rdb_limits.h.
#include "storage/rdb/rdb_limits.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "storage/rdb/rdb_moment.h"
#include "storage/time/timer_wheel.h"

namespace sluice {
namespace {

// --- ticks, shared by logs and buckets

using Tick = std::pair<int64_t, uint64_t>;  // engine ms, units

// Differences, not times: small numbers are short lengths.
void WriteTicks(const std::vector<Tick>& ticks, const Now& now, ModuleWriter& writer) {
  writer.Unsigned(ticks.size());
  if (ticks.empty()) return;
  int64_t before_ms = ticks.front().first;
  WriteMoment(before_ms, now, writer);
  for (const auto& [tick_ms, units] : ticks) {
    writer.Unsigned(static_cast<uint64_t>(tick_ms - before_ms));
    writer.Unsigned(units);
    before_ms = tick_ms;
  }
}

// A sum of differences from a peer must not leave the range of moments.
uint64_t RoomMs(int64_t tick_ms, const Now& now) {
  return static_cast<uint64_t>(kRdbMomentMsMax - (tick_ms + now.unix_offset_ms));
}

// Visits at least one unit each, in ascending order of their times.
void ReadTicks(ModuleReader& reader, const Now& now,
               absl::FunctionRef<void(int64_t tick_ms, uint64_t units)> visit) {
  const uint64_t count = reader.Unsigned(0, UINT64_MAX);
  if (count == 0) return;
  int64_t tick_ms = ReadMoment(reader, now);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    tick_ms += static_cast<int64_t>(i == 0 ? reader.Unsigned(0, 0)
                                           : reader.Unsigned(1, RoomMs(tick_ms, now)));
    const uint64_t units = reader.Unsigned(1, UINT64_MAX);
    if (reader.ok()) visit(tick_ms, units);
  }
}

// --- limiters

// Builds the log and checks what the algorithm relies on: at most the whole, within one period.
void ReadLog(ModuleReader& reader, const LimitConfig& config, const Now& now, RequestLog& log) {
  const uint64_t whole = reader.Unsigned(1, static_cast<uint64_t>(kWholeMax));
  uint64_t left = whole;
  int64_t first_ms = 0;
  ReadTicks(reader, now, [&](int64_t tick_ms, uint64_t shares) {
    if (left == whole) first_ms = tick_ms;
    // A request within the tick that is now is booked on its end.
    if (shares > left || tick_ms - first_ms > config.period_ms) return reader.Fail();
    left -= shares;
    log.set_whole(config, static_cast<int64_t>(whole));
    log.Add(tick_ms, static_cast<int64_t>(shares));
  });
}

// Reads into a new state. Bounds are those that the algorithms themselves rely on.
void ReadUsed(ModuleReader& reader, const Now& now, LimiterState& state, RequestLog* log) {
  const auto units = [&reader](int64_t most) {
    return static_cast<int64_t>(reader.Unsigned(0, static_cast<uint64_t>(most)));
  };
  const LimitConfig& config = state.config;
  switch (config.algorithm) {
    case LimitAlgorithm::kWindow:
    case LimitAlgorithm::kCalendar:
      state.window.end_ms = ReadMoment(reader, now);
      state.window.used = units(kUnitsMax);
      return;
    case LimitAlgorithm::kSliding:
      state.sliding.start_ms = ReadMoment(reader, now);
      state.sliding.whole = units(kWholeMax);
      state.sliding.previous = units(state.sliding.whole == 0 ? config.max : state.sliding.whole);
      state.sliding.current = units(state.sliding.whole == 0 ? config.max : state.sliding.whole);
      // `current`, as it was admitted, leaves room for a share of `previous`.
      if (state.sliding.current > kInt64Max - state.sliding.previous) reader.Fail();
      return;
    case LimitAlgorithm::kRolling:
    case LimitAlgorithm::kGcra:
      state.gcra.tat_us = ReadMomentUs(reader, now);
      state.gcra.tat_part = units(config.max - 1);
      return;
    case LimitAlgorithm::kLog:
    case LimitAlgorithm::kLeaky:
      return ReadLog(reader, config, now, *log);
  }
}

// The same door as a client's: what LIMIT.TAKE would refuse is a fault here.
LimitConfig ReadConfig(ModuleReader& reader) {
  const auto algorithm = static_cast<LimitAlgorithm>(reader.Unsigned(0, kLimitAlgorithms - 1));
  const auto number = [&reader] { return static_cast<int64_t>(reader.Unsigned(0, kUnitsMax)); };
  const int64_t max = number();
  const int64_t period_ms = number();
  const int64_t burst = number();
  const bool has_none = !HasBurst(algorithm) && burst == 0;
  LimitConfig config{algorithm, 1, 1, 1};
  const LimitFault fault =
      MakeLimitConfig(algorithm, max, period_ms, has_none ? kNotGiven : burst, &config);
  if (fault != LimitFault::kNone) reader.Fail();
  return config;
}

}  // namespace

LimiterParts::LimiterParts(const Limiter& limiter, const Now& now, RdbWriter& out)
    : log_(limiter.log()), now_(OnItsClock(limiter.algorithm(), now)), writer_(kRdbLimiter, out) {
  const LimiterState& state = limiter.state();
  const LimitConfig& config = state.config;
  writer_.Unsigned(static_cast<uint64_t>(config.algorithm));
  writer_.Unsigned(static_cast<uint64_t>(config.max));
  writer_.Unsigned(static_cast<uint64_t>(config.period_ms));
  writer_.Unsigned(static_cast<uint64_t>(config.burst));
  writer_.Unsigned(state.Banned(now_));
  if (state.Banned(now_)) WriteMoment(state.banned_until_ms, now_, writer_);
  const bool used = LimitIsUsed(state, log_, now);
  writer_.Unsigned(used);
  if (used) WriteUsed(state);
}

// Only what a new limiter of this configuration would not have.
void LimiterParts::WriteUsed(const LimiterState& state) {
  switch (state.config.algorithm) {
    case LimitAlgorithm::kWindow:
    case LimitAlgorithm::kCalendar:
      WriteMoment(state.window.end_ms, now_, writer_);
      return writer_.Unsigned(static_cast<uint64_t>(state.window.used));
    case LimitAlgorithm::kSliding:
      WriteMoment(state.sliding.start_ms, now_, writer_);
      writer_.Unsigned(static_cast<uint64_t>(state.sliding.whole));
      writer_.Unsigned(static_cast<uint64_t>(state.sliding.previous));
      return writer_.Unsigned(static_cast<uint64_t>(state.sliding.current));
    case LimitAlgorithm::kRolling:
    case LimitAlgorithm::kGcra:
      WriteMomentUs(state.gcra.tat_us, now_, writer_);
      return writer_.Unsigned(static_cast<uint64_t>(state.gcra.tat_part));
    case LimitAlgorithm::kLog:
    case LimitAlgorithm::kLeaky:
      break;
  }
  next_ = log_->FirstCounting(state.config, now_.steady_us);
  end_ = log_->records();
  writer_.Unsigned(static_cast<uint64_t>(log_->Whole(state.config)));
  writer_.Unsigned(end_ - next_);
  if (next_ == end_) return;
  before_ms_ = log_->TickAt(next_);
  WriteMoment(before_ms_, now_, writer_);
}

bool LimiterParts::WriteNext(size_t count) {
  for (; count > 0 && next_ < end_; --count, ++next_) {
    const int64_t tick_ms = log_->TickAt(next_);
    writer_.Unsigned(static_cast<uint64_t>(tick_ms - before_ms_));
    writer_.Unsigned(log_->SharesAt(next_));
    before_ms_ = tick_ms;
  }
  if (next_ == end_) writer_.End();
  return next_ < end_;
}

void WriteLimiter(const Limiter& limiter, const Now& now, RdbWriter& out) {
  LimiterParts(limiter, now, out).WriteNext(SIZE_MAX);
}

std::unique_ptr<Limiter> ReadLimiter(ModuleReader& reader, const Now& engine_now) {
  const LimitConfig config = ReadConfig(reader);
  if (!reader.ok()) return nullptr;
  const Now now = OnItsClock(config.algorithm, engine_now);
  LimiterState state(config);
  std::unique_ptr<RequestLog> log =
      NeedsLog(config.algorithm) ? std::make_unique<RequestLog>() : nullptr;
  if (reader.Flag()) state.banned_until_ms = ReadMoment(reader, now);
  if (reader.Flag()) ReadUsed(reader, now, state, log.get());
  reader.End();
  if (!reader.ok()) return nullptr;
  return std::make_unique<Limiter>(state, std::move(log));
}

// --- leaky buckets

void WriteLeakyBucket(const LeakyBucket& bucket, const Now& now, RdbWriter& out) {
  std::vector<Tick> drains;
  bucket.ForEachDrain(now,
                      [&](int64_t due_ms, uint64_t units) { drains.emplace_back(due_ms, units); });
  // Scattered drains come in no order; equal buckets must be equal bytes.
  std::ranges::sort(drains);
  size_t kept = 0;
  for (const Tick& drain : drains) {
    if (kept > 0 && drains[kept - 1].first == drain.first) {
      drains[kept - 1].second += drain.second;
    } else {
      drains[kept++] = drain;
    }
  }
  drains.resize(kept);
  ModuleWriter writer(kRdbLeakyBucket, out);
  WriteTicks(drains, now, writer);
  writer.End();
}

// Units may not sum up to more than 64 bits hold, whatever the file says.
std::unique_ptr<LeakyBucket> ReadLeakyBucket(ModuleReader& reader, const Now& now) {
  auto bucket = std::make_unique<LeakyBucket>();
  uint64_t room = UINT64_MAX;
  ReadTicks(reader, now, [&](int64_t due_ms, uint64_t units) {
    if (units > room) return reader.Fail();
    room -= units;
    // An engine that has run for longer reaches the end of the wheel's time earlier.
    bucket->Count(now, std::min(due_ms, TimerWheel::kDeadlineMsMax), units);
  });
  reader.End();
  return reader.ok() ? std::move(bucket) : nullptr;
}

LargeBucketParts::LargeBucketParts(const LeakyBucket& bucket, const Now& now, RdbWriter& out)
    : moment_ms_(now.ms()),
      writer_(kRdbLargeBucket, out),
      walk_(bucket.WalkDrains(now)),
      before_ms_(moment_ms_) {
  WriteMoment(moment_ms_, now, writer_);
}

bool LargeBucketParts::WriteNext(size_t count) {
  const auto write = [this](int64_t due_ms, uint64_t units) {
    writer_.Unsigned(units);
    writer_.Unsigned(static_cast<uint64_t>(due_ms - before_ms_));
    if (is_in_order_) before_ms_ = due_ms;
  };
  if (is_in_order_ ? walk_.InOrder(count, write) : walk_.Scattered(count, write)) return true;
  writer_.Unsigned(0);
  if (!is_in_order_) writer_.End();
  before_ms_ = moment_ms_;
  return std::exchange(is_in_order_, false);
}

std::unique_ptr<LeakyBucket> ReadLargeBucket(ModuleReader& reader, const Now& now) {
  auto bucket = std::make_unique<LeakyBucket>();
  uint64_t room = UINT64_MAX;
  const int64_t moment_ms = ReadMoment(reader, now);
  for (const bool in_order : {true, false}) {
    int64_t before_ms = moment_ms;
    // 0 also at a fault.
    while (const uint64_t units = reader.Unsigned(0, room)) {
      const int64_t due_ms =
          before_ms + static_cast<int64_t>(reader.Unsigned(0, RoomMs(before_ms, now)));
      if (!reader.ok()) break;
      room -= units;
      bucket->Count(now, std::min(due_ms, TimerWheel::kDeadlineMsMax), units);
      if (in_order) before_ms = due_ms;
    }
  }
  reader.End();
  return reader.ok() ? std::move(bucket) : nullptr;
}

}  // namespace sluice
