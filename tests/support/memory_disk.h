// MemoryDisk: files in a map, and faults on demand. What was not synced is known apart: PowerCut
// keeps what was, and of the rest what chance leaves of it. What a failed Sync was to write is only
// in the system's cache from then on, whatever is synced later, until LetGo.
//
// As on a real disk an open file outlives its name: what is written to one that was removed or
// replaced is in no file that a start can find.
#pragma once

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/glob.h"
#include "storage/disk.h"

namespace sluice {

// A server's log begins in it.
inline constexpr char kFirstIncrement[] = "/appendonlydir/appendonly.aof.1.incr.aof";

class MemoryDisk : public Disk {
 public:
  // What can be asked of it, and fail.
  enum class Call : uint8_t {
    kOpen,  // to append
    kAppend,
    kTruncate,
    kSync,
    kRename,
    kRemove,
    kMakeFolder,
    kSyncFolder,
    kReplace,   // nothing has changed
    kReplaced,  // the new content is there all the same, and may be gone after a power cut
  };

  std::map<std::string, std::string> files;
  // An errno with which this call fails, or 0.
  std::function<int(Call call, const std::string& path)> trouble;
  size_t taken = 0;              // what an Append takes that `trouble` lets fail
  int write_fault = 0;           // an errno that every Replace, Append and Open to append answers
  int sync_fault = 0;            // and this one every Sync
  int replace_fault = 0;         // and this one every Replace, which changes nothing,
  int replaced_fault = 0;        // or this one, and the new content is there all the same
  size_t room = SIZE_MAX;        // bytes that Append still takes; then ENOSPC, after a part of it
  int full_appends = 0;          // so many Appends more find no room
  std::set<std::string> locked;  // by other processes
  // The power goes after so many more calls that change something: from then on each fails.
  int64_t changes_left = INT64_MAX;
  uint64_t syncs = 0;
  int replaced = 0;           // attempts, failed ones too
  size_t largest_append = 0;  // of all attempts

  int Open(const std::string& path, Mode mode, std::unique_ptr<DiskFile>& file) override {
    const std::string name = Absolute(path);
    if (folders_.contains(name)) return EISDIR;
    if (mode == Mode::kRead && !files.contains(name)) return ENOENT;
    const bool writes = mode != Mode::kRead;
    if (writes && write_fault != 0) return write_fault;
    if (writes && !folders_.contains(FolderOf(name))) return ENOENT;
    if (const int fault = writes ? Fault(Call::kOpen, name) : 0) return fault;
    if (!files.contains(name)) {
      if (IsDark()) return EIO;
      Unlink(name);
      files[name].clear();
      synced_.erase(name);
    }
    file = std::make_unique<File>(*this, NumberOf(name));
    return 0;
  }
  int Rename(const std::string& from, const std::string& to) override {
    const auto found = files.find(Absolute(from));
    if (found == files.end()) return ENOENT;
    if (const int fault = Fault(Call::kRename, Absolute(from))) return fault;
    if (IsDark()) return EIO;
    if (found->first == Absolute(to)) return 0;
    KeepNamed(Absolute(to));
    const uint64_t number = NumberOf(found->first);
    Unlink(Absolute(to));
    std::string bytes = std::move(found->second);
    numbers_.erase(found->first);
    files.erase(found);
    files[Absolute(to)] = std::move(bytes);
    numbers_[Absolute(to)] = number;
    names_[number] = Absolute(to);
    synced_[Absolute(to)] = std::exchange(synced_[Absolute(from)], {});
    unwritten_[Absolute(to)] = std::exchange(unwritten_[Absolute(from)], {});
    return 0;
  }
  int Remove(const std::string& path) override {
    if (const int fault = Fault(Call::kRemove, Absolute(path))) return fault;
    if (IsDark()) return EIO;
    KeepNamed(Absolute(path));
    unwritten_.erase(Absolute(path));
    Unlink(Absolute(path));
    return files.erase(Absolute(path)) == 1 ? 0 : ENOENT;
  }
  int MakeFolder(const std::string& path) override {
    if (write_fault != 0) return write_fault;
    if (const int fault = Fault(Call::kMakeFolder, Absolute(path))) return fault;
    if (IsDark()) return EIO;
    folders_.insert(Absolute(path));
    removed_folders_.erase(Absolute(path));
    return 0;
  }
  int Identify(const std::string& path, DiskIdentity& identity) override {
    identity = {};
    if (folders_.contains(Absolute(path))) return 0;
    if (!files.contains(Absolute(path))) return ENOENT;
    identity = {.number = NumberOf(Absolute(path)), .bytes = files.at(Absolute(path)).size()};
    return 0;
  }
  int SyncFolder(const std::string& path) override {
    const std::string folder = Absolute(path);
    if (!folders_.contains(folder)) return ENOENT;
    if (const int fault = Fault(Call::kSyncFolder, folder)) return fault;
    if (IsDark()) return EIO;
    std::erase_if(named_, [&](const std::string& name) { return FolderOf(name) == folder; });
    std::erase_if(old_, [&](const auto& old) { return FolderOf(old.first) == folder; });
    for (const auto& [name, bytes] : files) {
      if (FolderOf(name) == folder) named_.insert(name);
    }
    return 0;
  }
  int Read(const std::string& path, std::string& bytes) override {
    const auto found = files.find(Absolute(path));
    if (found == files.end()) return ENOENT;
    bytes = found->second;
    return 0;
  }
  int Replace(const std::string& path, std::string_view bytes) override {
    ++replaced;
    if (removed_folders_.contains(FolderOf(Absolute(path)))) return ENOENT;
    if (write_fault != 0) return write_fault;
    if (replace_fault != 0) return replace_fault;
    if (const int fault = Fault(Call::kReplace, Absolute(path))) return fault;
    if (IsDark()) return EIO;
    int fault = replaced_fault;
    if (fault == 0) fault = Fault(Call::kReplaced, Absolute(path));
    KeepNamed(Absolute(path));
    if (fault == 0) old_.erase(Absolute(path));
    Unlink(Absolute(path));
    named_.insert(Absolute(path));
    files[Absolute(path)] = bytes;
    synced_[Absolute(path)] = bytes;
    return fault;
  }
  std::vector<std::string> Match(const std::string& pattern) override {
    std::vector<std::string> paths;
    for (const auto& [path, bytes] : files) {
      if (GlobMatches(Absolute(pattern), path)) paths.push_back(path);
    }
    return paths;
  }
  std::string Absolute(const std::string& path) override {
    return path.starts_with('/') ? path : "/" + path;
  }
  int Room(const std::string&, uint64_t& bytes) override { return bytes = room, 0; }

  // Files that are open, and have no name any more.
  size_t nameless() const { return unlinked_.size(); }

  // Somebody removes a file, under those who have it open, and that is on disk.
  void RemoveFile(const std::string& path) {
    Unlink(path);
    files.erase(path);
    named_.erase(path);
    old_.erase(path);
    synced_.erase(path);
    unwritten_.erase(path);
  }
  // Or a folder, with all that is in it.
  void RemoveFolder(const std::string& folder) {
    for (const std::string& path : Match(folder + "/*")) RemoveFile(path);
    std::erase_if(old_, [&](const auto& old) { return FolderOf(old.first) == folder; });
    folders_.erase(folder);
    removed_folders_.insert(folder);
  }

  // The machine goes down. Of a file stays what was synced and, of what was appended since, a part:
  // its sectors are written in any order, so that there may be holes, and the end may be missing.
  // A file whose name was not synced may be gone, and one that was replaced or removed without a
  // sync of its folder may be back.
  void PowerCut(std::mt19937_64& random) {
    LetGo(random);
    changes_left = INT64_MAX;
    for (auto& [name, bytes] : std::exchange(old_, {})) {
      if (random() % 2 != 0) continue;
      files[name] = synced_[name] = bytes;
      named_.insert(name);
    }
    for (auto file = files.begin(); file != files.end();) {
      if (!named_.contains(file->first) && random() % 2 == 0) {
        file = files.erase(file);
        continue;
      }
      std::string& bytes = file->second;
      const std::string& kept = synced_[file->first];
      bytes.resize(
          std::max(kept.size(), kept.size() + random() % (bytes.size() - kept.size() + 1)));
      MakeHoles(bytes, kept.size(), bytes.size(), random);
      synced_[file->first] = bytes;
      named_.insert(file->first);
      ++file;
    }
  }

  // The system forgets what it could not write, as it may at any time: on disk are holes there.
  void LetGo(std::mt19937_64& random) {
    for (const auto& [name, range] : std::exchange(unwritten_, {}))
      MakeHoles(files[name], range.from, range.to, random);
  }

 private:
  struct Range {
    size_t from = 0;
    size_t to = 0;
  };
  class File final : public DiskFile {
   public:
    File(MemoryDisk& disk, uint64_t number) : disk_(disk), number_(number) {
      ++disk_.open_[number_];
    }
    ~File() override {
      if (--disk_.open_[number_] > 0) return;
      disk_.open_.erase(number_);
      disk_.unlinked_.erase(number_);
    }

    int Append(std::string_view bytes, size_t& written) override {
      written = 0;
      disk_.largest_append = std::max(disk_.largest_append, bytes.size());
      if (disk_.write_fault != 0) return disk_.write_fault;
      if (const int fault = disk_.Fault(Call::kAppend, Name())) {
        written = std::min(bytes.size() - 1, disk_.taken);
        Bytes().append(bytes.substr(0, written));
        return fault;
      }
      if (disk_.IsDark()) return EIO;
      if (disk_.full_appends > 0) {
        --disk_.full_appends;
        return ENOSPC;
      }
      written = std::min(bytes.size(), disk_.room);
      if (disk_.room != SIZE_MAX) disk_.room -= written;
      Bytes().append(bytes.substr(0, written));
      return written == bytes.size() ? 0 : ENOSPC;
    }
    int ReadAt(uint64_t offset, std::span<char> into, size_t& got) override {
      const std::string& bytes = Bytes();
      got = offset < bytes.size() ? std::min(into.size(), bytes.size() - offset) : 0;
      std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(std::min(offset, bytes.size())), got,
                  into.begin());
      return 0;
    }
    int Truncate(uint64_t bytes) override {
      if (disk_.write_fault != 0 && disk_.write_fault != ENOSPC) return disk_.write_fault;
      if (const int fault = disk_.Fault(Call::kTruncate, Name())) return fault;
      if (disk_.IsDark()) return EIO;
      Bytes().resize(bytes);
      if (Name().empty()) return 0;
      std::string& synced = disk_.synced_[Name()];
      synced.resize(std::min<size_t>(synced.size(), bytes));
      Range& unwritten = disk_.unwritten_[Name()];
      unwritten.to = std::min<size_t>(unwritten.to, bytes);
      return 0;
    }
    int Sync() override {
      ++disk_.syncs;
      int fault = disk_.sync_fault;
      if (fault == 0) fault = disk_.Fault(Call::kSync, Name());
      if (fault != 0 && !Name().empty()) {
        Range& unwritten = disk_.unwritten_[Name()];
        if (unwritten.to == 0) unwritten.from = disk_.synced_[Name()].size();
        unwritten.to = Bytes().size();
      }
      if (fault != 0) return fault;
      if (disk_.IsDark()) return EIO;
      if (!Name().empty()) disk_.synced_[Name()] = Bytes();
      return 0;
    }
    int Size(uint64_t& bytes) override {
      bytes = Bytes().size();
      return 0;
    }
    int Lock() override { return disk_.locked.contains(Name()) ? EWOULDBLOCK : 0; }

   private:
    // Empty: it has none any more.
    std::string Name() const {
      const auto found = disk_.names_.find(number_);
      return found == disk_.names_.end() ? std::string() : found->second;
    }
    std::string& Bytes() {
      const auto found = disk_.names_.find(number_);
      return found == disk_.names_.end() ? disk_.unlinked_[number_] : disk_.files[found->second];
    }

    MemoryDisk& disk_;
    const uint64_t number_;
  };

  int Fault(Call call, const std::string& path) { return trouble ? trouble(call, path) : 0; }
  bool IsDark() {
    if (changes_left == 0) return true;
    --changes_left;
    return false;
  }
  // The name is about to stand for something else, or nothing.
  void KeepNamed(const std::string& name) {
    if (named_.contains(name)) old_.try_emplace(name, synced_[name]);
  }
  uint64_t NumberOf(const std::string& name) {
    const auto [found, is_new] = numbers_.try_emplace(name, last_number_ + 1);
    if (is_new) names_[++last_number_] = name;
    return found->second;
  }
  // From now on the name stands for another file, or none.
  void Unlink(const std::string& name) {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) return;
    if (open_.contains(found->second)) unlinked_[found->second] = files[name];
    names_.erase(found->second);
    numbers_.erase(found);
  }

  static void MakeHoles(std::string& bytes, size_t from, size_t to, std::mt19937_64& random) {
    constexpr size_t kSector = 512;
    for (size_t at = from; at < to; at = (at / kSector + 1) * kSector) {
      const size_t end = std::min(to, (at / kSector + 1) * kSector);
      if (random() % 4 == 0) std::fill(bytes.begin() + at, bytes.begin() + end, '\0');
    }
  }

  std::set<std::string> folders_ = {"/"};
  std::set<std::string> removed_folders_;
  std::map<std::string, std::string> synced_;  // of each file the content at its last Sync
  std::map<std::string, Range> unwritten_;     // what failed Syncs were to write, at most
  std::set<std::string> named_;                // files whose names are durable
  std::map<std::string, std::string> old_;     // what durable names stood for, until they do not
  // Files as the system numbers them. Tests put files into `files` by hand: they get a number when
  // they are opened.
  uint64_t last_number_ = 0;
  std::map<std::string, uint64_t> numbers_;   // by name
  std::map<uint64_t, std::string> names_;     // by number
  std::map<uint64_t, int> open_;              // how many have it open
  std::map<uint64_t, std::string> unlinked_;  // what is in files that are open, and have no name
};

}  // namespace sluice
