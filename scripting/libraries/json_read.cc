// JSON -> Lua values. The text ends at its first zero byte, as a C string does. null becomes
// cjson.null, a light userdata, for a table cannot hold nil.
#include <strings.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "scripting/libraries/json.h"
#include "scripting/lua/lua_state.h"

namespace sluice {
namespace {

// The first eleven stand in the order of kTokenNames.
enum class Token : uint8_t {
  kObjectBegin,
  kObjectEnd,
  kArrayBegin,
  kArrayEnd,
  kString,
  kNumber,
  kBoolean,
  kNull,
  kColon,
  kComma,
  kEnd,
  kBlank,
  kWord,  // begins something longer
  kFault,
};

// As faults call them.
constexpr const char* kTokenNames[] = {
    "T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END", "T_STRING", "T_NUMBER",
    "T_BOOLEAN",   "T_NULL",    "T_COLON",     "T_COMMA",   "T_END",
};

// --- characters

// The token that a character begins, in a table made by the compiler: one load a character.
constexpr struct TokenTable {
  Token of[256] = {};
  constexpr Token& At(char c) { return of[static_cast<unsigned char>(c)]; }
  constexpr TokenTable() {
    for (Token& token : of) token = Token::kFault;
    At('{') = Token::kObjectBegin;
    At('}') = Token::kObjectEnd;
    At('[') = Token::kArrayBegin;
    At(']') = Token::kArrayEnd;
    At(',') = Token::kComma;
    At(':') = Token::kColon;
    At('\0') = Token::kEnd;
    for (const char c : {' ', '\t', '\n', '\r'}) At(c) = Token::kBlank;
    for (const char c : {'f', 'i', 'I', 'n', 'N', 't', '"', '+', '-'}) At(c) = Token::kWord;
    for (char c = '0'; c <= '9'; ++c) At(c) = Token::kWord;
  }
} kTokens;

// The character that an escape stands for; 0: it may not follow a backslash.
char Unescaped(char escape) {
  switch (escape) {
    case '"':
    case '\\':
    case '/':
      return escape;
    case 'b':
      return '\b';
    case 't':
      return '\t';
    case 'n':
      return '\n';
    case 'f':
      return '\f';
    case 'r':
      return '\r';
    default:
      return 0;
  }
}

// Four hexadecimal digits, or -1. Stops at the first other character, so at the end of the text
// too.
int HexDigits(const char* text) {
  int number = 0;
  for (int i = 0; i < 4; ++i) {
    const char lower = static_cast<char>(text[i] | 0x20);
    int digit;
    if (text[i] >= '0' && text[i] <= '9') {
      digit = text[i] - '0';
    } else if (lower >= 'a' && lower <= 'f') {
      digit = lower - 'a' + 10;
    } else {
      return -1;
    }
    number = number << 4 | digit;
  }
  return number;
}

// One to four bytes: the first says how many, each other has six bits.
size_t WriteUtf8(char* to, int code) {
  if (code <= 0x7f) {
    to[0] = static_cast<char>(code);
    return 1;
  }
  const size_t bytes = code <= 0x7ff ? 2 : code <= 0xffff ? 3 : 4;
  for (size_t i = bytes - 1; i > 0; --i, code >>= 6)
    to[i] = static_cast<char>(0x80 | (code & 0x3f));
  to[0] = static_cast<char>((0xf00 >> bytes) | code);
  return bytes;
}

// A recursive descent over tokens, without a copy of the text. Texts of strings are views of it
// unless they have escapes. It has no destructor: faults are errors of Lua, which jump over it.
class JsonReader {
 public:
  JsonReader(lua_State* L, const JsonSettings& settings, const char* text, size_t size)
      : L_(L),
        state_(LuaState::Of(L)),
        settings_(settings),
        text_(text),
        at_(text),
        end_(text + size) {}

  // Pushes the one value of the text.
  void Whole() {
    Next();
    Value();
    Next();
    if (token_ != Token::kEnd) Fault("the end");
  }

 private:
  // --- tokens

  // Reads one token and what it carries: boolean_, number_ or string_. A fault of the text becomes
  // a token, and an error only where that token is not expected, which is how lua-cjson words it.
  void Next() {
    state_.Work(L_, 1);
    while (true) {
      token_ = kTokens.of[static_cast<unsigned char>(*at_)];
      if (token_ != Token::kBlank) break;
      ++at_;
    }
    token_at_ = at_;
    if (token_ == Token::kFault) return Bad("invalid token");
    if (token_ == Token::kEnd) return;
    if (token_ != Token::kWord) {
      ++at_;
      return;
    }
    Word();
  }

  // `inf` and `nan` are words as long as settings allow them; "+1" too.
  void Word() {
    const char first = *at_;
    if (first == '"') return String();
    if (first == '-' || (first >= '0' && first <= '9')) {
      if (!settings_.decode_invalid && IsUnusualNumber()) return Bad("invalid number");
      return Number();
    }
    if (std::strncmp(at_, "true", 4) == 0) return Known(Token::kBoolean, 4, true);
    if (std::strncmp(at_, "false", 5) == 0) return Known(Token::kBoolean, 5, false);
    if (std::strncmp(at_, "null", 4) == 0) return Known(Token::kNull, 4, false);
    if (settings_.decode_invalid && IsUnusualNumber()) return Number();
    Bad("invalid token");
  }

  void Known(Token token, int bytes, bool boolean) {
    token_ = token;
    boolean_ = boolean;
    at_ += bytes;
  }

  // A fault of the text here.
  void Bad(const char* reason) {
    token_ = Token::kFault;
    token_at_ = at_;
    reason_ = reason;
  }

  // Numbers that strtod takes and JSON does not have. As there, not all of them are recognized.
  bool IsUnusualNumber() const {
    const char* at = at_;
    if (*at == '+') return true;
    if (*at == '-') ++at;
    if (*at == '0') return (at[1] | 0x20) == 'x' || (at[1] >= '0' && at[1] <= '9');
    if (*at <= '9') return false;
    return strncasecmp(at, "inf", 3) == 0 || strncasecmp(at, "nan", 3) == 0;
  }

  // 12 -> 12; 12.5, 1e3, 0x10 go to strtod, which takes more than JSON has: hence IsUnusualNumber.
  void Number() {
    token_ = Token::kNumber;
    // Whole numbers that a double holds exactly need no strtod.
    constexpr int kExactDigits = 15;
    const bool negative = *at_ == '-';
    const char* digit = at_ + negative;
    const char* const first = digit;
    int64_t whole = 0;
    for (; *digit >= '0' && *digit <= '9' && digit - first < kExactDigits; ++digit) {
      whole = 10 * whole + (*digit - '0');
    }
    const char behind = static_cast<char>(*digit | 0x20);
    const bool goes_on =
        (*digit >= '0' && *digit <= '9') || *digit == '.' || behind == 'e' || behind == 'x';
    if (digit > first && !goes_on) [[likely]] {
      number_ = static_cast<double>(whole);
      if (negative) number_ = -number_;
      at_ = digit;
      return;
    }
    char* end = nullptr;
    number_ = std::strtod(at_, &end);
    if (end == at_) return Bad("invalid number");
    state_.Work(L_, static_cast<size_t>(end - at_) / 4);
    at_ = end;
  }

  // Without an escape it is taken from where it stands, else put together in a buffer as long as
  // the rest of the text.
  void String() {
    const char* const begin = ++at_;
    SkipPlain();
    if (*at_ != '"') return EscapedString(begin);
    string_ = begin;
    string_bytes_ = static_cast<size_t>(at_ - begin);
    token_ = Token::kString;
    ++at_;
  }

  // To the end of the string, an escape or the end of the text, whichever comes first.
  void SkipPlain() {
    const char* const begin = at_;
    while (*at_ != '"' && *at_ != '\\' && *at_ != '\0') ++at_;
    state_.Work(L_, static_cast<size_t>(at_ - begin) / 16);
  }

  // Plain runs are copied at once, escapes one by one. No escape is shorter than what it stands
  // for, so the room is enough.
  void EscapedString(const char* begin) {
    MakeRoom();
    char* to = room_;
    while (true) {
      const auto plain = static_cast<size_t>(at_ - begin);
      std::memcpy(to, begin, plain);
      to += plain;
      if (*at_ == '"') break;
      if (*at_ == '\0') return Bad("unexpected end of string");
      if (at_[1] == 'u') {
        if (!Unicode(to)) return Bad("invalid unicode escape code");
      } else {
        const char character = Unescaped(at_[1]);
        if (character == 0) return Bad("invalid escape code");
        *to++ = character;
        at_ += 2;
      }
      begin = at_;
      SkipPlain();
    }
    string_ = room_;
    string_bytes_ = static_cast<size_t>(to - room_);
    token_ = Token::kString;
    ++at_;
  }

  // "\u00e9" -> c3 a9    "\ud83d\ude00" -> f0 9f 98 80    a half of a pair alone is a fault
  //
  // \uXXXX, or two of them that are one character of UTF-16.
  bool Unicode(char*& to) {
    int code = HexDigits(at_ + 2);
    if (code < 0) return false;
    int bytes = 6;
    if ((code & 0xf800) == 0xd800) {
      if (code & 0x400 || at_[6] != '\\' || at_[7] != 'u') return false;
      const int low = HexDigits(at_ + 8);
      if (low < 0 || (low & 0xfc00) != 0xdc00) return false;
      code = ((code & 0x3ff) << 10 | (low & 0x3ff)) + 0x10000;
      bytes = 12;
    }
    to += WriteUtf8(to, code);
    at_ += bytes;
    return true;
  }

  // A string is shorter than what is left of the text when the first with an escape is met.
  void MakeRoom() {
    if (room_) return;
    const auto bytes = static_cast<size_t>(end_ - text_);
    if (bytes <= sizeof in_place_) {
      room_ = in_place_;
      return;
    }
    LuaState::Of(L_).changed_json = true;  // should an error leave it there
    room_ = static_cast<char*>(lua_newuserdata(L_, bytes));
    lua_replace(L_, lua_upvalueindex(kJsonRoom));
  }

  // --- values

  // Positions count from 1, as in lua-cjson.
  [[noreturn]] void Fault(const char* expected) {
    luaL_error(L_, "Expected %s but found %s at character %d", expected,
               token_ == Token::kFault ? reason_ : kTokenNames[static_cast<size_t>(token_)],
               static_cast<int>(token_at_ - text_) + 1);
    __builtin_unreachable();
  }

  // Bounds the recursion twice: by the setting, and by Lua's stack.
  void Descend(int slots) {
    if (++depth_ <= settings_.decode_max_depth && lua_checkstack(L_, slots)) return;
    luaL_error(L_, "Found too many nested data structures (%d) at character %d", depth_,
               static_cast<int>(at_ - text_));
  }

  // Pushes the value that begins with the token at hand.
  void Value() {
    switch (token_) {
      case Token::kString:
        return lua_pushlstring(L_, string_, string_bytes_);
      case Token::kNumber:
        return lua_pushnumber(L_, number_);
      case Token::kBoolean:
        return lua_pushboolean(L_, boolean_);
      case Token::kNull:
        return lua_pushlightuserdata(L_, nullptr);
      case Token::kObjectBegin:
        return Object();
      case Token::kArrayBegin:
        return Array();
      default:
        Fault("value");
    }
  }

  // table, key, value on the stack; lua_rawset takes the last two. A key that comes again wins.
  void Object() {
    Descend(3);
    lua_newtable(L_);
    Next();
    if (token_ != Token::kObjectEnd) {
      while (true) {
        if (token_ != Token::kString) Fault("object key string");
        lua_pushlstring(L_, string_, string_bytes_);
        Next();
        if (token_ != Token::kColon) Fault("colon");
        Next();
        Value();
        lua_rawset(L_, -3);
        Next();
        if (token_ == Token::kObjectEnd) break;
        if (token_ != Token::kComma) Fault("comma or object end");
        Next();
      }
    }
    --depth_;
  }

  // Elements from 1 on; null takes a place, as cjson.null.
  void Array() {
    Descend(2);
    lua_newtable(L_);
    Next();
    if (token_ != Token::kArrayEnd) {
      for (int i = 1;; ++i) {
        Value();
        lua_rawseti(L_, -2, i);
        Next();
        if (token_ == Token::kArrayEnd) break;
        if (token_ != Token::kComma) Fault("comma or array end");
        Next();
      }
    }
    --depth_;
  }

  lua_State* const L_;
  LuaState& state_;
  const JsonSettings& settings_;
  const char* const text_;
  const char* at_;
  const char* const end_;
  int depth_ = 0;

  // The token at hand.
  Token token_ = Token::kEnd;
  const char* token_at_ = nullptr;
  const char* reason_ = nullptr;  // of a fault
  bool boolean_ = false;
  double number_ = 0;
  const char* string_ = nullptr;
  size_t string_bytes_ = 0;

  // Where strings with escapes are put together: in_place_, or a userdata in the function's second
  // upvalue.
  char* room_ = nullptr;
  // For texts of at most so many bytes, which then take no userdata.
  char in_place_[1024];
};

}  // namespace

// cjson.decode(text) -> value
int DecodeJson(lua_State* L) {
  luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
  size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  if (size >= 2 && (!text[0] || !text[1])) {
    luaL_error(L, "JSON parser does not support UTF-16 or UTF-32");
  }
  JsonReader(L, JsonSettingsOf(L), text, size).Whole();
  lua_pushnil(L);
  lua_replace(L, lua_upvalueindex(kJsonRoom));
  return 1;
}

}  // namespace sluice
