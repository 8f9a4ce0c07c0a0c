// The name of a table, a function or a thread in tostring: "table: 0x000000000001". Lua would give
// the address, which differs from run to run and tells where the server's memory is. Here objects
// are numbered as they are asked for: one that lives has one name, and no name is given twice.
#pragma once

#include "scripting/lua/lua_api.h"

namespace sluice {

// Pushes it; a pointer to nothing (cjson.null) is "userdata: (nil)".
void PushObjectName(lua_State* L, int index);
// tostring.
int NameOf(lua_State* L);

// Gives back the memory of all names, for a state that has taken much: an object that lives on gets
// another one.
void ForgetObjectNames(lua_State* L);

}  // namespace sluice
