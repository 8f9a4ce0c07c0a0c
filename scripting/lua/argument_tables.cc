// See argument_tables.h.
#include "scripting/lua/argument_tables.h"

#include <algorithm>

#include "protocol/text/same_bytes.h"

namespace sluice {
namespace {

void Put(lua_State* L, int slot, int index, std::string_view word) {
  lua_pushlstring(L, word.data(), word.size());
  lua_rawseti(L, slot, index);
}

// Whether the table in `slot` has that text there, which costs a quarter of putting it.
bool Has(lua_State* L, int slot, int index, std::string_view word) {
  lua_rawgeti(L, slot, index);
  bool same = false;
  if (lua_type(L, -1) == LUA_TSTRING) {
    size_t size = 0;
    const char* text = lua_tolstring(L, -1, &size);
    same = SameBytes({text, size}, word);
  }
  lua_pop(L, 1);
  return same;
}

// Tells most words that differ apart: the names of keys begin alike.
uint64_t EndOf(std::string_view word) {
  return ShortNumber(word.substr(word.size() - std::min(word.size(), kShortBytes)));
}

bool HasMetatable(lua_State* L, int slot) {
  if (!lua_getmetatable(L, slot)) return false;
  lua_pop(L, 1);
  return true;
}

// Whether the table in `slot` holds `count` values and nothing else: a script may have added
// fields, or values behind the last, and such a table is not used again.
bool HoldsNoMore(lua_State* L, int slot, int count) {
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    lua_pop(L, 1);
    if (--count < 0) {
      lua_pop(L, 1);
      return false;
    }
  }
  return true;
}

// The value on top becomes the global whose name is in slot `name`.
void Show(lua_State* L, int name) {
  lua_pushvalue(L, name);
  lua_insert(L, -2);
  lua_rawset(L, ArgumentTables::kGlobals);
}

}  // namespace

// Made to measure: no room behind the words.
void PushWords(lua_State* L, Args words) {
  lua_createtable(L, static_cast<int>(words.size()), 0);
  const int slot = lua_gettop(L);
  int index = 0;
  for (const std::string_view word : words) Put(L, slot, ++index, word);
}

// --- the tables that are kept

void ArgumentTables::Open(lua_State* L) {
  // Long enough at once: nothing grows the stack later.
  lua_checkstack(L, kSlots + LUA_MINSTACK);
  Open(L, keys_, "KEYS");
  Open(L, arguments_, "ARGV");
}

void ArgumentTables::Open(lua_State* L, Global& global, const char* name) {
  lua_pushstring(L, name);
  global.name = lua_gettop(L);
  // The slots of the tables are nil until a script with so many words comes.
  lua_settop(L, global.name + 1 + kWordsMax);
}

// Limits and times are the same in call after call. A script may have written over them, so the
// table has the last word.
inline void ArgumentTables::Refill(lua_State* L, Global& global, int slot, Args words) {
  int index = 0;
  for (const std::string_view word : words) {
    uint64_t& end = global.ends[index++];
    const uint64_t number = EndOf(word);
    if (end == number && Has(L, slot, index, word)) continue;
    end = number;
    Put(L, slot, index, word);
  }
}

void ArgumentTables::Set(lua_State* L, Global& global, Args words) {
  const int count = static_cast<int>(words.size());
  if (count > kWordsMax) {
    PushWords(L, words);
    global.shown = kNone;
    return Show(L, global.name);
  }
  const int slot = global.name + 1 + count;
  if (lua_istable(L, slot)) [[likely]] {
    Refill(L, global, slot, words);
    if (exact_ || (!HasMetatable(L, slot) && HoldsNoMore(L, slot, count))) [[likely]] {
      // It is the global already: most scripts are called with the same number of words again.
      if (global.shown == count) return;
      global.shown = count;
      lua_pushvalue(L, slot);
      return Show(L, global.name);
    }
  }
  PushWords(L, words);
  lua_pushvalue(L, -1);
  lua_replace(L, slot);
  global.shown = count;
  Show(L, global.name);
}

void ArgumentTables::Forget(lua_State* L) {
  for (Global* const global : {&keys_, &arguments_}) {
    for (int words = 0; words <= kWordsMax; ++words) {
      lua_pushnil(L);
      lua_replace(L, global->name + 1 + words);
    }
    global->shown = kNone;
  }
  exact_ = true;
}

void ArgumentTables::Clear(lua_State* L, Global& global) {
  if (global.shown != kNone) {
    lua_pushnil(L);
    lua_replace(L, global.name + 1 + global.shown);
    global.shown = kNone;
  }
  lua_newtable(L);
  Show(L, global.name);
}

}  // namespace sluice
