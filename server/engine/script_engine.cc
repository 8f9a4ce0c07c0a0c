// See script_engine.h. Interrupt() is called from inside a script's Lua: it serves the other
// clients by a turn inside the turn.
//
// Two bounds in time: from busy-reply-threshold on others are served every 0.5 ms, and compiling,
// which cannot be left for a while, ends after 2 s.
#include "server/engine/script_engine.h"

#include "protocol/text/concat.h"
#include "protocol/text/same_bytes.h"
#include "server/clients/clients.h"
#include "server/dispatch/lack_of_replicas.h"
#include "server/observe/command_counts.h"

namespace sluice {
ScriptEngine::ScriptEngine(const Uses& uses, HashKeys& hash_keys)
    : on_(uses), names_(uses.commands), cache_(*this, hash_keys.Next()), functions_(*this) {}

ScriptEngine::~ScriptEngine() = default;

size_t ScriptEngine::MemoryBytes() const {
  constexpr size_t kScriptShare = 96;  // of a script's names and places in the cache
  return cache_.text_bytes() + cache_.size() * kScriptShare + cache_.lua_bytes() +
         functions_.code_bytes() + functions_.lua_bytes();
}

// --- running

// Asks about a script on a replica; empty: it may run. Only one that declares what it does says
// that it writes before it does so, or that it needs no data.
std::string_view ScriptEngine::WhyNotHere(uint32_t flags) const {
  const bool may_write = !(flags & (kScriptUndeclared | kScriptNoWrites));
  if (may_write && on_.follows.IsReadOnly(on_.settings)) return kReadOnlyText;
  if (!(flags & kScriptAllowStale) && on_.follows.IsStale(on_.settings))
    return on_.follows.StaleText();
  return {};
}

void ScriptEngine::Run(CommandCall& call, LuaState& state, const ScriptRun& script, uint32_t flags,
                       bool read_only) {
  const bool declared = !(flags & kScriptUndeclared);
  const bool may_write = declared && !(flags & kScriptNoWrites);
  if (!call.client.replays) {
    if (const std::string_view why = WhyNotHere(flags); !why.empty()) return call.reply.Error(why);
  }
  if (declared && (flags & kScriptNoCluster) && on_.slots.is_on())
    return call.reply.Error("ERR Can not run script on cluster, 'no-cluster' flag is set.");
  if (read_only && may_write) {
    return call.reply.Error("ERR Can not execute a script with write flag using *_ro command.");
  }
  const std::string_view lack = on_.log.ReplicasRefusal(may_write, /*grants=*/false);
  if (!lack.empty() && !call.client.replays) return call.reply.Error(lack);
  if (declared && !(flags & (kScriptAllowOom | kScriptNoWrites)) &&
      on_.memory.Lacks(MemoryNeed::kAny)) {
    return call.reply.Error(
        "OOM allow-oom flag is not set on the script, can not run it when used memory > "
        "'maxmemory'");
  }
  // The stand-in client keeps nothing of a script for the next.
  if (!session_) {
    session_ = std::make_unique<Session>(SessionId{}, 0, Peer{}, call.now.ms());
    session_->conditions = kInScript;
    session_->authenticated = true;
  }
  session_->db = call.client.db;
  session_->no_touch = call.client.no_touch;
  on_.clients.SetUser(*session_, call.client.user, (call.client.conditions & kRestricted) != 0);
  RunningScript running{.caller = &call.client,
                        .name = script.name,
                        .request = call,
                        .is_function = state.kind() == LuaState::Kind::kFunctions,
                        .read_only = read_only || (declared && (flags & kScriptNoWrites)),
                        .may_take_memory = declared && (flags & kScriptAllowOom),
                        .may_cross_slots = !declared || (flags & kScriptAllowCrossSlot),
                        .begin_ns = on_.clock.tick(),
                        .first_key = call.first_key};
  if (on_.slots.is_on()) [[unlikely]] {
    slot_ = {};
    if (const std::optional<KeySlot> slot = on_.slots.SlotOf(call)) slot_.Add(*slot);
  }
  on_.state.running_ = &running;
  on_.current_client.set_script_runs(true);
  ScriptFailure failure;
  if (!RunScript(state, script, call.reply, failure)) [[unlikely]] {
    failure.counted ? RepeatError(call.reply, failure.line) : call.reply.Error(failure.line);
  }
  call.effects.set_targets(kToAll);
  call.NoEffect();  // the script's commands have told theirs
  on_.state.running_ = nullptr;
  on_.current_client.set_script_runs(false);
  if (running.late) [[unlikely]]
    on_.flags.Lower(SlowPathFlags::kLateScript);
}

// --- its commands

// Words that are no request: a script is told less of them than a client is, as in Redis, but as
// much of a command inside another one.
std::string ScriptEngine::TextOf(const RequestFault& fault) const {
  if (fault.is_inner) return on_.commands.TextOf(fault);
  return fault.kind == RequestFault::Kind::kWrongArity
             ? "ERR Wrong number of args calling Redis command from script"
             : "ERR Unknown Redis command called from script";
}

// The refusal is counted and told as that command's, not as the script's call's.
void ScriptEngine::Refuse(const Command* command, std::string_view why, ReplySink& reply) {
  if (command) ++on_.counts.Of(command->number).rejected;
  reply.Error(why);
  on_.dispatcher.ErrorsTold();
}

void ScriptEngine::Call(Args args, ReplySink& reply) {
  const std::optional<Request> request = on_.commands.Check(args, names_.Find(args[0]));
  if (!request) [[unlikely]] {
    const RequestFault fault = on_.commands.WhyNot(args);
    const bool is_arity = fault.kind == RequestFault::Kind::kWrongArity;
    return Refuse(is_arity ? fault.command : nullptr, TextOf(fault), reply);
  }
  const Command& command = request->command;
  const uint32_t flags = command.spec->flags;
  if ((flags & kNoScript) && !(may_debug_ && (flags & kProtected))) [[unlikely]] {
    return Refuse(&command, "ERR This Redis command is not allowed from script", reply);
  }
  if ((session_->conditions & kRestricted) && !MayRun(*request, reply)) [[unlikely]]
    return;
  // The server's own reasons to refuse, of which nearly always there is none.
  const bool is_gated = on_.flags.Raised(SlowPathFlags::kGates);
  if (is_gated && !IsFresh(command, reply)) [[unlikely]]
    return;
  if (flags & (kWrite | kMayReplicate)) {
    RunningScript& running = *on_.state.running_;
    if (is_gated || running.read_only || LacksMemory(command)) [[unlikely]] {
      if (!MayChange(*request, reply)) return;
    }
    if (flags & kWrite) running.wrote = true;
  }
  if (on_.slots.is_on() && !IsHere(*request, reply)) [[unlikely]]
    return;
  on_.dispatcher.Run(*session_, *request, reply, KnownKey(args));
}

// In a cluster a script touches the keys of its own slot alone. False: the reason has been
// answered.
bool ScriptEngine::IsHere(const Request& request, ReplySink& reply) {
  const RunningScript& running = *on_.state.running_;
  const std::string why =
      on_.slots.AskOfScript(*running.caller, request, running.may_cross_slots, slot_);
  if (why.empty()) return true;
  Refuse(&request.command, why, reply);
  return false;
}

// As in Redis, memory is only asked for by the first call that writes: a script is not stopped
// halfway.
inline bool ScriptEngine::LacksMemory(const Command& command) const {
  const CommandSpec& spec = *command.spec;
  const RunningScript& running = *on_.state.running_;
  return (spec.flags & kDenyOom) && !running.may_take_memory && !running.wrote &&
         on_.memory.Lacks(spec.categories & (kCatLock | kCatLimit) ? MemoryNeed::kLocks
                                                                   : MemoryNeed::kAny);
}

// False: the reason has been answered.
bool ScriptEngine::MayChange(const Request& request, ReplySink& reply) {
  const RunningScript& running = *on_.state.running_;
  const CommandSpec& spec = *request.command.spec;
  std::string refusal;
  // Commands that may replicate (PUBLISH, PFCOUNT) count as writes: CLIENT PAUSE holds them, too.
  if (running.read_only) {
    refusal = "ERR Write commands are not allowed from read-only scripts.";
  } else if ((spec.flags & kWrite) && on_.follows.IsReadOnly(on_.settings) &&
             !running.caller->replays) {
    refusal = kReadOnlyText;
  } else if ((spec.flags & kWrite) && on_.log.denies_writes()) {
    refusal = on_.log.WriteRefusal();
  } else if (const std::string_view lack = LackOfReplicas(on_.log, request);
             !lack.empty() && !running.caller->replays) {
    refusal = lack;
  } else if (LacksMemory(request.command)) {
    refusal = kOutOfMemoryText;
  }
  if (refusal.empty()) return true;
  Refuse(&request.command, refusal, reply);
  return false;
}

// A replica that has lost its master may have to refuse what depends on its data. False: the reason
// has been answered.
bool ScriptEngine::IsFresh(const Command& command, ReplySink& reply) {
  if (!on_.follows.IsStale(on_.settings) || (command.spec->flags & kStale)) [[likely]]
    return true;
  Refuse(&command, "ERR Can not execute the command on a stale replica", reply);
  return false;
}

// As the caller of the script, by its rules as they are now, where it has any. False: the reason
// has been answered.
bool ScriptEngine::MayRun(const Request& request, ReplySink& reply) {
  const Verdict verdict = on_.access.CheckAndRecord(*session_, request);
  if (verdict.allowed()) return true;
  std::string_view why =
      "ERR The user executing the script can't access at least one of the keys mentioned in the "
      "command arguments";
  if (verdict.denial == Denial::kCommand) {
    why = "ERR The user executing the script can't run this command or subcommand";
  } else if (verdict.denial == Denial::kChannel) {
    why = "ERR The user executing the script can't publish to the channel mentioned in the command";
  }
  Refuse(&request.command, why, reply);
  return false;
}

// Most scripts work on the first key of their call, which has been hashed to fetch it ahead.
HashedKey ScriptEngine::KnownKey(Args args) const {
  const HashedKey& known = on_.state.running_->first_key;
  if (args.size() < 2 || !known.bytes.data() || !SameBytes(args[1], known.bytes)) return {};
  return {args[1], known.hash};
}

void ScriptEngine::ErrorReplied(std::string_view text) { on_.clients.ErrorSent(text); }

void ScriptEngine::RepeatError(ReplySink& reply, std::string_view line) {
  on_.clients.set_counts_errors(false);
  reply.Error(line);
  on_.clients.set_counts_errors(true);
  ++on_.counts.Of(on_.state.running_->request.command.number).failed;
}

// Words of a wrong number are asked of the command alone, as a script may mean all its requests.
// Nothing is recorded: it is a question.
CommandPort::Permission ScriptEngine::MayCall(Args args) {
  const std::optional<Request> request = on_.commands.Check(args);
  const RequestFault fault = request ? RequestFault{} : on_.commands.WhyNot(args);
  const bool is_arity = fault.kind == RequestFault::Kind::kWrongArity && !fault.is_inner;
  if (!request && !is_arity) return Permission::kUnknownCommand;
  if (!on_.state.running() || !(session_->conditions & kRestricted)) return Permission::kAllowed;
  const Verdict verdict = request ? on_.access.Check(*session_->user, *request)
                                  : on_.access.CheckCommand(*session_->user, *fault.command, args);
  return verdict.allowed() ? Permission::kAllowed : Permission::kDenied;
}

void ScriptEngine::Log(int level, std::string_view line) {
  on_.host.Log(static_cast<LogLevel>(level), line);
}

void ScriptEngine::SetReplication(bool log, bool replicas) {
  on_.effects.set_targets(
      static_cast<EffectTargets>((log ? kToLog : 0) | (replicas ? kToStream : 0)));
}

// --- when it takes long

// No other client is served while code is compiled: the parser cannot be left for a while. It takes
// 50 ms for a megabyte of usual code. The limit is CPU time, so that a busy machine refuses no
// script that an idle one takes; where a host cannot tell that, it is time.
constexpr int64_t kCompilingNsMax = 3'000'000'000;
// Between two looks at the others' requests beside a late script, and beside one that is played
// from a log: that long a slice of loading takes (LogLoader).
constexpr int64_t kServeEveryNs = 500'000;
constexpr int64_t kServeWhileLoadingNs = 5'000'000;

void ScriptEngine::BeginCompiling() {
  compiling_since_ns_ = on_.clock.clock().TickNanos();
  compiling_since_cpu_us_ = on_.clock.clock().CpuMicros();
}

bool ScriptEngine::CompilesTooLong(int64_t now_ns) const {
  if (now_ns - compiling_since_ns_ <= kCompilingNsMax) return false;
  const int64_t cpu_us = on_.clock.clock().CpuMicros();
  return cpu_us == 0 || (cpu_us - compiling_since_cpu_us_) * 1000 > kCompilingNsMax;
}

bool ScriptEngine::TakesLong(const RunningScript& run, int64_t now_ns) const {
  const int64_t threshold_ms = on_.settings.busy_reply_threshold;
  return threshold_ms > 0 && (now_ns - run.begin_ns) / 1'000'000 >= threshold_ms;
}

// While data are loaded others are told so at once, however short the script is.
std::string_view ScriptEngine::Interrupt() {
  const int64_t now_ns = on_.clock.clock().TickNanos();
  if (!on_.state.running()) {
    return CompilesTooLong(now_ns) ? "compiling it took too long" : "";
  }
  RunningScript& run = *on_.state.running_;
  if (!run.late && TakesLong(run, now_ns)) {
    run.late = true;
    on_.flags.Raise(SlowPathFlags::kLateScript);
    on_.host.Log(LogLevel::kWarning,
                 Concat("Slow script detected: still in execution after ",
                        (now_ns - run.begin_ns) / 1'000'000,
                        " milliseconds. You can try killing the script using the ",
                        run.is_function ? "FUNCTION KILL" : "SCRIPT KILL",
                        " command. Script name is: ", run.name, "."));
  }
  if (!run.late && !on_.log.loading) return {};
  // A clock that tests move by hand may stand still.
  const int64_t every_ns = run.late ? kServeEveryNs : kServeWhileLoadingNs;
  if (now_ns != served_ns_ && now_ns - served_ns_ < every_ns) return {};
  on_.yielder.Yield(*run.caller);
  served_ns_ = on_.clock.clock().TickNanos();
  if (on_.host.Stopping()) {
    // No client is answered any more; what plays a log is none.
    if (!run.caller->replays) on_.clients.Close(*run.caller, CloseMode::kNow);
    return "Script ended by the server's shutdown.";
  }
  if (!run.killed) return {};
  on_.host.Log(LogLevel::kWarning, "Lua script killed by user with SCRIPT KILL.");
  return "Script killed by user with SCRIPT KILL...";  // of functions, too
}

std::string_view ScriptEngine::Kill(bool function) {
  if (!on_.state.running()) return "NOTBUSY No scripts in execution right now.";
  if (on_.state.running_->wrote) {
    return "UNKILLABLE Sorry the script already executed write commands against the dataset. You "
           "can either wait the script termination or kill the server in a hard way using the "
           "SHUTDOWN NOSAVE command.";
  }
  if (function != on_.state.running_->is_function) return on_.state.BusyText();
  on_.state.running_->killed = true;
  return {};
}

}  // namespace sluice
