// SnapshotTarget: where the bytes of a snapshot go: into a file (SnapshotFile), or to peers that
// read it while it is made (SnapshotSpool).
//
// Bytes are taken at once, and those that a worker has not brought to the disk yet wait in memory:
// how many tells Snapshots when the walk through the keys has to wait. A peer is never waited for.
//
// One that is destroyed before Finish has called back was given up: nothing of it stays.
#pragma once

#include <cstddef>
#include <functional>

#include "storage/rdb/byte_sink.h"

namespace sluice {

class SnapshotTarget : public ByteSink {
 public:
  using Finished = std::function<void(int fault)>;  // 0 or an errno value

  // Before the first byte. 0 or an errno value.
  virtual int Open() = 0;
  // All was written. `finished` is told, on the loop and maybe before this returns, that it is
  // whole, or why not; it may destroy the target.
  virtual void Finish(Finished finished) = 0;
  // Bytes that wait for the disk.
  virtual size_t waiting_bytes() const = 0;
  // Why no more is taken: an errno value; 0: nothing is wrong, as far as the loop knows.
  virtual int fault() const = 0;
};

}  // namespace sluice
