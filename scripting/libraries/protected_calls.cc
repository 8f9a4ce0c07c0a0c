// Where a script's errors are caught: pcall, xpcall and coroutines, which run on stacks and with
// count hooks of their own. Each of them catches nothing once the script has to end
// (LuaState::Caught), and no coroutine is without the hook. And collectgarbage, whose cycles are
// work and whose settings end with the script.
#include "scripting/libraries/libraries.h"
#include "scripting/lua/lua_state.h"

namespace sluice {
namespace {

// The cost of making a coroutine, and the most it may do before its own hook counts it.
constexpr size_t kCoroutineUnits = LuaState::kCoroutineHookInstructions;

// The handler of xpcall; the script's is the upvalue. Runs none that could keep a script alive.
int CallHandler(lua_State* L) {
  if (LuaState::Of(L).ending()) return 1;
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

// --- coroutines

// coroutine.resume(coroutine, ...) -> true, results; or false, fault
//
// The hook of the coroutine counts while it runs, that of the caller from here on. A fault that
// ends the script is raised again, not handed out.
int Resume(lua_State* L) {
  lua_State* const coroutine = lua_tothread(L, 1);
  if (!coroutine) return lua_tocfunction(L, lua_upvalueindex(1))(L);  // raises
  LuaState& state = LuaState::Of(L);
  state.Enter(coroutine);
  const int results = lua_tocfunction(L, lua_upvalueindex(1))(L);
  state.Enter(L);
  if (results == 2 && !lua_toboolean(L, -2)) state.Caught(L);
  return results;
}

// The function that coroutine.wrap makes: the first upvalue is the coroutine, the second Lua's own
// function.
int ResumeWrapped(lua_State* L) {
  LuaState& state = LuaState::Of(L);
  state.Enter(lua_tothread(L, lua_upvalueindex(1)));
  const int results = lua_tocfunction(L, lua_upvalueindex(2))(L);
  state.Enter(L);
  return results;
}

// coroutine.create(function) -> coroutine
int Create(lua_State* L) {
  LuaState::Of(L).Work(L, kCoroutineUnits);
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

// coroutine.wrap(function) -> function that resumes; Lua's own is taken apart and wrapped anew
int Wrap(lua_State* L) {
  LuaState::Of(L).Work(L, kCoroutineUnits);
  lua_tocfunction(L, lua_upvalueindex(1))(L);
  const lua_CFunction resume = lua_tocfunction(L, -1);
  lua_getupvalue(L, -1, 1);
  lua_pushcfunction(L, resume);
  lua_pushcclosure(L, ResumeWrapped, 2);
  return 1;
}

}  // namespace

// --- the functions

// pcall(function, ...) -> true, results; or false, fault. As Redis's: of an error table the caller
// sees the text alone.
int ProtectedCall(lua_State* L) {
  if (lua_gettop(L) == 0) {
    lua_pushboolean(L, 0);
    return 1;
  }
  const int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  if (status != 0) LuaState::Of(L).Caught(L);
  if (status != 0 && lua_istable(L, -1)) {
    lua_pushliteral(L, "err");
    lua_rawget(L, -2);
    if (lua_isstring(L, -1)) {
      lua_replace(L, -2);
    } else {
      lua_pop(L, 1);
    }
  }
  lua_pushboolean(L, status == 0);
  lua_insert(L, 1);
  return lua_gettop(L);
}

// xpcall(function, handler) -> true, results; or false, what the handler made of the fault.
int ProtectedCallWithHandler(lua_State* L) {
  luaL_checkany(L, 2);
  lua_settop(L, 2);
  if (lua_isfunction(L, 2)) lua_pushcclosure(L, CallHandler, 1);
  lua_insert(L, 1);
  const int status = lua_pcall(L, 0, LUA_MULTRET, 1);
  if (status != 0) LuaState::Of(L).Caught(L);
  lua_pushboolean(L, status == 0);
  lua_replace(L, 1);
  return lua_gettop(L);
}

// collectgarbage([option [, argument]]) -> number or boolean; stop and restart do nothing.
int CollectGarbage(lua_State* L) {
  static constexpr const char* kOptions[] = {"stop", "restart",  "collect",    "count",
                                             "step", "setpause", "setstepmul", nullptr};
  enum { kStop, kRestart, kCollect, kCount, kStep, kSetPause, kSetStepMul };
  const int option = luaL_checkoption(L, 1, "collect", kOptions);
  const int argument = luaL_optint(L, 2, 0);
  LuaState& state = LuaState::Of(L);
  int result = 0;
  switch (option) {
    case kCount:
      lua_pushnumber(L, static_cast<lua_Number>(state.memory_bytes()) / 1024);
      return 1;
    case kCollect:
    case kStep: {
      constexpr size_t kBytesAUnit = 32;
      state.Work(L, state.memory_bytes() / kBytesAUnit);
      result = lua_gc(L, option == kStep ? LUA_GCSTEP : LUA_GCCOLLECT, argument);
      if (option == kCollect) break;
      lua_pushboolean(L, result);
      return 1;
    }
    // The collector keeps its pace: one that never rests makes every script slow.
    case kSetPause:
      result = std::exchange(state.collector_pause, argument);
      break;
    case kSetStepMul:
      result = std::exchange(state.collector_step, argument);
      break;
    default:
      break;
  }
  lua_pushinteger(L, result);
  return 1;
}

// Lua's own functions stay as upvalues of ours.
void OpenCoroutines(lua_State* L) {
  constexpr luaL_Reg kFunctions[] = {{"create", Create}, {"wrap", Wrap}, {"resume", Resume}};
  for (const luaL_Reg& row : kFunctions) {
    lua_getfield(L, -1, row.name);
    lua_pushcclosure(L, row.func, 1);
    lua_setfield(L, -2, row.name);
  }
}

}  // namespace sluice
