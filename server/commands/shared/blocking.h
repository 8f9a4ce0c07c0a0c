// The time-outs of blocking commands: for how long to wait, and so until when.
#pragma once

#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"

namespace sluice {

// Take the next argument and return the engine's ms at which the wait ends, 0: never. The fault is
// kept in `args`, in Redis's words. Seconds may have a fraction and are rounded up to whole ms.
int64_t ReadTimeoutSeconds(ArgReader& args, const CommandCall& call);
int64_t ReadTimeoutMs(ArgReader& args, const CommandCall& call);

}  // namespace sluice
