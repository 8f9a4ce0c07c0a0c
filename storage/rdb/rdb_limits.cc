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

// Visits at least one unit each, in ascending order of their times.
void ReadTicks(ModuleReader& reader, const Now& now,
               absl::FunctionRef<void(int64_t tick_ms, uint64_t units)> visit) {
  const uint64_t count = reader.Unsigned(0, UINT64_MAX);
  if (count == 0) return;
  int64_t tick_ms = ReadMoment(reader, now);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    // A sum of differences from a peer must not leave the range of moments.
    const int64_t room_ms = kRdbMomentMsMax - (tick_ms + now.unix_offset_ms);
    tick_ms += static_cast<int64_t>(i == 0 ? reader.Unsigned(0, 0)
                                           : reader.Unsigned(1, static_cast<uint64_t>(room_ms)));
    const uint64_t units = reader.Unsigned(1, UINT64_MAX);
    if (reader.ok()) visit(tick_ms, units);
  }
}

// --- limiters

// Only what a new limiter of this configuration would not have.
void WriteUsed(const LimiterState& state, const RequestLog* log, const Now& now,
               ModuleWriter& writer) {
  switch (state.config.algorithm) {
    case LimitAlgorithm::kWindow:
      WriteMoment(state.window.end_ms, now, writer);
      return writer.Unsigned(static_cast<uint64_t>(state.window.used));
    case LimitAlgorithm::kSliding:
      WriteMoment(state.sliding.start_ms, now, writer);
      writer.Unsigned(static_cast<uint64_t>(state.sliding.whole));
      writer.Unsigned(static_cast<uint64_t>(state.sliding.previous));
      return writer.Unsigned(static_cast<uint64_t>(state.sliding.current));
    case LimitAlgorithm::kRolling:
    case LimitAlgorithm::kGcra:
      WriteMomentUs(state.gcra.tat_us, now, writer);
      return writer.Unsigned(static_cast<uint64_t>(state.gcra.tat_part));
    case LimitAlgorithm::kLog:
    case LimitAlgorithm::kLeaky:
      break;
  }
  std::vector<Tick> ticks;
  writer.Unsigned(static_cast<uint64_t>(log->Whole(state.config)));
  log->ForEach(state.config, now.steady_us,
               [&](int64_t tick, uint64_t shares) { ticks.emplace_back(tick, shares); });
  WriteTicks(ticks, now, writer);
}

// Builds the log and checks what the algorithm relies on: at most the whole, within one period.
void ReadLog(ModuleReader& reader, const LimitConfig& config, const Now& now, RequestLog& log) {
  const uint64_t whole = reader.Unsigned(1, static_cast<uint64_t>(kWholeMax));
  uint64_t left = whole;
  int64_t first_ms = 0;
  ReadTicks(reader, now, [&](int64_t tick_ms, uint64_t shares) {
    if (left == whole) first_ms = tick_ms;
    // What came within the tick that is now is booked on its end.
    if (shares > left || tick_ms - first_ms > config.period_ms) return reader.Fail();
    left -= shares;
    log.set_whole(config, static_cast<int64_t>(whole));
    log.Add(tick_ms, static_cast<int64_t>(shares));
  });
}

// Of a new state. Bounds are those that the algorithms themselves rely on.
void ReadUsed(ModuleReader& reader, const Now& now, LimiterState& state, RequestLog* log) {
  const auto units = [&reader](int64_t most) {
    return static_cast<int64_t>(reader.Unsigned(0, static_cast<uint64_t>(most)));
  };
  const LimitConfig& config = state.config;
  switch (config.algorithm) {
    case LimitAlgorithm::kWindow:
      state.window.end_ms = ReadMoment(reader, now);
      state.window.used = units(kUnitsMax);
      return;
    case LimitAlgorithm::kSliding:
      state.sliding.start_ms = ReadMoment(reader, now);
      state.sliding.whole = units(kWholeMax);
      state.sliding.previous = units(state.sliding.whole == 0 ? config.max : state.sliding.whole);
      state.sliding.current = units(state.sliding.whole == 0 ? config.max : state.sliding.whole);
      // What is admitted leaves room for a share of `previous`.
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
  const auto algorithm = static_cast<LimitAlgorithm>(
      reader.Unsigned(0, static_cast<uint64_t>(LimitAlgorithm::kLeaky)));
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

// Configuration, ban, then the state: each of the last two behind a flag that says whether it is
// there.
void WriteLimiter(const Limiter& limiter, const Now& now, RdbWriter& out) {
  const LimiterState& state = limiter.state();
  const RequestLog* const log = limiter.log();
  const LimitConfig& config = state.config;
  ModuleWriter writer(kRdbLimiter, out);
  writer.Unsigned(static_cast<uint64_t>(config.algorithm));
  writer.Unsigned(static_cast<uint64_t>(config.max));
  writer.Unsigned(static_cast<uint64_t>(config.period_ms));
  writer.Unsigned(static_cast<uint64_t>(config.burst));
  writer.Unsigned(state.Banned(now));
  if (state.Banned(now)) WriteMoment(state.banned_until_ms, now, writer);
  const bool used = LimitIsUsed(state, log, now);
  writer.Unsigned(used);
  if (used) WriteUsed(state, log, now, writer);
  writer.End();
}

std::unique_ptr<Limiter> ReadLimiter(ModuleReader& reader, const Now& now) {
  const LimitConfig config = ReadConfig(reader);
  if (!reader.ok()) return nullptr;
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

}  // namespace sluice
