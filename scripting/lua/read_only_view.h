// Read-only views of tables. Stock Lua has no read-only tables, so scripts hold a view of each
// shared table: an empty table whose metatable reads from the real one and refuses to write. The
// few library functions that would go past a metatable (next, rawget, rawset, getmetatable,
// setmetatable, table.insert, table.foreach) are replaced by ones that know views (sandbox.cc,
// tables.cc).
#pragma once

#include "scripting/lua/lua_api.h"

namespace sluice {

// view {}  --metatable-->  { [1] = mark, [2] = real table, __index = real, __newindex = refuse }
//
// Replaces the table on top of the stack by a read-only view of it, which costs two tables, and one
// look-up more to read through it.
void PushView(lua_State* L);
// If the value is a view, pushes the real table and is true.
bool PushViewed(lua_State* L, int index);
// For functions that write into a table they are given: raises if it is a view.
void RefuseView(lua_State* L, int index);

// Lets the view that all code has as its globals show the table on top of the stack; pops it.
void ShowThroughGlobals(lua_State* L);

}  // namespace sluice
