// See log_service.h.
#include "server/log/log_service.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

constexpr int kLogNotice = 2;
constexpr int kLogWarning = 3;
constexpr size_t kBootBytesMax = 40;

}  // namespace

LogService::LogService(const Uses& uses)
    : on_(uses),
      commits_({.settings = uses.config.settings(),
                .host = uses.host,
                .clock = uses.clock,
                .clients = uses.clients,
                .effects = uses.effects,
                .state = uses.state,
                .flags = uses.flags}) {
  grace_.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<LogService>&>(task).owner.EndGrace();
  };
  on_.config.OnChange("appendonly", [this] { return Switch(); });
  on_.config.OnChange("appendfsync", [this] {
    commits_.PolicyChanged();
    return std::string();
  });
}

LogService::~LogService() { on_.timers.Disarm(grace_); }

std::string LogService::Start() {
  if (!on_.config.settings().appendonly) return {};
  if (std::string fault = OpenFolder(); !fault.empty()) return fault;
  if (folder_->Files().empty()) return OpenForWriting();
  loader_ = std::make_unique<LogLoader>(LogLoader::Uses{.settings = on_.config.settings(),
                                                        .host = on_.host,
                                                        .clock = on_.clock,
                                                        .dispatcher = on_.dispatcher,
                                                        .keyspace = on_.source.keyspace,
                                                        .locks = on_.locks,
                                                        .state = on_.state},
                                        *folder_);
  on_.state.loading = true;
  on_.flags.Raise(RareFlags::kLog);
  return {};
}

std::string LogService::OpenFolder() {
  const Settings& settings = on_.config.settings();
  folder_ = std::make_unique<LogFolder>(on_.config.disk(), settings.appenddirname,
                                        settings.appendfilename);
  std::string fault = folder_->Open(on_.process_id);
  if (!fault.empty()) folder_.reset();
  return fault;
}

// The system's id of this boot: a log of another one was not written by a process that is merely
// gone.
std::string LogService::Boot() const {
  std::string boot;
  if (on_.config.disk().Read("/proc/sys/kernel/random/boot_id", boot) != 0) return "unknown";
  return boot.substr(0, std::min(boot.find_first_of(" \r\n"), kBootBytesMax));
}

// What is there is made durable first: it may be what only the system's cache had.
std::string LogService::OpenForWriting() {
  Manifest::File which;
  std::unique_ptr<DiskFile> file;
  uint64_t bytes = 0;
  if (std::string fault = folder_->OpenLast(which, file); !fault.empty()) return fault;
  int fault = file->Size(bytes);
  if (fault == 0) fault = file->Sync();
  if (fault != 0) return Concat(folder_->PathOf(which), ": ", std::strerror(fault));
  commits_.Open(std::move(file), bytes, Boot());
  return {};
}

// --- loading

void LogService::Load() {
  // Nothing behind a fault is played.
  if (on_.host.Stopping() || loader_->Slice()) return;
  if (!loader_->fault().empty()) {
    on_.host.Log(kLogWarning, Concat("the log cannot be loaded: ", loader_->fault()));
    return on_.host.Shutdown(1);
  }
  EndLoading();
}

void LogService::EndLoading() {
  loaded_commands_ = loader_->commands();
  on_.host.Log(kLogNotice, Concat("the log is loaded: ", loaded_commands_, " commands, ",
                                  on_.state.progress.taken_ms, " ms"));
  loader_.reset();
  on_.locks.memory().Shift(LogLoader::kHeldBackSeconds * 1000);
  on_.state.loading = false;
  on_.flags.Lower(RareFlags::kLog);
  if (const std::string fault = OpenForWriting(); !fault.empty()) {
    on_.host.Log(kLogWarning, Concat("the log cannot be written: ", fault));
    return on_.host.Shutdown(1);
  }
  on_.timers.Arm(grace_, on_.clock.now().ms() + on_.config.settings().session_grace_ms);
}

// Sessions do not outlive their connections, nor connections the server: their owners have had the
// time to come back.
void LogService::EndGrace() { on_.locks.Enter().SessionEnded(kSessionElsewhere, on_.clock.now()); }

// --- turned on and off

// CONFIG SET appendonly. On: the whole state becomes the base, before the answer. Off: with the
// end of the turn, for a command is running whose effects are half told.
std::string LogService::Switch() {
  if (on_.config.settings().appendonly == (commits_.is_open() && !to_be_closed_)) return {};
  if (!on_.config.settings().appendonly) {
    to_be_closed_ = true;
    return {};
  }
  if (std::exchange(to_be_closed_, false)) return {};
  std::string fault = OpenFolder();
  std::unique_ptr<DiskFile> increment;
  if (fault.empty()) fault = WriteBase(increment);
  if (fault.empty()) {
    commits_.Open(std::move(increment), 0, Boot());
    return {};
  }
  folder_.reset();
  on_.host.Log(kLogWarning, Concat("the log is not turned on: ", fault));
  return "Unable to turn on AOF. Check server logs.";
}

std::string LogService::WriteBase(std::unique_ptr<DiskFile>& increment) {
  Manifest::File base, next;
  std::unique_ptr<DiskFile> file;
  std::string fault = folder_->MakePair(base, file, next, increment);
  if (!fault.empty()) return fault;
  BaseWriter writer(on_.source, on_.clock.now(), *file);
  if (const int error = writer.Write(Boot()))
    return Concat(folder_->PathOf(base), " cannot be written: ", std::strerror(error));
  if (const int error = file->Size(base_bytes_)) return std::strerror(error);
  return folder_->SwitchTo(base, next);
}

void LogService::EndLoggedTurn() {
  commits_.EndTurn();
  if (!std::exchange(to_be_closed_, false)) return;
  commits_.Close();
  folder_.reset();
}

void LogService::EverySecond() {
  commits_.EverySecond();
  if (commits_.needs_base() && !commits_.syncing()) ReplaceLog();
}

// After a failed sync no part of the old files may be trusted.
void LogService::ReplaceLog() {
  std::unique_ptr<DiskFile> increment;
  if (const std::string fault = WriteBase(increment); !fault.empty()) {
    on_.host.Log(kLogWarning, Concat("there is still no new base of the log: ", fault));
    return;
  }
  commits_.GoOnIn(std::move(increment));
}

bool LogService::Finish() {
  loader_.reset();
  const bool is_whole = commits_.Close();
  if (!is_whole) on_.host.Log(kLogWarning, "the end of the log could not be written");
  folder_.reset();
  return is_whole;
}

}  // namespace sluice
