// CommandTimer: how long commands take, for INFO commandstats and latencystats, the slow log and the
// latency monitor.
//
// A command is measured from the end of the one before it to its own. Consecutive calls of one fast
// (O(1)) command are a run, timed as a whole and counted with their mean: two readings of the clock a
// call would be a tenth of what a pipelined GET costs.
//
// The slow log stays exact all the same: a run below slowlog-log-slower-than has no call above it. Runs
// are short, and of short requests, so one at the threshold means that something has held the server
// up. Then the run is logged for what is known, so many calls of that command together, and the next
// calls are timed singly, so that what happens again is found. Where the threshold is so low that an
// ordinary run would reach it, and while latency is monitored, all calls are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "server/engine/command.h"

namespace sluice {

struct Command;
struct Settings;

class CommandTimer {
 public:
  explicit CommandTimer(Engine& engine);

  // --- around a handler
  // Its beginning, to be handed to End.
  int64_t Begin(const Command& command, Args args);
  // `secret`: indexes of arguments that the slow log must not show; none for calls that may be of a run.
  void End(const CommandCall& call, Command& command, int64_t begin,
           std::span<const size_t> secret);

  // For handlers, from within: this call is timed singly, whatever it is.
  void TimeSingly();
  // No more calls for the run that is being timed. To be called before arguments go away.
  void EndRun();
  // What has been done since the last command ended is none of the next one.
  void Skip();
  // A client that was parked has its answer: its command has taken `nanos`, all in all.
  void Answered(const Session& client, Command& command, Args args, int64_t nanos);

  // Follows the options: to be called when one has changed.
  void Configure(const Settings& settings);

 private:
  static constexpr uint32_t kRunCallsMax = 64;
  static constexpr size_t kRunArgumentsMax = 8;

  struct Run {
    Command* command = nullptr;
    const Session* client = nullptr;  // of the first call
    Args args;                        // of the first call
    bool args_live = true;            // a script's are gone when its call is over
    uint32_t calls = 0;
    int64_t begin = 0;
  };

  void EndSingle(const CommandCall& call, Command& command, int64_t begin,
                 std::span<const size_t> secret);
  void CloseRun();
  void WatchRun(const Run& run, int64_t nanos);
  void NoteLatency(const Command& command, bool woken, int64_t nanos);
  void LogSlow(const Session& client, const Command& command, Args args,
               std::span<const size_t> secret, int64_t nanos);

  Engine& engine_;
  Run run_;
  uint32_t run_calls_max_ = kRunCallsMax;  // 1: each call alone
  uint32_t singles_left_ = 0;              // calls until it may be more again
  bool runs_allowed_ = true;               // by the options
  bool singly_ = false;                    // this call
  int64_t singly_from_ = 0;
  int64_t slow_ns_ = INT64_MAX;     // from here on the slow log is told
  int64_t latency_ns_ = INT64_MAX;  // and the latency monitor
  int64_t watch_ns_ = INT64_MAX;    // the lesser of both
};

}  // namespace sluice
