// `sluice --backup HOST:PORT FILE`: a snapshot of a server, Sluice or Redis, as a file. The server
// is asked to save one (BGSAVE) and where it is; from there it is copied. That the file is the
// server's is known by its having become another one meanwhile. Where it cannot be read, or is not
// the server's, a Sluice hands it out over the connection (SLUICE.SNAPSHOT); any other sends its
// data as to a replica (full_sync.h).
//
// The server must count its saves (INFO's rdb_saves), as Redis does from 7 on.
#pragma once

#include <cstdio>
#include <string>

#include "protocol/text/fault.h"
#include "server/config/tls_words.h"
#include "storage/disk.h"

namespace sluice {

class RedisLink;

struct BackupOrder {
  std::string server;  // host:port
  std::string user;
  std::string password;  // empty: none
  TlsWords tls;
  std::string file;  // appears as a whole, durable, or not at all
};

// Connects and logs in. A sentence why not, or empty.
Fault LogIn(RedisLink& link, const BackupOrder& order);
// A sentence why there is no such file, or empty; then `done` is the sentence that it is there.
Fault FetchBackup(const BackupOrder& order, Disk& disk, std::string& done);
// The same as a program. The exit status: 0, or 1 and a sentence on `errors`.
int Backup(const BackupOrder& order, Disk& disk, std::FILE* out, std::FILE* errors);

}  // namespace sluice
