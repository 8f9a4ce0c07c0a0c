// MemoryDisk: files in a map, and faults on demand.
#pragma once

#include <cerrno>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/glob.h"
#include "storage/disk.h"

namespace sluice {

class MemoryDisk final : public Disk {
 public:
  std::map<std::string, std::string> files;
  int write_fault = 0;  // an errno that every Replace answers, leaving the file as it was

  int Read(const std::string& path, std::string& bytes) override {
    const auto found = files.find(Absolute(path));
    if (found == files.end()) return ENOENT;
    bytes = found->second;
    return 0;
  }
  int Replace(const std::string& path, std::string_view bytes) override {
    if (write_fault != 0) return write_fault;
    files[Absolute(path)] = bytes;
    return 0;
  }
  std::vector<std::string> Match(const std::string& pattern) override {
    std::vector<std::string> paths;
    for (const auto& [path, bytes] : files) {
      if (GlobMatches(Absolute(pattern), path)) paths.push_back(path);
    }
    return paths;
  }
  std::string Absolute(const std::string& path) override {
    return path.starts_with('/') ? path : "/" + path;
  }
};

}  // namespace sluice
