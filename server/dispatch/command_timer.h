// CommandTimer: how long commands take, for INFO commandstats and latencystats, the slow log and
// the latency monitor.
//
// A command is measured from the end of the one before it to its own: one reading of the clock's
// tick a call, which is the processor's time-stamp counter where that is invariant. So the slow log
// and the latency monitor know each call by itself.
//
// For the statistics consecutive calls of one fast (O(1)) command are a run, counted with their
// mean: finding the bucket of a histogram for each would be a tenth of what a pipelined GET costs.
// A run goes on from script to script, of which each is timed by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/core/turn_clock.h"
#include "server/dispatch/command.h"
#include "server/observe/command_counts.h"
#include "server/observe/latency_monitor.h"
#include "server/observe/slow_log.h"

namespace sluice {

class CommandTimer {
 public:
  CommandTimer(const Settings& settings, TurnClock& clock, CommandCounts& counts, SlowLog& slow_log,
               LatencyMonitor& latency_monitor)
      : settings_(settings),
        clock_(clock),
        counts_(counts),
        slow_log_(slow_log),
        latency_monitor_(latency_monitor) {}

  // --- around a handler
  // Its beginning, to be handed to End.
  int64_t Begin(const Command& command, Args args) {
    // A long request is no part of a run: its time would hide that of the short ones.
    if ((run_.command != &command && !RunsScripts(command)) || args.size() > kRunArgumentsMax)
        [[unlikely]]
      EndRun();
    return clock_.tick();
  }
  // `secret`: indexes of arguments that the slow log must not show. True: the call goes on a run,
  // and so was not timed singly.
  bool End(const CommandCall& call, const Command& command, int64_t begin,
           const std::vector<size_t>& secret) {
    // To be timed singly ends the run.
    if (run_.command != &command) [[unlikely]] {
      EndOther(call, command, begin, secret);
      return false;
    }
    AddToRun(call, command, begin);
    return true;
  }

  // For handlers, from within: this call is timed singly, whatever it is.
  void TimeSingly();
  // The run that is being timed ends here: its next call begins another.
  void EndRun() {
    if (run_.command) CloseRun();
  }
  // Restarts the clock and ends the run, so that work between two commands is not charged to the
  // second.
  void Skip();
  // A client that was blocked has its answer: its command has taken `nanos`, all in all.
  void Answered(const Session& client, const Command& command, Args args, int64_t nanos);

  // Follows the options: to be called when one has changed.
  void Configure();

 private:
  static constexpr uint32_t kRunCallsMax = 64;
  static constexpr size_t kRunArgumentsMax = 8;

  struct Run {
    const Command* command = nullptr;
    uint32_t calls = 0;
    int64_t nanos = 0;
  };

  static bool RunsScripts(const Command& command) {
    return (command.spec->categories & kCatScripting) != 0;
  }

  void AddToRun(const CommandCall& call, const Command& command, int64_t begin) {
    ++run_.calls;
    const int64_t nanos = clock_.Tick() - begin;
    run_.nanos += nanos;
    if (nanos >= watch_ns_) [[unlikely]]
      WatchCall(call, command, nanos);
    if (run_.calls >= kRunCallsMax) [[unlikely]]
      CloseRun();
  }
  void EndOther(const CommandCall& call, const Command& command, int64_t begin,
                std::span<const size_t> secret);
  void EndSingle(const CommandCall& call, const Command& command, int64_t begin,
                 std::span<const size_t> secret);
  void CloseRun();
  void WatchCall(const CommandCall& call, const Command& command, int64_t nanos);
  void NoteLatency(const Command& command, bool woken, int64_t nanos);
  void LogSlow(const Session& client, const Command& command, Args args,
               std::span<const size_t> secret, int64_t nanos);

  const Settings& settings_;
  TurnClock& clock_;
  CommandCounts& counts_;
  SlowLog& slow_log_;
  LatencyMonitor& latency_monitor_;
  Run run_;
  bool singly_ = false;  // this call
  int64_t singly_from_ = 0;
  int64_t slow_ns_ = INT64_MAX;     // from here on the slow log is told
  int64_t latency_ns_ = INT64_MAX;  // and the latency monitor
  int64_t watch_ns_ = INT64_MAX;    // the lesser of both
};

}  // namespace sluice
