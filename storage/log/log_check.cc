// See log_check.h.
#include "storage/log/log_check.h"

#include <cstring>
#include <memory>
#include <vector>

#include "protocol/text/concat.h"
#include "storage/log/log_folder.h"
#include "storage/log/log_reader.h"

namespace sluice {
namespace {

constexpr std::string_view kManifestEnd = ".manifest";
constexpr size_t kCopiedAtOnce = 256 * 1024;
constexpr std::string_view kCopyEnd = ".before-fix";

int Copy(Disk& disk, DiskFile& from, uint64_t bytes, const std::string& path) {
  std::unique_ptr<DiskFile> to;
  int fault = disk.Open(path, Disk::Mode::kAppend, to);
  if (fault == 0) fault = to->Truncate(0);
  std::string piece;
  for (uint64_t at = 0; at < bytes && fault == 0; at += piece.size()) {
    piece.resize(kCopiedAtOnce);
    size_t got = 0, written = 0;
    fault = from.ReadAt(at, piece, got);
    piece.resize(got);
    if (fault == 0 && got == 0) break;
    if (fault == 0) fault = to->Append(piece, written);
  }
  return fault == 0 ? to->Sync() : fault;
}

// 0, or why the file could not be cut behind `whole`.
int Fix(Disk& disk, const std::string& path, uint64_t bytes, uint64_t whole) {
  std::unique_ptr<DiskFile> file;
  int fault = disk.Open(path, Disk::Mode::kAppend, file);
  if (fault == 0) fault = Copy(disk, *file, bytes, Concat(path, kCopyEnd));
  if (fault == 0) fault = file->Truncate(whole);
  return fault == 0 ? file->Sync() : fault;
}

class Check {
 public:
  Check(Disk& disk, bool fix, std::string& report) : disk_(disk), fix_(fix), report_(report) {}

  bool File(const std::string& path, bool is_last) {
    std::unique_ptr<DiskFile> file;
    uint64_t bytes = 0;
    int fault = disk_.Open(path, Disk::Mode::kRead, file);
    if (fault == 0) fault = file->Size(bytes);
    if (fault != 0) return Say(Concat(path, ": ", std::strerror(fault))), false;
    char magic[5];
    size_t got = 0;
    if (file->ReadAt(0, magic, got) == 0 && std::string_view(magic, got) == "REDIS")
      return Say(Concat(path, ": an RDB file; redis-check-rdb reads it")), true;
    LogReader reader(*file, bytes);
    uint64_t turns = 0, commands = 0;
    LogReader::Step step;
    while ((step = reader.Next()) == LogReader::Step::kTurn) {
      ++turns;
      commands += reader.commands();
    }
    const std::string_view marks = reader.is_marked() ? "" : ", not marked: damage may be unseen";
    Say(Concat(path, ": ", bytes, " bytes, ", turns, " turns, ", commands, " commands", marks));
    return step == LogReader::Step::kEnd || Fault(path, is_last, reader, bytes);
  }

 private:
  void Say(std::string_view line) { report_.append(line).push_back('\n'); }

  bool Fault(const std::string& path, bool is_last, LogReader& reader, uint64_t bytes) {
    const uint64_t whole = reader.whole();
    Say(Concat("  fault behind offset ", whole, ": ", reader.fault()));
    if (!is_last) return Say("  files that follow would not fit: restore it from a backup"), false;
    Say(Concat("  ", reader.IsTorn() ? "a crash leaves that" : "a crash does not leave that",
               "; a repair cuts the last ", bytes - whole, " of ", bytes, " bytes"));
    if (!fix_) return Say("  --fix does so"), false;
    if (const int fault = Fix(disk_, path, bytes, whole))
      return Say(Concat("  it could not be cut: ", std::strerror(fault))), false;
    Say(Concat("  cut; what it was is in ", path, kCopyEnd));
    return true;
  }

  Disk& disk_;
  const bool fix_;
  std::string& report_;
};

}  // namespace

bool CheckLog(Disk& disk, const std::string& folder, bool fix, std::string& report) {
  const std::vector<std::string> found = disk.Match(Concat(folder, "/*", kManifestEnd));
  if (found.size() != 1) {
    report = Concat(folder, found.empty() ? " has no manifest" : " has several manifests",
                    ": name the folder of a log (appenddirname)\n");
    return false;
  }
  std::string name = found.front().substr(found.front().rfind('/') + 1);
  name.resize(name.size() - kManifestEnd.size());
  LogFolder log(disk, folder, name);
  if (const std::string fault = log.Look(); !fault.empty()) {
    report = fault + "\n";
    return false;
  }
  Check check(disk, fix, report);
  const std::vector<Manifest::File> files = log.Files();
  bool is_whole = true;
  for (size_t i = 0; i < files.size(); ++i) {
    is_whole &= check.File(log.PathOf(files[i]), i + 1 == files.size());
  }
  return is_whole;
}

}  // namespace sluice
