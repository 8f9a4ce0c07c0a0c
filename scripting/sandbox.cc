// See sandbox.h. Binary chunks are refused by a blank in front of them: Lua 5.1 has no other
// switch, and crafted bytecode can do anything.
#include "scripting/sandbox.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "scripting/libraries/libraries.h"
#include "scripting/lua/lua_state.h"
#include "scripting/lua/object_names.h"
#include "scripting/lua/random.h"
#include "scripting/lua/read_only_view.h"
#include "scripting/lua/script_errors.h"
#include "scripting/redis_api.h"

namespace sluice {
namespace {

// Names of the base library that stay; the others (dofile, getfenv, module, newproxy ...) are not
// there.
constexpr const char* kBase[] = {
    "_VERSION", "assert",   "collectgarbage", "coroutine", "error", "gcinfo", "ipairs",
    "pairs",    "rawequal", "select",         "tonumber",  "type",  "unpack", "xpcall",
};

// Room for all globals, each in its own place: every script looks up four or five. Lua's tables put
// colliding keys into free places, so in a sparse one most names are found at once.
constexpr int kGlobalsRoom = 256;

// __index of the globals: Redis's error for a name that is not there, also after a typo.
int RefuseGlobal(lua_State* L) {
  const char* name = lua_tostring(L, 2);
  return luaL_error(L, "Script attempted to access nonexistent global variable '%s'",
                    name ? name : "?");
}

// --- base functions that know views
// Stock Lua's versions go past metatables, and would see the empty table of a view. Each of these
// asks for the real one first (to read), or refuses (to write).

// next(table [, key]) -> key, value
int Next(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  if (PushViewed(L, 1)) lua_replace(L, 1);
  if (lua_next(L, 1)) return 2;
  lua_pushnil(L);
  return 1;
}

// pairs(table) -> next, table, nil; the function's upvalue is our `next`.
int Pairs(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

// rawget(table, key) -> value
int RawGet(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 2);
  lua_settop(L, 2);
  if (PushViewed(L, 1)) lua_replace(L, 1);
  lua_rawget(L, 1);
  return 1;
}

// rawset(table, key, value) -> table; a view is refused.
int RawSet(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 2);
  luaL_checkany(L, 3);
  lua_settop(L, 3);
  RefuseView(L, 1);
  lua_rawset(L, 1);
  return 1;
}

// The metatable of the globals exists for scripts too (a view of it), those of other views do not.
// getmetatable(value) -> its __metatable if it has one, else the metatable or nil
int GetMetatable(lua_State* L) {
  luaL_checkany(L, 1);
  if (PushViewed(L, 1)) {
    if (!luaL_getmetafield(L, -1, "__metatable")) lua_pushnil(L);
    return 1;
  }
  if (!lua_getmetatable(L, 1)) {
    lua_pushnil(L);
    return 1;
  }
  luaL_getmetafield(L, 1, "__metatable");
  return 1;
}

// setmetatable(table, metatable or nil) -> table; views, and tables with __metatable, are refused.
int SetMetatable(lua_State* L) {
  const int type = lua_type(L, 2);
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argcheck(L, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table expected");
  RefuseView(L, 1);
  if (luaL_getmetafield(L, 1, "__metatable")) luaL_error(L, "cannot change a protected metatable");
  lua_settop(L, 2);
  LuaState::Of(L).NoteMetatable();
  lua_setmetatable(L, 1);
  return 1;
}

// print(...): to the server's log at debug level, with tabs between.
int Print(lua_State* L) {
  const int count = lua_gettop(L);
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  for (int i = 1; i <= count; ++i) {
    if (i > 1) luaL_addchar(&line, '\t');
    if (lua_isstring(L, i)) {
      lua_pushvalue(L, i);
    } else {
      lua_pushstring(
          L, lua_isboolean(L, i) ? (lua_toboolean(L, i) ? "true" : "false") : luaL_typename(L, i));
    }
    luaL_addvalue(&line);
  }
  luaL_pushresult(&line);
  size_t size = 0;
  const char* text = lua_tolstring(L, -1, &size);
  LuaState::Of(L).port().Log(0, {text, size});
  return 0;
}

// Lua's own computes the width in an int, which may overflow.
// unpack(table [, first [, last]]) -> values
int Unpack(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const int64_t first = luaL_optint(L, 2, 1);
  const int64_t last =
      lua_isnoneornil(L, 3) ? static_cast<int64_t>(lua_objlen(L, 1)) : luaL_checkint(L, 3);
  if (first > last) return 0;
  const int64_t count = last - first + 1;
  if (count > LUAI_MAXCSTACK || !lua_checkstack(L, static_cast<int>(count))) {
    return luaL_error(L, "too many results to unpack");
  }
  LuaState::Of(L).Work(L, static_cast<size_t>(count) / 4);
  for (int64_t i = first; i <= last; ++i) lua_rawgeti(L, 1, static_cast<int>(i));
  return static_cast<int>(count);
}

// --- load and loadstring: text alone

// loadstring(text [, name]) -> function, or nil and the fault
int LoadString(lua_State* L) {
  size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  const char* name = luaL_optstring(L, 2, text);
  if (LoadText(L, text, size, name) == 0) return 1;
  LuaState::Of(L).Caught(L);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

// The pieces are fetched before the parser begins: no script's code runs in the middle of it.
// load(reader [, name]) -> function, or nil and the fault
int Load(lua_State* L) {
  const char* name = luaL_optstring(L, 2, "=(load)");
  luaL_checktype(L, 1, LUA_TFUNCTION);
  constexpr int kHandler = 3;  // faults of the reader are shaped as those of the script
  constexpr size_t kPieceUnits = 50;
  lua_settop(L, 2);
  lua_pushcfunction(L, HandleScriptError);
  luaL_Buffer whole;
  luaL_buffinit(L, &whole);
  while (true) {
    LuaState::Of(L).Work(L, kPieceUnits);
    lua_pushvalue(L, 1);
    bool failed = lua_pcall(L, 0, 1, kHandler) != 0;
    if (failed) LuaState::Of(L).Caught(L);
    if (!failed && !lua_isnil(L, -1) && !lua_isstring(L, -1)) {
      luaL_where(L, 1);
      lua_pushliteral(L, "reader function must return a string");
      lua_concat(L, 2);
      PushError(L, lua_tostring(L, -1));
      failed = true;
    }
    if (failed) {
      lua_pushnil(L);
      lua_insert(L, -2);
      return 2;
    }
    if (lua_isnil(L, -1) || lua_objlen(L, -1) == 0) break;
    luaL_addvalue(&whole);
  }
  lua_pop(L, 1);
  luaL_pushresult(&whole);
  size_t size = 0;
  const char* text = lua_tolstring(L, -1, &size);
  if (LoadText(L, text, size, name) == 0) return 1;
  LuaState::Of(L).Caught(L);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

// --- putting it together

// As lua's linit.c calls an opener.
void OpenLibrary(lua_State* L, const char* name, lua_CFunction open) {
  lua_pushcfunction(L, open);
  lua_pushstring(L, name);
  lua_call(L, 1, 0);
}

void SetFunction(lua_State* L, const char* name, lua_CFunction function) {
  lua_pushcfunction(L, function);
  lua_setfield(L, LuaState::kGlobals, name);
}

// The library that is a global of Lua's own under `name` becomes a view among the script's globals.
void MoveLibrary(lua_State* L, const char* name) {
  lua_getglobal(L, name);
  PushView(L);
  lua_setfield(L, LuaState::kGlobals, name);
}

// Lua's own where they are harmless, ours where they would see behind a view, end a bound, or catch
// what must not be caught.
void SetBase(lua_State* L) {
  for (const char* name : kBase) {
    lua_getglobal(L, name);
    if (lua_istable(L, -1)) {
      OpenCoroutines(L);
      PushView(L);
    }
    lua_setfield(L, LuaState::kGlobals, name);
  }
  SetFunction(L, "next", Next);
  lua_getfield(L, LuaState::kGlobals, "next");
  lua_pushcclosure(L, Pairs, 1);
  lua_setfield(L, LuaState::kGlobals, "pairs");
  SetFunction(L, "rawget", RawGet);
  SetFunction(L, "rawset", RawSet);
  SetFunction(L, "getmetatable", GetMetatable);
  SetFunction(L, "setmetatable", SetMetatable);
  SetFunction(L, "pcall", ProtectedCall);
  SetFunction(L, "xpcall", ProtectedCallWithHandler);
  SetFunction(L, "collectgarbage", CollectGarbage);
  SetFunction(L, "print", Print);
  SetFunction(L, "tostring", NameOf);
  SetFunction(L, "unpack", Unpack);
  SetFunction(L, "load", Load);
  SetFunction(L, "loadstring", LoadString);
  SetFunction(L, "__redis__err__handler", HandleScriptError);
}

// Lua's libraries with some functions replaced, then those of Redis; each becomes a view.
void SetLibraries(LuaState& state) {
  lua_State* L = state.lua();
  lua_getglobal(L, "table");
  OpenTables(L);
  lua_getglobal(L, "string");
  OpenText(L);
  lua_getglobal(L, "math");
  OpenRandom(L, state.port().random);
  lua_pop(L, 3);
  for (const char* name : {"table", "string", "math"}) MoveLibrary(L, name);
  OpenJson(L);
  OpenBit(L);
  OpenMessagePack(L);
  OpenStruct(L);
  for (const char* name : {"cjson", "bit", "cmsgpack", "struct"}) MoveLibrary(L, name);
}

// Strings find their methods in the real table; scripts see a view of their metatable.
void ProtectStrings(lua_State* L) {
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_newtable(L);
  lua_getfield(L, LuaState::kGlobals, "string");
  lua_setfield(L, -2, "__index");
  PushView(L);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 2);
}

// The metatable of the globals: unknown names are errors; scripts may look at it.
void ProtectGlobals(lua_State* L) {
  lua_newtable(L);
  lua_pushcfunction(L, RefuseGlobal);
  lua_setfield(L, -2, "__index");
  lua_newtable(L);
  lua_pushcfunction(L, RefuseGlobal);
  lua_setfield(L, -2, "__index");
  PushView(L);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, LuaState::kGlobals);

  lua_pushvalue(L, LuaState::kGlobals);
  PushView(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, LuaState::kGlobals, "_G");
  // From here on all code that is compiled in this state has the view as its globals.
  lua_replace(L, LUA_GLOBALSINDEX);
}

// A text that the parser is given in pieces; the first may be the blank that makes bytecode a text.
struct Pieces {
  const char* at;
  size_t left;
  bool binary;
};

// The parser is quick, but for some texts: each `break` walks past those before it in its loop, of
// which there may be 131,071. So it is asked between pieces whether to go on.
const char* NextPiece(lua_State* L, void* pieces, size_t* bytes) {
  constexpr size_t kPieceBytes = 1024;
  constexpr size_t kPieceUnits = LuaState::kHookInstructions / 4;
  Pieces& rest = *static_cast<Pieces*>(pieces);
  // A blank in front of what is compiled makes it text again, and no valid one.
  if (std::exchange(rest.binary, false)) {
    *bytes = 1;
    return " ";
  }
  LuaState::Of(L).Work(L, kPieceUnits);
  *bytes = std::min(rest.left, kPieceBytes);
  rest.left -= *bytes;
  return std::exchange(rest.at, rest.at + *bytes);
}

}  // namespace

// Pieces of a KiB, so that the parser can be stopped between two of them.
int LoadText(lua_State* L, const char* text, size_t size, const char* name) {
  Pieces pieces{text, size, size > 0 && text[0] == LUA_SIGNATURE[0]};
  lua_gc(L, LUA_GCSTOP, 0);
  const int status = lua_load(L, NextPiece, &pieces, name);
  lua_gc(L, LUA_GCRESTART, 0);
  return status;
}

// Lua's own globals are filled first, as the libraries expect them, and left behind by
// ProtectGlobals.
void OpenSandbox(LuaState& state) {
  lua_State* L = state.lua();
  state.reset_json = ResetJson;
  lua_createtable(L, 0, kGlobalsRoom);  // slot kGlobals
  OpenLibrary(L, "", luaopen_base);
  OpenLibrary(L, LUA_TABLIBNAME, luaopen_table);
  OpenLibrary(L, LUA_STRLIBNAME, luaopen_string);
  OpenLibrary(L, LUA_MATHLIBNAME, luaopen_math);
  SetBase(L);
  SetLibraries(state);
  OpenRedisApi(state);
  ProtectStrings(L);
  ProtectGlobals(L);
  lua_settop(L, LuaState::kGlobals);
}

}  // namespace sluice
