// Whether a compiled script assigns to global names, read off its bytecode.
//
// Names are looked up in a view of the globals (sandbox.h), which is what refuses assignments and
// costs each look two more. A script without any may look in the globals themselves.
#pragma once

#include "scripting/libraries/lua_api.h"

namespace sluice {

// Of the Lua function on top of the stack and of all functions inside it; true when in doubt.
bool AssignsGlobals(lua_State* L);

}  // namespace sluice
