// The sandbox: what a script sees of Lua. Exactly the globals of Redis 7 (and `server`, `print`).
// No script can change one of them, and so no script leaves a trace for the next.
//
//   _G _VERSION assert bit cjson cmsgpack collectgarbage coroutine error gcinfo getmetatable ipairs
//   load loadstring math next pairs pcall print rawequal rawget rawset redis select server
//   setmetatable string struct table tonumber tostring type unpack xpcall __redis__err__handler,
//   and KEYS and ARGV of a script
//
// Scripts hold read-only views of what they share (read_only_view.h); the globals themselves are
// such a view, _G.
#pragma once

#include "scripting/lua/lua_api.h"
#include "scripting/lua/lua_state.h"

namespace sluice {

// The chain behind a global name: code -> _G, an empty view -> table of globals (slot kGlobals) ->
// RefuseGlobal, which raises "Script attempted to access nonexistent global variable".
//
// Fills a fresh state. Expects the error handler in stack slot 1; leaves the table of globals, not
// its view, in slot 2.
void OpenSandbox(LuaState& state);

// As luaL_loadbuffer, but text only, and with the collector at rest while the parser runs. Raises
// nothing; code that a script calls has to tell LuaState::Caught of a failure.
int LoadText(lua_State* L, const char* text, size_t size, const char* name);

}  // namespace sluice
