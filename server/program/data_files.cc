// See data_files.h.
#include "server/program/data_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "protocol/text/concat.h"
#include "protocol/text/words.h"
#include "storage/log/rdb_source.h"

namespace sluice {
namespace {

// The manifests of logs in a folder and in the folders that are in it.
std::vector<std::string> Manifests(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code fault;
  std::filesystem::recursive_directory_iterator at(folder, fault);
  for (const auto end = decltype(at)(); !fault && at != end; at.increment(fault)) {
    if (at.depth() >= 1) at.disable_recursion_pending();
    if (at->path().extension() == ".manifest") found.push_back(at->path().string());
  }
  std::ranges::sort(found);
  return found;
}

Fault FindInLog(const std::filesystem::path& manifest, Disk& disk, DataFiles& files) {
  files.log =
      std::make_unique<LogFolder>(disk, manifest.parent_path().string(), manifest.stem().string());
  if (Fault fault = files.log->HoldStill()) return fault;
  if (Fault fault = files.log->Look()) return fault;
  for (const Manifest::File& each : files.log->Files())
    files.paths.push_back(files.log->PathOf(each));
  return files.paths.empty() ? Concat(manifest.string(), ": names no file") : std::string();
}

Fault FindInFolder(const std::string& folder, Disk& disk, DataFiles& files) {
  const std::vector<std::string> manifests = Manifests(folder);
  const std::string dump = folder + "/dump.rdb";
  std::unique_ptr<DiskFile> file;
  const bool has_dump = disk.Open(dump, Disk::Mode::kRead, file) == 0;
  if (manifests.size() + (has_dump ? 1 : 0) > 1) {
    return Concat(folder, ": has ", has_dump ? dump : manifests[0], " and ", manifests.back(),
                  ": name the one that counts (of a log, its folder)");
  }
  if (has_dump) {
    files.paths = {dump};
    files.is_snapshot = true;
    return {};
  }
  if (manifests.empty()) return Concat(folder, ": has neither the manifest of a log nor dump.rdb");
  return FindInLog(manifests[0], disk, files);
}

}  // namespace

Fault FindDataFiles(const std::string& from, Disk& disk, DataFiles& files) {
  const std::string path = disk.Absolute(from);
  std::unique_ptr<DiskFile> file;
  const int fault = disk.Open(path, Disk::Mode::kRead, file);
  if (fault == EISDIR) return FindInFolder(path, disk, files);
  if (fault != 0) return Concat(path, ": ", WhyUnopened(fault));
  char begin[8];
  size_t got = 0;
  if (const int unread = file->ReadAt(0, begin, got))
    return Concat(path, ": cannot be read: ", std::strerror(unread));
  if (got == 0) return Concat(path, ": it is empty");
  const bool is_log = begin[0] == '*' || begin[0] == '#';
  if (!is_log && !BeginsAsRdb({begin, got}))
    return Concat(path, ": is neither an RDB file nor a log: it begins with ",
                  QuotedWord({begin, got}));
  files.paths = {path};
  // Servers before 7.0 wrote logs that begin as RDB files: commands follow.
  files.is_snapshot = !is_log && !path.ends_with(".aof");
  return {};
}

}  // namespace sluice
