// The LATENCY family: what took long and when (LATEST, HISTORY, GRAPH, DOCTOR; see
// server/observe/latency_monitor.h), and how long commands take (HISTOGRAM).
//
// Samples are in ms, histograms in µs. Only what takes at least latency-monitor-threshold becomes a
// sample; histograms count every call while latency-tracking is on.
//
//   LATENCY LATEST       event, Unix seconds and ms of the last sample, worst ms
//   LATENCY HISTORY e    Unix seconds and ms of up to 160 samples
//   LATENCY HISTOGRAM c  how many calls took up to so many µs

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/commands/admin/latency_report.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command_table.h"
#include "server/observe/command_counts.h"
#include "server/observe/latency_monitor.h"

namespace sluice {
namespace {

// Exact names only, as in Redis. Null: there is no such event, or there never was a sample.
std::optional<LatencyEvent> FindEvent(std::string_view name) {
  for (size_t i = 0; i < kLatencyEvents; ++i) {
    const auto event = static_cast<LatencyEvent>(i);
    if (LatencyMonitor::NameOf(event) == name) return event;
  }
  return std::nullopt;
}

// The clock is asked anew: ages in a report must not lag behind a slow turn.
int64_t UnixSeconds(CommandCall& call) { return call.part<TurnClock>().clock().Sample().unix_s(); }

// Events that have a sample: name, time and ms of the last one, ms of the worst.
void Latest(CommandCall& call) {
  const LatencyMonitor& monitor = call.part<LatencyMonitor>();
  std::vector<LatencyEvent> events;
  for (size_t i = 0; i < kLatencyEvents; ++i) {
    const auto event = static_cast<LatencyEvent>(i);
    if (!monitor.Of(event).empty()) events.push_back(event);
  }
  call.reply.Array(events.size());
  for (const LatencyEvent event : events) {
    const LatencySeries& series = monitor.Of(event);
    call.reply.Array(4);
    call.reply.Bulk(LatencyMonitor::NameOf(event));
    call.reply.Integer(series.samples().back().unix_s);
    call.reply.Integer(series.samples().back().ms);
    call.reply.Integer(series.worst_ms());
  }
}

// An unknown event is an empty array, while GRAPH has an error for it.
void History(CommandCall& call) {
  const std::optional<LatencyEvent> event = FindEvent(call.args[2]);
  if (!event) return call.reply.Array(0);
  const auto& samples = call.part<LatencyMonitor>().Of(*event).samples();
  call.reply.Array(samples.size());
  for (const LatencySample& sample : samples) {
    call.reply.Array(2);
    call.reply.Integer(sample.unix_s);
    call.reply.Integer(sample.ms);
  }
}

// For people: a picture of text. The name is cut at a zero byte, as Redis formats a C string.
//   LATENCY GRAPH nothing    → -ERR No samples available for event 'nothing'
//   LATENCY HISTORY nothing  → []
//   LATENCY RESET nothing    → 0
void Graph(CommandCall& call) {
  const LatencyMonitor& monitor = call.part<LatencyMonitor>();
  const std::optional<LatencyEvent> event = FindEvent(call.args[2]);
  if (!event || monitor.Of(*event).empty()) {
    return call.reply.Error(Concat("ERR No samples available for event '",
                                   call.args[2].substr(0, call.args[2].find('\0')), "'"));
  }
  call.reply.Verbatim(DrawLatencyGraph(monitor, *event, UnixSeconds(call)), "txt");
}

// For people: what was observed, and advice.
void LatencyDoctor(CommandCall& call) {
  call.reply.Verbatim(
      LatencyDoctorReport(call.part<LatencyMonitor>(), call.settings, UnixSeconds(call)), "txt");
}

// Here, unlike in HISTORY and GRAPH, events are named in any case.
void LatencyReset(CommandCall& call) {
  LatencyMonitor& monitor = call.part<LatencyMonitor>();
  const Args wanted = call.args.subspan(2);
  const auto is_wanted = [&](std::string_view name) {
    return std::ranges::any_of(wanted, [&](auto word) { return IsSameInAnyCase(word, name); });
  };
  int64_t reset = 0;
  for (size_t i = 0; i < kLatencyEvents; ++i) {
    const auto event = static_cast<LatencyEvent>(i);
    if (monitor.Of(event).empty()) continue;
    if (!wanted.empty() && !is_wanted(LatencyMonitor::NameOf(event))) continue;
    monitor.Reset(event);
    ++reset;
  }
  call.reply.Integer(reset);
}

// --- HISTOGRAM

// Counts of calls up to bounds that double, from about a microsecond on to the first that none is
// above; bounds that add nothing are left out. They are rounded up a little, as Redis's buckets
// are.
void ReplyHistogram(ReplySink& reply, const Histogram& histogram) {
  // A power of two, so that bounds are those of the histogram's buckets.
  constexpr int64_t kFirstNanos = 1024;
  std::vector<int64_t> pairs;
  uint64_t before = 0;
  for (int64_t bound = kFirstNanos; before < histogram.count(); bound *= 2) {
    const uint64_t count = histogram.CountAtMost(bound);
    if (count == before) continue;
    pairs.push_back((bound + bound / 128 - 1) / 1000);
    pairs.push_back(static_cast<int64_t>(count));
    before = count;
  }
  reply.Map(2);
  reply.Bulk("calls");
  reply.Integer(static_cast<int64_t>(histogram.count()));
  reply.Bulk("histogram_usec");
  reply.Map(pairs.size() / 2);
  for (const int64_t number : pairs) reply.Integer(number);
}

// A container brings its subcommands along; each has a histogram of its own.
struct MeasuredCommand {
  std::string_view name;
  const Histogram& latency_ns;
};
void AddWithHistogram(const CommandCounts& counts, const Command& command,
                      std::vector<MeasuredCommand>& found) {
  const CommandStatistics* const own = counts.Find(command.number);
  if (own && own->latency_ns.count() > 0) found.push_back({command.full_name, own->latency_ns});
  for (const Command* sub : command.subcommands) AddWithHistogram(counts, *sub, found);
}

// Unknown names are passed over. Without names: every command that was called.
void ShowHistograms(CommandCall& call) {
  const CommandCounts& counts = call.part<CommandCounts>();
  std::vector<MeasuredCommand> found;
  for (const std::string_view name : call.args.subspan(2)) {
    if (const Command* command = call.part<const CommandTable>().FindFull(name)) {
      AddWithHistogram(counts, *command, found);
    }
  }
  if (call.args.size() == 2) {
    for (const Command* command : call.part<const CommandTable>().all())
      AddWithHistogram(counts, *command, found);
  }
  call.reply.Map(found.size());
  for (const MeasuredCommand& command : found) {
    call.reply.Bulk(command.name);
    ReplyHistogram(call.reply, command.latency_ns);
  }
}

constexpr std::string_view kLatencyHelp[] = {
    "DOCTOR",
    "    Return a human readable latency analysis report.",
    "GRAPH <event>",
    "    Return an ASCII latency graph for the <event> class.",
    "HISTORY <event>",
    "    Return time-latency samples for the <event> class.",
    "LATEST",
    "    Return the latest latency samples for all events.",
    "RESET [<event> ...]",
    "    Reset latency data of one or more <event> classes.",
    "    (default: reset all data for all event classes)",
    "HISTOGRAM [COMMAND ...]",
    "    Return a cumulative distribution of latencies in the format of a histogram for the "
    "specified command names.",
    "    If no commands are specified then all histograms are replied.",
};

void LatencyHelp(CommandCall& call) { ReplyHelp(call, kLatencyHelp); }

// --- the table

constexpr uint32_t kLatencyFlags = kAdmin | kNoScript | kLoading | kStale;
constexpr std::string_view kLatencyTips =
    "nondeterministic_output,request_policy:all_nodes,response_policy:special";

// For administrators: names of events and times tell what others do.
constexpr CommandRow kLatencySubcommands[] = {
    {.name = "LATEST",
     .arity = 2,
     .flags = kLatencyFlags,
     .run = Latest,
     .group = "server",
     .since = "2.8.13",
     .complexity = "O(1)",
     .summary = "The latest and the worst moment of each event.",
     .tips = kLatencyTips},
    {.name = "HISTORY",
     .arity = 3,
     .flags = kLatencyFlags,
     .run = History,
     .group = "server",
     .since = "2.8.13",
     .complexity = "O(1)",
     .usage = "event",
     .summary = "When an event took long, and how long.",
     .tips = kLatencyTips},
    {.name = "GRAPH",
     .arity = 3,
     .flags = kLatencyFlags,
     .run = Graph,
     .group = "server",
     .since = "2.8.13",
     .complexity = "O(1)",
     .usage = "event",
     .summary = "The same as a picture.",
     .tips = kLatencyTips},
    {.name = "DOCTOR",
     .arity = 2,
     .flags = kLatencyFlags,
     .run = LatencyDoctor,
     .group = "server",
     .since = "2.8.13",
     .complexity = "O(1)",
     .summary = "What took long, in words, and what can be done about it.",
     .tips = kLatencyTips},
    {.name = "RESET",
     .arity = -2,
     .flags = kLatencyFlags,
     .run = LatencyReset,
     .group = "server",
     .since = "2.8.13",
     .complexity = "O(1)",
     .usage = "[event [event ...]]",
     .summary = "Forget what took long.",
     .tips = "request_policy:all_nodes,response_policy:all_succeeded"},
    {.name = "HISTOGRAM",
     .arity = -2,
     .flags = kLatencyFlags,
     .run = ShowHistograms,
     .group = "server",
     .since = "7.0.0",
     .complexity =
         "O(N) where N is the number of commands with latency information being retrieved.",
     .usage = "[command [command ...]]",
     .summary = "How long commands take: how many calls within which time.",
     .tips = kLatencyTips},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = LatencyHelp,
     .group = "server",
     .since = "2.8.13",
     .complexity = "O(1)",
     .summary = "The subcommands in short."},
};

constexpr CommandRow kLatencyRows[] = {
    {.name = "LATENCY",
     .arity = -2,
     .subcommands = kSpecsOf<kLatencySubcommands>,
     .group = "server",
     .since = "2.8.13",
     .complexity = "Depends on subcommand.",
     .summary = "What takes long, and when it did."},
};

}  // namespace

CommandFamily LatencyFamily() { return {"latency", kSpecsOf<kLatencyRows>}; }

}  // namespace sluice
