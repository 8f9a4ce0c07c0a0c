// `sluice --export-redis FILE|DIR|HOST:PORT FILE`: an RDB file that redis-server 7.0 loads, from
// the files of a stopped Sluice, which are played as at a start and not changed, or from a running
// server, which is asked for a snapshot as by --backup. What Redis cannot hold is left out.
//
// All data are in memory meanwhile. A file that is there is never written over.
#pragma once

#include <cstdio>
#include <string>

#include "server/config/config.h"
#include "server/engine/facts.h"
#include "server/program/backup.h"
#include "storage/disk.h"

namespace sluice {

struct ExportOrder {
  std::string from;    // a file or a folder; empty: the server that `backup` names
  BackupOrder backup;  // its file plays no part
  std::string file;    // appears as a whole, durable, or not at all
};

// `config` says how files are read. Tells on `out` how many keys the file has, and how many of what
// were left out, and a fault on `errors`. The exit status: 0, or 1.
int ExportRedis(const ExportOrder& order, Disk& disk, Config& config, const EngineOptions& options,
                std::FILE* out, std::FILE* errors);

}  // namespace sluice
