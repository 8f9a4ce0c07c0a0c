// The functions of Lua's table library whose loops a script can make longer than its table: by a
// position, by a length that has holes, or by an order that never ends. Results and errors are
// those of Lua 5.1; the algorithms too, for they show in them (in which order `sort` compares).
#include "scripting/libraries/libraries.h"
#include "scripting/lua/lua_state.h"
#include "scripting/lua/read_only_view.h"

namespace sluice {
namespace {

// Lua's #table: a border, where there are holes one of several.
int LengthOf(lua_State* L, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  return static_cast<int>(lua_objlen(L, index));
}

// t[to] = t[from]
void Move(lua_State* L, int from, int to) {
  LuaState::Of(L).Work(L, 2);
  lua_rawgeti(L, 1, from);
  lua_rawseti(L, 1, to);
}

// --- insert, remove, foreach

// table.insert(table, [position,] value). Beyond the end it leaves holes, and moves as many places.
int Insert(lua_State* L) {
  RefuseView(L, 1);
  int end = LengthOf(L, 1) + 1;
  int at = end;
  switch (lua_gettop(L)) {
    case 2:
      break;
    case 3:
      at = luaL_checkint(L, 2);
      if (at > end) end = at;
      for (; end > at; --end) Move(L, end - 1, end);
      break;
    default:
      return luaL_error(L, "wrong number of arguments to 'insert'");
  }
  lua_rawseti(L, 1, at);
  return 0;
}

// table.remove(table [, position]) -> value
int Remove(lua_State* L) {
  const int end = LengthOf(L, 1);
  int at = luaL_optint(L, 2, end);
  if (at < 1 || at > end) return 0;
  lua_rawgeti(L, 1, at);
  for (; at < end; ++at) Move(L, at + 1, at);
  lua_pushnil(L);
  lua_rawseti(L, 1, end);
  return 1;
}

// Calls the function in slot 2 with the two values on top, of which the lower stays; true if it
// answered something, which is left on top.
bool Visit(lua_State* L) {
  LuaState::Of(L).Work(L, 4);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -3);
  lua_pushvalue(L, -3);
  lua_call(L, 2, 1);
  if (!lua_isnil(L, -1)) return true;
  lua_pop(L, 2);
  return false;
}

// table.foreach(table, function(key, value)) -> the first result that is not nil
int ForEach(lua_State* L) {
  if (PushViewed(L, 1)) lua_replace(L, 1);
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    if (Visit(L)) return 1;
  }
  return 0;
}

// table.foreachi(array, function(index, value)) -> likewise
int ForEachIndex(lua_State* L) {
  const int length = LengthOf(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  for (int i = 1; i <= length; ++i) {
    lua_pushinteger(L, i);
    lua_rawgeti(L, 1, i);
    if (Visit(L)) return 1;
    lua_pop(L, 1);
  }
  return 0;
}

// --- sort: Lua's quicksort, of the values from `low` to `high` in slot 1

// Whether the value at one index of the stack (from the top) comes before the other. Without a
// function `<` decides, whose metamethods count.
bool Before(lua_State* L, int one, int other) {
  LuaState& state = LuaState::Of(L);
  state.Work(L, 2);
  if (lua_isnil(L, 2)) {
    // Strings are compared as far as they are equal, slowly where they hold zeros.
    if (lua_type(L, one) == LUA_TSTRING) state.Work(L, lua_objlen(L, one) / 8);
    return lua_lessthan(L, one, other);
  }
  lua_pushvalue(L, 2);
  lua_pushvalue(L, one - 1);
  lua_pushvalue(L, other - 2);
  lua_call(L, 2, 1);
  const bool before = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return before;
}

// Pops two values: t[one] = the upper, t[other] = the lower.
void PutTwo(lua_State* L, int one, int other) {
  lua_rawseti(L, 1, one);
  lua_rawseti(L, 1, other);
}

// Puts the values on top, of the two places, into order and pops them.
void Order(lua_State* L, int low, int high) {
  if (Before(L, -1, -2)) {
    PutTwo(L, low, high);
  } else {
    lua_pop(L, 2);
  }
}

// Puts what is not above the pivot, which is on top and at `high` - 1, before the rest; where it
// ends. Meanwhile the values stand like this:
//
//   low .. i: not above | not looked at | j .. high - 2: not below | pivot | high: not below
//
// An order function that contradicts itself runs beyond an end, which is the error that Lua gives.
int Partition(lua_State* L, int low, int high) {
  int i = low;
  int j = high - 1;
  while (true) {
    while (lua_rawgeti(L, 1, ++i), Before(L, -1, -2)) {
      if (i > high) luaL_error(L, "invalid order function for sorting");
      lua_pop(L, 1);
    }
    while (lua_rawgeti(L, 1, --j), Before(L, -3, -1)) {
      if (j < low) luaL_error(L, "invalid order function for sorting");
      lua_pop(L, 1);
    }
    if (j < i) {
      lua_pop(L, 3);
      return i;
    }
    PutTwo(L, i, j);
  }
}

// Median of three as the pivot, which stands at high - 1 while the rest is parted. Lua's own way to
// the letter: a script can see it by what its function is asked.
void SortBetween(lua_State* L, int low, int high) {
  while (low < high) {
    lua_rawgeti(L, 1, low);
    lua_rawgeti(L, 1, high);
    Order(L, low, high);
    if (high - low == 1) return;
    int middle = low + (high - low) / 2;
    lua_rawgeti(L, 1, middle);
    lua_rawgeti(L, 1, low);
    if (Before(L, -2, -1)) {
      PutTwo(L, middle, low);
    } else {
      lua_pop(L, 1);
      lua_rawgeti(L, 1, high);
      Order(L, middle, high);
    }
    if (high - low == 2) return;
    lua_rawgeti(L, 1, middle);
    lua_pushvalue(L, -1);
    lua_rawgeti(L, 1, high - 1);
    PutTwo(L, middle, high - 1);
    middle = Partition(L, low, high);
    lua_rawgeti(L, 1, high - 1);
    lua_rawgeti(L, 1, middle);
    PutTwo(L, high - 1, middle);
    // The smaller half by recursion, the larger in this loop.
    if (middle - low < high - middle) {
      SortBetween(L, low, middle - 1);
      low = middle + 1;
    } else {
      SortBetween(L, middle + 1, high);
      high = middle - 1;
    }
  }
}

// table.sort(array [, before(a, b)]). Recursion is log2(n) deep at most.
int Sort(lua_State* L) {
  const int length = LengthOf(L, 1);
  luaL_checkstack(L, 40, "");
  if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  SortBetween(L, 1, length);
  return 0;
}

constexpr luaL_Reg kTableFunctions[] = {{"insert", Insert},
                                        {"remove", Remove},
                                        {"foreach", ForEach},
                                        {"foreachi", ForEachIndex},
                                        {"sort", Sort}};

}  // namespace

void OpenTables(lua_State* L) {
  for (const luaL_Reg& row : kTableFunctions) {
    lua_pushcfunction(L, row.func);
    lua_setfield(L, -2, row.name);
  }
}

}  // namespace sluice
