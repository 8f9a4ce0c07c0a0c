// TemporaryFolder: a folder of the machine, for programs that want files; it goes with the object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace sluice {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    char pattern[] = "/tmp/sluice-files-XXXXXX";
    if (mkdtemp(pattern)) path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;

  // Returns the file's path. Folders in `name` are made.
  std::string Write(const std::string& name, std::string_view bytes) const {
    const std::string path = path_ + '/' + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace sluice
