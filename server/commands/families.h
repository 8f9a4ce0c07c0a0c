// The families of commands, one a file of this folder. The engine is handed them; none registers
// itself.
#pragma once

#include <span>

#include "server/engine/command.h"

namespace sluice {

CommandFamily CountersFamily();
CommandFamily StringsFamily();

// All of them, in the order of COMMAND's answer.
std::span<const CommandFamily> AllFamilies();

}  // namespace sluice
