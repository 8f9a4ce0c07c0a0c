// All data of a running server, Sluice or Redis, as the RDB file that it sends a replica: for
// `sluice --import HOST:PORT`, and for `--backup` where the file that it saves cannot be read. It
// is asked for once and then left; it counts one full sync, and its data stay as they are.
//
//   REPLCONF capa eof capa psync2 capa sluice     what this reader takes; a Sluice sends all it has
//   REPLCONF rdb-only 1                           no stream is wanted behind it (Redis 7)
//   PSYNC ? -1        +FULLRESYNC <id> <offset>   or, of Redis before 2.8, SYNC
//   \n \n ...         while it prepares
//   $<bytes> or $EOF:<40 characters>              and the file, in the second case up to these
//
// Every byte is the peer's: lines are bounded, and a file ends where it says.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/text/fault.h"
#include "server/net/redis_link.h"
#include "storage/disk.h"

namespace sluice {

// Appends the file to `file`, and tells its length. `server`: how it is called in a fault.
Fault FetchFullSync(RedisLink& link, const std::string& server, DiskFile& file, uint64_t& bytes);

}  // namespace sluice
