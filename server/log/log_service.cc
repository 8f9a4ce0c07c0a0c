// See log_service.h. What is hard: at each moment the manifest must name files that hold all
// that was answered. So a new base and its increment are made first, and named together.
//
// The steps of a rewriting: NamePair, MakeIncrement, the base beside clients (WriteBaseAside),
// GoOver to the increment, and SwitchTo, which names the two.
#include "server/log/log_service.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "storage/log/rdb_source.h"

namespace sluice {
namespace {

constexpr int64_t kRetryMs = 60'000;   // of a rewriting that the log began by itself
constexpr int64_t kRetryBaseMs = 900;  // of a base without which the log tells of nothing

}  // namespace

LogService::LogService(const Uses& uses)
    : on_(uses),
      commits_(std::make_unique<CommitLog>(CommitLog::Uses{.settings = uses.config.settings(),
                                                           .host = uses.host,
                                                           .clock = uses.clock,
                                                           .clients = uses.clients,
                                                           .effects = uses.effects,
                                                           .state = uses.state,
                                                           .flags = uses.flags})),
      sync_waits_(uses.clients, uses.parked) {
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
  if (option != "appendfsync") return std::nullopt;
  commits_->PolicyChanged();
  return std::string();
}

std::string LogService::Start() {
  if (!on_.config.settings().appendonly) return LoadSnapshot();
  if (std::string fault = OpenFolder(); !fault.empty()) return fault;
  std::vector<std::string> paths;
  for (const Manifest::File& file : folder_->Files()) paths.push_back(folder_->PathOf(file));
  if (!paths.empty()) {
    BeginLoading(std::move(paths), {.boot = Boot()});
    return {};
  }
  on_.locks.Started(/*has_all_grants=*/false, 0);
  return OpenForWriting();
}

std::string LogService::LoadSnapshot() {
  const std::string& path = on_.config.settings().dbfilename;
  std::unique_ptr<DiskFile> file;
  const int fault = on_.config.disk().Open(path, Disk::Mode::kRead, file);
  if (fault != 0 && fault != ENOENT)
    return Concat(on_.config.disk().Absolute(path), " (dbfilename): ", WhyUnopened(fault));
  if (fault == 0) {
    BeginLoading({path}, {.boot = Boot(), .is_snapshot = true});
  } else {
    on_.locks.Started(/*has_all_grants=*/false, 0);
  }
  return {};
}

void LogService::Import(std::vector<std::string> paths, bool is_snapshot) {
  BeginLoading(std::move(paths), {.boot = Boot(), .is_snapshot = is_snapshot, .is_foreign = true});
}

std::string LogService::WriteFiles() {
  if (!on_.config.settings().appendonly) {
    const int fault = on_.snapshots.SaveNow();
    return fault == 0 ? std::string()
                      : Concat(on_.config.disk().Absolute(on_.config.settings().dbfilename),
                               " cannot be written: ", std::strerror(fault));
  }
  std::string fault = OpenFolder();
  return fault.empty() ? WriteBaseNow() : fault;
}

void LogService::BeginLoading(std::vector<std::string> paths, LogLoader::Options options) {
  loader_ = std::make_unique<LogLoader>(ForLoader(), on_.config.disk(), std::move(paths),
                                        std::move(options));
  on_.state.loading = true;
  on_.flags.Raise(RareFlags::kLog);
}

LogLoader::Uses LogService::ForLoader() {
  return {.settings = on_.config.settings(),
          .host = on_.host,
          .clock = on_.clock,
          .dispatcher = on_.dispatcher,
          .keyspace = on_.keyspace,
          .locks = on_.locks,
          .state = on_.state};
}

std::string LogService::OpenFolder() {
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

// What is there is made durable first: it may be what only the system's cache had.
std::string LogService::OpenForWriting() {
  Manifest::File which;
  std::unique_ptr<DiskFile> file;
  uint64_t bytes = 0;
  if (std::string fault = folder_->OpenLast(which, file); !fault.empty()) return fault;
  int fault = file->Size(bytes);
  if (fault == 0) {
    fault = file->Sync();
    if (fault != 0) on_.state.is_unsure = true;
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
  if (on_.host.Stopping() || loader_->Slice()) return;
  if (!loader_->fault().empty()) {
    on_.host.Log(LogLevel::kWarning, Concat("the data cannot be loaded: ", loader_->fault()));
    return on_.host.Shutdown(1);
  }
  EndLoading();
}

void LogService::EndLoading() {
  on_.host.Log(LogLevel::kNotice, Concat("loaded: ", loader_->commands(), " commands or keys, ",
                                         on_.state.progress.taken_ms, " ms"));
  // What a process of this boot had answered it had written, and the system still has it.
  const std::string boot = Boot();
  const bool has_all_grants = folder_ && boot != kUnknownBoot && loader_->boot() == boot;
  const int64_t last_unix_ms = loader_->last_unix_ms();
  loader_->BringTimeBack();
  loader_.reset();
  on_.locks.Started(has_all_grants, last_unix_ms);
  on_.state.loading = false;
  on_.flags.Lower(RareFlags::kLog);
  on_.snapshots.AllIsSaved();
  on_.timers.Arm(grace_, on_.clock.now().ms() + on_.config.settings().session_grace_ms);
  if (!folder_) return;
  if (const std::string fault = OpenForWriting(); !fault.empty()) {
    on_.host.Log(LogLevel::kWarning, Concat("the log cannot be written: ", fault));
    return on_.host.Shutdown(1);
  }
  if (on_.state.is_unsure) {
    on_.host.Log(LogLevel::kNotice,
                 "the log could not be synced before this start: it is written anew");
    base_is_due_ = true;
  }
}

// Sessions do not outlive their connections, nor connections the server: their owners have had the
// time to come back.
void LogService::EndGrace() { on_.locks.Enter().SessionEnded(kSessionElsewhere, on_.clock.now()); }

// --- turned on and off

// CONFIG SET appendonly, at the end of the turn, for a command is running whose effects are half
// told. On: as Redis, it is answered before the base is there. Until then a start finds what it
// would have found before.
std::string LogService::Switch() {
  if (on_.state.loading) return "the data are being loaded";
  if (on_.config.settings().appendonly == (is_on() && !to_be_closed_)) return {};
  if (!on_.config.settings().appendonly) {
    to_be_closed_ = true;
    return {};
  }
  if (std::exchange(to_be_closed_, false)) return {};
  DropRewrite();
  if (const std::string fault = OpenFolder(); !fault.empty()) {
    on_.host.Log(LogLevel::kWarning, Concat("the log is not turned on: ", fault));
    return "Unable to turn on AOF. Check server logs.";
  }
  base_is_due_ = on_.state.is_unsure = true;
  next_base_ms_ = 0;
  return {};
}

// While nothing else happens.
std::string LogService::WriteBaseNow() {
  Manifest::File base, next;
  std::unique_ptr<DiskFile> increment;
  folder_->NamePair(base, next);
  if (std::string fault = folder_->MakeIncrement(next, increment); !fault.empty()) return fault;
  if (const int fault = on_.snapshots.WriteBaseNow(folder_->PathOf(base)))
    return Concat(folder_->PathOf(base), " cannot be written: ", std::strerror(fault));
  return folder_->SwitchTo(base, next);
}

void LogService::EndLoggedTurn() {
  if (on_.state.loading) return;  // it is a turn inside of DEBUG RELOAD
  commits_->EndTurn();
  // Waited for: a process that ends before it is told would leave a log that looks sound.
  if (commits_->needs_base()) on_.locks.LogIsUnsure();
  if (!sync_waits_.empty()) {
    if (sync_waits_.TurnEnded(commits_->position())) commits_->WantSync();
    if (stands()) sync_waits_.Reached(commits_->durable());
  }
  if (std::exchange(to_be_closed_, false)) CloseLog();
  if (base_is_due_ && MayBeginBase()) BeginBase();
  if (rewrite_wanted_ && commits_->can_go_over() && on_.snapshots.can_begin()) BeginRewrite();
}

void LogService::CloseLog() {
  DropRewrite();
  base_is_due_ = false;
  commits_->Close();
  folder_->Discard(std::exchange(next_increment_, {}));
  folder_.reset();
  sync_waits_.Fail(kNoLogToWaitFor);
}

void LogService::EverySecond() {
  commits_->EverySecond();
  if (commits_->needs_base()) WantBase();
  if (!is_on()) {
    if (!rewrite_wanted_ || !on_.snapshots.can_begin()) return;
    if (const std::string fault = BeginWithoutLog(); !fault.empty())
      on_.host.Log(LogLevel::kWarning, Concat("the log cannot be written: ", fault));
    return;
  }
  if (!rewriting_ && !rewrite_wanted_ && HasGrown()) {
    on_.host.Log(LogLevel::kNotice, "Starting automatic rewriting of AOF");
    rewrite_wanted_ = true;
  }
}

// --- written anew

// Nothing keeps a log waiting that takes no changes.
void LogService::WantBase() {
  if (!stands()) return;
  base_is_due_ = true;
  if (rewriting_ && on_.snapshots.writing_base()) {
    on_.snapshots.Abandon();
    RewriteEnded("it could not be synced");
  } else if (on_.snapshots.saving()) {
    on_.host.Log(LogLevel::kWarning, "Background saving begins anew: the log needs a base first");
    on_.snapshots.Abandon();
    on_.snapshots.Schedule();
  }
}

bool LogService::MayBeginBase() const {
  return !rewriting_ && commits_->may_begin_anew() && on_.snapshots.can_begin() &&
         on_.clock.now().ms() >= next_base_ms_;
}

// After a failed sync no part of the old files may be trusted, even if they were loaded: the
// system may have read them from its cache. The instant of the base is the end of a turn, and
// what comes goes into the increment that is named with it.
void LogService::BeginBase() {
  base_is_due_ = rewrite_wanted_ = false;
  begins_anew_ = true;
  const Manifest::File before = next_increment_;
  folder_->NamePair(next_base_, next_increment_);
  RewriteBegins();
  std::unique_ptr<DiskFile> increment;
  if (const std::string fault = folder_->MakeIncrement(next_increment_, increment); !fault.empty())
    return RewriteEnded(fault);
  WriteBaseAside();
  if (!rewriting_) return;
  commits_->BeginAnew(std::move(increment), Boot());
  if (before != next_increment_) folder_->Discard(before);  // which was open until now
}

bool LogService::HasGrown() const {
  const Settings& settings = on_.config.settings();
  const auto percent = static_cast<uint64_t>(settings.auto_aof_rewrite_percentage);
  const uint64_t bytes = total_bytes();
  if (percent == 0 || bytes < settings.auto_aof_rewrite_min_size) return false;
  if (on_.clock.now().ms() < next_try_ms_) return false;
  const auto before = static_cast<double>(std::max<uint64_t>(bytes_at_base_, 1));
  return static_cast<double>(bytes) / before * 100 - 100 >= static_cast<double>(percent);
}

std::string LogService::Rewrite() {
  rewrite_wanted_ = true;
  return is_on() || !on_.snapshots.can_begin() ? std::string() : BeginWithoutLog();
}

std::string LogService::BeginWithoutLog() {
  rewrite_wanted_ = false;
  std::string fault = OpenFolder();
  std::unique_ptr<DiskFile> increment;
  if (fault.empty()) {
    folder_->NamePair(next_base_, next_increment_);
    fault = folder_->MakeIncrement(next_increment_, increment);
  }
  if (!fault.empty()) {
    folder_.reset();
    return fault;
  }
  RewriteBegins();
  WriteBaseAside();
  return {};
}

// What the worker does for a new base comes to its end; the base has no use.
void LogService::DropRewrite() {
  rewrite_wanted_ = false;
  if (!rewriting_) return;
  if (on_.snapshots.writing_base()) on_.snapshots.Abandon();
  on_.host.FinishAside();
  if (!std::exchange(rewriting_, false)) return;  // it has come to its end meanwhile
  folder_->Discard(next_base_);
  if (!std::exchange(begins_anew_, false)) folder_->Discard(next_increment_);
  if (!is_on()) folder_.reset();
}

// The instant of the base is that between the two increments: the end of a turn.
void LogService::BeginRewrite() {
  rewrite_wanted_ = false;
  folder_->NamePair(next_base_, next_increment_);
  std::unique_ptr<DiskFile> next;
  RewriteBegins();
  // Both files are made first: where one cannot be, the log goes on in the one that it has.
  if (const std::string fault = folder_->MakeIncrement(next_increment_, next); !fault.empty())
    return RewriteEnded(fault);
  WriteBaseAside();
  if (!rewriting_) return;
  const auto name = [folder = folder_.get(), which = next_increment_] {
    CommitLog::Naming naming{.fault = folder->AddIncrement(which)};
    naming.is_unsure = !naming.fault.empty() && !folder->IsAsKnown();
    return naming;
  };
  const auto done = [this, bytes = commits_->file_bytes()](const std::string& fault) {
    GoneOver(bytes, fault);
  };
  commits_->GoOver({.file = std::move(next), .name = name, .done = done});
}

// Without the increment its base has no use.
void LogService::GoneOver(uint64_t old_bytes, const std::string& fault) {
  if (fault.empty()) {
    old_bytes_ += old_bytes;
    return;
  }
  if (on_.snapshots.writing_base()) on_.snapshots.Abandon();
  RewriteEnded(fault);
}

void LogService::RewriteBegins() {
  rewriting_ = true;
  failed_syncs_ = commits_->failed_syncs();
  rewrite_begun_ns_ = on_.clock.clock().TickNanos();
  on_.host.Log(LogLevel::kNotice, "Background append only file rewriting started");
}

void LogService::WriteBaseAside() {
  on_.snapshots.WriteBase(folder_->PathOf(next_base_), [this](int fault) { BaseWritten(fault); });
}

void LogService::BaseWritten(int fault) {
  if (fault != 0) return RewriteEnded(std::strerror(fault));
  if (commits_->failed_syncs() != failed_syncs_) return RewriteEnded("the log could not be synced");
  const auto outcome = std::make_shared<std::string>();
  LogFolder* const folder = folder_.get();
  on_.host.RunAside(
      AsideLane::kLog,
      [outcome, folder, base = next_base_, next = next_increment_] {
        *outcome = folder->SwitchTo(base, next);
      },
      [this, outcome] { RewriteEnded(*outcome); });
}

void LogService::RewriteEnded(std::string_view fault) {
  if (!std::exchange(rewriting_, false)) return;  // the log has been closed
  const bool begins_anew = std::exchange(begins_anew_, false);
  const uint64_t base_bytes = fault.empty() ? folder_->BytesOf(next_base_) : 0;
  if (!fault.empty()) {
    folder_->Discard(next_base_);
    if (!begins_anew) folder_->Discard(next_increment_);  // else it is open, up to the next attempt
  }
  if (begins_anew && !fault.empty()) {
    base_is_due_ = true;
    next_base_ms_ = on_.clock.now().ms() + kRetryBaseMs;
  }
  if (!is_on()) folder_.reset();
  rewrite_failed_ = !fault.empty();
  rewrite_took_s_ = (on_.clock.clock().TickNanos() - rewrite_begun_ns_) / 1'000'000'000;
  if (rewrite_failed_) {
    ++rewrite_failures_;
    next_try_ms_ = on_.clock.now().ms() + kRetryMs;
    return on_.host.Log(LogLevel::kWarning, Concat("the log could not be written anew: ", fault));
  }
  rewrite_failures_ = 0;
  ++rewrites_;
  base_bytes_ = base_bytes;
  old_bytes_ = 0;
  bytes_at_base_ = total_bytes();
  // A sync may have failed while the manifest was written: then what stands behind this base is
  // lost to a power cut, and only another base helps.
  const bool is_sound = commits_->failed_syncs() == failed_syncs_;
  if (begins_anew && is_sound) commits_->BaseStands();
  if (!is_sound) WantBase();
  on_.host.Log(LogLevel::kNotice, "Background AOF rewrite finished successfully");
}

int64_t LogService::rewrite_running_s() const {
  if (!rewriting_) return -1;
  return (on_.clock.clock().TickNanos() - rewrite_begun_ns_) / 1'000'000'000;
}

bool LogService::Finish() {
  loader_.reset();
  const bool stood = stands();
  DropRewrite();
  const bool was_on = is_on();
  bool is_whole = commits_->Close();
  if (was_on) folder_->Discard(next_increment_);
  // What is being written beside clients has none any more to wait for it.
  if (was_on && !stood) {
    const std::string fault = WriteBaseNow();
    is_whole = fault.empty();
    on_.state.is_unsure = !is_whole;
    if (!is_whole) on_.host.Log(LogLevel::kWarning, fault);
  }
  base_is_due_ = false;
  if (was_on && is_whole) on_.locks.AllIsDurable();
  if (on_.state.is_unsure) on_.locks.LogIsUnsure();
  if (!is_whole) on_.host.Log(LogLevel::kWarning, "the end of the log could not be written");
  left_ = was_on && is_whole ? LookOfFiles() : std::string();
  folder_.reset();
  return is_whole;
}

std::string LogService::Resume() {
  if (!on_.config.settings().appendonly) return {};
  if (std::string fault = OpenFolder(); !fault.empty()) return fault;
  base_bytes_ = old_bytes_ = 0;
  if (LookOfFiles() == left_) return OpenForWriting();
  on_.host.Log(LogLevel::kWarning, "the log is not what it was left as: it is written anew");
  base_is_due_ = on_.state.is_unsure = true;
  next_base_ms_ = 0;
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
