// BacklogFile: the last bytes of the stream, put down for the process that takes this one's place
// (SIGUSR2), so that replicas which lag go on where they were. Its data are on disk, and say up to
// which byte of which stream they are; here are the bytes before that.
//
//   #REPL:<id> <offset of the last byte>\r\n
//   <checksum of the bytes, a decimal number>\r\n
//   <the bytes>
//
// It is good once, for the data of that very place, and its reader removes it first. So the next
// process goes on under the same id, and no two servers ever do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "server/replication/backlog.h"
#include "storage/disk.h"
#include "storage/log/stream_position.h"

namespace sluice {

// In the working directory.
inline constexpr char kBacklogFileName[] = "replication.backlog";

// Of a larger backlog so many bytes go along: the file is read and written whole.
inline constexpr size_t kBacklogFileBytesMax = 32 * 1024 * 1024;

// Waits for the disk. 0, or an errno value. Requires: `at.offset` is the backlog's end.
int WriteBacklogFile(Disk& disk, const std::string& path, const StreamPosition& at,
                     Backlog& backlog);
// Waits for the disk. The bytes up to this place of the stream; null: there is no file, it is of
// another place, or it is damaged. The file is gone in any case.
std::optional<std::string> TakeBacklogFile(Disk& disk, const std::string& path,
                                           const StreamPosition& at);

}  // namespace sluice
