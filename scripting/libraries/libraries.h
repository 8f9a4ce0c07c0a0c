// The libraries that Redis gives to scripts beside Lua's own. Each is left as a global table of
// Lua, for the sandbox to take over.
#pragma once

#include "scripting/libraries/lua_api.h"

namespace sluice {

// lua-cjson behind bounds. `changed` is set when a script changes its settings, or leaves a large
// buffer behind; it outlives the state.
void OpenJson(lua_State* L, bool& changed);
// Its settings as they were at the start. Expects the cjson table on top of the stack.
void ResetJson(lua_State* L);

// lua-bitop with a tohex that survives any argument; ours.
void OpenBit(lua_State* L);
void OpenMessagePack(lua_State* L);
void OpenStruct(lua_State* L);

}  // namespace sluice
