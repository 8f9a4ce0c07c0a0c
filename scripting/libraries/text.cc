// The functions of Lua's string library whose loops are longer than what they are given or make:
// find, match, gmatch, gsub (pattern.h) and rep. Results and errors are those of Lua 5.1.
#include <cctype>
#include <climits>
#include <cstring>

#include "scripting/libraries/libraries.h"
#include "scripting/libraries/pattern.h"
#include "scripting/lua/lua_state.h"

namespace sluice {
namespace {

constexpr char kTextEscape = '%';
// Without one of these a pattern is a plain text.
constexpr char kSpecial[] = "^$*+?.([%-";

// --- find and match

// The pattern in slot 2. Matching recurs once for each of these; the C stack is not endless.
const char* PatternText(lua_State* L) {
  constexpr size_t kRecursingMax = 4000;
  size_t size = 0;
  const char* const pattern = luaL_checklstring(L, 2, &size);
  if (size <= kRecursingMax) return pattern;
  size_t recursing = 0;
  for (size_t i = 0; i < size; ++i) recursing += std::strchr("?*+-()", pattern[i]) != nullptr;
  if (recursing > kRecursingMax) luaL_error(L, "pattern too complex");
  return pattern;
}

// Where a search begins: a position from 1 on, or from the end when negative.
size_t BeginAt(lua_State* L, size_t size) {
  ptrdiff_t begin = luaL_optinteger(L, 3, 1);
  if (begin < 0) begin += static_cast<ptrdiff_t>(size) + 1;
  if (begin < 1) return 0;
  return static_cast<size_t>(begin) - 1 > size ? size : static_cast<size_t>(begin) - 1;
}

int PushNotFound(lua_State* L) {
  lua_pushnil(L);
  return 1;
}

int FindPlain(lua_State* L, const char* text, size_t size, size_t begin) {
  size_t wanted = 0;
  const char* const what = lua_tolstring(L, 2, &wanted);
  // memmem takes no more than linear time.
  const void* const found = memmem(text + begin, size - begin, what, wanted);
  if (!found) return PushNotFound(L);
  const ptrdiff_t at = static_cast<const char*>(found) - text;
  lua_pushinteger(L, at + 1);
  lua_pushinteger(L, at + static_cast<ptrdiff_t>(wanted));
  return 2;
}

// A pattern without special characters is plain text, and searched for as such. Else every place of
// the text is tried, from the first on.
int Search(lua_State* L, bool find) {
  size_t size = 0;
  const char* const text = luaL_checklstring(L, 1, &size);
  luaL_checkstring(L, 2);
  const size_t begin = BeginAt(L, size);
  if (find && (lua_toboolean(L, 4) || !std::strpbrk(lua_tostring(L, 2), kSpecial))) {
    return FindPlain(L, text, size, begin);
  }
  Pattern pattern(L, text, size, PatternText(L));
  const bool anchored = pattern.SkipAnchor();
  const char* at = text + begin;
  do {
    const char* const end = pattern.MatchAt(at);
    if (!end) continue;
    if (!find) return pattern.PushCaptures(at, end);
    lua_pushinteger(L, at - text + 1);
    lua_pushinteger(L, end - text);
    return pattern.PushCaptures(nullptr, nullptr) + 2;
  } while (at++ < pattern.end() && !anchored);
  return PushNotFound(L);
}

// string.find(text, pattern [, begin [, plain]]) -> first, last, captures; or nil
// string.match(text, pattern [, begin]) -> captures, or the whole; or nil
int Find(lua_State* L) { return Search(L, /*find=*/true); }
int Match(lua_State* L) { return Search(L, /*find=*/false); }

// --- gmatch

// The iterator's upvalues are the text, the pattern and how far it has got: they keep both alive,
// and each call begins where the last match ended.
int NextMatch(lua_State* L) {
  size_t size = 0;
  const char* const text = lua_tolstring(L, lua_upvalueindex(1), &size);
  Pattern pattern(L, text, size, lua_tostring(L, lua_upvalueindex(2)));
  for (const char* at = text + lua_tointeger(L, lua_upvalueindex(3)); at <= pattern.end(); ++at) {
    const char* const end = pattern.MatchAt(at);
    if (!end) continue;
    lua_pushinteger(L, end - text + (end == at));
    lua_replace(L, lua_upvalueindex(3));
    return pattern.PushCaptures(at, end);
  }
  return 0;
}

// string.gmatch(text, pattern) -> iterator. An empty match moves on by one, so that it ends.
int MatchAll(lua_State* L) {
  luaL_checkstring(L, 1);
  PatternText(L);
  lua_settop(L, 2);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, NextMatch, 3);
  return 1;
}

// --- gsub

// Adds the text in slot 3, with %0 to %9 replaced.
// string.gsub("hello world", "(%w+)", "<%1>") -> "<hello> <world>", 2
void AddText(lua_State* L, luaL_Buffer* out, Pattern& pattern, const char* from, const char* to) {
  size_t size = 0;
  const char* const text = lua_tolstring(L, 3, &size);
  LuaState::Of(L).Work(L, size / 4);
  for (size_t i = 0; i < size; ++i) {
    if (text[i] != kTextEscape) {
      luaL_addchar(out, text[i]);
      continue;
    }
    ++i;
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) {
      luaL_addchar(out, text[i]);
    } else if (text[i] == '0') {
      luaL_addlstring(out, from, static_cast<size_t>(to - from));
    } else {
      pattern.PushCapture(text[i] - '1', from, to);
      luaL_addvalue(out);
    }
  }
}

// Adds what the match is replaced by: slot 3 is a text, a function or a table.
void AddReplacement(lua_State* L, luaL_Buffer* out, Pattern& pattern, const char* from,
                    const char* to) {
  switch (lua_type(L, 3)) {
    case LUA_TFUNCTION:
      lua_pushvalue(L, 3);
      lua_call(L, pattern.PushCaptures(from, to), 1);
      break;
    case LUA_TTABLE:
      pattern.PushCapture(0, from, to);
      lua_gettable(L, 3);
      break;
    default:
      return AddText(L, out, pattern, from, to);
  }
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    lua_pushlstring(L, from, static_cast<size_t>(to - from));
  } else if (!lua_isstring(L, -1)) {
    luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
  }
  luaL_addvalue(out);
}

// string.gsub(text, pattern, replacement [, count]) -> text, how many were replaced
int Replace(lua_State* L) {
  size_t size = 0;
  const char* const text = luaL_checklstring(L, 1, &size);
  const char* const source = PatternText(L);
  const int type = lua_type(L, 3);
  const int most = luaL_optint(L, 4, static_cast<int>(size + 1));
  luaL_argcheck(
      L, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE,
      3, "string/function/table expected");
  Pattern pattern(L, text, size, source);
  const bool anchored = pattern.SkipAnchor();
  luaL_Buffer out;
  luaL_buffinit(L, &out);
  const char* at = text;
  int count = 0;
  while (count < most) {
    const char* const end = pattern.MatchAt(at);
    if (end) {
      ++count;
      AddReplacement(L, &out, pattern, at, end);
    }
    if (end && end > at) {
      at = end;
    } else if (at < pattern.end()) {
      luaL_addchar(&out, *at++);
    } else {
      break;
    }
    if (anchored) break;
  }
  luaL_addlstring(&out, at, static_cast<size_t>(pattern.end() - at));
  luaL_pushresult(&out);
  lua_pushinteger(L, count);
  return 2;
}

// --- rep

// string.rep(text, times) -> text, by doubling what is there, in one piece whose size is known
// before it is taken.
int Repeat(lua_State* L) {
  size_t size = 0;
  const char* const text = luaL_checklstring(L, 1, &size);
  const int times = luaL_checkint(L, 2);
  if (times <= 0 || size == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  const size_t whole = size * static_cast<size_t>(times);
  constexpr size_t kInPlace = 1024;
  char in_place[kInPlace];
  if (whole > kInPlace) LuaState::Of(L).MakeRoom(2 * whole);
  char* const to = whole <= kInPlace ? in_place : static_cast<char*>(lua_newuserdata(L, whole));
  std::memcpy(to, text, size);
  for (size_t done = size; done < whole;) {
    const size_t more = done < whole - done ? done : whole - done;
    std::memcpy(to + done, to, more);
    done += more;
  }
  lua_pushlstring(L, to, whole);
  return 1;
}

constexpr luaL_Reg kTextFunctions[] = {{"find", Find},      {"match", Match},  {"gmatch", MatchAll},
                                       {"gfind", MatchAll}, {"gsub", Replace}, {"rep", Repeat}};

}  // namespace

void OpenText(lua_State* L) {
  for (const luaL_Reg& row : kTextFunctions) {
    lua_pushcfunction(L, row.func);
    lua_setfield(L, -2, row.name);
  }
}

}  // namespace sluice
