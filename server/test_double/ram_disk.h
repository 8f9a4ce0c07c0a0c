// RamDisk: the files of a private space. They are in memory alone, and nothing of them outlives it:
// SAVE, the append-only log and DEBUG RELOAD work there as on a disk, and touch no other space.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/disk.h"

namespace sluice {

class RamDisk final : public Disk {
 public:
  int Open(const std::string& path, Mode mode, std::unique_ptr<DiskFile>& file) override;
  int Rename(const std::string& from, const std::string& to) override;
  int Remove(const std::string& path) override;
  int MakeFolder(const std::string&) override { return 0; }
  int Identify(const std::string& path, DiskIdentity& identity) override;
  int SyncFolder(const std::string&) override { return 0; }
  int Read(const std::string& path, std::string& bytes) override;
  int Replace(const std::string& path, std::string_view bytes) override;
  std::vector<std::string> Match(const std::string& pattern) override;
  std::string Absolute(const std::string& path) override { return path; }
  int Room(const std::string&, uint64_t& bytes) override { return bytes = UINT64_MAX, 0; }

  void Clear() { files_.clear(); }

 private:
  // An open file goes on when its name is gone, as the system's do.
  std::map<std::string, std::shared_ptr<std::string>, std::less<>> files_;
};

}  // namespace sluice
