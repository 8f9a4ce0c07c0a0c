// See system_disk.h. A file is replaced by writing a temporary one beside it, fsync, rename, and
// fsync of the folder: after a crash it is the old or the new one.
#include "server/net/system_disk.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace sluice {
namespace {

bool WriteWhole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return ::fsync(descriptor) == 0;
}

// A rename is durable once its folder is.
int SyncFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int fault = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  return fault;
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

}  // namespace

int SystemDisk::Read(const std::string& path, std::string& bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  bytes.clear();
  char piece[16 * 1024];
  ssize_t got;
  do {
    got = ::read(descriptor, piece, sizeof piece);
    if (got > 0) bytes.append(piece, static_cast<size_t>(got));
  } while (got > 0 || (got < 0 && errno == EINTR));
  const int fault = got < 0 ? errno : 0;
  ::close(descriptor);
  return fault;
}

int SystemDisk::Replace(const std::string& link, std::string_view bytes) {
  const std::string path = FollowLinks(link);
  std::string temporary = path + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return errno;
  struct stat old;
  const mode_t mode = ::stat(path.c_str(), &old) == 0 ? old.st_mode & 07777 : 0644;
  int fault = 0;
  if (!WriteWhole(descriptor, bytes) || ::fchmod(descriptor, mode) != 0) fault = errno;
  ::close(descriptor);
  if (fault == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) fault = errno;
  if (fault != 0) {
    ::unlink(temporary.c_str());
    return fault;
  }
  return SyncFolderOf(path);
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

}  // namespace sluice
