// LogFolder: the folder of the append-only log as Redis 7 keeps it: files of commands and the
// manifest that says which of them count, in which order.
//
//   appendonlydir/appendonly.aof.manifest
//   appendonlydir/appendonly.aof.1.base.rdb    the state at a moment, an RDB file
//   appendonlydir/appendonly.aof.1.incr.aof    what was written since
//   appendonlydir/sluice.lock                  held by the server that writes there; its process id
//   appendonlydir/sluice.begun                 up to the first manifest a start takes the snapshot
//
// A file is made before the manifest names it, and removed after it is named no more: a crash at
// any step leaves a folder that loads whole. Others may remove, replace or move it under a running
// server: Watch tells, and Reclaim takes the place again. Functions answer a sentence that says
// which file, what is wrong and what to do, or nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/fault.h"
#include "storage/disk.h"
#include "storage/log/manifest.h"

namespace sluice {

// A new base, step by step; a crash after any of them leaves a log that loads whole:
//
//   NamePair, MakeIncrement   2.incr.aof is there, empty; the manifest names 1.base 1.incr
//   AddIncrement              1.base 1.incr 2.incr: new turns go to 2.incr
//   (2.base.rdb is written, with what 1.base and 1.incr amount to)
//   SwitchTo                  2.base 2.incr; the old files are removed
class LogFolder {
 public:
  // `folder` and `name` are the options appenddirname and appendfilename.
  LogFolder(Disk& disk, std::string folder, std::string name)
      : disk_(disk),
        folder_(std::move(folder)),
        name_(std::move(name)),
        watch_{.disk = &disk, .known = {}} {}

  // Makes the folder if it is missing, takes its lock and reads the manifest.
  Fault Open(int64_t process_id);
  // Reads the manifest alone, for a caller that only looks. A missing one is an empty log only if
  // nothing else speaks of one: neither files beside it nor a log in the old format.
  Fault Look();
  // For the same: takes the lock, where there is one and it can be had, and writes nothing. A
  // sentence: another server has it.
  Fault HoldStill();
  // The log is about to be turned on in a server that has data: until the first manifest is there
  // nothing in the folder counts, over a power cut too. Where there is a manifest already it
  // counts.
  Fault Begin();
  // A server has begun so, and ended before its first base was there. Open has removed its files.
  bool is_begun() const { return is_begun_; }

  // The files in the order of loading: the base, if there is one, then the increments.
  std::vector<Manifest::File> Files() const;
  std::string PathOf(const Manifest::File& file) const { return folder_ + "/" + file.name; }
  std::string ManifestPath() const { return folder_ + "/" + name_ + ".manifest"; }
  Disk& disk() const { return disk_; }

  // The last increment, to be appended to; a new one where there is none.
  Fault OpenLast(Manifest::File& which, std::unique_ptr<DiskFile>& file);
  // --- a new base. A worker may call these while the loop leaves the folder alone.
  // Where the folder, its lock or a file of the log is gone: makes the folder, and takes its lock.
  // Files that are there by then stay, are never written over, and count no more, once a new base
  // is named.
  Fault Reclaim();
  // Names a new base, and the increment that is written beside it. Never twice the same: after a
  // fault the manifest on disk may be another than is known here.
  void NamePair(Manifest::File& base, Manifest::File& increment);
  // The file, empty: not in the manifest yet.
  Fault MakeIncrement(const Manifest::File& which, std::unique_ptr<DiskFile>& file);
  // From now on it is the last of the log; its name is durable before the manifest says it.
  Fault AddIncrement(const Manifest::File& which);
  // The manifest on disk is the one that is known here: after a fault it may be a newer one.
  bool IsAsKnown() const;
  // A part of the log: lock, manifest or file, as it was when it was taken or named.
  struct Known {
    std::string path;
    DiskIdentity identity;
    bool is_written_once = false;  // manifest and base, unlike what is appended to
  };
  struct Watch {
    Disk* disk = nullptr;
    uint64_t number = 0;  // another one whenever the log itself has changed any of it
    std::vector<Known> known;
    // Which of them is not what it was; empty: all are.
    std::string WhatIsLost() const;
    bool IsAsItWas(const Known& known) const;
  };
  const Watch& watch() const { return watch_; }
  // Removes a file that was to be the log's, if it is not.
  void Discard(const Manifest::File& which);
  uint64_t BytesOf(const Manifest::File& file) const;  // 0: not known
  // From now on these two are the log. The files that they replace are removed.
  Fault SwitchTo(const Manifest::File& base, const Manifest::File& increment);

 private:
  Fault Lock();
  Fault IsAnothers(DiskFile& lock) const;
  std::string LockPath() const { return folder_ + "/sluice.lock"; }
  bool IsOurs(const std::string& path) const;
  void Know(const std::string& path, bool is_written_once);
  void KnowFiles();
  std::string BegunPath() const { return folder_ + "/sluice.begun"; }
  void SettleBegun();
  Fault FaultOf(const std::string& path, std::string_view what, int fault) const;
  Manifest::File Name(Manifest::Kind kind, int64_t above = 0) const;
  Fault KeepManifest(const Manifest& manifest);

  Disk& disk_;
  const std::string folder_;
  const std::string name_;
  int64_t process_id_ = 0;
  std::unique_ptr<DiskFile> lock_;
  Watch watch_;  // the lock first
  Manifest manifest_;
  bool is_begun_ = false;  // there is no manifest, and that is as it should be
  int64_t named_ = 0;      // the highest number that NamePair has given
};

}  // namespace sluice
