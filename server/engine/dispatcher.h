// Dispatcher: from the arguments of a request to the handler's reply. It looks up the row, checks
// arity, asks the gates (gates.h), queues inside MULTI, runs the handler, keeps the command's statistics
// and records its effects. Clients' requests, EXEC's queued ones and scripts all pass here.
#pragma once

#include <string_view>

#include "server/engine/command.h"
#include "server/engine/command_table.h"
#include "server/engine/session.h"

namespace sluice {

class Engine;

class Dispatcher {
 public:
  explicit Dispatcher(Engine& engine) : engine_(engine) {}

  enum class Outcome : uint8_t {
    kDone,  // answered
    kHeld,  // CLIENT PAUSE holds it back: the request is to be shown again later
  };

  // A client's request. `command` is its row when the batch has looked it up already, else null.
  Outcome Execute(Session& session, Args args, Command* command, HashedKey first_key);

  // Runs a command that has passed its gates, as EXEC and scripts do: `reply` gets its answer.
  void Run(Session& session, Command& command, Args args, ReplySink& reply, HashedKey first_key = {});

  // For handlers: MONITOR and the like must not show that argument of this call.
  void Hide(size_t argument);

  // Closes the run of fast commands that is being timed; at the end of a batch.
  void EndTimedRun();

  // The row of a request, subcommand resolved; on failure null and `error` holds Redis's sentence. Arity is
  // checked too.
  Command* Resolve(Args args, Command* command, std::string& error);

 private:
  void CloseTimedRun();
  void Reject(Session& session, Command* command, std::string_view error);
  void ShowAndTrack(Session& session, const Command& command, Args args);
  void Queue(Session& session, Command& command, Args args);

  // Consecutive calls of one fast (O(1)) command are timed as a whole and counted with their mean: two
  // readings of the clock a call would be a tenth of what a pipelined GET costs.
  struct TimedRun {
    Command* command = nullptr;
    uint32_t calls = 0;
    int64_t begin = 0;
  };
  TimedRun timed_;

  std::vector<size_t> hidden_;

  Engine& engine_;
};

}  // namespace sluice
