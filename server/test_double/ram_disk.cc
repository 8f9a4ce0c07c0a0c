// See ram_disk.h.
#include "server/test_double/ram_disk.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "protocol/text/glob.h"

namespace sluice {
namespace {

class RamFile final : public DiskFile {
 public:
  explicit RamFile(std::shared_ptr<std::string> bytes) : bytes_(std::move(bytes)) {}

  int Append(std::string_view bytes, size_t& written) override {
    bytes_->append(bytes);
    written = bytes.size();
    return 0;
  }
  int ReadAt(uint64_t offset, std::span<char> into, size_t& got) override {
    got = 0;
    if (offset < bytes_->size()) got = bytes_->copy(into.data(), into.size(), offset);
    return 0;
  }
  int Truncate(uint64_t bytes) override {
    bytes_->resize(bytes);
    return 0;
  }
  int Sync() override { return 0; }
  int Size(uint64_t& bytes) override {
    bytes = bytes_->size();
    return 0;
  }
  int Lock() override { return 0; }

 private:
  const std::shared_ptr<std::string> bytes_;
};

}  // namespace

int RamDisk::Open(const std::string& path, Mode mode, std::unique_ptr<DiskFile>& file) {
  const auto found = files_.find(path);
  if (found == files_.end() && mode == Mode::kRead) return ENOENT;
  auto& bytes = files_[path];
  if (!bytes) bytes = std::make_shared<std::string>();
  file = std::make_unique<RamFile>(bytes);
  return 0;
}

int RamDisk::Rename(const std::string& from, const std::string& to) {
  const auto found = files_.find(from);
  if (found == files_.end()) return ENOENT;
  if (from == to) return 0;
  files_[to] = std::move(found->second);
  files_.erase(found);
  return 0;
}

int RamDisk::Remove(const std::string& path) { return files_.erase(path) > 0 ? 0 : ENOENT; }

int RamDisk::Identify(const std::string& path, DiskIdentity& identity) {
  const auto found = files_.find(path);
  if (found == files_.end()) return ENOENT;
  identity = {.number = reinterpret_cast<uintptr_t>(found->second.get()),
              .bytes = found->second->size()};
  return 0;
}

int RamDisk::Read(const std::string& path, std::string& bytes) {
  const auto found = files_.find(path);
  if (found == files_.end()) return ENOENT;
  bytes = *found->second;
  return 0;
}

int RamDisk::Replace(const std::string& path, std::string_view bytes) {
  files_[path] = std::make_shared<std::string>(bytes);
  return 0;
}

std::vector<std::string> RamDisk::Match(const std::string& pattern) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files_) {
    if (GlobMatches(pattern, name)) names.push_back(name);
  }
  return names;
}

}  // namespace sluice
