// Looking at functions, for FUNCTION's table in functions.cc.
#pragma once

#include "server/engine/command.h"
#include "server/engine/engine.h"

namespace sluice {

inline FunctionLibraries& Libraries(CommandCall& call) { return call.engine.scripts().functions(); }

void ListFunctions(CommandCall& call);
void ShowFunctionStats(CommandCall& call);

}  // namespace sluice
