// SnapshotFile: a file that is written in pieces while clients are served. A worker appends them in
// their order; what was written is synced now and then, so that the end is not one long sync. Only
// when all of it is on disk does the file get its name: until then the one before stays.
//
// Faults are errno values: the first one stays, and ends the writing. Bytes wait in blocks of some
// 256 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/clients/host.h"
#include "storage/disk.h"
#include "storage/rdb/byte_sink.h"

namespace sluice {

class SnapshotFile final : public ByteSink {
 public:
  // `temporary` is the name until it is whole, `path` from then on; they may be the same.
  struct Names {
    std::string temporary;
    std::string path;
  };
  using Finished = std::function<void(int fault)>;

  // `host` null: the pieces are written by the caller's own thread. Both outlive the file.
  SnapshotFile(Disk& disk, Host* host, Names names, bool syncs_often);
  // A file that was not finished is removed, when the worker is done with it, and gets no name.
  ~SnapshotFile() override;
  SnapshotFile(const SnapshotFile&) = delete;

  // Makes the file, which is empty then. 0 or an errno value.
  int Open();
  bool Write(std::string_view bytes) override;
  // All was written. `finished` is told, on the loop, when it has its name or cannot get it; not
  // when the SnapshotFile is gone before.
  void Finish(Finished finished);
  size_t waiting_bytes() const { return waiting_; }
  int fault() const;

 private:
  struct Work;
  void AddBlock(size_t bytes);
  void StartJob();
  void JobDone();

  Host* const host_;
  const std::shared_ptr<Work> work_;  // shared with the worker
  std::vector<std::string> pending_;  // in blocks: none is copied when more comes
  std::vector<std::string> spare_;    // blocks whose memory is used again
  size_t pending_bytes_ = 0;
  size_t waiting_ = 0;  // with what the worker has
  bool busy_ = false;
  bool is_whole_ = false;
  Finished finished_;
};

}  // namespace sluice
