// The sentences are Redis's; of its advice only that is given which is true of Sluice (big values
// are freed in slices here, and there is no `hz` for expiry).
#include "server/commands/admin/latency_report.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "protocol/text/concat.h"
#include "server/commands/admin/sparkline.h"
#include "server/config/config.h"
#include "server/figures/figure_value.h"

namespace sluice {
namespace {

// As Redis's LATENCY_GRAPH_COLS; more samples go into a second picture.
constexpr size_t kGraphColumns = 80;
// The monitor's threshold is in ms, the slow log's in µs.
constexpr uint64_t kMicrosPerMilli = 1000;

// --- sentences. Redis's words, as suites compare them.
constexpr std::string_view kDisabled =
    "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. You "
    "may "
    "use \"CONFIG SET latency-monitor-threshold <milliseconds>.\" in order to enable it. If we "
    "weren't "
    "in a deep space mission I'd suggest to take a look at "
    "https://redis.io/topics/latency-monitor.\n";
constexpr std::string_view kNothing =
    "Dave, no latency spike was observed during the lifetime of this Redis instance, not in the "
    "slightest bit. I honestly think you ought to sit down calmly, take a stress pill, and think "
    "things over.\n";
constexpr std::string_view kGreeting =
    "Dave, I have observed latency spikes in this Redis instance. You don't mind talking about it, "
    "do "
    "you Dave?\n\n";
constexpr std::string_view kNoAdvice =
    "\nWhile there are latency events logged, I'm not able to suggest any easy fix. Please use the "
    "Redis community to get some help, providing this report in your help request.\n";
constexpr std::string_view kAdvice = "\nI have a few advices for you:\n\n";
constexpr std::string_view kInspectSlowLog =
    "- Check your Slow Log to understand what are the commands you are running which are too slow "
    "to "
    "execute. Please check https://redis.io/commands/slowlog for more information.\n";
constexpr std::string_view kSystemIsSlow =
    "- The system is slow to execute Redis code paths not containing system calls. This usually "
    "means "
    "the system does not provide Redis CPU time to run for long periods. You should try to:\n"
    "  1) Lower the system load.\n"
    "  2) Use a computer / VM just for Redis if you are running other software in the same "
    "system.\n"
    "  3) Check if you have a \"noisy neighbour\" problem.\n"
    "  4) Check with 'redis-cli --intrinsic-latency 100' what is the intrinsic latency in your "
    "system.\n";

// "59s", "3m", "2h", "7d"
std::string AgeText(int64_t seconds) {
  if (seconds < 60) return Concat(seconds, 's');
  if (seconds < 3600) return Concat(seconds / 60, 'm');
  if (seconds < 24 * 3600) return Concat(seconds / 3600, 'h');
  return Concat(seconds / (24 * 3600), 'd');
}

// Integer arithmetic as Redis's, roundings included: suites compare the text.
struct Analysis {
  int64_t average_ms = 0;
  int64_t mean_deviation_ms = 0;
  double period_s = 0;  // between two samples, on average
};

// Requires: the series has samples. `unix_s` is now. O(samples), at most 160.
Analysis Analyze(const LatencySeries& series, int64_t unix_s) {
  const auto count = static_cast<int64_t>(series.samples().size());
  Analysis analysis;
  for (const LatencySample& sample : series.samples()) analysis.average_ms += sample.ms;
  analysis.average_ms /= count;
  for (const LatencySample& sample : series.samples()) {
    analysis.mean_deviation_ms += std::abs(analysis.average_ms - sample.ms);
  }
  analysis.mean_deviation_ms /= count;
  const int64_t oldest_s = unix_s - series.samples().front().unix_s;
  analysis.period_s =
      static_cast<double>(oldest_s == 0 ? 1 : oldest_s) / static_cast<double>(count);
  return analysis;
}

// One line for each event that has samples; empty when none has.
std::string DescribeEvents(const LatencyMonitor& monitor, int64_t unix_s) {
  std::string text;
  int number = 0;
  for (size_t i = 0; i < kLatencyEvents; ++i) {
    const auto event = static_cast<LatencyEvent>(i);
    const LatencySeries& series = monitor.Of(event);
    if (series.empty()) continue;
    const Analysis analysis = Analyze(series, unix_s);
    ConcatTo(text, ++number, ". ", LatencyMonitor::NameOf(event), ": ", series.samples().size(),
             " latency spikes (average ", analysis.average_ms, "ms, mean deviation ",
             analysis.mean_deviation_ms, "ms, period ", FixedText(analysis.period_s, 2),
             " sec). Worst all time event ", series.worst_ms(), "ms.\n");
  }
  return text;
}

// Given when slow commands were seen but the slow log would not show them; the hint to look there
// always.
std::string AdviseOnSlowLog(const Settings& settings) {
  // As Redis has it: beyond 64 bits it begins again.
  const uint64_t monitored_us =
      static_cast<uint64_t>(settings.latency_monitor_threshold) * kMicrosPerMilli;
  std::string text;
  if (settings.slowlog_log_slower_than < 0) {
    ConcatTo(
        text,
        "- There are latency issues with potentially slow commands you are using. Try to enable "
        "the Slow Log Redis feature using the command 'CONFIG SET slowlog-log-slower-than ",
        monitored_us,
        "'. If the Slow log is disabled Redis is not able to log slow commands execution for "
        "you.\n");
  } else if (settings.slowlog_log_slower_than / static_cast<int64_t>(kMicrosPerMilli) >
             settings.latency_monitor_threshold) {
    ConcatTo(
        text,
        "- Your current Slow Log configuration only logs events that are slower than your "
        "configured latency monitor threshold. Please use 'CONFIG SET slowlog-log-slower-than ",
        monitored_us, "'.\n");
  }
  return Concat(text, kInspectSlowLog);
}

}  // namespace

// Each sample is a column, its age written below.
std::string DrawLatencyGraph(const LatencyMonitor& monitor, LatencyEvent event, int64_t unix_s) {
  const LatencySeries& series = monitor.Of(event);
  const auto [low, high] = std::ranges::minmax_element(series.samples(), {}, &LatencySample::ms);
  std::vector<SparkPoint> points;
  for (const LatencySample& sample : series.samples()) {
    points.push_back({static_cast<double>(sample.ms), AgeText(unix_s - sample.unix_s)});
  }
  return Concat(LatencyMonitor::NameOf(event), " - high ", high->ms, " ms, low ", low->ms,
                " ms (all time high ", series.worst_ms(), " ms)\n", std::string(kGraphColumns, '-'),
                '\n', DrawSparkline(points, kGraphColumns));
}

// Three forms: no samples, samples without advice, samples with advice.
std::string LatencyDoctorReport(const LatencyMonitor& monitor, const Settings& settings,
                                int64_t unix_s) {
  const std::string events = DescribeEvents(monitor, unix_s);
  if (events.empty()) {
    return std::string(settings.latency_monitor_threshold == 0 ? kDisabled : kNothing);
  }
  std::string advice;
  if (!monitor.Of(LatencyEvent::kCommand).empty()) advice = AdviseOnSlowLog(settings);
  // An O(1) command that was slow: it is the machine, not the command.
  if (!monitor.Of(LatencyEvent::kFastCommand).empty()) advice += kSystemIsSlow;
  if (advice.empty()) return Concat(kGreeting, events, kNoAdvice);
  return Concat(kGreeting, events, kAdvice, advice);
}

}  // namespace sluice
