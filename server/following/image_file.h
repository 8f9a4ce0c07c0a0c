// ImageFile: the image of a full sync, written to a temporary file by the worker of snapshots while
// more of it comes. Few bytes wait for the disk: who has no room is to read no further until
// it is told.
//
//   file.Append(bytes) ... file.End()      on_progress is called as pieces are written
//   if (file.is_written()) load(file.path())
//
// The file stays when it is written; who has it then removes it. One that is given up goes. Where
// it is known how long the image is, one that the disk has no room for is refused at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/clients/background.h"
#include "storage/disk.h"

namespace sluice {

class ImageFile {
 public:
  // So much waits for the worker: some pieces of a size that is worth a job.
  static constexpr size_t kWaitingBytesMax = 4 * 1024 * 1024;
  static constexpr size_t kPieceBytes = 256 * 1024;

  // Nobody else uses `path`, which is absolute. Disk and worker outlive the file. `on_progress` is
  // called on the loop, maybe from within Expect, Append or End, and may destroy the ImageFile.
  ImageFile(Disk& disk, Background& background, std::string path,
            std::function<void()> on_progress);
  ~ImageFile();
  ImageFile(const ImageFile&) = delete;

  // So many bytes are to come. Requires: none has yet.
  void Expect(uint64_t bytes);
  bool has_room() const { return waiting_.size() < kWaitingBytesMax; }
  // Where the next bytes go; Append tells that they are there.
  std::string& waiting() { return waiting_; }
  void Append();
  // No more comes.
  void End();

  const std::string& path() const { return work_->path; }
  bool is_written() const { return is_ended_ && !is_writing_ && waiting_.empty() && fault() == 0; }
  int fault() const { return fault_; }  // an errno; 0: none

 private:
  // The worker has it.
  struct Work {
    Work(Disk& on, std::string name) : disk(on), path(std::move(name)) {}

    Disk& disk;
    const std::string path;
    std::unique_ptr<DiskFile> file;  // null: not made yet

    int Open(uint64_t bytes_expected);
    int Append(std::string_view bytes);
  };

  void WriteWaiting();
  void Written(int fault);

  Background& background_;
  const std::function<void()> on_progress_;
  const std::shared_ptr<Work> work_;
  const std::shared_ptr<bool> life_ = std::make_shared<bool>(true);  // false: it is gone
  std::string waiting_;
  uint64_t expected_ = 0;
  bool is_writing_ = false;
  bool is_ended_ = false;
  int fault_ = 0;
};

}  // namespace sluice
