// struct: values to and from bytes by a format, as Redis's library of that name does.
//
//   > < big or little endian (the machine's own at first)   !n  align to at most n (none at first)
//   b B h H l L T   integers of the C type's size, signed when small     i[n] I[n]  of n bytes
//   f d   float and double      x  a zero byte      s  a string and a zero     c[n]  n bytes
//   (c0: the whole string; when reading: as many as the number before it says)     ' '  nothing
//
// Whatever a format says is bounded by the data that is there.
#include <cctype>
#include <climits>
#include <cstdint>
#include <cstring>
#include <utility>

#include "protocol/text/truncated.h"
#include "scripting/libraries/libraries.h"

namespace sluice {
namespace {

// i33 is an error in the format, as in the library that this follows.
constexpr int kIntegerBytesMax = 32;
constexpr int kAlignmentDefault = 8;

// The settings that the format has made so far; each holds until the next.
struct Layout {
  bool big = false;
  int alignment = 1;
};

// --- the format

// The digits at the format's front; `otherwise` if there are none.
int ReadNumber(lua_State* L, const char** format, int otherwise) {
  if (!std::isdigit(static_cast<unsigned char>(**format))) return otherwise;
  int number = 0;
  do {
    const int digit = *(*format)++ - '0';
    if (number > INT_MAX / 10 || number * 10 > INT_MAX - digit) {
      luaL_error(L, "integral size overflow");
    }
    number = number * 10 + digit;
  } while (std::isdigit(static_cast<unsigned char>(**format)));
  return number;
}

// Bytes of one option; 0 for one that has no size of its own. Takes the number behind i, I and c
// off the format.
size_t OptionBytes(lua_State* L, char option, const char** format) {
  switch (option) {
    case 'b':
    case 'B':
    case 'x':
      return 1;
    case 'h':
    case 'H':
      return sizeof(short);
    case 'l':
    case 'L':
      return sizeof(long);
    case 'T':
      return sizeof(size_t);
    case 'f':
      return sizeof(float);
    case 'd':
      return sizeof(double);
    case 'c':
      return static_cast<size_t>(ReadNumber(L, format, 1));
    case 'i':
    case 'I': {
      const int bytes = ReadNumber(L, format, sizeof(int));
      if (bytes > kIntegerBytesMax) {
        luaL_error(L, "integral size %d is larger than limit of %d", bytes, kIntegerBytesMax);
      }
      return static_cast<size_t>(bytes);
    }
    default:
      return 0;
  }
}

// Zero bytes before an option so that it begins at a multiple of its size, of the alignment at
// most.
size_t Padding(size_t position, const Layout& layout, char option, size_t bytes) {
  if (bytes == 0 || option == 'c') return 0;
  if (bytes > static_cast<size_t>(layout.alignment)) bytes = layout.alignment;
  return (bytes - (position & (bytes - 1))) & (bytes - 1);
}

// Options that stand for no bytes.
void Control(lua_State* L, char option, const char** format, Layout& layout) {
  switch (option) {
    case ' ':
      return;
    case '>':
      layout.big = true;
      return;
    case '<':
      layout.big = false;
      return;
    case '!': {
      const int alignment = ReadNumber(L, format, kAlignmentDefault);
      if (alignment <= 0 || (alignment & (alignment - 1)) != 0) {
        luaL_error(L, "alignment %d is not a power of 2", alignment);
      }
      layout.alignment = alignment;
      return;
    }
    default:
      luaL_argerror(L, 1, lua_pushfstring(L, "invalid format option '%c'", option));
  }
}

// --- integers of any width: beyond 8 bytes they are extended by zeros, as there

uint64_t ToInteger(lua_Number number) {
  // A number that does not fit a C integer becomes what the conversion gives on x86-64.
  if (number < 0) return static_cast<uint64_t>(Truncated<int64_t>(number));
  if (number < 0x1p64) return static_cast<uint64_t>(number);
  return number != number ? uint64_t{1} << 63 : 0;
}

// The lowest bytes of the number; what does not fit is cut off, as in C.
void PutInteger(lua_State* L, luaL_Buffer* out, int argument, bool big, size_t bytes) {
  uint64_t value = ToInteger(luaL_checknumber(L, argument));
  char text[kIntegerBytesMax];
  for (size_t i = 0; i < bytes; ++i) {
    text[big ? bytes - 1 - i : i] = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  luaL_addlstring(out, text, bytes);
}

// Small letters are signed.
bool IsSigned(char option) { return option >= 'a' && option <= 'z'; }

// More than 8 bytes: the lowest 8 count, in either order.
lua_Number GetInteger(const char* data, bool big, bool is_signed, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value = (value << 8) | static_cast<unsigned char>(data[big ? i : bytes - 1 - i]);
  }
  if (!is_signed) return static_cast<lua_Number>(value);
  if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1)) & 1)
    value |= ~uint64_t{0} << (8 * bytes);
  return static_cast<lua_Number>(static_cast<int64_t>(value));
}

template <typename Float>
void PutFloat(lua_State* L, luaL_Buffer* out, int argument, bool big) {
  const auto number = static_cast<Float>(luaL_checknumber(L, argument));
  char text[sizeof number];
  std::memcpy(text, &number, sizeof number);
  if (big) {
    for (size_t i = 0; i < sizeof number / 2; ++i) std::swap(text[i], text[sizeof number - 1 - i]);
  }
  luaL_addlstring(out, text, sizeof number);
}

// Bytes into the machine's order, which is little-endian.
template <typename Float>
lua_Number GetFloat(const char* data, bool big) {
  char text[sizeof(Float)];
  for (size_t i = 0; i < sizeof text; ++i) text[i] = data[big ? sizeof text - 1 - i : i];
  Float number;
  std::memcpy(&number, text, sizeof number);
  return number;
}

// --- the functions

// Options of integers differ in bytes and sign alone: 'i' for all of them, others as they are.
char KindOf(char option) { return std::strchr("bBhHlLTiI", option) ? 'i' : option; }

// struct.pack(">I2s", 258, "ab") -> 01 02 61 62 00
int Pack(lua_State* L) {
  const char* format = luaL_checkstring(L, 1);
  Layout layout;
  int argument = 2;
  size_t total = 0;
  luaL_Buffer out;
  lua_pushnil(L);  // between the arguments and what the buffer keeps on the stack
  luaL_buffinit(L, &out);
  while (*format != '\0') {
    const char option = *format++;
    size_t bytes = OptionBytes(L, option, &format);
    size_t padding = Padding(total, layout, option, bytes);
    total += padding;
    for (; padding > 0; --padding) luaL_addchar(&out, '\0');
    switch (KindOf(option)) {
      case 'i':
        PutInteger(L, &out, argument++, layout.big, bytes);
        break;
      case 'x':
        luaL_addchar(&out, '\0');
        break;
      case 'f':
        PutFloat<float>(L, &out, argument++, layout.big);
        break;
      case 'd':
        PutFloat<double>(L, &out, argument++, layout.big);
        break;
      case 'c':
      case 's': {
        size_t size = 0;
        const char* text = luaL_checklstring(L, argument++, &size);
        if (bytes == 0) bytes = size;
        luaL_argcheck(L, size >= bytes, argument, "string too short");
        luaL_addlstring(&out, text, bytes);
        if (option == 's') {
          luaL_addchar(&out, '\0');
          ++bytes;
        }
        break;
      }
      default:
        Control(L, option, &format, layout);
    }
    total += bytes;
  }
  luaL_pushresult(&out);
  return 1;
}

// Takes the size that `c0` has from the result before it; `size` + 1 where it is more than `size`.
// The number is a result that Unpack has pushed, and is no result any more.
size_t TakeSize(lua_State* L, int results, size_t size) {
  if (results == 0 || !lua_isnumber(L, -1)) luaL_error(L, "format 'c0' needs a previous size");
  const uint64_t wanted = ToInteger(lua_tonumber(L, -1));
  lua_pop(L, 1);
  return wanted <= size ? static_cast<size_t>(wanted) : size + 1;
}

// Pushes a text that ends with a zero byte; how many bytes it takes with that.
size_t PushText(lua_State* L, const char* text, size_t room) {
  const void* const end = std::memchr(text, '\0', room);
  if (!end) luaL_error(L, "unfinished string in data");
  const auto bytes = static_cast<size_t>(static_cast<const char*>(end) - text);
  lua_pushlstring(L, text, bytes);
  return bytes + 1;
}

// struct.unpack(">I2s", text [, position]) -> 258, "ab", the position behind them
int Unpack(lua_State* L) {
  const char* format = luaL_checkstring(L, 1);
  size_t size = 0;
  const char* data = luaL_checklstring(L, 2, &size);
  // One below zero is far behind the text, as there.
  const auto offset = static_cast<size_t>(luaL_optinteger(L, 3, 1));
  luaL_argcheck(L, offset > 0, 3, "offset must be 1 or greater");
  size_t position = offset - 1;
  Layout layout;
  int results = 0;
  while (*format != '\0') {
    const char option = *format++;
    size_t bytes = OptionBytes(L, option, &format);
    position += Padding(position, layout, option, bytes);
    luaL_argcheck(L, bytes <= size && position <= size - bytes, 2, "data string too short");
    luaL_checkstack(L, 2, "too many results");
    const char* const here = data + position;
    switch (KindOf(option)) {
      case 'i':
        lua_pushnumber(L, GetInteger(here, layout.big, IsSigned(option), bytes));
        ++results;
        break;
      case 'x':
        break;
      case 'f':
        lua_pushnumber(L, GetFloat<float>(here, layout.big));
        ++results;
        break;
      case 'd':
        lua_pushnumber(L, GetFloat<double>(here, layout.big));
        ++results;
        break;
      case 'c':
        if (bytes == 0) {
          bytes = TakeSize(L, results--, size);
          luaL_argcheck(L, bytes <= size && position <= size - bytes, 2, "data string too short");
        }
        lua_pushlstring(L, here, bytes);
        ++results;
        break;
      case 's':
        bytes = PushText(L, here, size - position);
        ++results;
        break;
      default:
        Control(L, option, &format, layout);
    }
    position += bytes;
  }
  lua_pushinteger(L, static_cast<lua_Integer>(position + 1));
  return results + 1;
}

// struct.size(">I2d") -> 10
int Size(lua_State* L) {
  const char* format = luaL_checkstring(L, 1);
  Layout layout;
  size_t position = 0;
  while (*format != '\0') {
    const char option = *format++;
    const size_t bytes = OptionBytes(L, option, &format);
    position += Padding(position, layout, option, bytes);
    if (option == 's') {
      luaL_argerror(L, 1, "option 's' has no fixed size");
    } else if (option == 'c' && bytes == 0) {
      luaL_argerror(L, 1, "option 'c0' has no fixed size");
    }
    if (!std::isalnum(static_cast<unsigned char>(option))) Control(L, option, &format, layout);
    position += bytes;
  }
  lua_pushinteger(L, static_cast<lua_Integer>(position));
  return 1;
}

constexpr luaL_Reg kStructFunctions[] = {
    {"pack", Pack}, {"unpack", Unpack}, {"size", Size}, {nullptr, nullptr}};

}  // namespace

void OpenStruct(lua_State* L) {
  luaL_register(L, "struct", kStructFunctions);
  lua_pop(L, 1);
}

}  // namespace sluice
