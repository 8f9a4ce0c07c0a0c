// SpoolFile: a temporary file on the lane of the worker that snapshots write on: appended to, and
// read anywhere, while clients are served. The first append makes it, and takes its name away at
// once: so a crash leaves nothing behind, and what it takes of the disk is free when it is closed.
//
// Nothing of it is synced. After a failed append its end is not known, and it is of no use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/clients/background.h"
#include "storage/disk.h"

namespace sluice {

class SpoolFile {
 public:
  // Told on the loop, and maybe before the call returns; not when the SpoolFile is gone by then. It
  // may destroy the SpoolFile.
  using Appended = std::function<void(int fault, std::vector<std::string> blocks)>;
  using Got = std::function<void(int fault, std::string bytes)>;

  // Nobody else uses `path`, which is absolute. Disk and worker outlive the file.
  SpoolFile(Disk& disk, Background& background, std::string path);
  // The worker closes it: to free what a long file takes of the disk may take long.
  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;

  // Hands the blocks back when they are done with.
  void Append(std::vector<std::string> blocks, Appended appended);
  // Requires: so much was appended, of which `appended` has been told.
  void Read(uint64_t offset, size_t bytes, Got got);

 private:
  // What the worker has.
  struct Work {
    Disk& disk;
    std::string path;
    std::unique_ptr<DiskFile> file;  // null: not made yet

    int Append(const std::vector<std::string>& blocks);
    int Read(uint64_t offset, std::string& bytes) const;
  };

  Background& background_;
  std::shared_ptr<Work> work_;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);  // false: the SpoolFile is gone
};

}  // namespace sluice
