// See rdb_source.h.
#include "storage/log/rdb_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sluice {

bool BeginsAsRdb(std::string_view begin) {
  return begin.starts_with("REDIS") || begin.starts_with("VALKEY");
}

std::string WhyUnopened(int fault) {
  if (fault == EISDIR) return "it is a folder, not a file";
  if (fault == EINVAL || fault == ENXIO) return "it is a pipe or a device, not a file";
  if (fault == EFBIG) return "it is larger than any such file";
  if (fault == ELOOP) return "it is a symbolic link, which is not followed";
  return std::string("it cannot be opened: ") + std::strerror(fault);
}

std::optional<size_t> RdbSource::Read(char* into, size_t bytes) {
  size_t got = 0;
  if (file_.ReadAt(at_, {into, std::min<uint64_t>(bytes, left())}, got) != 0) return std::nullopt;
  at_ += got;
  return got;
}

}  // namespace sluice
