// The time-outs of blocking commands: for how long to wait, and so until when.
#pragma once

#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"

namespace sluice {

// From a wait in ms to the engine's ms at which it ends, rounded up: as in Redis, no wait is
// shorter than it was to be, also behind a command that took long. One that is longer than the
// timer wheel can hold, 2^48 ms or 8900 years, is cut to that.
int64_t EndOfWait(const CommandCall& call, int64_t wait_ms);

// Take the next argument and return the engine's ms at which the wait ends, 0: never. The fault is
// kept in `args`, in Redis's words. Seconds may have a fraction and are rounded up to whole ms.
int64_t ReadTimeoutSeconds(ArgReader& args, const CommandCall& call);
int64_t ReadTimeoutMs(ArgReader& args, const CommandCall& call);

}  // namespace sluice
