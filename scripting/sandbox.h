// The sandbox: what a script sees of Lua. Exactly the globals of Redis 7 (and `server`, `print`),
// of which none can be changed, so that no script leaves a trace for the next.
//
// Stock Lua has no read-only tables, so scripts hold a view of each shared table: an empty table
// whose metatable reads from the real one and refuses to write. The few library functions that
// would go past a metatable (next, rawget, rawset, getmetatable, setmetatable, table.insert,
// table.foreach) are replaced by ones that know views. The globals themselves are such a view, _G;
// a script that assigns to none of them looks them up in the table behind it (global_writes.h).
#pragma once

#include "scripting/libraries/lua_api.h"

namespace sluice {

class LuaState;

// Fills a fresh state. Expects the error handler in stack slot 1; leaves the table of globals, not
// its view, in slot 2.
void OpenSandbox(LuaState& state);

// Replaces the table on top of the stack by a read-only view of it.
void PushView(lua_State* L);
// If the value is a view, pushes the real table and is true.
bool PushViewed(lua_State* L, int index);
// For functions that write into a table they are given: raises if it is a view.
void RefuseView(lua_State* L, int index);

// Lets the view that all code has as its globals show the table on top of the stack; pops it.
void ShowThroughGlobals(lua_State* L);

// As luaL_loadbuffer, but text only, and with the collector at rest while the parser runs. Raises
// nothing; code that a script calls has to tell LuaState::Caught of a failure.
int LoadText(lua_State* L, const char* text, size_t size, const char* name);

}  // namespace sluice
