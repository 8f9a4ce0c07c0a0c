// CheckLog: `sluice --check-aof DIR [--fix]`: reads every file of a log and says what is whole.
#pragma once

#include <string>

#include "storage/disk.h"
#include "storage/hashing/key_hash.h"

namespace sluice {

// `folder` is that of the manifest. True when all is whole, or has been made so; `report` says it
// in lines: of each file how much is whole, of a fault where it is and what a repair would cut off.
// `fix` cuts the last file behind its last whole turn, after keeping a copy of it beside it. A base
// that is an RDB file is read value by value, under `secret`, and never repaired. Without `fix`
// nothing is written. Memory is bounded by the longest turn or value, and by a hash a key of an RDB
// base.
bool CheckLog(Disk& disk, const std::string& folder, bool fix, const SipKey& secret,
              std::string& report);

}  // namespace sluice
