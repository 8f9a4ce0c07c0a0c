// BaseWriter: the whole state as commands, for a new base of the log: libraries of functions,
// policies, what is remembered of locks, and every key. Keys are RESTORE commands with Redis's own
// payload, so that redis-server loads it where only its types are in it; locks are LOCK.RESTORE.
//
// It runs to its end at once: no client is served meanwhile.
#pragma once

#include <string>

#include "protocol/args.h"
#include "scripting/functions.h"
#include "storage/disk.h"
#include "storage/keyspace/keyspace.h"
#include "storage/limits/policy.h"
#include "storage/locks/fence.h"
#include "storage/log/turn_writer.h"

namespace sluice {

class BaseWriter {
 public:
  struct Source {
    Keyspace& keyspace;
    const FunctionLibraries& functions;
    const PolicyTable& policies;
    const FenceMemory& fences;
  };
  BaseWriter(const Source& source, const Now& now, DiskFile& file)
      : source_(source), now_(now), file_(file) {}

  // Into the file, which is empty; on return it is durable. 0 or an errno value.
  int Write(const std::string& boot);

 private:
  void WriteFunctions();
  void WritePolicies();
  void WriteFences();
  void WriteKeys();
  void WriteEntry(int db, const Entry& entry);
  Now AsLoaderSees(const Entry& entry) const;
  void Tell(int db, Args command);
  void Flush();

  const Source source_;
  const Now now_;
  DiskFile& file_;
  TurnWriter writer_;
  uint64_t written_ = 0;
  int fault_ = 0;
};

}  // namespace sluice
