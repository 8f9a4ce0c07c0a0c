// See object_names.h. The names are numbers in a table of the registry, whose keys are the objects
// and keep none of them alive. The last number stands in its metatable.
#include "scripting/lua/object_names.h"

#include <cinttypes>
#include <cstdio>

namespace sluice {
namespace {

constexpr char kNames = 0;  // its address is the registry's key
constexpr int kLast = 1;    // of the metatable

void PushKey(lua_State* L) { lua_pushlightuserdata(L, const_cast<char*>(&kNames)); }

// Keeps a new table of names, which has the metatable on top of the stack, and puts it there.
void ReplaceNames(lua_State* L) {
  lua_newtable(L);
  lua_insert(L, -2);
  lua_setmetatable(L, -2);
  PushKey(L);
  lua_pushvalue(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

void PushNames(lua_State* L) {
  PushKey(L);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_createtable(L, 1, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_pushnumber(L, 0);
  lua_rawseti(L, -2, kLast);
  ReplaceNames(L);
}

// Pushes the next number.
void PushNumber(lua_State* L, int names) {
  lua_getmetatable(L, names);
  lua_rawgeti(L, -1, kLast);
  const lua_Number number = lua_tonumber(L, -1) + 1;
  lua_pop(L, 1);
  lua_pushnumber(L, number);
  lua_rawseti(L, -2, kLast);
  lua_pop(L, 1);
  lua_pushnumber(L, number);
}

}  // namespace

void PushObjectName(lua_State* L, int index) {
  if (lua_topointer(L, index) == nullptr) {
    lua_pushfstring(L, "%s: (nil)", luaL_typename(L, index));
    return;
  }
  luaL_checkstack(L, 6, "too many values");
  lua_pushvalue(L, index);
  const int object = lua_gettop(L);
  PushNames(L);
  lua_pushvalue(L, object);
  lua_rawget(L, object + 1);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    PushNumber(L, object + 1);
    lua_pushvalue(L, object);
    lua_pushvalue(L, -2);
    lua_rawset(L, object + 1);
  }
  char number[24];
  std::snprintf(number, sizeof number, "0x%012" PRIx64, static_cast<uint64_t>(lua_tonumber(L, -1)));
  lua_pushfstring(L, "%s: %s", luaL_typename(L, object), number);
  lua_replace(L, object);
  lua_settop(L, object);
}

int NameOf(lua_State* L) {
  luaL_checkany(L, 1);
  if (luaL_callmeta(L, 1, "__tostring")) return 1;
  switch (lua_type(L, 1)) {
    case LUA_TNUMBER:
      lua_pushstring(L, lua_tostring(L, 1));
      break;
    case LUA_TSTRING:
      lua_pushvalue(L, 1);
      break;
    case LUA_TBOOLEAN:
      lua_pushstring(L, lua_toboolean(L, 1) ? "true" : "false");
      break;
    case LUA_TNIL:
      lua_pushliteral(L, "nil");
      break;
    default:
      PushObjectName(L, 1);
  }
  return 1;
}

void ForgetObjectNames(lua_State* L) {
  PushKey(L);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (lua_getmetatable(L, -1)) ReplaceNames(L);
}

}  // namespace sluice
