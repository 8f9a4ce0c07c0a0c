// FolderDisk: a disk whose relative paths begin at a folder, so that a database in a host program
// has its files there and leaves the working directory of the process alone. Until a folder is
// entered they begin where the process is, as those on a command line and in a configuration do.
//
// Absolute paths (/proc, a configuration elsewhere) are as they are.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/disk.h"

namespace sluice {

class FolderDisk final : public Disk {
 public:
  // `disk` outlives it; `folder` is an absolute path, or empty.
  FolderDisk(Disk& disk, std::string folder) : disk_(disk), folder_(std::move(folder)) {}

  void Enter(std::string folder) { folder_ = std::move(folder); }

  int Open(const std::string& path, Mode mode, std::unique_ptr<DiskFile>& file) override {
    return disk_.Open(At(path), mode, file);
  }
  int Rename(const std::string& from, const std::string& to) override {
    return disk_.Rename(At(from), At(to));
  }
  int Remove(const std::string& path) override { return disk_.Remove(At(path)); }
  int MakeFolder(const std::string& path) override { return disk_.MakeFolder(At(path)); }
  int Identify(const std::string& path, DiskIdentity& identity) override {
    return disk_.Identify(At(path), identity);
  }
  int SyncFolder(const std::string& path) override { return disk_.SyncFolder(At(path)); }
  int Read(const std::string& path, std::string& bytes) override {
    return disk_.Read(At(path), bytes);
  }
  int Replace(const std::string& path, std::string_view bytes) override {
    return disk_.Replace(At(path), bytes);
  }
  std::vector<std::string> Match(const std::string& pattern) override {
    return disk_.Match(At(pattern));
  }
  std::string Absolute(const std::string& path) override { return disk_.Absolute(At(path)); }
  int Room(const std::string& folder, uint64_t& bytes) override {
    return disk_.Room(At(folder), bytes);
  }

 private:
  std::string At(const std::string& path) const {
    // Absolute paths first: a worker may have one while another folder is entered.
    if ((!path.empty() && path.front() == '/') || folder_.empty()) return path;
    return path.empty() || path == "." ? folder_ : folder_ + "/" + path;
  }

  Disk& disk_;
  std::string folder_;
};

}  // namespace sluice
