// See log_service.h. From the start to the end; rewriting is in log_rewrite.cc. At each moment,
// also at the end, it has to be known whether the files tell of what there is.
#include "server/log/log_service.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "server/core/standstill.h"
#include "server/locks/lock_service.h"
#include "server/log/log_loader.h"
#include "server/snapshots/snapshots.h"
#include "storage/log/rdb_source.h"

namespace sluice {
LogService::LogService(const Uses& uses)
    : on_(uses),
      commits_(std::make_unique<CommitLog>(CommitLog::Uses{.settings = uses.config.settings(),
                                                           .host = uses.host,
                                                           .clock = uses.clock,
                                                           .gate = uses.gate,
                                                           .effects = uses.effects,
                                                           .state = uses.state,
                                                           .flags = uses.flags})) {
  grace_.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<LogService>&>(task).owner.EndGrace();
  };
  on_.config.Follow(*this);
}

LogService::~LogService() {
  on_.config.Unfollow(*this);
  on_.timers.Disarm(grace_);
}

std::optional<std::string> LogService::OptionChanged(std::string_view option) {
  if (option == "appendonly") return Switch();
  if (option == "appendfsync") {
    commits_->PolicyChanged();
  } else if (option == "aof-timestamp-enabled") {
    commits_->TimestampsChanged();
  } else if (option == "session-grace-ms") {
    if (grace_.node.linked()) ArmGrace();
  } else {
    return std::nullopt;
  }
  return std::string();
}

Fault LogService::Start() {
  if (!on_.config.settings().appendonly) return LoadSnapshot();
  if (std::string fault = WhyNotBesideSnapshot(); !fault.empty()) return fault;
  if (std::string fault = OpenFolder(); !fault.empty()) return fault;
  std::vector<std::string> paths;
  for (const Manifest::File& file : folder_->Files()) paths.push_back(folder_->PathOf(file));
  if (!paths.empty()) {
    BeginLoading(std::move(paths), {.boot = Boot()});
    return {};
  }
  if (folder_->is_begun()) return LoadBeforeFirstBase();
  on_.locks.Started(/*has_data=*/false, /*has_all_grants=*/false, 0);
  return OpenForWriting();
}

// A log that does not exist yet would begin empty, and the stop would write that over the snapshot.
// Redis does so.
Fault LogService::WhyNotBesideSnapshot() const {
  const Settings& settings = on_.config.settings();
  Disk& disk = on_.config.disk();
  const std::string folder = disk.Absolute(settings.appenddirname);
  const std::string snapshot = disk.Absolute(settings.dbfilename);
  DiskIdentity found;
  const bool has_log = disk.Identify(folder, found) == 0 || !disk.Match(folder + "/*").empty();
  if (has_log || disk.Identify(snapshot, found) != 0) return {};
  return Concat(snapshot, " (dbfilename) is there, and no log is (", folder,
                "): with appendonly yes this start would be without its data, and the stop would "
                "write over it. Start with --appendonly no, then CONFIG SET appendonly yes and "
                "CONFIG REWRITE. Or move the file away, and bring its data in with "
                "sluice --import");
}

// The log was turned on, and the server ended before its base stood.
Fault LogService::LoadBeforeFirstBase() {
  on_.host.Log(LogLevel::kNotice,
               "the log has no base yet: the snapshot counts, and a base is written from it");
  if (std::string fault = LoadSnapshot(); !fault.empty()) return fault;
  Outdate();
  return {};
}

Fault LogService::LoadSnapshot() {
  const std::string& path = on_.config.settings().dbfilename;
  std::unique_ptr<DiskFile> file;
  const int fault = on_.config.disk().Open(path, Disk::Mode::kRead, file);
  if (fault != 0 && fault != ENOENT)
    return Concat(on_.config.disk().Absolute(path), " (dbfilename): ", WhyUnopened(fault));
  if (fault == 0) {
    BeginLoading({path},
                 {.boot = Boot(), .is_snapshot = true, .keeps_ended = LeavesEndsToMaster()});
  } else {
    on_.locks.Started(/*has_data=*/false, /*has_all_grants=*/false, 0);
  }
  return {};
}

bool LogService::LeavesEndsToMaster() const {
  return on_.standstill.is_following() || !on_.config.settings().replicaof.host.empty();
}

void LogService::Import(std::vector<std::string> paths, bool is_snapshot, bool keeps_ended) {
  BeginLoading(
      std::move(paths),
      {.boot = Boot(), .is_snapshot = is_snapshot, .is_foreign = true, .keeps_ended = keeps_ended});
}

Fault LogService::WriteFiles() {
  if (!on_.config.settings().appendonly) {
    const int fault = on_.snapshots.SaveNow();
    return fault == 0 ? std::string()
                      : Concat(on_.config.disk().Absolute(on_.config.settings().dbfilename),
                               " cannot be written: ", std::strerror(fault));
  }
  Fault fault = OpenFolder();
  return fault ? fault : WriteBaseNow();
}

void LogService::BeginLoading(std::vector<std::string> paths, LogLoadOptions options) {
  loader_ = NewLoader(std::move(paths), std::move(options));
  on_.state.loading = true;
  on_.standstill.Begin(Standstill::kLoading, on_.clock.now());
  on_.flags.Raise(SlowPathFlags::kLog);
}

std::unique_ptr<LogLoader> LogService::NewLoader(std::vector<std::string> paths,
                                                 LogLoadOptions options) {
  const LogLoader::Uses uses = {.settings = on_.config.settings(),
                                .host = on_.host,
                                .clock = on_.clock,
                                .dispatcher = on_.dispatcher,
                                .keyspace = on_.keyspace,
                                .locks = on_.locks,
                                .state = on_.state};
  return std::make_unique<LogLoader>(uses, on_.config.disk(), std::move(paths), std::move(options));
}

Fault LogService::OpenFolder() {
  const Settings& settings = on_.config.settings();
  // Absolute: `dir` may change while it is open.
  Disk& disk = on_.config.disk();
  folder_ = std::make_unique<LogFolder>(disk, disk.Absolute(settings.appenddirname),
                                        settings.appendfilename);
  std::string fault = folder_->Open(on_.process_id);
  if (!fault.empty()) folder_.reset();
  return fault;
}

std::string LogService::Boot() const { return BootIdOf(on_.config.disk()); }

// Makes the files durable first, names and the manifest too: only the system's cache may have them.
Fault LogService::OpenForWriting() {
  Manifest::File which;
  std::unique_ptr<DiskFile> file;
  uint64_t bytes = 0;
  if (std::string fault = folder_->OpenLast(which, file); !fault.empty()) return fault;
  open_ = which;
  int fault = file->Size(bytes);
  if (fault == 0) {
    fault = file->Sync();
    if (fault == 0) fault = folder_->disk().SyncFolder(FolderOf(folder_->ManifestPath()));
    // The next start would find what the cache still has, and could sync that without a fault.
    if (fault != 0) {
      on_.state.is_unsure = true;
      on_.locks.LogIsUnsure();
    }
  }
  if (fault != 0) return Concat(folder_->PathOf(which), ": ", std::strerror(fault));
  for (const Manifest::File& other : folder_->Files()) {
    if (other == which) continue;
    (other.kind == Manifest::Kind::kBase ? base_bytes_ : old_bytes_) += folder_->BytesOf(other);
  }
  bytes_at_base_ = base_bytes_ + old_bytes_ + bytes;
  commits_->Open(std::move(file), bytes, Boot());
  return {};
}

// --- loading

void LogService::Load() {
  // Nothing behind a fault is played.
  if (full_sync_) return SliceOfFullSync();
  if (on_.host.Stopping() || loader_->Slice()) return;
  if (on_.host.Stopping()) return;  // told so while others were served inside of the slice
  if (!loader_->fault().empty()) {
    on_.host.Log(LogLevel::kWarning, Concat("the data cannot be loaded: ", loader_->fault()));
    if (on_.state.is_unsure) on_.locks.LogIsUnsure();
    return on_.host.Shutdown(1);
  }
  EndLoading();
}

int64_t LogService::NextSlice() const { return loader_ ? loader_->next_slice_ms() : 0; }

void LogService::EndLoading() {
  on_.host.Log(LogLevel::kNotice, Concat("loaded: ", loader_->commands(), " commands or keys, ",
                                         on_.state.progress.taken_ms, " ms"));
  // A process of this boot had written all that it had answered, and the system still has it.
  const std::string boot = Boot();
  const bool has_all_grants =
      folder_ && stands() && boot != kUnknownBoot && loader_->boot() == boot;
  const int64_t last_unix_ms = loader_->last_unix_ms();
  on_.state.loaded_stream = loader_->stream();
  const int64_t shift_ms = on_.clock.clock().shift_ms();
  loader_->BringTimeBack();
  on_.standstill.End(Standstill::kLoading);
  loader_->SortOutEndedKeys();
  loader_.reset();
  on_.locks.Started(/*has_data=*/true, has_all_grants, last_unix_ms);
  on_.state.loading = false;
  on_.flags.Lower(SlowPathFlags::kLog);
  on_.snapshots.AllIsSaved();
  // TimeShifted follows, where time has been shifted.
  grace_begun_ms_ = on_.clock.now().ms() - (on_.clock.clock().shift_ms() - shift_ms);
  ArmGrace();
  if (!folder_ || !stands()) return;
  if (const std::string fault = OpenForWriting(); !fault.empty()) {
    on_.host.Log(LogLevel::kWarning, Concat("the log cannot be written: ", fault));
    return on_.host.Shutdown(1);
  }
  if (on_.state.is_unsure) {
    on_.host.Log(LogLevel::kNotice,
                 "the log could not be synced before this start: it is written anew");
    NoticeDoubts();
    next_base_ms_ = 0;
  }
}

// Where no lock has waited for its owner there is no moment to wait for.
void LogService::ArmGrace() {
  if (!on_.locks.AnyHeldFromBefore()) return;
  on_.timers.Arm(grace_, grace_begun_ms_ + on_.config.settings().session_grace_ms);
}

// Sessions do not outlive their connections, nor connections the server: their owners have had the
// time to come back. While a master is followed they are its clients.
void LogService::EndGrace() {
  if (!on_.standstill.is_following()) on_.locks.SessionsOfBeforeAreOver();
}

// --- turned on and off

// CONFIG SET appendonly, at the end of the turn, for a command is running whose effects are half
// told. On: as Redis, it is answered before the base is there. Until then a start finds what it
// would have found before.
Fault LogService::Switch() {
  if (on_.state.loading) return "the data are being loaded";
  if (on_.config.settings().appendonly == (is_on() && !to_be_closed_)) return {};
  if (!on_.config.settings().appendonly) {
    to_be_closed_ = true;
    return {};
  }
  if (std::exchange(to_be_closed_, false)) return {};
  DropRewrite();
  std::string fault = OpenFolder();
  if (fault.empty()) fault = folder_->Begin();
  if (!fault.empty()) {
    folder_.reset();
    on_.host.Log(LogLevel::kWarning, Concat("the log is not turned on: ", fault));
    return "Unable to turn on AOF. Check server logs.";
  }
  Outdate();
  return {};
}

// While nothing else happens.
Fault LogService::WriteBaseNow() {
  std::unique_ptr<DiskFile> increment;
  std::string fault = folder_->Reclaim();
  if (fault.empty()) fault = MakePair(increment);
  if (!fault.empty()) return fault;
  const std::string base = folder_->PathOf(next_base_);
  if (const int unwritten = on_.snapshots.WriteBaseNow(base))
    return Concat(base, " cannot be written: ", std::strerror(unwritten));
  return folder_->SwitchTo(next_base_, next_increment_);
}

void LogService::EndLoggedTurn() {
  if (on_.state.loading) return;  // it is a turn inside of DEBUG RELOAD
  NoticeDoubts();
  // Waited for: a process that ends before it is told would leave a log that looks sound.
  if (commits_->is_unsure()) on_.locks.LogIsUnsure();
  if (std::exchange(to_be_closed_, false)) CloseLog();
  if (state_ == BaseState::kDue && MayBeginBase()) BeginBase();
  if (rewrite_wanted_ && state_ == BaseState::kNone && folder_ && commits_->can_rotate() &&
      on_.snapshots.can_begin())
    BeginRewrite();
}

void LogService::CloseLog() {
  DropRewrite();
  commits_->Close();
  // A later start reads these files: it is to know, even if the server is killed now.
  if (on_.state.is_unsure) on_.locks.LogIsUnsure();
  NoticeDoubts();
  Happen(BaseEvent::kClosed);
  folder_->Discard(std::exchange(open_, {}));
  folder_.reset();
  on_.waits.FailDisk(kNoLogToWaitFor);
}

void LogService::EverySecond() {
  commits_->EverySecond();
  LookAfterFiles();
  if (state_ == BaseState::kDue && commits_->is_unsure()) on_.snapshots.MakeWayForBase();
  if (!is_on()) return;
  if (state_ == BaseState::kNone && !rewrite_wanted_ && HasGrown()) {
    on_.host.Log(LogLevel::kNotice, "Starting automatic rewriting of AOF");
    rewrite_wanted_ = true;
  }
}

// --- the end

bool LogService::Finish() {
  loader_.reset();
  DropRewrite();
  NoticeDoubts();
  const bool was_on =
      is_on() && !on_.state.loading && !on_.state.lacks_data;  // half of the data is no base
  bool is_whole = commits_->Close();
  NoticeDoubts();
  if (was_on) folder_->Discard(std::exchange(open_, {}));
  // No client is there any more to be served meanwhile: the base is written at once.
  if (was_on && !stands()) {
    const std::string fault = WriteBaseNow();
    is_whole = fault.empty();
    on_.state.is_unsure = !is_whole;
    if (!is_whole) on_.host.Log(LogLevel::kWarning, fault);
  }
  Happen(BaseEvent::kClosed);
  if (was_on && is_whole) on_.locks.AllIsDurable();
  if (on_.state.is_unsure) on_.locks.LogIsUnsure();
  if (!is_whole) on_.host.Log(LogLevel::kWarning, "the end of the log could not be written");
  left_ = was_on && is_whole ? LookOfFiles() : std::string();
  folder_.reset();
  return is_whole;
}

Fault LogService::Resume() {
  if (!on_.config.settings().appendonly) return {};
  if (std::string fault = OpenFolder(); !fault.empty()) return fault;
  base_bytes_ = old_bytes_ = 0;
  if (LookOfFiles() == left_) return OpenForWriting();
  on_.host.Log(LogLevel::kWarning, "the log is not what it was left as: it is written anew");
  Outdate();
  return {};
}

// Their names and sizes.
std::string LogService::LookOfFiles() const {
  std::string look;
  for (const Manifest::File& file : folder_->Files())
    ConcatTo(look, file.name, ' ', folder_->BytesOf(file), '\n');
  return look;
}

}  // namespace sluice
