// `sluice --import FILE|DIR|HOST:PORT [--into DIR] [--keep-expired]`: makes what a server starts
// from out of the files of another one: an RDB file, or a log, of Redis, Valkey or Sluice. They are
// played as at a start, piece by piece, and none of them is changed. A server that runs sends its
// data as to a replica (full_sync.h): they lie in a file of the target's folder meanwhile.
//
// Where a file of the target's name is there already, the import refuses: it replaces nothing. Keys
// and fields whose time is over are left out and counted; with --keep-expired they are there
// afterwards, without a deadline.
#pragma once

#include <cstdio>
#include <string>

#include "server/config/config.h"
#include "server/engine/facts.h"
#include "server/program/backup.h"
#include "storage/disk.h"

namespace sluice {

struct ImportOrder {
  std::string from;    // a file or a folder, or empty:
  BackupOrder server;  // that server, of which the file's name counts for nothing
  std::string into;    // a folder, which is made if it is missing
  bool keeps_expired = false;
};

// `config` says which files are made, and how they are called. Tells on `out` what is read and what
// is left out, and a fault on `errors`. The exit status: 0, or 1, and then nothing new is to be
// used.
int Import(const ImportOrder& order, Disk& disk, Config& config, const EngineOptions& options,
           std::FILE* out, std::FILE* errors);

}  // namespace sluice
