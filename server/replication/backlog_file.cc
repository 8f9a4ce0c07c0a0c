// See backlog_file.h.
#include "server/replication/backlog_file.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "protocol/text/concat.h"
#include "storage/rdb/crc64.h"

namespace sluice {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

std::string LastBytes(Backlog& backlog) {
  const size_t bytes = std::min(backlog.bytes(), kBacklogFileBytesMax);
  BacklogReader reader(backlog, backlog.end() - static_cast<int64_t>(bytes) + 1);
  std::string all;
  all.reserve(bytes);
  for (std::string_view piece = reader.Take(bytes); !piece.empty(); piece = reader.Take(bytes))
    all += piece;
  return all;
}

std::string HeadOf(const StreamPosition& at, std::string_view bytes) {
  return Concat(StreamLine({.id = at.id, .offset = at.offset}), Crc64(bytes), kLineEnd);
}

// The bytes behind the two lines of the head.
std::string_view BytesOf(std::string_view file) {
  for (int line = 0; line < 2; ++line) {
    const size_t end = file.find(kLineEnd);
    if (end == file.npos) return {};
    file.remove_prefix(end + kLineEnd.size());
  }
  return file;
}

}  // namespace

int WriteBacklogFile(Disk& disk, const std::string& path, const StreamPosition& at,
                     Backlog& backlog) {
  const std::string bytes = LastBytes(backlog);
  return disk.Replace(path, HeadOf(at, bytes) + bytes);
}

std::optional<std::string> TakeBacklogFile(Disk& disk, const std::string& path,
                                           const StreamPosition& at) {
  std::string file;
  if (disk.Read(path, file) != 0) return std::nullopt;
  // What cannot be removed could be found again by the next start: it is not for use.
  if (disk.Remove(path) != 0 || disk.SyncFolder(FolderOf(path)) != 0) return std::nullopt;
  std::string bytes(BytesOf(file));
  const bool is_whole =
      bytes.size() <= static_cast<uint64_t>(at.offset) && file == HeadOf(at, bytes) + bytes;
  if (!is_whole) return std::nullopt;
  return bytes;
}

}  // namespace sluice
