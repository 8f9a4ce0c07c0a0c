// SystemDisk: the machine's file system.
//
// Functions return 0 or an errno value, as Disk says. Interrupted and short writes are gone on
// with.
#pragma once

#include "storage/disk.h"

namespace sluice {

class SystemDisk final : public Disk {
 public:
  int Open(const std::string& path, Mode mode, std::unique_ptr<DiskFile>& file) override;
  int Rename(const std::string& from, const std::string& to) override;
  int Remove(const std::string& path) override;
  int MakeFolder(const std::string& path) override;
  int Identify(const std::string& path, DiskIdentity& identity) override;
  int SyncFolder(const std::string& path) override;
  int Read(const std::string& path, std::string& bytes) override;
  int Replace(const std::string& path, std::string_view bytes) override;
  std::vector<std::string> Match(const std::string& pattern) override;
  std::string Absolute(const std::string& path) override;
  int Room(const std::string& folder, uint64_t& bytes) override;
};

}  // namespace sluice
