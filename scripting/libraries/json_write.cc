// Lua values -> JSON. A table whose keys are whole numbers from 1 on is an array, others are
// objects.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "protocol/text/number_text.h"
#include "scripting/libraries/json.h"
#include "scripting/libraries/output_bytes.h"
#include "scripting/lua/lua_state.h"

namespace sluice {
namespace {

constexpr size_t kNumberBytes = 32;  // sign, 14 digits, a point and e-308 fit
constexpr size_t kEscapeBytes = 6;   // \u0000

// How a character is escaped: 0 not at all, 'u' as \u00xx, else as \ and that.
constexpr struct EscapeTable {
  char of[256] = {};
  constexpr char& At(char c) { return of[static_cast<unsigned char>(c)]; }
  constexpr EscapeTable() {
    for (int i = 0; i < 32; ++i) of[i] = 'u';
    of[127] = 'u';
    At('\b') = 'b';
    At('\t') = 't';
    At('\n') = 'n';
    At('\f') = 'f';
    At('\r') = 'r';
    At('"') = '"';
    At('/') = '/';
    At('\\') = '\\';
  }
} kEscapes;

// Recursive; the value at hand is on top of Lua's stack. It writes into OutputBytes, which may
// raise, so nothing here has a destructor.
class JsonWriter {
 public:
  JsonWriter(lua_State* L, const JsonSettings& settings, OutputBytes& out)
      : L_(L), state_(LuaState::Of(L)), settings_(settings), out_(out) {}

  // Writes the value on top of the stack, which lies in `depth` tables.
  void Value(int depth) {
    state_.Work(L_, 1);
    switch (lua_type(L_, -1)) {
      case LUA_TSTRING:
        return String(-1);
      case LUA_TNUMBER:
        return Number(-1);
      case LUA_TBOOLEAN:
        return lua_toboolean(L_, -1) ? out_.Append("true", 4) : out_.Append("false", 5);
      case LUA_TTABLE:
        return Table(depth + 1);
      case LUA_TNIL:
        return out_.Append("null", 4);
      case LUA_TLIGHTUSERDATA:
        if (!lua_touserdata(L_, -1)) return out_.Append("null", 4);
        [[fallthrough]];
      default:
        Refuse(-1, "type not supported");
    }
  }

 private:
  // Does not return.
  void Refuse(int index, const char* reason) {
    luaL_error(L_, "Cannot serialise %s: %s", luaL_typename(L_, index), reason);
  }

  // Bytes pass as they are: UTF-8 is not checked. '/' is escaped, as lua-cjson has it.
  void String(int index) {
    size_t size = 0;
    const char* text = lua_tolstring(L_, index, &size);
    // Room for all of a piece at once, so that its characters need no look at it.
    constexpr size_t kPiece = 256;
    out_.Byte('"');
    for (; size > kPiece; text += kPiece, size -= kPiece) Characters(text, kPiece);
    Characters(text, size);
    out_.Byte('"');
  }

  // Room for the worst case (six bytes each) is reserved once, and committed as far as it was used.
  void Characters(const char* text, size_t size) {
    state_.Work(L_, size / 16);
    char* const begin = out_.Reserve(kEscapeBytes * size);
    char* to = begin;
    for (size_t i = 0; i < size; ++i) {
      const auto character = static_cast<unsigned char>(text[i]);
      const char escape = kEscapes.of[character];
      if (escape == 0) [[likely]] {
        *to++ = text[i];
        continue;
      }
      *to++ = '\\';
      *to++ = escape;
      if (escape != 'u') continue;
      *to++ = '0';
      *to++ = '0';
      *to++ = static_cast<char>('0' + (character >> 4));
      *to++ = "0123456789abcdef"[character & 15];
    }
    out_.Commit(static_cast<size_t>(to - begin));
  }

  // 3 -> 3    0.1 -> 0.1    1/3 -> 0.33333333333333    1e20 -> 1e+20
  void Number(int index) {
    const lua_Number number = lua_tonumber(L_, index);
    if (!std::isfinite(number)) {
      if (settings_.encode_invalid == 0) Refuse(index, "must not be NaN or Inf");
      if (settings_.encode_invalid != 1) return out_.Append("null", 4);
      if (std::isnan(number)) return out_.Append("nan", 3);
    }
    char* const text = out_.Reserve(kNumberBytes);
    // Whole numbers of fewer digits than are written need no printf.
    constexpr lua_Number kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    const bool fits = std::abs(number) < kPowers[settings_.precision];
    const auto whole = static_cast<int64_t>(fits ? number : 0.0);
    if (static_cast<lua_Number>(whole) == number && (whole != 0 || !std::signbit(number)))
        [[likely]] {
      return out_.Commit(static_cast<size_t>(FormatInt64(text, whole) - text));
    }
    const int size = std::snprintf(text, kNumberBytes, "%.*g", settings_.precision, number);
    out_.Commit(static_cast<size_t>(size));
  }

  // A table that holds itself ends at the bound on depth.
  void Table(int depth) {
    if (depth > settings_.encode_max_depth || !lua_checkstack(L_, 3)) {
      luaL_error(L_, "Cannot serialise, excessive nesting (%d)", depth);
    }
    state_.Work(L_, state_.weight());  // to look at all its keys
    const int length = ArrayLength();
    if (length > 0) {
      Array(length, depth);
    } else {
      Object(depth);
    }
  }

  // The length of the table on top as an array; -1 or 0: it is an object. Walks once over all keys,
  // for the highest and their number: {[1]=1,[2]=2} is an array, {[1]=1,a=2} is not, {} is an
  // object.
  int ArrayLength() {
    int highest = 0;
    int count = 0;
    lua_pushnil(L_);
    while (lua_next(L_, -2)) {
      const lua_Number key = lua_type(L_, -2) == LUA_TNUMBER ? lua_tonumber(L_, -2) : 0;
      if (!(key >= 1) || std::floor(key) != key) {
        lua_pop(L_, 2);
        return -1;
      }
      // A key that does not fit becomes what the conversion to int gives on x86-64.
      if (key > highest) highest = key <= INT32_MAX ? static_cast<int>(key) : INT32_MIN;
      ++count;
      lua_pop(L_, 1);
    }
    const auto places = static_cast<int>(static_cast<uint32_t>(count) *
                                         static_cast<uint32_t>(settings_.sparse_ratio));
    if (settings_.sparse_ratio > 0 && highest > places && highest > settings_.sparse_safe) {
      if (!settings_.sparse_convert) Refuse(-1, "excessively sparse array");
      return -1;
    }
    return highest;
  }

  // Holes become null: {1, nil, 3} -> [1,null,3].
  void Array(int length, int depth) {
    // No place takes less than a digit and a comma: what cannot fit fails here.
    out_.Reserve(2 * static_cast<size_t>(length));
    for (int i = 1; i <= length; ++i) {
      out_.Byte(i == 1 ? '[' : ',');
      lua_rawgeti(L_, -1, i);
      Value(depth);
      lua_pop(L_, 1);
    }
    out_.Byte(']');
  }

  // In the order of lua_next, which is Lua's own and Redis's.
  void Object(int depth) {
    out_.Byte('{');
    bool first = true;
    lua_pushnil(L_);
    while (lua_next(L_, -2)) {
      if (!first) out_.Byte(',');
      first = false;
      Key();
      out_.Byte(':');
      Value(depth);
      lua_pop(L_, 1);
    }
    out_.Byte('}');
  }

  // Numbers as keys become texts: {[1.5] = 1} -> {"1.5":1}.
  void Key() {
    switch (lua_type(L_, -2)) {
      case LUA_TSTRING:
        return String(-2);
      case LUA_TNUMBER:
        out_.Byte('"');
        Number(-2);
        return out_.Byte('"');
      default:
        Refuse(-2, "table key must be a number or string");
    }
  }

  lua_State* const L_;
  LuaState& state_;
  const JsonSettings& settings_;
  OutputBytes& out_;
};

}  // namespace

// --- the function

// cjson.encode(value) -> text
int EncodeJson(lua_State* L) {
  luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
  OutputBytes out(L, lua_upvalueindex(kJsonRoom));
  JsonWriter(L, JsonSettingsOf(L), out).Value(0);
  out.PushString();
  return 1;
}

}  // namespace sluice
