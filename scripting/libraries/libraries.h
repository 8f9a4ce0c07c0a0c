// The libraries that Redis gives to scripts beside Lua's own. Each is left as a global table of
// Lua, for the sandbox to take over.
#pragma once

#include "scripting/lua/lua_api.h"

namespace sluice {

// All of these run once, when a state is made, with the bound on memory lifted.
void OpenJson(lua_State* L);
// Gives the cjson table on top of the stack the settings it had at first, and lets go of what an
// encoding or decoding that failed has left.
void ResetJson(lua_State* L);

// Why ours: string.rep("a", 1e9), a pattern that backtracks for hours, table.insert at position 1e9
// and a sort whose order never ends are each a single instruction of Lua's, which no hook sees
// inside.
//
// find, match, gmatch, gsub and rep; sort, insert, remove, foreach and foreachi: as Lua 5.1's, but
// their loops count as work. Each puts its own into Lua's table on top of the stack.
void OpenText(lua_State* L);
void OpenTables(lua_State* L);
// Replaces create, wrap and resume of Lua's coroutine table on top of the stack: no coroutine gets
// round the count hook.
void OpenCoroutines(lua_State* L);
// pcall and xpcall that catch nothing of a script that has to end, and collectgarbage.
int ProtectedCall(lua_State* L);
int ProtectedCallWithHandler(lua_State* L);
int CollectGarbage(lua_State* L);

// lua-bitop with a tohex that survives any argument; ours.
void OpenBit(lua_State* L);
void OpenMessagePack(lua_State* L);
void OpenStruct(lua_State* L);

}  // namespace sluice
