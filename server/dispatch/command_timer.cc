// See command_timer.h. A call begins where the one before it ended, so the clock is read once a
// call. The hard part is to know what else happened in between: calls that run others (EXEC)
// end the run of those, but for scripts; a call that blocks its client, or that runs again for a
// waiter, is timed singly.
#include "server/dispatch/command_timer.h"

#include <algorithm>
#include <utility>

#include "server/dispatch/blocked_call.h"

namespace sluice {
namespace {

constexpr int64_t kNanosPerMicro = 1000;

}  // namespace

void CommandTimer::Configure() {
  // In ns, so that a call is compared with one number. Off is a limit that is never reached.
  const int64_t slower_than_us = settings_.slowlog_log_slower_than;
  slow_ns_ = slower_than_us < 0
                 ? INT64_MAX
                 : std::min(slower_than_us, INT64_MAX / kNanosPerMicro) * kNanosPerMicro;
  latency_ns_ = latency_monitor_.threshold_ns();
  watch_ns_ = std::min(slow_ns_, latency_ns_);
}

// --- around a handler

void CommandTimer::TimeSingly() {
  if (singly_) return;
  EndRun();
  singly_ = true;
  singly_from_ = clock_.tick();
}

// The call goes on no run: it is the first of one, or it is timed singly. That of a long request is
// a run of one.
void CommandTimer::EndOther(const CommandCall& call, const Command& command, int64_t begin,
                            std::span<const size_t> secret) {
  if (!(command.spec->flags & (kFast | kTimedInRuns)) || singly_)
    return EndSingle(call, command, begin, secret);
  EndRun();  // of what it has called
  run_ = {.command = &command};
  AddToRun(call, command, begin);
  if (call.args.size() > kRunArgumentsMax) CloseRun();
}

// A call that has blocked its client, or has run because the client waits: the slow log and the
// histogram are told when it is answered.
void CommandTimer::EndSingle(const CommandCall& call, const Command& command, int64_t begin,
                             std::span<const size_t> secret) {
  if (singly_) begin = std::max(begin, singly_from_);
  singly_ = false;
  const int64_t nanos = clock_.Tick() - begin;
  if (!RunsScripts(command)) CloseRun();  // of what it has called
  CommandStatistics& own = counts_.Of(command.number);
  own.nanos += static_cast<uint64_t>(nanos);
  if (nanos >= latency_ns_) [[unlikely]]
    NoteLatency(command, call.woken, nanos);
  if (call.client.blocked) [[unlikely]] {
    BlockedCall& blocked = *BlockedCallOf(call.client);
    if (&blocked.request.command() == &command) blocked.ran_ns += nanos;
    return;
  }
  if (settings_.latency_tracking) own.latency_ns.Record(nanos);
  if (nanos >= slow_ns_) [[unlikely]]
    LogSlow(call.client, command, call.args, secret, nanos);
}

void CommandTimer::Answered(const Session& client, const Command& command, Args args,
                            int64_t nanos) {
  if (settings_.latency_tracking) counts_.Of(command.number).latency_ns.Record(nanos);
  if (nanos >= slow_ns_) LogSlow(client, command, args, {}, nanos);
}

void CommandTimer::Skip() {
  EndRun();
  clock_.Tick();
}

// --- runs

// Nanoseconds are exact in the sum; the histogram gets the mean, once for each call.
void CommandTimer::CloseRun() {
  if (!run_.command) return;
  const Run run = std::exchange(run_, {});
  CommandStatistics& own = counts_.Of(run.command->number);
  own.nanos += static_cast<uint64_t>(run.nanos);
  if (!settings_.latency_tracking) return;
  // Most runs of a mixed pipeline are of one call: a division costs as much as a look-up.
  own.latency_ns.Record(run.calls == 1 ? run.nanos : run.nanos / run.calls, run.calls);
}

void CommandTimer::WatchCall(const CommandCall& call, const Command& command, int64_t nanos) {
  if (nanos >= latency_ns_) NoteLatency(command, /*woken=*/false, nanos);
  if (nanos >= slow_ns_) LogSlow(call.client, command, call.args, {}, nanos);
}

// --- who is told

void CommandTimer::NoteLatency(const Command& command, bool woken, int64_t nanos) {
  const bool fast = command.spec->flags & kFast;
  const LatencyEvent event = woken  ? LatencyEvent::kUnblocking
                             : fast ? LatencyEvent::kFastCommand
                                    : LatencyEvent::kCommand;
  latency_monitor_.Note(event, clock_.clock().Sample().unix_s(), nanos);
}

// A script's commands have no address of their own, as in Redis.
void CommandTimer::LogSlow(const Session& client, const Command& command, Args args,
                           std::span<const size_t> secret, int64_t nanos) {
  if (command.spec->flags & kSkipSlowlog) return;
  const bool by_script = client.conditions & kInScript;
  slow_log_.Add({by_script ? std::string_view() : client.peer.address.view(), client.name}, args,
                secret, clock_.clock().Sample().unix_s(), nanos / kNanosPerMicro);
}

}  // namespace sluice
