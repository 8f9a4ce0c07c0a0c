// CheckLog: `sluice --check-aof DIR [--fix]`: reads every file of a log and says what is whole.
#pragma once

#include <string>

#include "storage/disk.h"

namespace sluice {

// `folder` is that of the manifest. True when all is whole, or has been made so; `report` says it
// in lines: of each file how much is whole, of a fault where it is and what a repair would cut off.
// `fix` cuts the last file behind its last whole turn, after keeping a copy of it beside it.
bool CheckLog(Disk& disk, const std::string& folder, bool fix, std::string& report);

}  // namespace sluice
