// Dispatcher: from the arguments of a request to the handler's reply. It looks up the row, checks
// arity, asks the gates (gates.h), queues inside MULTI, runs the handler, counts and times it
// (command_timer.h) and records its effects. Clients' requests, EXEC's queued ones and scripts all
// pass here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/clients/clients.h"
#include "server/dispatch/command.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/command_timer.h"
#include "server/dispatch/gates.h"
#include "server/dispatch/memory_limit.h"
#include "server/dispatch/pause.h"
#include "server/dispatch/request_hook.h"
#include "server/dispatch/saved_first.h"
#include "server/dispatch/script_state.h"
#include "server/dispatch/transaction.h"
#include "server/notify/monitors.h"
#include "server/notify/tracking.h"

namespace sluice {

class Dispatcher {
 public:
  static constexpr PartId kPartId = PartId::kDispatcher;

  // What it works with; all of it outlives the dispatcher.
  struct Uses {
    const Parts& parts;  // for handlers
    const Settings& settings;
    Random& random;
    Host& host;
    const TurnClock& clock;
    Keyspace& keyspace;
    Clients& clients;
    const CommandTable& commands;
    CommandCounts& counts;
    CommandTimer& timer;
    Effects& effects;
    Notifications& notifications;
    Statistics& statistics;
    RareFlags& flags;
    Pause& pause;
    SavedFirst& saved_first;
    WatchTable& watches;
    Monitors& monitors;
    Tracking& tracking;
    const ScriptState& script;
    const LogState& log;
    AccessGate& access;
    MemoryLimit& memory;
  };
  explicit Dispatcher(const Uses& uses)
      : on_(uses), gates_(uses.settings, uses.script, uses.log, uses.access) {}

  // Shows it clients' requests while RareFlags::kHooked is raised.
  void set_hook(RequestHook& hook) { hook_ = &hook; }
  RequestHook& hook() const { return *hook_; }

  enum class Outcome : uint8_t {
    kDone,  // answered
    kHeld,  // CLIENT PAUSE or a snapshot holds it back: the request is to be shown again later
  };

  // A client's request. `command` is its row when the batch has looked it up already, else null.
  Outcome Execute(Session& session, Args args, const Command* command, HashedKey first_key) {
    return Pass(session, args, command, first_key, /*hook_saw_it=*/false);
  }

  // Runs a command that has passed its gates, as EXEC and scripts do: `reply` gets its answer.
  void Run(Session& session, const Command& command, Args args, ReplySink& reply,
           HashedKey first_key = {});

  // As Run, of a command that stands in the arguments of another from `at` on (FENCED).
  void RunInner(Session& session, const Command& command, Args args, ReplySink& reply, size_t at);

  // For handlers: MONITOR and SLOWLOG must not show that argument of this call.
  void Hide(size_t argument);

  // One execution of a command, with nothing around it.
  CommandCall CallOf(Session& session, const Command& command, Args args, ReplySink& reply,
                     HashedKey first_key = {});

  // Why the client may not run it now, in the middle of another command, or empty.
  std::string InnerRefusal(const Session& session, const Command& command, Args args) const {
    return gates_.Ask(session, command, args);
  }

  // The row of a request, subcommand resolved; on failure null and `error` holds Redis's sentence.
  // Arity is checked too.
  const Command* Resolve(Args args, const Command* command, std::string& error);
  // Of a log: commands have the names there that they have by themselves.
  const Command* ResolveLogged(Args args, std::string& error) {
    return Resolve(args, on_.commands.FindLogged(args[0]), error);
  }

 private:
  Outcome Pass(Session& session, Args args, const Command* command, HashedKey first_key,
               bool hook_saw_it);
  bool IsHooked() const { return on_.flags.Raised(RareFlags::kHooked); }
  Outcome ShowToHook(Session& session, Args args, const Command* command, HashedKey first_key);
  void ResolveFault(Session& session, Args args, std::string_view error);
  uint32_t FlagsOf(const Command& command, Args args);
  MemoryNeed NeedOf(const Command& command, Args args);
  MemoryNeed NeedOf(const Session& session, const Command& command, Args args);
  std::string Refusal(const Session& session, const Command& command, Args args);
  void Reject(Session& session, const Command* command, std::string_view error,
              bool as_given = false);
  void ShowAndTrack(Session& session, const Command& command, Args args);
  void TellKeys(const Command& command, Args args);
  void Remember(Session& session, const Command& command, Args args);
  void Queue(Session& session, const Command& command, Args args);

  uint64_t errors_told_ = 0;  // of Statistics::error_replies: told of a command or before this one
  std::vector<size_t> hidden_;  // arguments of the command that runs
  std::vector<size_t> hidden_of_last_;

  const Uses on_;
  Gates gates_;
  RequestHook* hook_ = nullptr;
};

}  // namespace sluice
