// See rdb_source.h.
#include "storage/log/rdb_source.h"

#include <algorithm>

namespace sluice {

bool BeginsAsRdb(std::string_view begin) {
  return begin.starts_with("REDIS") || begin.starts_with("VALKEY");
}

std::optional<size_t> RdbSource::Read(char* into, size_t bytes) {
  size_t got = 0;
  if (file_.ReadAt(at_, {into, std::min<uint64_t>(bytes, left())}, got) != 0) return std::nullopt;
  at_ += got;
  return got;
}

}  // namespace sluice
