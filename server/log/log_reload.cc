// DEBUG RELOAD and DEBUG LOADAOF: a server that serves loads its data anew. The files are played in
// slices, between which others are served (-LOADING), so no client is kept from a PING, however
// large they are; the caller is answered at the end.
//
// No effects are recorded: the log tells of the same state already, or, where another file has been
// loaded, is replaced by a new base at the end of the turn.
//
// Both are for test suites. Turns inside of them change nothing.
#include "protocol/text/concat.h"
#include "server/core/standstill.h"
#include "server/locks/lock_service.h"
#include "server/log/log_loader.h"
#include "server/log/log_service.h"
#include "server/snapshots/snapshots.h"
#include "storage/log/rdb_source.h"

namespace sluice {
bool LogService::ReloadSnapshot(Session& caller, const Reloading& how) {
  Disk& disk = on_.config.disk();
  const std::string& path = on_.config.settings().dbfilename;
  std::unique_ptr<DiskFile> file;
  if (const int fault = disk.Open(path, Disk::Mode::kRead, file)) {
    on_.host.Log(LogLevel::kWarning,
                 Concat(disk.Absolute(path), " (dbfilename): ", WhyUnopened(fault)));
    return false;
  }
  const std::unique_ptr<LogLoader> loader =
      NewLoader({path}, {.boot = Boot(),
                         .is_snapshot = true,
                         .is_live = true,
                         .merges = how.merge,
                         .keeps_ended = LeavesEndsToMaster()});
  if (!LoadLive(caller, *loader, how.flush)) return false;
  if (how.is_saved) {
    on_.snapshots.AllIsSaved();
  } else {
    DropRewrite();
    if (commits_->is_open()) Outdate();
  }
  on_.host.Log(LogLevel::kWarning, "DB reloaded by DEBUG RELOAD");
  return true;
}

bool LogService::ReloadLog(Session& caller) {
  std::vector<std::string> paths;
  if (std::string fault = FilesOfLog(paths); !fault.empty()) {
    on_.host.Log(LogLevel::kWarning, Concat("the log is not loaded: ", fault));
    return false;
  }
  const std::unique_ptr<LogLoader> loader =
      NewLoader(std::move(paths), {.boot = Boot(), .is_live = true});
  if (!LoadLive(caller, *loader, /*flush=*/true)) return false;
  on_.snapshots.AllIsSaved();
  on_.host.Log(LogLevel::kWarning, "Append Only File loaded by DEBUG LOADAOF");
  return true;
}

// With all that has been answered, where it is being written.
std::string LogService::FilesOfLog(std::vector<std::string>& paths) {
  if (!stands()) return "its base is being written";
  if (commits_->is_open() && !commits_->WriteOut()) return "its end cannot be written";
  const Settings& settings = on_.config.settings();
  Disk& disk = on_.config.disk();
  LogFolder looked(disk, disk.Absolute(settings.appenddirname), settings.appendfilename);
  if (std::string fault = looked.Look(); !fault.empty()) return fault;
  for (const Manifest::File& file : looked.Files()) paths.push_back(looked.PathOf(file));
  return paths.empty() ? Concat(looked.ManifestPath(), " names no file") : std::string();
}

// A server that is told to stop meanwhile counts as loading to its end: nothing of the half is
// saved.
bool LogService::LoadLive(Session& caller, LogLoader& loader, bool flush) {
  // Answers to what this turn has done so far leave with the turns inside, and wait for the log.
  on_.gate.NumberSoFar();
  on_.effects.set_muted(true);
  on_.locks.SetAside();
  on_.state.loading = true;
  on_.standstill.Begin(Standstill::kLoading, on_.clock.now());
  on_.flags.Raise(SlowPathFlags::kLog);
  if (flush) loader.Empty();
  while (!on_.host.Stopping() && loader.Slice()) on_.yielder.Yield(caller);
  loader.BringTimeBack();
  on_.standstill.End(Standstill::kLoading);
  on_.locks.BringBack();
  on_.effects.set_muted(false);
  if (on_.host.Stopping()) return false;
  const bool is_whole = loader.fault().empty();
  if (!is_whole)
    on_.host.Log(LogLevel::kWarning, Concat("the data cannot be loaded: ", loader.fault()));
  if (!is_whole && flush) {
    on_.host.Log(LogLevel::kWarning, "what there was is gone from memory: the server ends");
    on_.host.Shutdown(1);
    return false;
  }
  on_.state.loading = false;
  if (!on_.state.denies_anything()) on_.flags.Lower(SlowPathFlags::kLog);
  return is_whole;
}

}  // namespace sluice
