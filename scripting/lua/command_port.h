// CommandPort: what a running script may ask of the server. The engine implements it; nothing in
// this folder knows commands, clients or the clock.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/args.h"
#include "protocol/reply_sink.h"
#include "scripting/lua/random.h"

namespace sluice {

// Calls come from inside lua_pcall. None of these functions may raise an error of Lua; what a
// script is told goes through the ReplySink or the answer. The port outlives every LuaState that
// has it.
class CommandPort {
 public:
  // For redis.acl_check_cmd: an unknown command is an error of the script, a denied one an answer.
  enum class Permission : uint8_t { kUnknownCommand, kAllowed, kDenied };

  virtual ~CommandPort() = default;

  // Runs a command of the script and answers it; what a script may not run is answered with Redis's
  // error. The arguments must stay valid until it returns. No Lua code runs inside.
  virtual void Call(Args args, ReplySink& reply) = 0;
  // An error reply was made for the script: statistics count it.
  virtual void ErrorReplied(std::string_view text) = 0;
  // Answers the script's caller with an error that ErrorReplied has had already: statistics do not
  // count it again, and the script's call counts as failed.
  virtual void RepeatError(ReplySink& reply, std::string_view line) = 0;
  // redis.acl_check_cmd.
  virtual Permission MayCall(Args args) = 0;
  // Called every so many units of work: lets the server live on beside a slow script. The sentence
  // with which the script has to end, or empty.
  virtual std::string_view Interrupt() = 0;
  // Code is compiled from now on, outside of a run: Interrupt() is asked beside that, too.
  virtual void BeginCompiling() = 0;
  // redis.log and print. Levels as there: 0 debug, 1 verbose, 2 notice, 3 warning.
  virtual void Log(int level, std::string_view line) = 0;
  // redis.set_repl: whether effects from here on go to the log and to replicas.
  virtual void SetReplication(bool log, bool replicas) = 0;

  // Feeds math.random, script after script.
  RedisRandom random;
};

}  // namespace sluice
