// The families of commands that a test double has beside all others (--test-double yes).
#pragma once

#include "server/dispatch/command.h"

namespace sluice {

CommandFamily ClockFamily();
CommandFamily SpacesFamily();
CommandFamily FaultsFamily();
CommandFamily JournalFamily();

}  // namespace sluice
