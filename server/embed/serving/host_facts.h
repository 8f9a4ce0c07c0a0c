// Facts for a server: the program and the machine that it runs on, and where its chance comes from.
#pragma once

#include "server/config/settings.h"
#include "server/engine/engine_options.h"

namespace sluice {

EngineOptions HostFacts(const Settings& settings);

}  // namespace sluice
