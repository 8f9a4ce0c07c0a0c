// See register_function.h. Errors of Lua jump out of the readers below; what they have read are
// views, which own nothing.
#include "scripting/register_function.h"

#include <algorithm>
#include <cstring>

#include "scripting/lua/lua_state.h"
#include "scripting/lua/read_only_view.h"
#include "scripting/lua/script_errors.h"
#include "scripting/redis_api.h"
#include "scripting/script_flags.h"

namespace sluice {
namespace {

// The arguments of register_function; views of strings that they keep alive.
struct Given {
  std::string_view name;
  bool has_name = false;
  std::string_view description;
  bool has_description = false;
  int callback = 0;  // stack slot; 0: none
  uint32_t flags = 0;
};

// --- what it was given

// A number in the slot becomes text in place, as lua_tolstring does.
std::string_view TextAt(lua_State* L, int index) {
  size_t size = 0;
  const char* text = lua_tolstring(L, index, &size);
  return {text ? text : "", size};
}

int Fail(lua_State* L, std::string_view sentence) { return RaiseError(L, sentence); }

// The flags of the array on top of the stack. Fail does not return, so each of these readers jumps
// out through it.
uint32_t ReadFlags(lua_State* L) {
  uint32_t flags = 0;
  for (int i = 1;; ++i) {
    lua_rawgeti(L, -1, i);
    if (lua_isnil(L, -1)) break;
    const uint32_t flag = lua_type(L, -1) == LUA_TSTRING ? ScriptFlagNamed(TextAt(L, -1)) : 0;
    if (flag == 0) Fail(L, "unknown flag given");
    flags |= flag;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return flags;
}

// One named argument: the key at -2, the value at -1. Values are kept on the stack where needed.
void ReadNamed(lua_State* L, Given& given) {
  if (lua_type(L, -2) != LUA_TSTRING) {
    Fail(L, "named argument key given to redis.register_function is not a string");
  }
  const std::string_view key = TextAt(L, -2);
  if (key == "function_name") {
    if (!lua_isstring(L, -1)) {
      Fail(L, "function_name argument given to redis.register_function must be a string");
    }
    // A number is turned into a string in place, and kept alive in slot 2.
    lua_pushvalue(L, -1);
    given.name = TextAt(L, -1);
    lua_replace(L, 2);
    given.has_name = true;
  } else if (key == "description") {
    if (!lua_isstring(L, -1)) {
      Fail(L, "description argument given to redis.register_function must be a string");
    }
    lua_pushvalue(L, -1);
    given.description = TextAt(L, -1);
    lua_replace(L, 3);
    given.has_description = true;
  } else if (key == "callback") {
    if (!lua_isfunction(L, -1)) {
      Fail(L, "callback argument given to redis.register_function must be a function");
    }
    lua_pushvalue(L, -1);
    lua_replace(L, 4);
    given.callback = 4;
  } else if (key == "flags") {
    if (!lua_istable(L, -1)) {
      Fail(L,
           "flags argument to redis.register_function must be a table representing function flags");
    }
    given.flags = ReadFlags(L);
  } else {
    Fail(L, "unknown argument given to redis.register_function");
  }
}

// Two forms:   redis.register_function("name", callback)
//              redis.register_function{function_name = , callback = , flags = , description = }
//
// Slots 2 to 4 of the second form keep name, description and callback alive while others are read.
Given ReadArguments(lua_State* L) {
  Given given;
  const int count = lua_gettop(L);
  if (count < 1 || count > 2) Fail(L, "wrong number of arguments to redis.register_function");
  if (count == 1) {
    if (!lua_istable(L, 1)) {
      Fail(L,
           "calling redis.register_function with a single argument is only applicable to Lua table "
           "(representing named arguments).");
    }
    lua_settop(L, 4);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) ReadNamed(L, given);
    if (!given.has_name) Fail(L, "redis.register_function must get a function name argument");
    if (given.callback == 0) Fail(L, "redis.register_function must get a callback argument");
    return given;
  }
  if (!lua_isstring(L, 1)) {
    Fail(L, "first argument to redis.register_function must be a string");
  }
  if (!lua_isfunction(L, 2)) {
    Fail(L, "second argument to redis.register_function must be a function");
  }
  given.name = TextAt(L, 1);
  given.callback = 2;
  return given;
}

// --- the function

// Steps that can raise come first: once the function is in the registry nothing may jump out before
// it is noted.
int RegisterFunction(lua_State* L) {
  LuaState& state = LuaState::Of(L);
  auto* const functions = static_cast<std::vector<LibraryFunction>*>(state.loading);
  if (!functions) {
    return Fail(L, "redis.register_function can only be called on FUNCTION LOAD command");
  }
  const Given given = ReadArguments(L);
  if (!IsFunctionName(given.name)) return Fail(L, kBadFunctionName);
  for (const LibraryFunction& other : *functions) {
    if (other.name == given.name) return Fail(L, "Function already exists in the library");
  }
  lua_pushvalue(L, given.callback);
  const int reference = luaL_ref(L, LUA_REGISTRYINDEX);
  // Nothing below raises.
  LibraryFunction& added = functions->emplace_back();
  added.name = given.name;
  if (given.has_description) added.description = given.description;
  added.flags = given.flags;
  added.function = reference;
  return 0;
}

// --- the loader's globals

// An unknown global or field is an error, as in Redis: a typo must not read as nil.
int RefuseName(lua_State* L) {
  const char* name = lua_tostring(L, 2);
  return luaL_error(L, "Script attempted to access nonexistent global variable '%s'",
                    name ? name : "?");
}

// The table on top answers for unknown fields with an error.
void RefuseUnknown(lua_State* L) {
  lua_newtable(L);
  lua_pushcfunction(L, RefuseName);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

// Their name in Lua's registry, which no script sees.
constexpr char kLoaderGlobals[] = "sluice.loader";

// Pushes the loader's globals, made on first use.
// { redis = view of the loader's API, server = the same view }; unknown names end in RefuseName.
void PushLoaderGlobals(lua_State* L) {
  lua_getfield(L, LUA_REGISTRYINDEX, kLoaderGlobals);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_newtable(L);
  PushLoaderApi(L);
  lua_pushcfunction(L, RegisterFunction);
  lua_setfield(L, -2, "register_function");
  RefuseUnknown(L);
  PushView(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "redis");
  lua_setfield(L, -2, "server");
  RefuseUnknown(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, kLoaderGlobals);
}

}  // namespace

bool IsFunctionName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The globals are swapped behind the view that all code holds: functions made now see the usual
// ones when they run later.
void BeginLoading(LuaState& state, std::vector<LibraryFunction>& functions) {
  state.LiftBound();
  PushLoaderGlobals(state.lua());
  ShowThroughGlobals(state.lua());
  state.loading = &functions;
  state.loading_hooks = 0;
  state.RestoreBound();
}

// However the code ended.
void EndLoading(LuaState& state) {
  state.LiftBound();
  state.loading = nullptr;
  lua_pushvalue(state.lua(), LuaState::kGlobals);
  ShowThroughGlobals(state.lua());
  state.RestoreBound();
}

}  // namespace sluice
