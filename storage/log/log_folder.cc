// See log_folder.h. The hard part is the order of steps on disk: a manifest is written beside the
// old one, synced and renamed over it; files that it no longer names are removed after that.
#include "storage/log/log_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"

namespace sluice {

Fault LogFolder::FaultOf(const std::string& path, std::string_view what, int fault) const {
  return Concat(disk_.Absolute(path), " cannot be ", what, ": ", std::strerror(fault));
}

// --- opening

Fault LogFolder::Open(int64_t process_id) {
  process_id_ = process_id;
  if (const int fault = disk_.MakeFolder(folder_)) return FaultOf(folder_, "made", fault);
  if (std::string fault = Lock(); !fault.empty()) return fault;
  if (std::string fault = Look(); !fault.empty()) return fault;
  SettleBegun();
  KnowFiles();
  return {};
}

// No file of a log that has no manifest yet is ever taken for one that has lost its own.
void LogFolder::SettleBegun() {
  if (!is_begun_) {
    disk_.Remove(BegunPath());
    return;
  }
  for (const std::string& file : disk_.Match(folder_ + "/" + name_ + ".*")) disk_.Remove(file);
}

Fault LogFolder::Begin() {
  if (is_begun_ || !manifest_.files.empty()) return {};
  int fault = disk_.Replace(
      BegunPath(), Concat("This log has been turned on, and has no base yet: up to its first ",
                          "manifest nothing here counts, and a start takes the snapshot.\n"));
  // And the folder itself, which may be new.
  if (fault == 0) fault = disk_.SyncFolder(FolderOf(disk_.Absolute(folder_)));
  if (fault != 0) return FaultOf(BegunPath(), "written", fault);
  is_begun_ = true;
  return {};
}

// The system drops the lock with the process, however it ends: no stale lock has to be told from a
// live one. The number in the file is for the message alone.
Fault LogFolder::Lock() {
  const std::string path = LockPath();
  std::unique_ptr<DiskFile> file;
  if (const int fault = disk_.Open(path, Disk::Mode::kAppend, file))
    return FaultOf(path, "opened", fault);
  if (const int fault = file->Lock()) {
    if (fault != EWOULDBLOCK) return FaultOf(path, "locked", fault);
    return Concat(IsAnothers(*file).sentence(), ", or give this one another dir or appenddirname");
  }
  size_t written;
  file->Truncate(0);
  file->Append(Concat(process_id_, "\n"), written);
  lock_ = std::move(file);
  watch_.known.clear();
  Know(path, /*is_written_once=*/false);
  return {};
}

Fault LogFolder::IsAnothers(DiskFile& lock) const {
  std::string owner(20, '\0');
  size_t got = 0;
  lock.ReadAt(0, owner, got);
  owner.resize(std::min(got, owner.find('\n')));
  return Concat("another server, process ", owner, ", has the log in ", disk_.Absolute(folder_),
                ": stop it");
}

Fault LogFolder::HoldStill() {
  DiskIdentity there;
  std::unique_ptr<DiskFile> file;
  if (disk_.Identify(LockPath(), there) != 0) return {};
  if (disk_.Open(LockPath(), Disk::Mode::kAppend, file) != 0) return {};
  if (file->Lock() == EWOULDBLOCK) return IsAnothers(*file);
  lock_ = std::move(file);
  return {};
}

// --- whether it is all there

// A file of which the system tells nothing counts as there: a stat that fails is no reason to write
// all anew.
bool LogFolder::Watch::IsAsItWas(const Known& known) const {
  DiskIdentity now;
  const int fault = disk->Identify(known.path, now);
  if (fault == 0)
    return known.is_written_once ? now == known.identity : now.IsSameFile(known.identity);
  return fault != ENOENT && fault != ENOTDIR;
}

bool LogFolder::IsOurs(const std::string& path) const {
  const auto found = std::ranges::find(watch_.known, path, &Known::path);
  return found != watch_.known.end() && watch_.IsAsItWas(*found);
}

// One that is gone already is lost.
void LogFolder::Know(const std::string& path, bool is_written_once) {
  Known known{.path = path, .identity = {}, .is_written_once = is_written_once};
  const int fault = disk_.Identify(path, known.identity);
  if (fault == 0 || fault == ENOENT) watch_.known.push_back(std::move(known));
  ++watch_.number;
}

void LogFolder::KnowFiles() {
  watch_.known.resize(std::min<size_t>(watch_.known.size(), 1));
  if (manifest_.files.empty()) return;
  Know(ManifestPath(), /*is_written_once=*/true);
  for (const Manifest::File& file : Files()) {
    Know(PathOf(file), /*is_written_once=*/file.kind == Manifest::Kind::kBase);
  }
}

std::string LogFolder::Watch::WhatIsLost() const {
  for (const Known& file : known) {
    if (!IsAsItWas(file))
      return Concat(disk->Absolute(file.path), " was removed, replaced, moved or written over");
  }
  return {};
}

Fault LogFolder::Reclaim() {
  if (watch_.WhatIsLost().empty()) return {};
  if (const int fault = disk_.MakeFolder(folder_)) return FaultOf(folder_, "made", fault);
  if (!IsOurs(LockPath())) {
    if (std::string fault = Lock(); !fault.empty()) return fault;
  }
  // Numbers above all that are there: no file of another writer is written over.
  const std::string begin = Concat(folder_, "/", name_, ".");
  for (const std::string& path : disk_.Match(begin + "*")) {
    const std::string_view rest = std::string_view(path).substr(path.rfind('/') + name_.size() + 2);
    if (const auto number = ParseInt64(rest.substr(0, rest.find('.'))))
      named_ = std::max(named_, *number);
  }
  return {};
}

Fault LogFolder::Look() {
  const std::string path = ManifestPath();
  manifest_ = {};
  is_begun_ = false;
  std::unique_ptr<DiskFile> file;
  const int fault = disk_.Open(path, Disk::Mode::kRead, file);
  if (fault == ENOENT) {
    is_begun_ = disk_.Open(BegunPath(), Disk::Mode::kRead, file) == 0;
    if (is_begun_) return {};
    // Files that no manifest names: what they hold would be lost.
    for (const std::string& stray : disk_.Match(folder_ + "/" + name_ + ".*")) {
      uint64_t bytes = 0;
      if (disk_.Open(stray, Disk::Mode::kRead, file) == 0) file->Size(bytes);
      if (bytes > 0)
        return Concat(path, " is missing, and there is ", stray,
                      ": restore the manifest, or move the files away");
    }
    if (disk_.Open(name_, Disk::Mode::kRead, file) == 0)
      return Concat(disk_.Absolute(name_),
                    " is a log of Redis before 7: let redis-server 7 load it once, which moves it "
                    "to ",
                    folder_);
    return {};
  }
  if (fault != 0) return FaultOf(path, "opened", fault);
  uint64_t bytes = 0;
  if (const int unknown = file->Size(bytes)) return FaultOf(path, "read", unknown);
  if (bytes > Manifest::kBytesMax) return Concat(path, " is no manifest: it is too long");
  std::string text(static_cast<size_t>(bytes), '\0');
  size_t got = 0;
  if (const int unread = file->ReadAt(0, text, got)) return FaultOf(path, "read", unread);
  text.resize(got);
  // As Redis: where there is a manifest there was a log, and to begin anew would forget it.
  if (text.empty())
    return Concat(disk_.Absolute(path), " is empty: put back its text, or move it away");
  const std::string what = ReadManifest(text, manifest_);
  return what.empty() ? what : Concat(disk_.Absolute(path), ", ", what);
}

// --- files and names

std::vector<Manifest::File> LogFolder::Files() const {
  std::vector<Manifest::File> files;
  if (const Manifest::File* base = manifest_.base()) files.push_back(*base);
  for (Manifest::File& file : manifest_.increments()) files.push_back(std::move(file));
  return files;
}

Manifest::File LogFolder::Name(Manifest::Kind kind, int64_t above) const {
  const int64_t number = std::max(manifest_.NextNumber(kind), above + 1);
  const std::string_view word = kind == Manifest::Kind::kBase ? ".base.rdb" : ".incr.aof";
  return {Concat(name_, ".", number, word), number, kind};
}

// --- increments and bases

Fault LogFolder::MakeIncrement(const Manifest::File& which, std::unique_ptr<DiskFile>& file) {
  const std::string path = PathOf(which);
  int fault = disk_.Open(path, Disk::Mode::kAppend, file);
  if (fault == 0) fault = file->Truncate(0);
  return fault == 0 ? Fault() : FaultOf(path, "made", fault);
}

Fault LogFolder::AddIncrement(const Manifest::File& which) {
  if (const int fault = disk_.SyncFolder(folder_)) return FaultOf(folder_, "synced", fault);
  Manifest manifest = manifest_;
  manifest.files.push_back(which);
  return KeepManifest(manifest);
}

bool LogFolder::IsAsKnown() const {
  std::string text;
  Manifest there;
  const int fault = disk_.Read(ManifestPath(), text);
  if (fault != 0 && fault != ENOENT) return false;
  return ReadManifest(text, there).empty() && there == manifest_;
}

void LogFolder::Discard(const Manifest::File& which) {
  const std::vector<Manifest::File>& files = manifest_.files;
  if (which.name.empty()) return;
  if (std::find(files.begin(), files.end(), which) == files.end() && IsAsKnown())
    disk_.Remove(PathOf(which));
}

uint64_t LogFolder::BytesOf(const Manifest::File& which) const {
  std::unique_ptr<DiskFile> file;
  uint64_t bytes = 0;
  if (disk_.Open(PathOf(which), Disk::Mode::kRead, file) != 0 || file->Size(bytes) != 0) return 0;
  return bytes;
}

Fault LogFolder::KeepManifest(const Manifest& manifest) {
  for (const Manifest::File& file : manifest.files) {
    DiskIdentity identity;
    if (file.kind != Manifest::Kind::kHistory && disk_.Identify(PathOf(file), identity) == ENOENT)
      return Concat(disk_.Absolute(PathOf(file)), " was removed or moved");
  }
  // Replace syncs the folder behind its rename, and with it the names of the files made before.
  const int fault = disk_.Replace(ManifestPath(), WriteManifest(manifest));
  if (fault == 0) manifest_ = manifest;
  KnowFiles();  // after a fault, too: the manifest may be the new one
  if (fault != 0) return FaultOf(ManifestPath(), "written", fault);
  if (std::exchange(is_begun_, false)) disk_.Remove(BegunPath());
  return {};
}

Fault LogFolder::OpenLast(Manifest::File& which, std::unique_ptr<DiskFile>& file) {
  const std::vector<Manifest::File> increments = manifest_.increments();
  if (!increments.empty()) {
    which = increments.back();
    const int fault = disk_.Open(PathOf(which), Disk::Mode::kAppend, file);
    return fault == 0 ? Fault() : FaultOf(PathOf(which), "opened", fault);
  }
  which = Name(Manifest::Kind::kIncrement);
  if (std::string fault = MakeIncrement(which, file); !fault.empty()) return fault;
  return AddIncrement(which);
}

void LogFolder::NamePair(Manifest::File& base, Manifest::File& increment) {
  // Both numbers are above all that this server ever named, or that are in the manifest.
  base = Name(Manifest::Kind::kBase, named_);
  increment = Name(Manifest::Kind::kIncrement, named_);
  named_ = std::max(base.number, increment.number);
}

Fault LogFolder::SwitchTo(const Manifest::File& base, const Manifest::File& increment) {
  if (const int fault = disk_.SyncFolder(folder_)) return FaultOf(folder_, "synced", fault);
  // A file that cannot be removed stays without a manifest that names it: a waste of space, not a
  // fault.
  std::vector<std::string> old;
  for (const Manifest::File& file : manifest_.files) {
    const bool is_history = file.kind == Manifest::Kind::kHistory;
    if (file == base || file == increment) continue;
    if (is_history || IsOurs(PathOf(file))) old.push_back(PathOf(file));
  }
  Manifest manifest;
  manifest.files = {base, increment};
  // The switch: before the manifest is replaced the old files count, after it the new ones.
  if (std::string fault = KeepManifest(manifest); !fault.empty()) return fault;
  for (const std::string& path : old) disk_.Remove(path);
  return {};
}

}  // namespace sluice
