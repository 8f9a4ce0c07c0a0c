// TurnFile: the file that whole turns are appended to. A write that fails leaves none of them: what
// got there is cut off, if not at once then before the next.
//
// It is moved to whoever may write: the loop, or the worker together with a job.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "storage/disk.h"

namespace sluice {

class TurnFile {
 public:
  TurnFile() = default;
  // `bytes` of whole turns are there, and on disk.
  TurnFile(std::unique_ptr<DiskFile> file, uint64_t bytes)
      : file_(std::move(file)), end_(bytes), synced_(bytes) {}

  // All of it, or nothing. 0 or an errno value.
  int Append(std::string_view turns) {
    if (needs_cut_) {
      if (const int fault = file_->Truncate(end_)) return fault;
      needs_cut_ = false;
    }
    size_t written = 0;
    const int fault = file_->Append(turns, written);
    if (fault == 0) {
      end_ += turns.size();
    } else if (written > 0) {
      needs_cut_ = file_->Truncate(end_) != 0;
    }
    return fault;
  }
  // After a fault no byte of it may count as being on disk. EIO also where somebody else has cut
  // the file, or written to it.
  int Sync() {
    uint64_t bytes = 0;
    int fault = file_->Size(bytes);
    if (fault == 0 && bytes != end_ && !needs_cut_) fault = EIO;
    if (fault == 0) fault = file_->Sync();
    if (fault == 0) synced_ = end_;
    return fault;
  }
  uint64_t end() const { return end_; }
  uint64_t synced() const { return synced_; }

 private:
  std::unique_ptr<DiskFile> file_;
  uint64_t end_ = 0;  // of the last whole turn
  uint64_t synced_ = 0;
  bool needs_cut_ = false;  // behind it is a part of one
};

}  // namespace sluice
