// Lua values -> MessagePack. Numbers that are whole are packed as integers, in the fewest bytes;
// tables with keys 1..n as arrays, others as maps; what has no counterpart, and tables nested
// deeper than kNestingMax (cycles among them), as nil.
#include <cstdint>
#include <cstring>

#include "scripting/libraries/libraries.h"
#include "scripting/libraries/message_pack.h"
#include "scripting/libraries/output_bytes.h"
#include "scripting/lua/lua_state.h"

namespace sluice {
namespace {

// As lua-cmsgpack: deeper tables, and those that hold themselves, end as nil.
constexpr int kNestingMax = 16;

// --- heads and bytes

// A format byte, then `bytes` (0 to 8) of a number, the highest first.
void WriteHead(OutputBytes& out, uint8_t format, uint64_t number, size_t bytes) {
  char head[9] = {static_cast<char>(format)};
  for (size_t i = 0; i < bytes; ++i) {
    head[1 + i] = static_cast<char>(number >> (8 * (bytes - 1 - i)));
  }
  out.Append(head, 1 + bytes);
}

void WriteByte(OutputBytes& out, uint8_t byte) { out.Byte(static_cast<char>(byte)); }

void WriteValue(lua_State* L, OutputBytes& out, int depth);

// --- values

// "abc" -> a3 61 62 63
void WriteString(lua_State* L, OutputBytes& out) {
  size_t size = 0;
  const char* text = lua_tolstring(L, -1, &size);
  if (size < 32) {
    WriteByte(out, static_cast<uint8_t>(0xa0 | size));
  } else if (size <= 0xff) {
    WriteHead(out, 0xd9, size, 1);
  } else if (size <= 0xffff) {
    WriteHead(out, 0xda, size, 2);
  } else {
    WriteHead(out, 0xdb, size, 4);
  }
  out.Append(text, size);
}

// 7 -> 07    200 -> cc c8    -1 -> ff    -200 -> d1 ff 38
void WriteInteger(int64_t number, OutputBytes& out) {
  const auto bits = static_cast<uint64_t>(number);
  if (number >= 0) {
    if (number <= 127) return WriteByte(out, static_cast<uint8_t>(number));
    if (number <= 0xff) return WriteHead(out, 0xcc, bits, 1);
    if (number <= 0xffff) return WriteHead(out, 0xcd, bits, 2);
    if (number <= 0xffffffff) return WriteHead(out, 0xce, bits, 4);
    return WriteHead(out, 0xcf, bits, 8);
  }
  if (number >= -32) return WriteByte(out, static_cast<uint8_t>(bits));
  if (number >= INT8_MIN) return WriteHead(out, 0xd0, bits, 1);
  if (number >= INT16_MIN) return WriteHead(out, 0xd1, bits, 2);
  if (number >= INT32_MIN) return WriteHead(out, 0xd2, bits, 4);
  WriteHead(out, 0xd3, bits, 8);
}

// 0.5 -> ca 3f000000, as a float holds it; 0.1 -> cb and eight bytes
void WriteNumber(lua_State* L, OutputBytes& out) {
  const lua_Number number = lua_tonumber(L, -1);
  if (number >= -0x1p63 && number < 0x1p63 &&
      static_cast<lua_Number>(static_cast<int64_t>(number)) == number) {
    return WriteInteger(static_cast<int64_t>(number), out);
  }
  const auto narrow = static_cast<float>(number);
  if (static_cast<lua_Number>(narrow) == number) {
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    return WriteHead(out, 0xca, bits, 4);
  }
  uint64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  WriteHead(out, 0xcb, bits, 8);
}

// Whether the keys of the table on top are 1..n; `count` of them.
bool IsArray(lua_State* L, size_t& count) {
  count = 0;
  lua_Number highest = 0;
  bool whole = true;
  for (lua_pushnil(L); lua_next(L, -2); ++count) {
    lua_pop(L, 1);
    const lua_Number key = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
    if (!(key > 0 && key <= 0x7fffffff) || key != static_cast<int>(key)) whole = false;
    if (key > highest) highest = key;
  }
  return whole && highest == static_cast<lua_Number>(count);
}

// {1, 2} -> 92 01 02    {a = 1} -> 81 a1 61 01    {} -> 90: no key of it is unlike an array's
void WriteTable(lua_State* L, OutputBytes& out, int depth) {
  LuaState& state = LuaState::Of(L);
  state.Work(L, state.weight());  // to look at all its keys
  size_t count;
  if (IsArray(L, count)) {
    if (count <= 15) {
      WriteByte(out, static_cast<uint8_t>(0x90 | count));
    } else if (count <= 0xffff) {
      WriteHead(out, 0xdc, count, 2);
    } else {
      WriteHead(out, 0xdd, count, 4);
    }
    for (size_t i = 1; i <= count; ++i) {
      lua_rawgeti(L, -1, static_cast<int>(i));
      WriteValue(L, out, depth + 1);
    }
    return;
  }
  if (count <= 15) {
    WriteByte(out, static_cast<uint8_t>(0x80 | count));
  } else if (count <= 0xffff) {
    WriteHead(out, 0xde, count, 2);
  } else {
    WriteHead(out, 0xdf, count, 4);
  }
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pushvalue(L, -2);
    WriteValue(L, out, depth + 1);
    WriteValue(L, out, depth + 1);
  }
}

// Packs the value on top of the stack and pops it.
void WriteValue(lua_State* L, OutputBytes& out, int depth) {
  luaL_checkstack(L, 5, "in function mp_encode_lua_type");
  LuaState::Of(L).Work(L, 1);
  switch (lua_type(L, -1)) {
    case LUA_TSTRING:
      WriteString(L, out);
      break;
    case LUA_TBOOLEAN:
      WriteByte(out, lua_toboolean(L, -1) ? 0xc3 : 0xc2);
      break;
    case LUA_TNUMBER:
      WriteNumber(L, out);
      break;
    case LUA_TTABLE:
      if (depth == kNestingMax) {
        WriteByte(out, 0xc0);
      } else {
        WriteTable(L, out, depth);
      }
      break;
    default:
      WriteByte(out, 0xc0);
  }
  lua_pop(L, 1);
}

}  // namespace

// --- the functions

// cmsgpack.pack(...): all arguments, one message behind the other.
int PackMessage(lua_State* L) {
  const int count = lua_gettop(L);
  if (count == 0) return luaL_argerror(L, 0, "MessagePack pack needs input.");
  luaL_checkstack(L, 8, "Too many arguments for MessagePack pack.");
  lua_pushnil(L);  // a place for what the message outgrows its frame with
  OutputBytes out(L, count + 1);
  for (int i = 1; i <= count; ++i) {
    lua_pushvalue(L, i);
    WriteValue(L, out, 0);
  }
  out.PushString();
  return 1;
}

namespace {

// In the order in which lua-cmsgpack sets them, which shows in pairs().
constexpr luaL_Reg kMessagePackFunctions[] = {{"pack", PackMessage},
                                              {"unpack", UnpackMessage},
                                              {"unpack_one", UnpackOneMessage},
                                              {"unpack_limit", UnpackLimitedMessages},
                                              {nullptr, nullptr}};
constexpr const char* kTexts[][2] = {
    {"_NAME", "cmsgpack"},
    {"_VERSION", "lua-cmsgpack 0.4.0"},
    {"_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo"},
    {"_DESCRIPTION", "MessagePack C implementation for Lua"},
};

}  // namespace

void OpenMessagePack(lua_State* L) {
  luaL_register(L, "cmsgpack", kMessagePackFunctions);
  for (const auto& [name, text] : kTexts) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
  }
  lua_pop(L, 1);
}

}  // namespace sluice
