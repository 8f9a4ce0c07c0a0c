// DataFiles: the files that hold a server's data, of Redis, Valkey or Sluice, as a person names
// them: an RDB file, a file of a log, a log's folder, or a folder that has one of these.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "protocol/text/fault.h"
#include "storage/disk.h"
#include "storage/log/log_folder.h"

namespace sluice {

struct DataFiles {
  std::vector<std::string> paths;  // in the order in which they are played
  bool is_snapshot = false;        // one, an RDB file; else those of a log
  // Null: no log's folder was named. While it lives no Sluice starts on that log.
  std::unique_ptr<LogFolder> log;
};

// Nothing is changed. A sentence: there are none, or more than one log or snapshot, or a server
// runs on the log.
Fault FindDataFiles(const std::string& from, Disk& disk, DataFiles& files);

}  // namespace sluice
