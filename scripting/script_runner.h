// Runs a compiled script or function and answers with what it returns or raises.
#pragma once

#include <string>
#include <string_view>

#include "protocol/args.h"
#include "protocol/reply_sink.h"
#include "scripting/lua/lua_state.h"

namespace sluice {

// Views: valid until RunScript returns.
struct ScriptRun {
  int function;           // reference in Lua's registry
  std::string_view name;  // for errors: the SHA1, or the function's name
  Args keys;
  Args arguments;
  size_t largest_block = 0;  // of the compiled code (LuaState::BeginRun)
};

// Filled in when RunScript answers false.
struct ScriptFailure {
  std::string line;      // the error to answer with
  bool counted = false;  // a command of the script answered it: statistics know it already
};

// EVAL: KEYS and ARGV are globals. FCALL: they are the function's two arguments. True when it
// returned, and its value has been answered. Costs what the script does; a slow one calls
// CommandPort::Interrupt from its hook. Not re-entrant: a script cannot run a script.
bool RunScript(LuaState& state, const ScriptRun& run, ReplySink& reply, ScriptFailure& failure);

}  // namespace sluice
