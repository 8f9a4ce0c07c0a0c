// The count of HRANDFIELD and its kin: how many to choose at random, below zero with repetitions.
// Such an answer can be as long as a client likes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/engine/command.h"

namespace sluice {

// Reads args[at]. False: the error has been answered.
bool ReadWideCount(CommandCall& call, size_t at, int64_t& count);

// The client's output has reached its limit, and the client is about to be closed, or a script has no
// room for more: stop.
bool ReplyIsTooLong(const CommandCall& call);

}  // namespace sluice
