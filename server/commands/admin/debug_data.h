// DEBUG's words that make data, or make it anew.
#pragma once

#include "server/dispatch/command.h"

namespace sluice {

// DEBUG POPULATE count [prefix] [size].
void DebugPopulate(CommandCall& call);
// DEBUG RELOAD. Locks stay as they are: their dumps have no holders.
void DebugReload(CommandCall& call);

}  // namespace sluice
