// Figures that are many: one for each command that was called, each error that was answered, each
// database. INFO has a line for each, /metrics a label.

#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/command_table.h"
#include "server/figures/sections.h"
#include "server/observe/command_counts.h"
#include "server/observe/statistics.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

// --- commands

// Containers and subcommands, each with statistics of its own; the container's are those of its own
// calls.
void ForEachCommand(From from,
                    absl::FunctionRef<void(const Command&, const CommandStatistics&)> visit) {
  const auto visit_one = [&](const Command& command) {
    const CommandStatistics* const own = from.Get<CommandCounts>().Find(command.number);
    if (own) visit(command, *own);
  };
  for (const Command* command : from.Get<const CommandTable>().all()) {
    visit_one(*command);
    for (const Command* sub : command->subcommands) visit_one(*sub);
  }
}

bool WasCalled(const CommandStatistics& stats) {
  return stats.calls > 0 || stats.rejected > 0 || stats.failed > 0;
}

void WriteCommandLines(From from, InfoText& text) {
  ForEachCommand(from, [&](const Command& command, const CommandStatistics& stats) {
    if (!WasCalled(stats)) return;
    const double micros = static_cast<double>(stats.nanos) / 1000;
    // In µs, two digits, as Redis shows it.
    const double per_call = stats.calls == 0 ? 0 : micros / static_cast<double>(stats.calls);
    text.Field(Concat("cmdstat_", SafeName(command.full_name)), "calls=", stats.calls,
               ",usec=", stats.nanos / 1000, ",usec_per_call=", FixedText(per_call, 2),
               ",rejected_calls=", stats.rejected, ",failed_calls=", stats.failed);
  });
}

template <auto count, int64_t divisor = 1>
void WriteByCommand(From from, MetricText& text) {
  ForEachCommand(from, [&](const Command& command, const CommandStatistics& stats) {
    if (WasCalled(stats))
      text.Value({{"cmd", command.full_name}}, static_cast<double>(stats.*count) / divisor);
  });
}

constexpr int64_t kNanosPerSecond = 1'000'000'000;

constexpr Figure kCommandFigures[] = {
    {"cmdstat_*", "",
     "of each command that was called: `calls`, `usec` in all and `usec_per_call` (µs), "
     "`rejected_calls` (stopped before they ran), `failed_calls` (answered an error)",
     WriteCommandLines,
     Counter("redis_commands", "Calls of a command.", WriteByCommand<&CommandStatistics::calls>)},
    {.metric = Counter("redis_commands_duration_seconds", "Time spent in a command.",
                       WriteByCommand<&CommandStatistics::nanos, kNanosPerSecond>)},
    {.metric = Counter("redis_commands_failed_calls", "Calls that answered an error.",
                       WriteByCommand<&CommandStatistics::failed>)},
    {.metric = Counter("redis_commands_rejected_calls", "Calls that were refused before they ran.",
                       WriteByCommand<&CommandStatistics::rejected>)},
};

// Which percentiles is an option. Nothing is shown with latency-tracking off.
void WriteLatencyLines(From from, InfoText& text) {
  const Settings& settings = from.Get<Config>().settings();
  if (!settings.latency_tracking) return;
  ForEachCommand(from, [&](const Command& command, const CommandStatistics& stats) {
    const Histogram& histogram = stats.latency_ns;
    if (histogram.count() == 0) return;
    std::string shown;
    for (const double percent : settings.latency_tracking_percentiles) {
      const double micros = static_cast<double>(histogram.Percentile(percent)) / 1000;
      ConcatTo(shown, shown.empty() ? "p" : ",p", ShortText(percent), '=', FixedText(micros, 3));
    }
    text.Field(Concat("latency_percentiles_usec_", SafeName(command.full_name)), shown);
  });
}

constexpr Figure kLatencyFigures[] = {
    {"latency_percentiles_usec_*", "µs",
     "of each command that was called: the percentiles that `latency-tracking-info-percentiles` "
     "names",
     WriteLatencyLines},
};

// --- errors

// By the first word of the error, as it was answered.
void WriteErrorLines(From from, InfoText& text) {
  for (const auto& [code, count] : from.Get<Statistics>().errors) {
    text.Field(Concat("errorstat_", SafeName(code)), "count=", count);
  }
}
void WriteByError(From from, MetricText& text) {
  for (const auto& [code, count] : from.Get<Statistics>().errors) {
    text.Value({{"err", code}}, static_cast<double>(count));
  }
}

constexpr Figure kErrorFigures[] = {
    {"errorstat_*", "", "by the first word of an error: `count`", WriteErrorLines,
     Counter("redis_errors", "Errors that were answered, by their first word.", WriteByError)},
};

// --- databases

// Databases with keys alone.
void WriteDatabaseLines(From from, InfoText& text) {
  Keyspace& keyspace = from.Get<Keyspace>();
  const Now now = from.Get<TurnClock>().now();
  for (int i = 0; i < keyspace.databases(); ++i) {
    if (!keyspace.made(i) || keyspace.db(i).size() == 0) continue;
    const Database& db = keyspace.db(i);
    text.Field(Concat("db", i), "keys=", db.size(), ",expires=", db.volatile_size(),
               ",avg_ttl=", db.MeanTtlMs(now), ",subexpiry=", db.timed_values());
  }
}

// Databases that have been used, and the first.
template <auto size>
void WriteByDatabase(From from, MetricText& text) {
  Keyspace& keyspace = from.Get<Keyspace>();
  for (int i = 0; i < keyspace.databases(); ++i) {
    if (i > 0 && !keyspace.made(i)) continue;
    const size_t keys = keyspace.made(i) ? (keyspace.db(i).*size)() : 0;
    text.Value({{"db", Concat("db", i)}}, static_cast<double>(keys));
  }
}

constexpr Figure kKeyspaceFigures[] = {
    {"db*", "",
     "of each database with keys: `keys`, `expires` (keys with a deadline), `avg_ttl` (ms that "
     "these have left on average), `subexpiry` (hashes with fields that end)",
     WriteDatabaseLines,
     Gauge("redis_db_keys", "Keys of a database.", WriteByDatabase<&Database::size>)},
    {.metric = Gauge("redis_db_keys_expiring", "Of them those with a deadline.",
                     WriteByDatabase<&Database::volatile_size>)},
};

}  // namespace

std::span<const Figure> CommandFigures() { return kCommandFigures; }
std::span<const Figure> ErrorFigures() { return kErrorFigures; }
std::span<const Figure> LatencyFigures() { return kLatencyFigures; }
std::span<const Figure> KeyspaceFigures() { return kKeyspaceFigures; }

}  // namespace sluice
