// cjson is Debian's lua-cjson, linked as it is, with bounds in front of it: its buffer counts in
// `int` and ends the process when it cannot grow, and it is outside Lua's counted memory. So a
// value is weighed before it is encoded, and what a script changes in its settings is undone after
// it.
#include <cstddef>
#include <initializer_list>

#include "scripting/libraries/libraries.h"

extern "C" int luaopen_cjson(lua_State* L);

namespace sluice {
namespace {

// The most that one encoding may weigh: bytes of JSON at worst.
constexpr size_t kJsonBytesMax = 256UL << 20;
// Above it the encoder's buffer is given back after the script.
constexpr size_t kBufferKept = 1UL << 20;
// A table counts for more than its brackets: small ones met again and again cost time too.
constexpr size_t kTableWeight = 64;
constexpr size_t kNumberWeight = 32;

// Bytes of JSON that the value on top makes at most, from `sum` on; stops beyond the bound. What is
// nested too deeply is left to cjson's own check.
size_t Weigh(lua_State* L, size_t sum) {
  switch (lua_type(L, -1)) {
    case LUA_TSTRING:
      return sum + 6 * lua_objlen(L, -1) + 2;
    case LUA_TTABLE:
      sum += kTableWeight;
      if (!lua_checkstack(L, 3)) return sum;
      lua_pushnil(L);
      while (lua_next(L, -2)) {
        sum = Weigh(L, sum) + 2;
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TSTRING) sum += 6 * lua_objlen(L, -1) + 2;
        if (sum > kJsonBytesMax) {
          lua_pop(L, 1);
          break;
        }
      }
      return sum;
    default:
      return sum + kNumberWeight;
  }
}

// The functions of cjson find their settings in their first upvalue, which ours therefore share.
// The second is cjson's own function, the third whether settings were changed.
lua_CFunction Original(lua_State* L) { return lua_tocfunction(L, lua_upvalueindex(2)); }

bool& Changed(lua_State* L) { return *static_cast<bool*>(lua_touserdata(L, lua_upvalueindex(3))); }

int Encode(lua_State* L) {
  if (lua_gettop(L) == 1) {
    const size_t weight = Weigh(L, 0);
    if (weight > kJsonBytesMax) luaL_error(L, "Cannot serialise: the result would be too large");
    if (weight > kBufferKept) Changed(L) = true;
  }
  return Original(L)(L);
}

int Configure(lua_State* L) {
  if (lua_gettop(L) > 0) Changed(L) = true;
  return Original(L)(L);
}

void Wrap(lua_State* L, const char* name, lua_CFunction function, bool& changed) {
  lua_getfield(L, -1, name);
  lua_getupvalue(L, -1, 1);
  lua_insert(L, -2);
  lua_pushlightuserdata(L, &changed);
  lua_pushcclosure(L, function, 3);
  lua_setfield(L, -2, name);
}

constexpr const char* kSettings[] = {
    "encode_sparse_array",     "encode_max_depth",   "decode_max_depth",
    "encode_number_precision", "encode_keep_buffer", "encode_invalid_numbers",
    "decode_invalid_numbers",
};

int New(lua_State* L);

// Pushes an instance of cjson behind our bounds.
void PushInstance(lua_State* L, bool& changed) {
  const int before = lua_gettop(L);
  luaopen_cjson(L);
  lua_settop(L, before + 1);
  Wrap(L, "encode", Encode, changed);
  for (const char* name : kSettings) Wrap(L, name, Configure, changed);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushlightuserdata(L, &changed);
  lua_pushcclosure(L, New, 3);
  lua_setfield(L, -2, "new");
}

// cjson.new(): another instance with settings of its own.
int New(lua_State* L) {
  PushInstance(L, Changed(L));
  return 1;
}

// Calls <name> of the table below the `count` arguments on top of the stack.
void Set(lua_State* L, const char* name, int count) {
  lua_getfield(L, -count - 1, name);
  lua_insert(L, -count - 1);
  lua_call(L, count, 0);
}

}  // namespace

void OpenJson(lua_State* L, bool& changed) {
  PushInstance(L, changed);
  lua_setglobal(L, "cjson");
}

void ResetJson(lua_State* L) {
  lua_pushboolean(L, 0);
  lua_pushinteger(L, 2);
  lua_pushinteger(L, 10);
  Set(L, "encode_sparse_array", 3);
  for (const char* name : {"encode_max_depth", "decode_max_depth"}) {
    lua_pushinteger(L, 1000);
    Set(L, name, 1);
  }
  lua_pushinteger(L, 14);
  Set(L, "encode_number_precision", 1);
  for (const char* name : {"encode_invalid_numbers", "decode_invalid_numbers"}) {
    lua_pushboolean(L, 0);
    Set(L, name, 1);
  }
  // Off and on again: that frees the buffer.
  for (const int on : {0, 1}) {
    lua_pushboolean(L, on);
    Set(L, "encode_keep_buffer", 1);
  }
}

}  // namespace sluice
