// DEBUG's words that make data, or make it anew.
#pragma once

#include "server/dispatch/command.h"

namespace sluice {

// DEBUG POPULATE count [prefix] [size].
void DebugPopulate(CommandCall& call);
// DEBUG RELOAD and DEBUG LOADAOF: see LogService::ReloadSnapshot.
void DebugReload(CommandCall& call);
void DebugLoadAof(CommandCall& call);

}  // namespace sluice
