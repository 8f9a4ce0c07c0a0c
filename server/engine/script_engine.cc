#include "server/engine/script_engine.h"

#include "protocol/text/concat.h"
#include "protocol/text/same_bytes.h"
#include "server/engine/command.h"
#include "server/engine/command_table.h"
#include "server/engine/engine.h"
#include "server/engine/session.h"

namespace sluice {
namespace {

constexpr std::string_view kBusyScript =
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
constexpr std::string_view kBusyFunction =
    "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.";

}  // namespace

ScriptEngine::ScriptEngine(Engine& engine)
    : engine_(engine), cache_(*this, engine.hash_keys().Next()), functions_(*this) {}

ScriptEngine::~ScriptEngine() = default;

size_t ScriptEngine::MemoryBytes() const {
  return cache_.text_bytes() + cache_.lua_bytes() + functions_.code_bytes() +
         functions_.lua_bytes();
}

// --- running

void ScriptEngine::Run(CommandCall& call, LuaState& state, const ScriptRun& script, uint32_t flags,
                       bool read_only) {
  const bool declared = !(flags & kScriptUndeclared);
  if (read_only && declared && !(flags & kScriptNoWrites)) {
    return call.reply.Error("ERR Can not execute a script with write flag using *_ro command.");
  }
  if (!session_) {
    session_ = std::make_unique<Session>(SessionId{}, 0, Peer{}, call.now.ms());
    session_->conditions = kInScript;
    session_->authenticated = true;
  }
  session_->db = call.client.db;
  session_->no_touch = call.client.no_touch;
  Running running{.caller = &call.client,
                  .name = script.name,
                  .command = call.args,
                  .is_function = state.kind() == LuaState::Kind::kFunctions,
                  .read_only = read_only || (declared && (flags & kScriptNoWrites)),
                  .begin_ns = engine_.tick(),
                  .first_key = call.first_key};
  running_ = &running;
  ScriptFailure failure;
  const bool returned = RunScript(state, script, call.reply, failure);
  call.effects.set_muted(false);
  call.effects.Nothing();
  running_ = nullptr;
  if (running.late) [[unlikely]]
    engine_.GatesChanged();
  if (returned) [[likely]]
    return;
  ReplyWriter& writer = call.client.writer;
  if (failure.counted) writer.set_error_listener(nullptr);
  call.reply.Error(failure.line);
  writer.set_error_listener(&engine_);
}

// --- its commands

// The command of a script, or why it has none.
Command* ScriptEngine::FindCommand(Args args, std::string_view& refusal) {
  Command* command = engine_.commands().Find(args[0]);
  if (command && !command->subcommands.empty() && args.size() > 1) {
    command = engine_.commands().FindSubcommand(*command, args[1]);
  }
  if (!command) {
    refusal = "ERR Unknown Redis command called from script";
    return nullptr;
  }
  const int arity = command->spec->arity;
  const int given = static_cast<int>(args.size());
  if (!command->spec->run || (arity >= 0 ? given != arity : given < -arity)) {
    refusal = "ERR Wrong number of args calling Redis command from script";
    return nullptr;
  }
  return command;
}

void ScriptEngine::Call(Args args, ReplySink& reply) {
  std::string_view refusal;
  Command* command = FindCommand(args, refusal);
  if (!command) [[unlikely]]
    return reply.Error(refusal);
  const uint32_t flags = command->spec->flags;
  if (flags & (kNoScript | kWrite | kMayReplicate)) {
    if ((flags & kNoScript) && !(may_debug_ && (flags & kProtected))) {
      ++command->statistics.rejected;
      return reply.Error("ERR This Redis command is not allowed from script");
    }
    // What may replicate (PUBLISH, PFCOUNT) counts as a write: CLIENT PAUSE holds it back too.
    if (running_->read_only) {
      ++command->statistics.rejected;
      return reply.Error("ERR Write commands are not allowed from read-only scripts.");
    }
    if (flags & kWrite) running_->wrote = true;
  }
  engine_.dispatcher().Run(*session_, *command, args, reply, KnownKey(args));
}

// Most scripts work on the first key of their call, which has been hashed to fetch it ahead.
HashedKey ScriptEngine::KnownKey(Args args) const {
  const HashedKey& known = running_->first_key;
  if (args.size() < 2 || !known.bytes.data() || !SameBytes(args[1], known.bytes)) return {};
  return {args[1], known.hash};
}

void ScriptEngine::ErrorReplied(std::string_view text) { engine_.ErrorSent(text); }

// Without users of different rights, everybody may call everything.
CommandPort::Permission ScriptEngine::MayCall(Args args) {
  Command* command = engine_.commands().Find(args[0]);
  if (command && !command->subcommands.empty() && args.size() > 1) {
    command = engine_.commands().FindSubcommand(*command, args[1]);
  }
  return command ? Permission::kAllowed : Permission::kUnknownCommand;
}

void ScriptEngine::Log(int level, std::string_view line) { engine_.host().Log(level, line); }

void ScriptEngine::SetReplication(bool log, bool replicas) {
  engine_.effects().set_muted(!log && !replicas);
}

// --- when it takes long

// Nobody is served while code is compiled: the parser cannot be left for a while. It takes 50 ms
// for a megabyte of usual code.
constexpr int64_t kCompilingNsMax = 2'000'000'000;
// Between two looks at the others' requests beside a late script.
constexpr int64_t kServeEveryNs = 500'000;

void ScriptEngine::BeginCompiling() { compiling_since_ns_ = engine_.clock().TickNanos(); }

std::string_view ScriptEngine::Interrupt() {
  const int64_t now_ns = engine_.clock().TickNanos();
  if (!running_) {
    return now_ns - compiling_since_ns_ > kCompilingNsMax ? "compiling it took too long" : "";
  }
  Running& run = *running_;
  const int64_t threshold_ms = engine_.settings().busy_reply_threshold;
  if (!run.late) {
    const int64_t ms = (now_ns - run.begin_ns) / 1'000'000;
    if (threshold_ms <= 0 || ms < threshold_ms) return {};
    run.late = true;
    engine_.GatesChanged();
    engine_.host().Log(3, Concat("Slow script detected: still in execution after ", ms,
                                 " milliseconds. You can try killing the script using the ",
                                 run.is_function ? "FUNCTION KILL" : "SCRIPT KILL",
                                 " command. Script name is: ", run.name, "."));
  }
  // A clock that tests move by hand may stand still.
  if (now_ns != served_ns_ && now_ns - served_ns_ < kServeEveryNs) return {};
  engine_.ServeOthers(*run.caller);
  served_ns_ = engine_.clock().TickNanos();
  if (engine_.host().Stopping()) {
    engine_.Close(*run.caller, CloseMode::kNow);  // nobody is answered any more
    return "Script ended by the server's shutdown.";
  }
  if (!run.killed) return {};
  engine_.host().Log(3, "Lua script killed by user with SCRIPT KILL.");
  return "Script killed by user with SCRIPT KILL...";  // of functions, too
}

std::string_view ScriptEngine::BusyText() const {
  return running_ && running_->is_function ? kBusyFunction : kBusyScript;
}

std::string_view ScriptEngine::Kill(bool function) {
  if (!running_) return "NOTBUSY No scripts in execution right now.";
  if (running_->wrote) {
    return "UNKILLABLE Sorry the script already executed write commands against the dataset. You "
           "can either wait the script termination or kill the server in a hard way using the "
           "SHUTDOWN NOSAVE command.";
  }
  if (function != running_->is_function) return BusyText();
  running_->killed = true;
  return {};
}

}  // namespace sluice
