// Dispatcher: from the words of a request to the handler's reply. It has them checked, asks the
// gates (gates.h), queues inside MULTI, runs the handler, counts and times it (command_timer.h) and
// records its effects. Clients' requests, EXEC's queued ones and scripts all pass here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/clients/session.h"
#include "server/core/request_outcome.h"
#include "server/core/slow_path_flags.h"
#include "server/dispatch/command.h"
#include "server/dispatch/gates.h"
#include "server/dispatch/request_hook.h"

namespace sluice {

class AccessGate;
class Clients;
class CommandCounts;
class CommandTable;
class CommandTimer;
class Host;
class MemoryLimit;
class Monitors;
class Pause;
class SnapshotBarrier;
class TurnClock;
class Tracking;
class WatchTable;
enum class MemoryNeed : uint8_t;
struct Statistics;

class Dispatcher {
 public:
  // The parts that it works with; all of them outlive the dispatcher.
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
    SlowPathFlags& flags;
    Pause& pause;
    SnapshotBarrier& snapshot_barrier;
    WatchTable& watches;
    Monitors& monitors;
    Tracking& tracking;
    const ScriptState& script;
    const LogState& log;
    const FollowState& follows;
    AccessGate& access;
    SlotGate& slots;
    MemoryLimit& memory;
  };
  explicit Dispatcher(const Uses& uses)
      : on_(uses),
        gates_(uses.parts, uses.settings, uses.script, uses.log, uses.follows, uses.access,
               uses.slots) {}

  // Shows it clients' requests while SlowPathFlags::kHooked is raised.
  void set_hook(RequestHook& hook) { hook_ = &hook; }
  RequestHook& hook() const { return *hook_; }

  const CommandTable& commands() const { return on_.commands; }

  // A client's request. `command` is its row when the batch has looked it up already, else null.
  RequestOutcome Execute(Session& session, Args args, const Command* command,
                         const HashedKey& first_key);

  // Runs a command that has passed its gates, as EXEC and scripts do: `reply` gets its answer.
  void Run(Session& session, const Request& request, ReplySink& reply,
           const HashedKey& first_key = {});

  // Runs a command's work that a program asks for without words, where nobody is to hear of
  // commands or effects (Engine::DirectSession). It counts as a command unless the work was not
  // done.
  enum class Work : uint8_t { kNotDone, kLooked, kChanged };
  void RunWithoutWords(Session& session, const Command& command, std::string_view key,
                       absl::FunctionRef<Work()> work);

  // As Run, of a request that stands in another one from the word `at` on (FENCED). Arguments that
  // it hides are hidden in the outer request, too.
  void RunInner(Session& session, const Request& request, ReplySink& reply, size_t at);

  // For handlers: MONITOR and SLOWLOG must not show that argument of this call.
  void Hide(size_t argument);

  // The errors that were answered until now are told of their commands: they do not make the call
  // that goes on a failed one.
  void ErrorsTold();

  // One execution of a command, with nothing around it. Costs a few stores and no allocation.
  CommandCall CallOf(Session& session, const Request& request, ReplySink& reply,
                     const HashedKey& first_key = {}) {
    return {request,         reply,
            session,         on_.parts,
            on_.settings,    on_.random,
            on_.keyspace,    on_.keyspace.db(session.db),
            on_.effects,     on_.notifications,
            on_.clock.now(), first_key};
  }

  // Why the client may not run it now, in the middle of another command, or empty.
  std::string InnerRefusal(const Session& session, const Request& request) const {
    return gates_.Ask(session, request);
  }

 private:
  // Execute, inside its caller.
  template <bool hook_saw_it>
  RequestOutcome Pass(Session& session, Args words, const Command* command,
                      const HashedKey& first_key);
  // Run, inside its caller: the way of every request.
  void RunHere(Session& session, const Request& request, ReplySink& reply,
               const HashedKey& first_key);
  static void NoteAsking(Session& session);
  std::optional<RequestOutcome> StopAtGates(Session& session, const Request& request);
  bool IsHooked() const { return on_.flags.Raised(SlowPathFlags::kHooked); }
  RequestOutcome ShowToHook(Session& session, const RequestHook::Arrival& arrival,
                            const HashedKey& first_key);
  void RefuseWords(Session& session, Args words, const Command* known);
  uint32_t FlagsOf(const Request& request) const { return gates_.FlagsOf(request); }
  MemoryNeed NeedOf(const Request& request);
  MemoryNeed NeedOf(const Session& session, const Request& request);
  std::string Refusal(const Session& session, const Request& request);
  void Reject(Session& session, const Command* command, std::string_view error,
              bool as_given = false);
  void ShowAndTrack(Session& session, const Request& request);
  void TellKeys(const Request& request);
  void Remember(Session& session, const Request& request);
  void Queue(Session& session, const Request& request);

  uint64_t errors_told_ = 0;  // of Statistics::error_replies: told of a command or before this one
  std::vector<size_t> hidden_;  // arguments of the command that runs
  std::vector<size_t> hidden_of_last_;

  const Uses on_;
  Gates gates_;
  RequestHook* hook_ = nullptr;
};

}  // namespace sluice
