// See file_source.h.
#include "server/program/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "protocol/text/concat.h"

namespace sluice {

FileSource::~FileSource() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Fault FileSource::Open(const std::string& path) {
  // Opening a pipe would wait for its writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    return Concat(path, ": cannot be opened: ", std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) return Concat(path, ": is a folder, not a file");
  if (!S_ISREG(status.st_mode)) return Concat(path, ": is a pipe or a device, not a file");
  size_ = static_cast<uint64_t>(status.st_size);
  return {};
}

std::optional<size_t> FileSource::Read(char* into, size_t bytes) {
  ssize_t got;
  do {
    got = ::read(descriptor_, into, bytes);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    fault_ = errno;
    return std::nullopt;
  }
  read_ += static_cast<uint64_t>(got);
  return static_cast<size_t>(got);
}

}  // namespace sluice
