// Looking at functions, for FUNCTION's table in functions.cc.
//
// Nothing is changed here, and nothing is logged.
#pragma once

#include "server/dispatch/command.h"
#include "server/engine/script_engine.h"

namespace sluice {

inline FunctionLibraries& Libraries(CommandCall& call) {
  return call.part<ScriptEngine>().functions();
}

void ListFunctions(CommandCall& call);
void ShowFunctionStats(CommandCall& call);

}  // namespace sluice
