// MessagePack -> Lua values. Every length is checked against the bytes that are there before
// anything is made of it; nesting ends where Lua's stack does.
#include <cstdint>
#include <cstring>

#include "scripting/libraries/message_pack.h"
#include "scripting/lua/lua_state.h"

namespace sluice {
namespace {

// kEnd: the text ends too soon; kFormat: a byte that begins nothing.
enum class ReadFault : uint8_t { kNone, kEnd, kFormat };

// The rest of the text. After a fault nothing more is pushed, and the caller raises it.
struct Input {
  const char* at;
  size_t left;
  ReadFault fault = ReadFault::kNone;

  // A length that goes beyond the text is a fault before anything is made of it.
  bool Has(size_t bytes) {
    if (bytes <= left) return true;
    fault = ReadFault::kEnd;
    return false;
  }
  // Requires: Has(bytes).
  const char* Take(size_t bytes) {
    const char* const taken = at;
    at += bytes;
    left -= bytes;
    return taken;
  }
  // A number of `bytes` bytes, the highest first; 0 after a fault.
  uint64_t Number(size_t bytes) {
    if (!Has(bytes)) return 0;
    uint64_t number = 0;
    const char* const taken = Take(bytes);
    for (size_t i = 0; i < bytes; ++i) number = (number << 8) | static_cast<uint8_t>(taken[i]);
    return number;
  }
};

// --- values

void ReadValue(lua_State* L, Input& in);

void ReadString(lua_State* L, Input& in, size_t size) {
  if (in.fault != ReadFault::kNone || !in.Has(size)) return;
  lua_pushlstring(L, in.Take(size), size);
}

// An announced count makes no room: the table grows with what comes.
void ReadArray(lua_State* L, Input& in, size_t count) {
  if (in.fault != ReadFault::kNone) return;
  lua_newtable(L);
  luaL_checkstack(L, 1, "in function mp_decode_to_lua_array");
  for (size_t i = 1; i <= count; ++i) {
    lua_pushnumber(L, static_cast<lua_Number>(i));
    ReadValue(L, in);
    if (in.fault != ReadFault::kNone) return;
    lua_rawset(L, -3);
  }
}

// Each read pushes one value or leaves a fault: then the table stays behind for the raise.
void ReadMap(lua_State* L, Input& in, size_t count) {
  if (in.fault != ReadFault::kNone) return;
  lua_newtable(L);
  for (size_t i = 0; i < count; ++i) {
    ReadValue(L, in);
    if (in.fault != ReadFault::kNone) return;
    ReadValue(L, in);
    if (in.fault != ReadFault::kNone) return;
    lua_settable(L, -3);  // not raw: a nil or NaN key is Lua's error, with its text
  }
}

// Bits in the order of the network, made a number of the machine's.
template <typename Float, typename Bits>
void ReadFloat(lua_State* L, Input& in) {
  const auto bits = static_cast<Bits>(in.Number(sizeof(Bits)));
  if (in.fault != ReadFault::kNone) return;
  Float number;
  std::memcpy(&number, &bits, sizeof number);
  lua_pushnumber(L, number);
}

// Beyond 2^53 a Lua number is the nearest double.
template <typename Whole>
void ReadInteger(lua_State* L, Input& in) {
  const auto number = static_cast<Whole>(in.Number(sizeof(Whole)));
  if (in.fault == ReadFault::kNone) lua_pushnumber(L, static_cast<lua_Number>(number));
}

// Formats with lengths or numbers behind them.
void ReadLong(lua_State* L, Input& in, uint8_t format) {
  switch (format) {
    case 0xc0:
      return lua_pushnil(L);
    case 0xc2:
    case 0xc3:
      return lua_pushboolean(L, format & 1);
    case 0xca:
      return ReadFloat<float, uint32_t>(L, in);
    case 0xcb:
      return ReadFloat<double, uint64_t>(L, in);
    case 0xcc:
      return ReadInteger<uint8_t>(L, in);
    case 0xcd:
      return ReadInteger<uint16_t>(L, in);
    case 0xce:
      return ReadInteger<uint32_t>(L, in);
    case 0xcf:
      return ReadInteger<int64_t>(L, in);  // as there, where a Lua integer has a sign
    case 0xd0:
      return ReadInteger<int8_t>(L, in);
    case 0xd1:
      return ReadInteger<int16_t>(L, in);
    case 0xd2:
      return ReadInteger<int32_t>(L, in);
    case 0xd3:
      return ReadInteger<int64_t>(L, in);
    case 0xd9:
      return ReadString(L, in, in.Number(1));
    case 0xda:
      return ReadString(L, in, in.Number(2));
    case 0xdb:
      return ReadString(L, in, in.Number(4));
    case 0xdc:
      return ReadArray(L, in, in.Number(2));
    case 0xdd:
      return ReadArray(L, in, in.Number(4));
    case 0xde:
      return ReadMap(L, in, in.Number(2));
    case 0xdf:
      return ReadMap(L, in, in.Number(4));
    default:
      in.fault = ReadFault::kFormat;
  }
}

// Pushes one value, unless there is a fault.
void ReadValue(lua_State* L, Input& in) {
  luaL_checkstack(L, 3, "too many return values at once; use unpack_one or unpack_limit instead.");
  LuaState::Of(L).Work(L, 1);
  if (!in.Has(1)) return;
  const auto format = static_cast<uint8_t>(*in.Take(1));
  if (format <= 0x7f) return lua_pushnumber(L, format);
  if (format >= 0xe0) return lua_pushnumber(L, static_cast<int8_t>(format));
  if (format >= 0xa0 && format <= 0xbf) return ReadString(L, in, format & 31);
  if (format >= 0x90 && format <= 0x9f) return ReadArray(L, in, format & 15);
  if (format <= 0x8f) return ReadMap(L, in, format & 15);
  ReadLong(L, in, format);
}

// --- the functions

// Reads up to `limit` values (0: all) of the text in slot 1 from `offset`. With a limit the first
// result is where the next begins, or -1 at the end.
int Unpack(lua_State* L, int limit, int offset) {
  size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  const bool all = limit == 0 && offset == 0;
  if (offset < 0 || limit < 0) {
    return luaL_error(L, "Invalid request to unpack with offset of %d and limit of %d.", offset,
                      static_cast<int>(size));
  }
  if (static_cast<size_t>(offset) > size) {
    return luaL_error(L, "Start offset %d greater than input length %d.", offset,
                      static_cast<int>(size));
  }
  // Lua's stack is the bound then: ReadValue asks it for room each time.
  if (all) limit = INT32_MAX;
  Input in{text + offset, size - static_cast<size_t>(offset)};
  int count = 0;
  for (; in.left > 0 && count < limit; ++count) {
    ReadValue(L, in);
    if (in.fault == ReadFault::kEnd) return luaL_error(L, "Missing bytes in input.");
    if (in.fault == ReadFault::kFormat) return luaL_error(L, "Bad data format in input.");
  }
  if (all) return count;
  luaL_checkstack(L, 1, "no room for the offset");
  lua_pushinteger(L, in.left == 0 ? -1 : static_cast<lua_Integer>(size - in.left));
  lua_insert(L, 2);
  return count + 1;
}

}  // namespace

// cmsgpack.unpack(text) -> all values of it
int UnpackMessage(lua_State* L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  return Unpack(L, 0, 0);
}

// cmsgpack.unpack_one(text [, offset]) -> next offset or -1, value
int UnpackOneMessage(lua_State* L) {
  const int offset = luaL_optint(L, 2, 0);
  lua_settop(L, 1);
  return Unpack(L, 1, offset);
}

// cmsgpack.unpack_limit(text, count [, offset]) -> next offset or -1, values
int UnpackLimitedMessages(lua_State* L) {
  const int limit = luaL_checkint(L, 2);
  const int offset = luaL_optint(L, 3, 0);
  lua_settop(L, 1);
  return Unpack(L, limit, offset);
}

}  // namespace sluice
