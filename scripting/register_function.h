// redis.register_function, and the world of a library that is being loaded: a `redis` table with
// that, log and the constants, and nothing else.
#pragma once

#include <string_view>
#include <vector>

#include "scripting/library_function.h"
#include "scripting/lua/lua_state.h"

namespace sluice {

inline constexpr std::string_view kBadFunctionName =
    "Library names can only contain letters, numbers, or underscores(_) and must be at least one "
    "character long";
// Names of libraries and of functions: letters, digits and underscores, at least one.
bool IsFunctionName(std::string_view name);

// From here to EndLoading code sees the loader's globals and `functions` takes what it registers.
// Called in pairs, with the lua_pcall of the library's code in between and nothing else that
// raises.
void BeginLoading(LuaState& state, std::vector<LibraryFunction>& functions);
void EndLoading(LuaState& state);

}  // namespace sluice
