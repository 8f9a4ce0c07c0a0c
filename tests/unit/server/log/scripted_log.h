// A disk with a log that has a script in it, which takes some time: as Redis before 7 wrote them.
#pragma once

#include <string>
#include <string_view>

#include "protocol/text/concat.h"
#include "tests/support/memory_disk.h"

namespace sluice {

// It sets `k` to v.
inline MemoryDisk DiskWithScript() {
  constexpr std::string_view kLoop =
      "for i = 1, 3000000 do local x = i % 7 end return redis.call('SET', 'k', 'v')";
  MemoryDisk disk;
  disk.MakeFolder("/appendonlydir");
  disk.files["/appendonlydir/appendonly.aof.manifest"] =
      "file appendonly.aof.1.incr.aof seq 1 type i\n";
  disk.files[kFirstIncrement] =
      Concat("*3\r\n$4\r\nEVAL\r\n$", kLoop.size(), "\r\n", kLoop, "\r\n$1\r\n0\r\n");
  return disk;
}

// Of the clock by which scripts are timed, at each reading: others are served inside at once.
inline constexpr int64_t kScriptTickNanos = 6'000'000;

}  // namespace sluice
