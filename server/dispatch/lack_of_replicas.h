// Why a request is refused because too few replicas could keep what it changes: asked by the gates,
// for clients and for scripts.
#pragma once

#include <string_view>

#include "server/dispatch/command.h"
#include "server/dispatch/log_state.h"

namespace sluice {

// Empty: there are enough, or none is needed. `runs_writes`: it is EXEC of such, or a script that
// declares that it may write.
std::string_view LackOfReplicas(const LogState& log, const Request& request,
                                bool runs_writes = false);

}  // namespace sluice
