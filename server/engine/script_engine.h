// ScriptEngine: what Lua scripts are to the server. It keeps the compiled scripts, runs them on
// behalf of a client, takes their commands past the checks that Redis makes for scripts into the
// dispatcher, and sees to it that a slow one holds nobody up: after busy-reply-threshold others are
// served from inside it, with -BUSY, and may kill it as long as it has not written.
//
// A script's commands run as those of a stand-in client with a database of its own (SELECT in a
// script is forgotten with it), at one frozen moment, and their effects are one group.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "scripting/command_port.h"
#include "scripting/functions.h"
#include "scripting/script_cache.h"
#include "scripting/script_runner.h"
#include "storage/keyspace/segment_table.h"

namespace sluice {

class Engine;
class Session;
struct Command;
struct CommandCall;

class ScriptEngine final : public CommandPort {
 public:
  explicit ScriptEngine(Engine& engine);
  ~ScriptEngine() override;

  ScriptCache& cache() { return cache_; }
  FunctionLibraries& functions() { return functions_; }

  // What scripts, libraries and their Lua states take.
  size_t MemoryBytes() const;

  // Runs a script and answers `call`. `flags`: ScriptFlag; `read_only`: EVAL_RO and the like.
  void Run(CommandCall& call, LuaState& state, const ScriptRun& script, uint32_t flags,
           bool read_only);

  bool running() const { return running_ != nullptr; }
  // Past its time: commands of others are answered with BusyText().
  bool busy() const { return running_ && running_->late; }
  std::string_view BusyText() const;
  // SCRIPT KILL (FUNCTION KILL): ends what runs; or the error why not.
  std::string_view Kill(bool function);
  // DEBUG SET-DISABLE-DENY-SCRIPTS: scripts may call DEBUG.
  void set_may_debug(bool may) { may_debug_ = may; }
  // Name, command and ms so far of the function that runs, for FUNCTION STATS.
  struct Running {
    Session* caller;
    std::string_view name;
    Args command;
    bool is_function;
    bool read_only;
    int64_t begin_ns;
    HashedKey first_key;  // of the call, if it has been hashed
    bool wrote = false;
    bool late = false;
    bool killed = false;
  };
  const Running* now_running() const { return running_; }

  // --- CommandPort
  void Call(Args args, ReplySink& reply) override;
  void ErrorReplied(std::string_view text) override;
  Permission MayCall(Args args) override;
  std::string_view Interrupt() override;
  void BeginCompiling() override;
  void Log(int level, std::string_view line) override;
  void SetReplication(bool log, bool replicas) override;

 private:
  Command* FindCommand(Args args, std::string_view& refusal);
  HashedKey KnownKey(Args args) const;

  Engine& engine_;
  ScriptCache cache_;
  FunctionLibraries functions_;
  std::unique_ptr<Session> session_;  // the stand-in client
  Running* running_ = nullptr;
  int64_t compiling_since_ns_ = 0;
  int64_t served_ns_ = 0;  // when others were last served beside a late script
  bool may_debug_ = false;
};

}  // namespace sluice
