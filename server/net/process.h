// What the process asks of the system: descriptors, memory and CPU used, running in the background.
#pragma once

#include <cstdint>
#include <string>

#include "server/engine/engine.h"

namespace sluice {

// Raises the soft limit of open files as far as needed and allowed; the limit now in force.
int64_t RaiseDescriptorLimit(int64_t wanted);
ProcessUsage ReadProcessUsage();
// Forks into the background (before any thread or socket exists). False in no process: it exits.
void Daemonize();
// Error sentence or empty.
std::string WritePidFile(const std::string& path);

}  // namespace sluice
