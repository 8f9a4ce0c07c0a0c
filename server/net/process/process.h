// Asks the system for the process: descriptors, memory and CPU used, running in the background.
//
// A figure that cannot be found out is 0.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/text/fault.h"
#include "server/clients/process_services.h"

namespace sluice {

// Raises the soft limit of open files as far as needed and allowed; the limit now in force.
int64_t RaiseDescriptorLimit(int64_t wanted);
int64_t DescriptorLimit();
ProcessUsage ReadProcessUsage();
uint64_t MachineMemory();  // bytes of RAM; 0: not known
// Goes on in a child process, in the background; the parent exits. To be called before any thread
// or socket exists. Error sentence or empty.
Fault Daemonize();
// Error sentence or empty.
Fault WritePidFile(const std::string& path);

}  // namespace sluice
