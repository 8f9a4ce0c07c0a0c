// See system_disk.h. A file is replaced by writing a temporary one beside it, fsync, rename, and
// fsync of the folder: after a crash it is the old or the new one.
#include "server/system/system_disk.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <utility>

namespace sluice {
namespace {

constexpr mode_t kNewFileMode = 0644;  // less what the process's umask takes away

bool WriteWhole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return ::fsync(descriptor) == 0;
}

// Where writing to `path` writes to: symbolic links are followed, also to where nothing is yet.
std::string FollowLinks(const std::string& path) {
  constexpr int kLinksMax = 40;  // as the kernel has it
  std::filesystem::path at = path;
  for (int i = 0; i < kLinksMax; ++i) {
    std::error_code fault;
    const std::filesystem::path next = std::filesystem::read_symlink(at, fault);
    if (fault) return at.string();
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return path;
}

class SystemFile final : public DiskFile {
 public:
  explicit SystemFile(int descriptor) : descriptor_(descriptor) {}
  ~SystemFile() override { ::close(descriptor_); }

  int Append(std::string_view bytes, size_t& written) override {
    written = 0;
    while (written < bytes.size()) {
      const ssize_t result = ::write(descriptor_, bytes.data() + written, bytes.size() - written);
      if (result < 0 && errno == EINTR) continue;
      if (result < 0) return errno;
      if (result == 0) return ENOSPC;
      written += static_cast<size_t>(result);
    }
    return 0;
  }

  int ReadAt(uint64_t offset, std::span<char> into, size_t& got) override {
    got = 0;
    while (got < into.size()) {
      const ssize_t result = ::pread(descriptor_, into.data() + got, into.size() - got,
                                     static_cast<off_t>(offset + got));
      if (result < 0 && errno == EINTR) continue;
      if (result < 0) return errno;
      if (result == 0) break;
      got += static_cast<size_t>(result);
    }
    return 0;
  }

  int Truncate(uint64_t bytes) override {
    return ::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  }
  int Sync() override { return ::fdatasync(descriptor_) == 0 ? 0 : errno; }
  int Size(uint64_t& bytes) override {
    struct stat about;
    if (::fstat(descriptor_, &about) != 0) return errno;
    bytes = static_cast<uint64_t>(about.st_size);
    return 0;
  }
  int Lock() override { return ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno; }

 private:
  const int descriptor_;
};

}  // namespace

int SystemDisk::Open(const std::string& path, Mode mode, std::unique_ptr<DiskFile>& file) {
  // A fifo without a writer would hold the caller up.
  int flags = mode == Mode::kRead ? O_RDONLY | O_NONBLOCK : O_RDWR | O_APPEND | O_CREAT;
  if (mode == Mode::kAppendOwn) flags |= O_NOFOLLOW;
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, kNewFileMode);
  if (descriptor < 0) return errno;
  auto opened = std::make_unique<SystemFile>(descriptor);
  struct stat about;
  if (::fstat(descriptor, &about) != 0) return errno;
  if (S_ISDIR(about.st_mode)) return EISDIR;
  if (!S_ISREG(about.st_mode)) return EINVAL;
  file = std::move(opened);
  return 0;
}

int SystemDisk::Rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int SystemDisk::Remove(const std::string& path) { return ::unlink(path.c_str()) == 0 ? 0 : errno; }

int SystemDisk::MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0) return 0;
  const int fault = errno;
  struct stat about;
  if (fault != EEXIST || ::stat(path.c_str(), &about) != 0) return fault;
  return S_ISDIR(about.st_mode) ? 0 : ENOTDIR;
}

int SystemDisk::Identify(const std::string& path, DiskIdentity& identity) {
  struct stat about;
  if (::stat(path.c_str(), &about) != 0) return errno;
  identity = {.device = about.st_dev,
              .number = about.st_ino,
              .bytes = static_cast<uint64_t>(about.st_size),
              .written_ns = about.st_mtim.tv_sec * int64_t{1'000'000'000} + about.st_mtim.tv_nsec};
  return 0;
}

// A rename is durable once its folder is.
int SystemDisk::SyncFolder(const std::string& path) {
  const int descriptor = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int fault = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  return fault;
}

int SystemDisk::Read(const std::string& path, std::string& bytes) {
  std::unique_ptr<DiskFile> file;
  if (const int fault = Open(path, Mode::kRead, file)) return fault;
  bytes.clear();
  char piece[16 * 1024];
  size_t got = sizeof piece;
  while (got == sizeof piece) {  // what /proc has says no size
    if (const int fault = file->ReadAt(bytes.size(), piece, got)) return fault;
    bytes.append(piece, got);
    if (bytes.size() > kReadBytesMax) return EFBIG;
  }
  return 0;
}

int SystemDisk::Replace(const std::string& link, std::string_view bytes) {
  const std::string path = FollowLinks(link);
  const std::string temporary = path + "." + std::to_string(std::random_device()());
  struct stat old;
  const bool is_new = ::stat(path.c_str(), &old) != 0;
  // A file that only its owner may read has passwords: its copy is never readable to others.
  const mode_t mode = is_new ? kNewFileMode : S_IRUSR | S_IWUSR;
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0) return errno;
  int fault = 0;
  if (!WriteWhole(descriptor, bytes)) fault = errno;
  if (fault == 0 && !is_new && ::fchmod(descriptor, old.st_mode & 07777) != 0) fault = errno;
  ::close(descriptor);
  if (fault == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) fault = errno;
  if (fault != 0) {
    ::unlink(temporary.c_str());
    return fault;
  }
  return SyncFolder(std::filesystem::path(path).parent_path().string());
}

std::vector<std::string> SystemDisk::Match(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found;
  if (::glob(pattern.c_str(), 0, nullptr, &found) != 0) return paths;
  paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

std::string SystemDisk::Absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

int SystemDisk::Room(const std::string& folder, uint64_t& bytes) {
  struct statvfs about;
  if (::statvfs(folder.c_str(), &about) != 0) return errno;
  bytes = uint64_t{about.f_bavail} * about.f_frsize;
  return 0;
}

}  // namespace sluice
