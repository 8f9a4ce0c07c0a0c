// `sluice --check-config ...`: what a server would say of a configuration, all at once, without a
// start: refused lines, commands that cannot be renamed, faults of users and of the ACL file, files
// that are missing; and the warnings. Ports are not tried, and no data are read.
#pragma once

#include <cstdio>
#include <string_view>

#include "server/config/commandline.h"
#include "storage/disk.h"

namespace sluice {

// Why the options of a process cannot go together, or empty.
std::string_view ProcessFault(const Settings& settings);

// `line` has file and options as at a start. A line of `out` for each refusal and each warning, and
// one that sums up. The exit status: 0 where a server takes it, otherwise 1.
int CheckConfig(const CommandLine& line, std::string_view stdin_text, Disk& disk, std::FILE* out);

}  // namespace sluice
