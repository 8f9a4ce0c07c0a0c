// LogService: the append-only log of a server, from its start to its end: it opens the folder, has
// its files played (LogLoader), then has every turn recorded (CommitLog), and writes a new base
// where the log is turned on beside data, or after a sync has failed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/config/config.h"
#include "server/log/base_writer.h"
#include "server/log/commit_log.h"
#include "server/log/log_loader.h"
#include "storage/log/log_folder.h"
#include "storage/time/timer_task.h"

namespace sluice {

class LogService {
 public:
  static constexpr PartId kPartId = PartId::kLog;

  // What it works with; all of it outlives the service.
  struct Uses {
    Config& config;
    Host& host;
    TurnClock& clock;
    Clients& clients;
    Effects& effects;
    Dispatcher& dispatcher;
    LockService& locks;
    LogState& state;
    RareFlags& flags;
    TimerTasks& timers;
    BaseWriter::Source source;
    int64_t process_id;
  };
  explicit LogService(const Uses& uses);
  ~LogService();

  // Once, in the working directory: with `appendonly yes` opens the log, and begins to load it if
  // there is something in it. A sentence why that cannot be done, or empty.
  std::string Start();
  bool loading() const { return loader_ != nullptr; }
  // A slice of the loading. Precondition: loading().
  void Load();
  void EndTurn() {
    if (commits_.is_open()) [[unlikely]]
      EndLoggedTurn();
  }
  void EverySecond();
  // Everything is written and synced; false: it could not be.
  bool Finish();

  const CommitLog& commits() const { return commits_; }
  uint64_t base_bytes() const { return base_bytes_; }
  uint64_t loaded_commands() const { return loaded_commands_; }

 private:
  std::string OpenFolder();
  std::string OpenForWriting();
  void EndLoading();
  void EndGrace();
  void EndLoggedTurn();
  std::string Switch();
  std::string WriteBase(std::unique_ptr<DiskFile>& increment);
  void ReplaceLog();
  std::string Boot() const;

  const Uses on_;
  CommitLog commits_;
  std::unique_ptr<LogFolder> folder_;
  std::unique_ptr<LogLoader> loader_;
  TimerTaskOf<LogService> grace_{*this};  // of locks that sessions of before held
  bool to_be_closed_ = false;             // CONFIG SET appendonly no: at the turn's end
  uint64_t base_bytes_ = 0;
  uint64_t loaded_commands_ = 0;
};

}  // namespace sluice
