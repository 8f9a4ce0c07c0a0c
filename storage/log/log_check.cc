// See log_check.h.
#include "storage/log/log_check.h"

#include <cstring>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "protocol/text/concat.h"
#include "storage/log/log_folder.h"
#include "storage/log/log_reader.h"
#include "storage/log/rdb_source.h"
#include "storage/rdb/rdb_file_reader.h"
#include "storage/rdb/rdb_lock.h"

namespace sluice {
namespace {

constexpr std::string_view kManifestEnd = ".manifest";
constexpr size_t kCopiedAtOnce = 256 * 1024;
constexpr std::string_view kCopyEnd = ".before-fix";

// The first `bytes` of a file into a new one, synced; 0 or an errno value.
int Copy(Disk& disk, DiskFile& from, uint64_t bytes, const std::string& path) {
  std::unique_ptr<DiskFile> to;
  int fault = disk.Open(path, Disk::Mode::kAppendOwn, to);
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

// 0, or why the file could not be cut behind `whole`. A repair is often root's, in a folder that is
// another user's: a link there leads to what that user may not write.
int Fix(Disk& disk, const std::string& path, uint64_t bytes, uint64_t whole) {
  std::unique_ptr<DiskFile> file;
  int fault = disk.Open(path, Disk::Mode::kAppendOwn, file);
  if (fault == 0) fault = Copy(disk, *file, bytes, Concat(path, kCopyEnd));
  if (fault == 0) fault = file->Truncate(whole);
  return fault == 0 ? file->Sync() : fault;
}

// The keys of an RDB file: of each a hash, to find those that are there twice. The hash's key is
// secret, so that no file can be made whose names collide.
class BaseKeys final : public RdbFileVisitor {
 public:
  explicit BaseKeys(const SipKey& hash_key) : hash_key_(hash_key) {}
  size_t size() const { return seen_.size(); }

 private:
  std::string Aux(std::string_view, std::string_view) override { return {}; }
  std::string Function(std::string_view) override { return {}; }
  std::string Key(RdbFileKey& key) override {
    const uint64_t hash = SipHash13(Concat(key.db, ' ', key.name), hash_key_);
    return seen_.insert(hash).second ? "" : "the key is there twice";
  }
  void LeftOut(const RdbLeftOut&) override {}

  const SipKey hash_key_;
  absl::flat_hash_set<uint64_t> seen_;
};

// One run over all files; the report grows line by line.
class Check {
 public:
  Check(Disk& disk, bool fix, const SipKey& secret, std::string& report)
      : disk_(disk), fix_(fix), hash_keys_(secret), report_(report) {}

  // An RDB file is known by its first bytes, not by its name; an empty file with such a name is one
  // as well, and faulty.
  bool File(const std::string& path, bool is_last) {
    std::unique_ptr<DiskFile> file;
    uint64_t bytes = 0;
    int fault = disk_.Open(path, Disk::Mode::kRead, file);
    if (fault == 0) fault = file->Size(bytes);
    if (fault != 0) return Say(Concat(path, ": ", std::strerror(fault))), false;
    char begin[8];
    size_t got = 0;
    if (file->ReadAt(0, begin, got) != 0) got = 0;
    uint64_t begins = 0;  // the commands, behind an RDB file
    if (BeginsAsRdb({begin, got}) || (bytes == 0 && path.ends_with(".rdb"))) {
      if (!RdbFile(path, *file, bytes, begins)) return false;
      if (begins == bytes) return true;
    }
    LogReader reader(*file, bytes, begins);
    uint64_t turns = 0, commands = 0;
    LogReader::Step step;
    while ((step = reader.Next()) == LogReader::Step::kTurn) {
      ++turns;
      commands += reader.commands();
    }
    const std::string_view marks = reader.is_marked() ? "" : ", not marked: damage may be unseen";
    Say(Concat(path, ": ", bytes - begins, " bytes, ", turns, " turns, ", commands, " commands",
               marks));
    if (step != LogReader::Step::kEnd) return Fault(path, is_last, reader, bytes);
    has_marks_ = reader.is_marked();
    return true;
  }

 private:
  void Say(std::string_view line) { report_.append(line).push_back('\n'); }

  // As LogLoader takes it: in which no moment has come, and every type has to be known. `end`:
  // where it is over, if it is whole.
  bool RdbFile(const std::string& path, DiskFile& file, uint64_t bytes, uint64_t& end) {
    RdbSource source(file, bytes);
    RdbContext context;
    context.hash.hash_keys = context.set.hash_keys = context.sorted_set.hash_keys = &hash_keys_;
    context.make_lock = MakePlainLock;
    BaseKeys keys(hash_keys_.Next());
    RdbFileReader reader(source, context, {.databases = UINT64_MAX}, keys);
    const bool is_whole = reader.ReadAll();
    end = is_whole ? reader.offset() : bytes;
    Say(Concat(path, ": ", end, " bytes, an RDB file of version ", reader.version(), ", ",
               keys.size(), " keys"));
    if (is_whole) return true;
    Say(Concat("  ", reader.error()));
    return Say("  files that follow would not fit: restore it from a backup"), false;
  }

  // A cut is safe at the end of the last file alone: what follows elsewhere was written after what
  // would be cut off.
  bool Fault(const std::string& path, bool is_last, LogReader& reader, uint64_t bytes) {
    const uint64_t whole = reader.whole();
    Say(Concat("  fault behind offset ", whole, ": ", reader.fault()));
    if (!is_last) return Say("  files that follow would not fit: restore it from a backup"), false;
    const bool is_torn = reader.IsTorn(has_marks_);
    Say(Concat("  ", is_torn ? "a crash leaves that" : "a crash does not leave that",
               "; a repair cuts the last ", bytes - whole, " of ", bytes, " bytes"));
    if (!fix_) return Say("  --fix does so"), false;
    if (const int fault = Fix(disk_, path, bytes, whole))
      return Say(Concat("  it could not be cut: ", WhyUnopened(fault))), false;
    Say(Concat("  cut; what it was is in ", path, kCopyEnd));
    return true;
  }

  Disk& disk_;
  const bool fix_;
  bool has_marks_ = false;  // the file before
  HashKeys hash_keys_;
  std::string& report_;
};

}  // namespace

// All files are looked at, also behind a fault: the report is for a person.
bool CheckLog(Disk& disk, const std::string& folder, bool fix, const SipKey& secret,
              std::string& report) {
  const std::vector<std::string> found = disk.Match(Concat(folder, "/*", kManifestEnd));
  if (found.size() != 1) {
    report = Concat(folder, found.empty() ? " has no manifest" : " has several manifests",
                    ": name the folder of a log (appenddirname)\n");
    return false;
  }
  // The folder tells the log's name: its manifest has it.
  std::string name = found.front().substr(found.front().rfind('/') + 1);
  name.resize(name.size() - kManifestEnd.size());
  LogFolder log(disk, folder, name);
  if (const std::string fault = log.Look(); !fault.empty()) {
    report = fault + "\n";
    return false;
  }
  Check check(disk, fix, secret, report);
  const std::vector<Manifest::File> files = log.Files();
  bool is_whole = true;
  for (size_t i = 0; i < files.size(); ++i) {
    is_whole &= check.File(log.PathOf(files[i]), i + 1 == files.size());
  }
  return is_whole;
}

}  // namespace sluice
