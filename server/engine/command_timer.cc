#include "server/engine/command_timer.h"

#include <algorithm>
#include <utility>

#include "server/engine/engine.h"
#include "server/engine/latency_monitor.h"
#include "server/engine/slow_log.h"
#include "server/engine/waiters.h"

namespace sluice {
namespace {

constexpr int64_t kNanosPerMicro = 1000;
// A run of 64 calls takes some 20 µs, ten times that on a slow and busy machine.
constexpr int64_t kRunsFromMicros = 1000;
// After a slow run so many calls are timed singly.
constexpr uint32_t kSinglesAfterSlowRun = 10'000;

}  // namespace

CommandTimer::CommandTimer(Engine& engine) : engine_(engine) {}

void CommandTimer::Configure(const Settings& settings) {
  const int64_t slower_than_us = settings.slowlog_log_slower_than;
  slow_ns_ = slower_than_us < 0 ? INT64_MAX
                                : std::min(slower_than_us, INT64_MAX / kNanosPerMicro) * kNanosPerMicro;
  latency_ns_ = engine_.latency_monitor().threshold_ns();
  watch_ns_ = std::min(slow_ns_, latency_ns_);
  const bool threshold_is_low = slower_than_us >= 0 && slower_than_us < kRunsFromMicros;
  runs_allowed_ = !threshold_is_low && latency_ns_ == INT64_MAX;
  run_calls_max_ = runs_allowed_ ? kRunCallsMax : 1;
  singles_left_ = 0;
}

// --- around a handler

int64_t CommandTimer::Begin(const Command& command, Args args) {
  if (run_.command != &command || args.size() > kRunArgumentsMax) EndRun();
  return engine_.tick();
}

void CommandTimer::End(const CommandCall& call, Command& command, int64_t begin,
                       std::span<const size_t> secret) {
  if (!(command.spec->flags & kFast) || singly_) return EndSingle(call, command, begin, secret);
  if (run_.command != &command) {
    EndRun();  // of what it has called
    const bool by_script = call.client.conditions & kInScript;
    run_ = {.command = &command,
            .client = &call.client,
            .args = call.args,
            .args_live = run_calls_max_ == 1 || !by_script,
            .begin = begin};
  }
  ++run_.calls;
  if (run_.calls >= run_calls_max_ || call.args.size() > kRunArgumentsMax) EndRun();
}

void CommandTimer::TimeSingly() {
  if (singly_) return;
  EndRun();
  singly_ = true;
  singly_from_ = engine_.tick();
}

// A call that has parked its client, or has run because the client waits: the slow log and the histogram
// are told when it is answered.
void CommandTimer::EndSingle(const CommandCall& call, Command& command, int64_t begin,
                             std::span<const size_t> secret) {
  if (singly_) begin = std::max(begin, singly_from_);
  singly_ = false;
  const int64_t nanos = engine_.Tick() - begin;
  CloseRun();  // of what it has called
  command.statistics.nanos += static_cast<uint64_t>(nanos);
  if (nanos >= latency_ns_) [[unlikely]]
    NoteLatency(command, call.woken, nanos);
  if (call.client.blocked) [[unlikely]] {
    Parked& parked = *call.client.parked;
    if (parked.request.command == &command) parked.ran_ns += nanos;
    return;
  }
  if (engine_.settings().latency_tracking) command.statistics.latency_ns.Record(nanos);
  if (nanos >= slow_ns_) [[unlikely]]
    LogSlow(call.client, command, call.args, secret, nanos);
}

void CommandTimer::Answered(const Session& client, Command& command, Args args, int64_t nanos) {
  if (engine_.settings().latency_tracking) command.statistics.latency_ns.Record(nanos);
  if (nanos >= slow_ns_) LogSlow(client, command, args, {}, nanos);
}

void CommandTimer::Skip() {
  if (!run_.command) engine_.Tick();
}

// --- runs

void CommandTimer::EndRun() {
  if (!run_.command) return;
  engine_.Tick();
  CloseRun();
}

// It ended at the engine's last tick.
void CommandTimer::CloseRun() {
  if (!run_.command) return;
  const Run run = std::exchange(run_, {});
  CommandStatistics& own = run.command->statistics;
  const int64_t nanos = engine_.tick() - run.begin;
  own.nanos += static_cast<uint64_t>(nanos);
  // Most runs of a script or of a mixed pipeline are of one call: a division costs as much as a look-up.
  const int64_t mean = run.calls == 1 ? nanos : nanos / run.calls;
  if (engine_.settings().latency_tracking) own.latency_ns.Record(mean, run.calls);
  if (singles_left_ > 0 && --singles_left_ == 0 && runs_allowed_) run_calls_max_ = kRunCallsMax;
  if (nanos >= watch_ns_) [[unlikely]]
    WatchRun(run, nanos);
}

void CommandTimer::WatchRun(const Run& run, int64_t nanos) {
  if (nanos >= latency_ns_) NoteLatency(*run.command, /*woken=*/false, nanos);
  if (nanos < slow_ns_) return;
  if (run.calls == 1 && run.args_live) return LogSlow(*run.client, *run.command, run.args, {}, nanos);
  run_calls_max_ = 1;
  singles_left_ = kSinglesAfterSlowRun;
  if (run.command->spec->flags & kSkipSlowlog) return;
  engine_.slow_log().AddRun(run.command->full_name, run.calls, engine_.clock().Sample().unix_s(),
                            nanos / kNanosPerMicro);
}

// --- who is told

void CommandTimer::NoteLatency(const Command& command, bool woken, int64_t nanos) {
  const bool fast = command.spec->flags & kFast;
  const LatencyEvent event = woken  ? LatencyEvent::kUnblocking
                             : fast ? LatencyEvent::kFastCommand
                                    : LatencyEvent::kCommand;
  engine_.latency_monitor().Note(event, engine_.clock().Sample().unix_s(), nanos);
}

void CommandTimer::LogSlow(const Session& client, const Command& command, Args args,
                           std::span<const size_t> secret, int64_t nanos) {
  if (command.spec->flags & kSkipSlowlog) return;
  engine_.slow_log().Add(client, args, secret, engine_.clock().Sample().unix_s(),
                         nanos / kNanosPerMicro);
}

}  // namespace sluice
