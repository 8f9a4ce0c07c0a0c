// cjson: what lua-cjson 2.1.0 is to Redis's scripts, to the byte and down to the error texts. All
// it takes is Lua's own counted memory, and its loops count as work of the script (LuaState::Work).
// A script's changes to the settings of cjson itself are undone after it.
#include "scripting/libraries/json.h"

#include <climits>
#include <cstdio>
#include <new>

#include "scripting/libraries/libraries.h"
#include "scripting/lua/lua_state.h"

namespace sluice {
namespace {

// The settings, for a function that may be given `count` arguments; those it lacks become nil.
JsonSettings& SettingsFor(lua_State* L, int count) {
  luaL_argcheck(L, lua_gettop(L) <= count, count + 1, "found too many arguments");
  lua_settop(L, count);
  for (int i = 1; i <= count; ++i) LuaState::Of(L).changed_json |= !lua_isnil(L, i);
  return *static_cast<JsonSettings*>(lua_touserdata(L, lua_upvalueindex(kJsonSettings)));
}

// Sets an integer if the argument is one, and pushes what is set. Faults name argument 1, as there.
int Integer(lua_State* L, int argument, int& setting, int lowest, int highest) {
  if (!lua_isnil(L, argument)) {
    const int value = static_cast<int>(luaL_checkinteger(L, argument));
    if (value < lowest || value > highest) {
      char text[64];
      std::snprintf(text, sizeof text, "expected integer between %d and %d", lowest, highest);
      luaL_argerror(L, 1, text);
    }
    setting = value;
  }
  lua_pushinteger(L, setting);
  return 1;
}

constexpr const char* kSwitch[] = {"off", "on", nullptr};
constexpr const char* kSwitchOrNull[] = {"off", "on", "null", nullptr};

// Sets a choice, by name or as a boolean, and pushes it. As lua-cjson's: booleans stand for the
// first two names.
int Choice(lua_State* L, int argument, int& setting, const char* const* names = kSwitch) {
  if (!lua_isnil(L, argument)) {
    setting = lua_isboolean(L, argument) ? lua_toboolean(L, argument)
                                         : luaL_checkoption(L, argument, nullptr, names);
  }
  if (setting <= 1) {
    lua_pushboolean(L, setting);
  } else {
    lua_pushstring(L, names[setting]);
  }
  return 1;
}

// cjson.encode_sparse_array([convert [, ratio [, safe]]]) -> the three that are set
int EncodeSparseArray(lua_State* L) {
  JsonSettings& settings = SettingsFor(L, 3);
  Choice(L, 1, settings.sparse_convert);
  Integer(L, 2, settings.sparse_ratio, 0, INT_MAX);
  Integer(L, 3, settings.sparse_safe, 0, INT_MAX);
  return 3;
}

// cjson.encode_max_depth([depth]) -> depth; and the same for decoding
int EncodeMaxDepth(lua_State* L) {
  return Integer(L, 1, SettingsFor(L, 1).encode_max_depth, 1, INT_MAX);
}

// cjson.decode_max_depth([depth]) -> depth
int DecodeMaxDepth(lua_State* L) {
  return Integer(L, 1, SettingsFor(L, 1).decode_max_depth, 1, INT_MAX);
}

// cjson.encode_number_precision([digits of 1 to 14]) -> digits
int EncodeNumberPrecision(lua_State* L) {
  return Integer(L, 1, SettingsFor(L, 1).precision, 1, 14);
}

// cjson.encode_keep_buffer([boolean]) -> boolean, and nothing changes
int EncodeKeepBuffer(lua_State* L) { return Choice(L, 1, SettingsFor(L, 1).keep_buffer); }

// cjson.encode_invalid_numbers([false, true or "null"]) -> what is set; decode_...: the first two
int EncodeInvalidNumbers(lua_State* L) {
  return Choice(L, 1, SettingsFor(L, 1).encode_invalid, kSwitchOrNull);
}

// cjson.decode_invalid_numbers([boolean]) -> boolean
int DecodeInvalidNumbers(lua_State* L) { return Choice(L, 1, SettingsFor(L, 1).decode_invalid); }

int New(lua_State* L);

// In lua-cjson's order, which shows in pairs().
constexpr luaL_Reg kJsonFunctions[] = {
    {"encode", EncodeJson},
    {"decode", DecodeJson},
    {"encode_sparse_array", EncodeSparseArray},
    {"encode_max_depth", EncodeMaxDepth},
    {"decode_max_depth", DecodeMaxDepth},
    {"encode_number_precision", EncodeNumberPrecision},
    {"encode_keep_buffer", EncodeKeepBuffer},
    {"encode_invalid_numbers", EncodeInvalidNumbers},
    {"decode_invalid_numbers", DecodeInvalidNumbers},
    {"new", New},
};

// cjson.new(): another instance, with settings of its own. The stack holds the instance, then the
// settings until all functions have them.
int New(lua_State* L) {
  lua_newtable(L);
  // Plain numbers: there is no destructor that Lua would have to call.
  new (lua_newuserdata(L, sizeof(JsonSettings))) JsonSettings;
  // Every function gets the same two upvalues: the settings, and nil as room.
  for (const luaL_Reg& row : kJsonFunctions) {
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_pushcclosure(L, row.func, kJsonRoom);
    lua_setfield(L, -3, row.name);
  }
  lua_pop(L, 1);
  lua_pushlightuserdata(L, nullptr);
  lua_setfield(L, -2, "null");
  lua_pushliteral(L, "cjson");
  lua_setfield(L, -2, "_NAME");
  lua_pushliteral(L, "2.1.0");
  lua_setfield(L, -2, "_VERSION");
  return 1;
}

}  // namespace

void OpenJson(lua_State* L) {
  New(L);
  lua_setglobal(L, "cjson");
}

// The settings are shared, so setting them through one function would do; both may hold memory.
void ResetJson(lua_State* L) {
  for (const char* name : {"encode", "decode"}) {
    lua_getfield(L, -1, name);
    lua_pushnil(L);
    lua_setupvalue(L, -2, kJsonRoom);
    lua_getupvalue(L, -1, kJsonSettings);
    *static_cast<JsonSettings*>(lua_touserdata(L, -1)) = JsonSettings();
    lua_pop(L, 2);
  }
}

}  // namespace sluice
