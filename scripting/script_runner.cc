// See script_runner.h.
#include "scripting/script_runner.h"

#include "scripting/lua/argument_tables.h"
#include "scripting/lua/lua_values.h"
#include "scripting/lua/script_errors.h"

namespace sluice {

// BeginRun | bound lifted: push function and arguments | lua_pcall | bound lifted: answer | EndRun
//
// Between the two liftings an error of Lua lands in lua_pcall; outside of them nothing may raise.
bool RunScript(LuaState& state, const ScriptRun& run, ReplySink& reply, ScriptFailure& failure) {
  lua_State* const L = state.lua();
  state.BeginRun(run.largest_block);
  state.LiftBound();  // until the script itself is running, nothing here is protected
  int arguments = 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, run.function);
  if (state.kind() == LuaState::Kind::kScripts) {
    state.argument_tables.Set(L, run.keys, run.arguments, state.TableChanged());
    state.TableChanged();  // not by a script
  } else {
    PushWords(L, run.keys);
    PushWords(L, run.arguments);
    arguments = 2;
  }
  state.RestoreBound();
  const int status = lua_pcall(L, arguments, 1, LuaState::kErrorHandler);
  state.Returned();
  state.LiftBound();
  if (status == 0) [[likely]] {
    SendLuaValue(L, state.resp, reply);
  } else {
    failure.line = ErrorLine(L, run.name, failure.counted);
  }
  state.RestoreBound();
  state.EndRun();
  return status == 0;
}

}  // namespace sluice
