// SnapshotFile: a file that is written in pieces while clients are served. A worker appends them in
// their order; what was written is synced now and then, so that the end is not one long sync. Only
// when all of it is on disk does the file get its name: until then the one before stays.
//
// Faults are errno values: the first one stays, and ends the writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/clients/host.h"
#include "server/snapshots/pending_blocks.h"
#include "server/snapshots/snapshot_target.h"
#include "storage/disk.h"

namespace sluice {

class SnapshotFile final : public SnapshotTarget {
 public:
  // `temporary` is the name until it is whole, `path` from then on; they may be the same.
  struct Names {
    std::string temporary;
    std::string path;
  };
  // `host` null: the pieces are written by the caller's own thread. Both outlive the file.
  SnapshotFile(Disk& disk, Host* host, Names names, bool syncs_often);
  // A file that was not finished is removed, when the worker is done with it, and gets no name.
  ~SnapshotFile() override;
  SnapshotFile(const SnapshotFile&) = delete;

  // --- SnapshotTarget
  // Makes the file, which is empty then.
  int Open() override;
  bool Write(std::string_view bytes) override;
  // `finished` is told when it has its name or cannot get it.
  void Finish(Finished finished) override;
  size_t waiting_bytes() const override { return waiting_; }
  int fault() const override;

 private:
  struct Work;
  void StartJob();
  void JobDone();

  Host* const host_;
  const std::shared_ptr<Work> work_;  // shared with the worker
  PendingBlocks pending_;
  size_t waiting_ = 0;  // with what the worker has
  bool busy_ = false;
  bool is_whole_ = false;
  Finished finished_;
};

}  // namespace sluice
