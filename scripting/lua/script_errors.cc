// See script_errors.h.
#include "scripting/lua/script_errors.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "scripting/lua/object_names.h"

namespace sluice {
namespace {

// --- error tables

// Without a line end: as everywhere in Redis's Lua errors.
std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == '\r' || text.front() == '\n')) text.remove_prefix(1);
  return text;
}

// {err = code .. text} on the stack.
void PushTable(lua_State* L, std::string_view code, std::string_view text, bool counted) {
  lua_createtable(L, 0, counted ? 2 : 1);
  lua_pushlstring(L, code.data(), code.size());
  lua_pushlstring(L, text.data(), text.size());
  lua_concat(L, 2);
  lua_setfield(L, -2, "err");
  if (!counted) return;
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, "ignore_error_stats_update");
}

}  // namespace

void PushErrorReply(lua_State* L, std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  const bool has_code = text.find(' ') != text.npos;
  PushTable(L, has_code ? "" : "ERR ", Trimmed(text), /*counted=*/false);
}

void PushError(lua_State* L, std::string_view sentence) {
  PushTable(L, "ERR ", Trimmed(sentence), /*counted=*/false);
}

// The command's reply has been counted already: the mark keeps it from being counted as the
// script's.
void PushCommandError(lua_State* L, std::string_view line) {
  PushTable(L, "", Trimmed(line), /*counted=*/true);
}

int RaiseError(lua_State* L, std::string_view sentence) {
  PushError(L, sentence);
  return lua_error(L);
}

// --- the handler, and its line

// Runs where the error was raised, with the stack as it was: the one place that can still tell the
// line. A value that is no table becomes one.
int HandleScriptError(lua_State* L) {
  // Level 0 is this handler, 1 the function that raised; a C function names no line.
  lua_Debug at;
  bool known = lua_getstack(L, 1, &at) && lua_getinfo(L, "Sl", &at);
  if (known && at.what[0] == 'C') known = lua_getstack(L, 2, &at) && lua_getinfo(L, "Sl", &at);
  if (!lua_istable(L, 1)) {
    lua_createtable(L, 0, 3);
    lua_pushliteral(L, "ERR ");
    // As tostring would.
    if (luaL_callmeta(L, 1, "__tostring")) {
      // its result stands on top
    } else if (lua_isstring(L, 1)) {
      lua_pushvalue(L, 1);
    } else if (lua_isboolean(L, 1)) {
      lua_pushstring(L, lua_toboolean(L, 1) ? "true" : "false");
    } else if (lua_isnil(L, 1)) {
      lua_pushliteral(L, "nil");
    } else {
      PushObjectName(L, 1);
    }
    lua_concat(L, 2);
    lua_setfield(L, -2, "err");
    lua_replace(L, 1);
  }
  lua_settop(L, 1);
  if (!known) return 1;
  // Raw: the table is the script's, and so may its metatable be.
  lua_pushliteral(L, "source");
  lua_pushstring(L, at.source);
  lua_rawset(L, 1);
  lua_pushliteral(L, "line");
  lua_pushinteger(L, at.currentline);
  lua_rawset(L, 1);
  return 1;
}

// Redis's luaExtractErrorInformation and its sentence; fields of other types are left out, for a
// script may raise any table.
std::string ErrorLine(lua_State* L, std::string_view name, bool& counted) {
  counted = false;
  const auto text_of = [L](int index) {
    size_t size = 0;
    const char* text = lua_tolstring(L, index, &size);
    const std::string_view whole(text ? text : "", size);
    return whole.substr(0, whole.find('\0'));  // as of a C string
  };
  if (!lua_istable(L, -1)) {
    const std::string_view text = lua_isstring(L, -1) ? text_of(-1) : "execution failure";
    return Concat("ERR Error running script ", name, ", ", text.substr(0, 100));
  }
  const int table = lua_gettop(L);
  for (const char* field : {"err", "source", "line", "ignore_error_stats_update"}) {
    lua_pushstring(L, field);
    lua_rawget(L, table);
  }
  std::string line(lua_isstring(L, table + 1) ? text_of(table + 1) : "ERR unknown error");
  if (lua_isstring(L, table + 2) && lua_isstring(L, table + 3)) {
    ConcatTo(line, " script: ", name, ", on ", text_of(table + 2), ":", text_of(table + 3), ".");
  }
  counted = lua_isboolean(L, table + 4) && lua_toboolean(L, table + 4);
  lua_settop(L, table);
  return line;
}

}  // namespace sluice
