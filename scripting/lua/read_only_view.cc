// See read_only_view.h.
#include "scripting/lua/read_only_view.h"

namespace sluice {
namespace {

constexpr char kReadOnly[] = "Attempt to modify a readonly table";
// Fields of a view's metatable: that it is one (the value is the address of kReadOnly, which no
// script can get hold of), and the real table.
constexpr int kMark = 1;
constexpr int kReal = 2;

int RefuseWrite(lua_State* L) { return luaL_error(L, kReadOnly); }

}  // namespace

// --- views

// The stack: real -> view, whose metatable is filled on the way.
void PushView(lua_State* L) {
  lua_newtable(L);
  lua_createtable(L, 2, 2);
  lua_pushlightuserdata(L, const_cast<char*>(kReadOnly));
  lua_rawseti(L, -2, kMark);
  lua_pushvalue(L, -3);
  lua_rawseti(L, -2, kReal);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, RefuseWrite);
  lua_setfield(L, -2, "__newindex");
  lua_setmetatable(L, -2);
  lua_replace(L, -2);
}

// The mark is an address of ours: a script can set a field [1], but not to that.
bool PushViewed(lua_State* L, int index) {
  if (!lua_istable(L, index) || !lua_getmetatable(L, index)) [[likely]]
    return false;
  lua_rawgeti(L, -1, kMark);
  const bool is_view = lua_touserdata(L, -1) == kReadOnly;
  lua_pop(L, 1);
  if (is_view) {
    lua_rawgeti(L, -1, kReal);
    lua_replace(L, -2);
  } else {
    lua_pop(L, 1);
  }
  return is_view;
}

// The view stays the same object; only what it reads from changes.
void ShowThroughGlobals(lua_State* L) {
  lua_getmetatable(L, LUA_GLOBALSINDEX);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, kReal);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 2);
}

// Raises with the sentence that an assignment to the view would give.
void RefuseView(lua_State* L, int index) {
  if (!PushViewed(L, index)) return;
  lua_pushstring(L, kReadOnly);
  lua_error(L);
}

}  // namespace sluice
