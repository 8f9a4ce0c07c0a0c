// /api/overview, /api/history and /api/slowlog: the figures at the top of the page, the plots, and
// what was slow. O(databases); no key is looked at.

#include <algorithm>
#include <string>

#include "server/clients/clients.h"
#include "server/clients/current_client.h"
#include "server/commit/turn_gate.h"
#include "server/config/config.h"
#include "server/config/version.h"
#include "server/core/turn_clock.h"
#include "server/engine/facts.h"
#include "server/http/answers.h"
#include "server/http/history.h"
#include "server/http/readiness_report.h"
#include "server/http/text/shown_name.h"
#include "server/limits/limit_waiters.h"
#include "server/locks/lock_service.h"
#include "server/log/log_service.h"
#include "server/observe/slow_log.h"
#include "server/observe/statistics.h"
#include "server/snapshots/snapshots.h"
#include "server/waiting/waiters.h"
#include "storage/keyspace/keyspace.h"
#include "storage/locks/locks.h"

namespace sluice {
namespace {

constexpr size_t kSlowRowsMax = 100;
constexpr size_t kSlowWordsMax = 8;
constexpr size_t kSlowCharactersMax = 60;

std::string OptionText(const Parts& parts, std::string_view name) {
  const Config::Pairs found = parts.Get<Config>().Get({&name, 1});
  return found.empty() ? std::string() : found.front().second;
}

void WriteReadiness(JsonText& json, const Parts& parts) {
  const std::vector<std::string> reasons = ReasonsNotReady(parts);
  json.Field("ready", reasons.empty()).Key("reasons").Array();
  for (const std::string& reason : reasons) json.Value(ShownText(reason, 300));
  json.End();
}

void WriteDatabases(JsonText& json, const Parts& parts) {
  Keyspace& keyspace = parts.Get<Keyspace>();
  json.Key("databases").Array();
  for (int i = 0; i < keyspace.databases(); ++i) {
    if (!keyspace.made(i) || (i > 0 && keyspace.db(i).size() == 0)) continue;
    json.Object().Field("db", i).Field("keys", keyspace.db(i).size()).End();
  }
  json.End();
}

void WriteLockCounts(JsonText& json, const Parts& parts) {
  const LockService& locks = parts.Get<LockService>();
  const LockCounts& counts = locks.counts();
  json.Key("locks")
      .Object()
      .Field("held", locks.held())
      .Field("waiting", locks.waiting())
      .Field("granted", counts.granted)
      .Field("handed_over", counts.hand_overs)
      .Field("expired", counts.expired)
      .Field("broken", counts.broken)
      .Field("deadlocks", counts.deadlocks)
      .Field("fences_refused", counts.fenced)
      .Field("grace_ms", locks.GraceLeftMs())
      .End();
}

void WriteWaits(JsonText& json, const LockWaitStatistics::Waits& waits) {
  const Histogram& granted_ms = waits.granted_ms;
  json.Field("count", granted_ms.count())
      .Field("p50_ms", granted_ms.Percentile(50))
      .Field("p99_ms", granted_ms.Percentile(99))
      .Field("most_ms", granted_ms.max())
      .Key("in_vain")
      .Object();
  for (size_t i = 0; i < kLockWaitInVainWords.size(); ++i) {
    json.Field(kLockWaitInVainWords[i], waits.in_vain[i]);
  }
  json.End();
}

void WriteLockWaits(JsonText& json, const Parts& parts) {
  const LockWaitStatistics& statistics = parts.Get<LockService>().wait_statistics();
  json.Key("lock_waits").Object();
  WriteWaits(json, statistics.all());
  json.Key("prefixes").Array();
  for (const LockWaitStatistics::OfPrefix& each : statistics.by_prefix()) {
    json.Object().Field("prefix", ShownText(each.prefix));
    WriteWaits(json, each.waits);
    json.End();
  }
  json.End().End();
}

void WriteLimitCounts(JsonText& json, const Parts& parts) {
  const LimitStatistics::Decided all = parts.Get<LimitService>().statistics().All();
  json.Key("limits")
      .Object()
      .Field("taken", all.taken)
      .Field("refused", all.refused)
      .Field("waiting", parts.Get<LimitWaiters>().waiting())
      .End();
}

void WriteMemory(JsonText& json, const Parts& parts) {
  const Facts& facts = parts.Get<Facts>();
  const uint64_t used = parts.Get<Keyspace>().memory_bytes() + facts.MemoryBesideKeys();
  json.Key("memory")
      .Object()
      .Field("used", used)  // without clients, of which there may be many to look at
      .Field("peak", std::max<uint64_t>(used, facts.memory_peak()))
      .Field("resident", parts.Get<Host>().process().Usage().resident_bytes)
      .Field("most", parts.Get<Config>().settings().maxmemory)
      .End();
}

void WriteTimes(JsonText& json, std::string_view name, const Histogram& histogram) {
  json.Key(name)
      .Object()
      .Field("count", histogram.count())
      .Field("p50", histogram.Percentile(50))
      .Field("p99", histogram.Percentile(99))
      .Field("most", histogram.max())
      .End();
}

void WriteLog(JsonText& json, const Parts& parts) {
  const LogService& log = parts.Get<LogService>();
  const CommitLog& commits = log.commits();
  const LogState& state = parts.Get<LogState>();
  json.Key("log")
      .Object()
      .Field("on", commits.is_open())
      .Field("policy", parts.Get<Config>().settings().appendfsync)
      .Field("position", commits.position())
      .Field("lag_bytes", LogLagBytes(parts))
      .Field("bytes", commits.is_open() ? log.total_bytes() : 0)
      .Field("held_answers", parts.Get<TurnGate>().held())
      .Field("failed_syncs", commits.failed_syncs())
      .Field("fault", ShownText(state.write_fault))
      .Field("rewriting", log.rewriting())
      .Field("rewrites", log.rewrites());
  WriteTimes(json, "sync_us", commits.sync_us());
  json.End();
}

void WriteSnapshots(JsonText& json, const Parts& parts) {
  const Snapshots& snapshots = parts.Get<Snapshots>();
  const Settings& settings = parts.Get<Config>().settings();
  json.Key("snapshots")
      .Object()
      .Field("on", !settings.save.empty())
      .Field("running", snapshots.saving())
      .Field("keys_done", snapshots.keys_done())
      .Field("keys_in_all", snapshots.keys_in_all())
      .Field("saves", snapshots.saves())
      .Field("saved_unix_s", snapshots.saved_unix_s())
      .Field("took_s", snapshots.last_took_s())
      .Field("changes", snapshots.changes_since_save())
      .Field("failed", snapshots.last_failed())
      .End();
}

// Tells whether this visitor may change anything; `token` is for requests that do.
void WriteActions(JsonText& json, const PageCall& call) {
  const bool is_on = call.parts.Get<Config>().settings().http_actions;
  const std::string_view word = !is_on ? "off" : call.token.empty() ? "login" : "on";
  json.Field("actions", word);
  if (is_on) json.Field("token", call.token);
}

}  // namespace

HttpAnswer AnswerOverview(const PageCall& call) {
  const Parts& parts = call.parts;
  const Now now = MomentOf(call);
  const Statistics& statistics = parts.Get<Statistics>();
  const Settings& settings = parts.Get<Config>().settings();
  JsonText json;
  json.Object()
      .Field("version", kSluiceVersion)
      .Field("name", ShownText(OptionText(parts, "server-name")))
      .Field("host", ShownText(call.host_name))
      .Field("port", settings.port != 0 ? settings.port : settings.tls_port)
      .Field("run_id", parts.Get<Facts>().run_id())
      .Field("unix_ms", now.unix_ms())
      .Field("uptime_s", (now.ms() - parts.Get<Facts>().started_ms()) / 1000)
      .Field("busy", parts.Get<CurrentClient>().serving_from_within());
  WriteReadiness(json, parts);
  WriteActions(json, call);
  WriteDatabases(json, parts);
  WriteLockCounts(json, parts);
  WriteLockWaits(json, parts);
  WriteLimitCounts(json, parts);
  json.Field("clients", parts.Get<Clients>().connected())
      .Field("clients_max", parts.Get<Config>().settings().maxclients)
      .Field("blocked", parts.Get<Waiters>().blocked_clients().size())
      .Field("commands_per_s", parts.Get<Rates>().per_second().commands)
      .Field("expired", statistics.expired_keys);
  WriteMemory(json, parts);
  WriteTimes(json, "turn_us", statistics.turn_cpu_us);
  WriteTimes(json, "late_ms", statistics.expiry_lateness_ms);
  WriteTimes(json, "hand_over_us", statistics.hand_over_us);
  WriteLog(json, parts);
  WriteSnapshots(json, parts);
  json.End();
  return JsonAnswer(json);
}

// --- the plots

namespace {

using Sample = History::Sample;

// Each of the samples; `read` takes it from one.
void WriteColumn(JsonText& json, std::string_view name, const std::vector<Sample>& samples,
                 auto read) {
  json.Key(name).Array();
  for (const Sample& sample : samples) json.Value(read(sample));
  json.End();
}

void WritePlot(JsonText& json, size_t plot, const std::vector<Sample>& samples) {
  const History::PlotRow& row = History::kPlotRows[plot];
  if (row.is_rate) {  // one digit behind the point
    WriteColumn(json, row.name, samples, [plot](const Sample& sample) {
      return static_cast<double>(static_cast<int64_t>(sample.plotted[plot] * 10 + 0.5)) / 10;
    });
  } else {
    WriteColumn(json, row.name, samples, [plot](const Sample& sample) {
      return static_cast<int64_t>(sample.plotted[plot]);
    });
  }
}

}  // namespace

// The cursor is the number of the first sample that is wanted.
HttpAnswer AnswerHistory(const PageCall& call) {
  ApiQuery query;
  HttpAnswer answer;
  if (!ReadQuery(call, query, answer)) return answer;
  const std::vector<Sample> samples = call.history.Since(query.cursor);
  JsonText json;
  json.Object()
      .Field("every_s", History::kEveryS)
      .Field("samples_max", History::kSamplesMax)
      .Field("cursor", std::to_string(call.history.taken()));
  WriteColumn(json, "unix_s", samples, [](const Sample& sample) { return sample.unix_s; });
  for (size_t plot = 0; plot < kPlots; ++plot) WritePlot(json, plot, samples);
  WriteColumn(json, "turn_us", samples, [](const Sample& sample) { return sample.turn_us; });
  WriteColumn(json, "late_ms", samples, [](const Sample& sample) { return sample.late_ms; });
  json.End();
  return JsonAnswer(json);
}

// --- the slow log

HttpAnswer AnswerSlowLog(const PageCall& call) {
  const SlowLog& log = call.parts.Get<SlowLog>();
  JsonText json;
  json.Object()
      .Field("from_us", call.parts.Get<Config>().settings().slowlog_log_slower_than)
      .Field("entries", log.entries().size())
      .Key("slow")
      .Array();
  size_t rows = 0;
  for (const SlowEntry& entry : log.entries()) {
    if (rows++ == kSlowRowsMax || json.size() > kAnswerBytesMax) break;
    json.Object()
        .Field("id", entry.id)
        .Field("unix_s", entry.unix_s)
        .Field("us", entry.micros)
        .Field("client", ShownText(entry.address))
        .Field("name", ShownText(entry.client_name, kSlowCharactersMax))
        .Key("words")
        .Array();
    for (size_t i = 0; i < std::min(entry.args.size(), kSlowWordsMax); ++i) {
      json.Value(ShownText(entry.args[i], kSlowCharactersMax));
    }
    json.End()
        .Field("more_words", entry.args.size() - std::min(entry.args.size(), kSlowWordsMax))
        .End();
  }
  json.End().End();
  return JsonAnswer(json);
}

}  // namespace sluice
