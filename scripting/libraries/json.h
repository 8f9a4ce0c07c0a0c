// The settings of an instance of cjson (cjson itself, or one of cjson.new()), which its two halves
// share. Its functions find them in their first upvalue.
//
// cjson.encode{1, 2, {a = true}}  -> [1,2,{"a":true}]       cjson.decode('{"a":[1,null]}')
// cjson.encode{}                  -> {}                     -> {a = {1, cjson.null}}
#pragma once

#include "scripting/lua/lua_api.h"

namespace sluice {

// Lives in a userdata, so Lua frees it with the last function that has it.
struct JsonSettings {
  int sparse_convert = 0;  // arrays with too many holes become objects; else they are refused
  int sparse_ratio = 2;    // too many: more than so many places a value. 0: never
  int sparse_safe = 10;    // arrays up to this length may have any holes
  int encode_max_depth = 1000;
  int decode_max_depth = 1000;
  int encode_invalid = 0;  // NaN and infinity: 0 are refused, 1 are written, 2 become null
  int decode_invalid = 1;  // NaN, infinity, hexadecimal numbers and leading zeros are read
  int precision = 14;      // significant digits of a number
  int keep_buffer = 1;     // answered, and nothing else: no buffer outlives a call here
};

// Upvalues of a function of cjson. The second holds a userdata while the function works, so that an
// error which jumps out leaves it where ResetJson finds it.
inline constexpr int kJsonSettings = 1;
inline constexpr int kJsonRoom = 2;

// For functions of cjson alone: reads their first upvalue.
inline const JsonSettings& JsonSettingsOf(lua_State* L) {
  return *static_cast<const JsonSettings*>(lua_touserdata(L, lua_upvalueindex(kJsonSettings)));
}

int EncodeJson(lua_State* L);  // cjson.encode(value)
int DecodeJson(lua_State* L);  // cjson.decode(text)

}  // namespace sluice
