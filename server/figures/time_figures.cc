// Figures of the loop's turns and of timers. A turn reads, runs and answers what was ready: its CPU
// time bounds how long any client waits for others, and timers are late when turns are long.
//
// INFO shows a histogram in five lines: percentiles, the maximum, and how many were at most so
// much. These counts are cumulative, up to bounds that suit the thing; the last one is all.

#include "server/engine/facts.h"
#include "server/figures/sections.h"
#include "server/observe/statistics.h"

namespace sluice {
namespace {

// A good turn is below the first bounds, a lateness of some ms is normal.
constexpr int64_t kTurnBoundsUs[] = {50, 100, 250, 500, 1000, 2000, 5000, 10000};
constexpr int64_t kLatenessBoundsMs[] = {0, 1, 2, 5, 10, 100, 1000};

template <auto histogram, int per_mille>
FigureValue PercentileOf(From from) {
  return (from.Get<Statistics>().*histogram).Percentile(per_mille / 10.0);
}

template <auto histogram, const auto& bounds>
FigureValue CountsOf(From from) {
  const Histogram& counted = from.Get<Statistics>().*histogram;
  std::string counts;
  for (const int64_t bound : bounds) {
    ConcatTo(counts, "le_", bound, '=', counted.CountAtMost(bound), ',');
  }
  return Concat(counts, "inf=", counted.count());
}

void WriteTurnTimes(From from, MetricText& text) {
  text.Value(from.Get<Statistics>().turn_cpu_us, kShortBoundsUs, kMicro);
}

void WriteLateness(From from, MetricText& text) {
  constexpr int64_t kBoundsMs[] = {0, 1, 2, 5, 10, 25, 100, 1000, 10'000};
  text.Value(from.Get<Statistics>().expiry_lateness_ms, kBoundsMs, kMilli);
}

constexpr auto kTurnCpu = &Statistics::turn_cpu_us;
constexpr auto kLateness = &Statistics::expiry_lateness_ms;

constexpr Figure kTurnFigures[] = {
    {"turns", "", "turns of the loop since the start or CONFIG RESETSTAT", Of<&Statistics::turns>,
     Counter("sluice_turns", "Turns of the loop.")},
    {"turn_cpu_us_p50", "µs", "CPU time of a turn: half are below", PercentileOf<kTurnCpu, 500>},
    {"turn_cpu_us_p99", "µs", "99 % are below", PercentileOf<kTurnCpu, 990>},
    {"turn_cpu_us_p999", "µs", "99.9 % are below", PercentileOf<kTurnCpu, 999>},
    {"turn_cpu_us_max", "µs", "the longest", Of<kTurnCpu, &Histogram::max>},
    {"turn_cpu_us_histogram", "", "turns of at most so many µs, and all (`inf`)",
     CountsOf<kTurnCpu, kTurnBoundsUs>,
     Buckets("sluice_turn_seconds", "CPU time of a turn: so long clients wait for others.",
             WriteTurnTimes)},
    {"read_calls", "", "reads of sockets", Of<&Statistics::reads>},
    {"write_calls", "", "writes to sockets", Of<&Statistics::writes>},
};

constexpr Figure kTimerFigures[] = {
    {"timers_pending", "", "all that hangs on the wheel, now: keys, leases, waits, limits",
     Of<&Facts::timers>, Gauge("sluice_timers", "Deadlines that are set.")},
    {"expiry_lateness_ms_p50", "ms", "how long after its deadline a key went: half are below",
     PercentileOf<kLateness, 500>},
    {"expiry_lateness_ms_p99", "ms", "99 % are below", PercentileOf<kLateness, 990>},
    {"expiry_lateness_ms_p999", "ms", "99.9 % are below", PercentileOf<kLateness, 999>},
    {"expiry_lateness_ms_max", "ms", "the latest", Of<kLateness, &Histogram::max>},
    {"expiry_lateness_ms_histogram", "", "keys that went at most so many ms late, and all (`inf`)",
     CountsOf<kLateness, kLatenessBoundsMs>,
     Buckets("sluice_expiry_lateness_seconds", "How long after its deadline a key went.",
             WriteLateness)},
};

}  // namespace

std::span<const Figure> TurnFigures() { return kTurnFigures; }
std::span<const Figure> TimerFigures() { return kTimerFigures; }

}  // namespace sluice
