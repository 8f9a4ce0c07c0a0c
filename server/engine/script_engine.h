// ScriptEngine: what Lua scripts are to the server. It keeps the compiled scripts, runs them on
// behalf of a client, takes their commands past the checks that Redis makes for scripts into the
// dispatcher, and sees to it that a slow one holds no client up: after busy-reply-threshold others
// are served from inside it, with -BUSY, and may kill it as long as it has not written.
//
// A script's commands run as those of a stand-in client with a database of its own (SELECT in a
// script is forgotten with it), at one frozen moment, and their effects are one group.
//
// One script runs at a time. The stand-in client has no connection, so nothing is ever sent to it;
// what a command refuses is an error of redis.call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "scripting/functions.h"
#include "scripting/lua/command_port.h"
#include "scripting/script_cache.h"
#include "scripting/script_runner.h"
#include "server/clients/current_client.h"
#include "server/clients/yielder.h"
#include "server/config/follow_state.h"
#include "server/dispatch/command_memo.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/log_state.h"
#include "server/dispatch/memory_limit.h"
#include "server/dispatch/script_state.h"
#include "server/dispatch/slot_gate.h"

namespace sluice {

class ScriptEngine final : public CommandPort {
 public:
  // The parts that it works with; all of them outlive the scripts.
  struct Uses {
    const Settings& settings;
    Host& host;
    TurnClock& clock;
    Clients& clients;
    const CommandTable& commands;
    CommandCounts& counts;
    Dispatcher& dispatcher;
    Effects& effects;
    CurrentClient& current_client;
    SlowPathFlags& flags;
    ScriptState& state;
    AccessGate& access;
    const LogState& log;
    const FollowState& follows;
    SlotGate& slots;
    const MemoryLimit& memory;
    Yielder& yielder;
  };
  ScriptEngine(const Uses& uses, HashKeys& hash_keys);
  ~ScriptEngine() override;

  ScriptCache& cache() { return cache_; }
  FunctionLibraries& functions() { return functions_; }

  // Counts scripts, libraries and their Lua states.
  size_t MemoryBytes() const;

  // Runs a script and answers `call`. `flags`: ScriptFlag; `read_only`: EVAL_RO and the like.
  void Run(CommandCall& call, LuaState& state, const ScriptRun& script, uint32_t flags,
           bool read_only);

  // SCRIPT KILL (FUNCTION KILL): ends what runs; or the error why not.
  std::string_view Kill(bool function);
  // DEBUG SET-DISABLE-DENY-SCRIPTS: scripts may call DEBUG.
  void set_may_debug(bool may) { may_debug_ = may; }
  // --- CommandPort
  void Call(Args args, ReplySink& reply) override;
  void ErrorReplied(std::string_view text) override;
  void RepeatError(ReplySink& reply, std::string_view line) override;
  Permission MayCall(Args args) override;
  std::string_view Interrupt() override;
  void BeginCompiling() override;
  void Log(int level, std::string_view line) override;
  void SetReplication(bool log, bool replicas) override;

 private:
  std::string TextOf(const RequestFault& fault) const;
  void Refuse(const Command* command, std::string_view why, ReplySink& reply);
  HashedKey KnownKey(Args args) const;
  bool MayRun(const Request& request, ReplySink& reply);
  bool IsFresh(const Command& command, ReplySink& reply);
  bool IsHere(const Request& request, ReplySink& reply);
  std::string_view WhyNotHere(uint32_t flags) const;
  bool LacksMemory(const Command& command) const;
  bool MayChange(const Request& request, ReplySink& reply);
  bool CompilesTooLong(int64_t now_ns) const;
  bool TakesLong(const RunningScript& run, int64_t now_ns) const;

  const Uses on_;
  CommandMemo<4> names_;
  ScriptCache cache_;
  FunctionLibraries functions_;
  std::unique_ptr<Session> session_;  // the stand-in client
  SlotOfKeys slot_;                   // in a cluster: of the keys of the script that runs
  int64_t compiling_since_ns_ = 0;
  int64_t compiling_since_cpu_us_ = 0;
  int64_t served_ns_ = 0;  // when others were last served beside a late script
  bool may_debug_ = false;
};

}  // namespace sluice
