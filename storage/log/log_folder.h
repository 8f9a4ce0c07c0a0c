// LogFolder: the folder of the append-only log as Redis 7 keeps it: files of commands and the
// manifest that says which of them count, in which order.
//
//   appendonlydir/appendonly.aof.manifest
//   appendonlydir/appendonly.aof.1.base.aof    the state at a moment; .rdb if Redis wrote it
//   appendonlydir/appendonly.aof.1.incr.aof    what was written since
//   appendonlydir/sluice.lock                  held by the server that writes there; its process id
//
// A file is made before the manifest names it, and removed after it is named no more: a crash at
// any step leaves a folder that loads whole. Functions answer a sentence that says which file, what
// is wrong and what to do, or nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/disk.h"
#include "storage/log/manifest.h"

namespace sluice {

class LogFolder {
 public:
  // `folder` and `name` are the options appenddirname and appendfilename.
  LogFolder(Disk& disk, std::string folder, std::string name)
      : disk_(disk), folder_(std::move(folder)), name_(std::move(name)) {}

  // Makes the folder if it is missing, takes its lock and reads the manifest.
  std::string Open(int64_t process_id);
  // The manifest alone, for one who only looks.
  std::string Look();

  // The files to be loaded, in that order.
  std::vector<Manifest::File> Files() const;
  std::string PathOf(const Manifest::File& file) const { return folder_ + "/" + file.name; }
  std::string ManifestPath() const { return folder_ + "/" + name_ + ".manifest"; }
  Disk& disk() const { return disk_; }

  // The last increment, to be appended to; a new one where there is none.
  std::string OpenLast(Manifest::File& which, std::unique_ptr<DiskFile>& file);
  // An empty file for a new base, and one for what is written beside it: not in the manifest yet.
  std::string MakePair(Manifest::File& base, std::unique_ptr<DiskFile>& base_file,
                       Manifest::File& increment, std::unique_ptr<DiskFile>& increment_file);
  // From now on these two are the log. What they replace is removed.
  std::string SwitchTo(const Manifest::File& base, const Manifest::File& increment);

 private:
  std::string Lock(int64_t process_id);
  std::string Fault(const std::string& path, std::string_view what, int fault) const;
  std::string Make(Manifest::Kind kind, Manifest::File& which, std::unique_ptr<DiskFile>& file);
  std::string KeepManifest(const Manifest& manifest);

  Disk& disk_;
  const std::string folder_;
  const std::string name_;
  std::unique_ptr<DiskFile> lock_;
  Manifest manifest_;
};

}  // namespace sluice
