// bit is Debian's lua-bitop, but for tohex: its own writes beyond its buffer when it is asked for
// INT_MIN digits.
#include <algorithm>
#include <cstdint>

#include "scripting/libraries/libraries.h"

extern "C" int luaopen_bit(lua_State* L);

namespace sluice {
namespace {

// bit.tohex(255) -> "000000ff"    bit.tohex(255, 2) -> "ff"    bit.tohex(255, -4) -> "00FF"
//
// bit.tohex(x [, digits]): the lowest digits, in capitals when their number is negative.
int ToHex(lua_State* L) {
  // Normalized as bitop does: the low 32 bits of the number's two's complement. Adding 2^52 + 2^51
  // to a double leaves its integer part, rounded, in the lowest bits, without a conversion that may
  // not fit.
  lua_Number number = luaL_checknumber(L, 1) + 6755399441055744.0;
  uint64_t bits;
  static_assert(sizeof bits == sizeof number);
  __builtin_memcpy(&bits, &number, sizeof bits);
  auto value = static_cast<uint32_t>(bits);
  int64_t digits = 8;
  if (!lua_isnone(L, 2)) {
    number = luaL_checknumber(L, 2) + 6755399441055744.0;
    __builtin_memcpy(&bits, &number, sizeof bits);
    digits = static_cast<int32_t>(bits);
  }
  const char* const alphabet = digits < 0 ? "0123456789ABCDEF" : "0123456789abcdef";
  digits = std::min<int64_t>(digits < 0 ? -digits : digits, 8);
  char text[8];
  for (int64_t i = digits; --i >= 0; value >>= 4) text[i] = alphabet[value & 15];
  lua_pushlstring(L, text, static_cast<size_t>(digits));
  return 1;
}

}  // namespace

// The package is opened as it is, and its tohex replaced before any script sees it.
void OpenBit(lua_State* L) {
  lua_pushcfunction(L, luaopen_bit);
  lua_call(L, 0, 1);
  lua_pushcfunction(L, ToHex);
  lua_setfield(L, -2, "tohex");
  lua_pop(L, 1);
}

}  // namespace sluice
