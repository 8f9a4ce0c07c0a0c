#include "scripting/script_runner.h"

#include "scripting/lua_values.h"
#include "scripting/script_errors.h"

namespace sluice {
namespace {

void PushTable(lua_State* L, Args words) {
  lua_createtable(L, static_cast<int>(words.size()), 0);
  int index = 0;
  for (const std::string_view word : words) {
    lua_pushlstring(L, word.data(), word.size());
    lua_rawseti(L, -2, ++index);
  }
}

void SetGlobal(lua_State* L, const char* name, size_t size, Args words) {
  lua_pushlstring(L, name, size);
  PushTable(L, words);
  lua_rawset(L, LuaState::kGlobals);
}

}  // namespace

bool RunScript(LuaState& state, const ScriptRun& run, ReplySink& reply, ScriptFailure& failure) {
  lua_State* const L = state.lua();
  state.BeginRun();
  state.LiftBound();  // until the script itself is running, nothing here is protected
  int arguments = 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, run.function);
  if (state.kind() == LuaState::Kind::kScripts) {
    SetGlobal(L, "KEYS", 4, run.keys);
    SetGlobal(L, "ARGV", 4, run.arguments);
  } else {
    PushTable(L, run.keys);
    PushTable(L, run.arguments);
    arguments = 2;
  }
  state.RestoreBound();
  const int status = lua_pcall(L, arguments, 1, LuaState::kErrorHandler);
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
