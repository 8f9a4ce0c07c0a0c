// LogService: the append-only log of a server, from its start to its end: it opens the folder, has
// its files played (LogLoader), then has every turn recorded (CommitLog).
//
// It is written anew (BGREWRITEAOF, or by itself when it has grown) while clients are served: at
// the end of a turn the log goes on in a new increment, and a base of that instant is written
// beside it (Snapshots). When the base is on disk the manifest names these two, and what was before
// is removed. A crash at any step leaves a folder that loads whole. Where the log is turned on
// beside data, or after a failed sync, it goes likewise, but what was before counts no more: until
// the base stands the files do not tell of what there is. So it goes, too, when somebody removes,
// replaces or moves a file of the log, which is looked for every second.
//
// Which of these is going on, and what each event does then, is a table: BaseState (log_states.h).
// The folder is here, or with the worker's job that needs it.
//
// Sizes are bytes, durations seconds, moments engine ms. A fault at the start is a sentence that
// ends it; a fault of a rewriting is logged, counted and, where the log began it by itself, tried
// again after a minute.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/fault.h"
#include "server/clients/yielder.h"
#include "server/commit/turn_waits.h"
#include "server/config/option_follower.h"
#include "server/log/commit_log.h"
#include "server/log/log_states.h"
#include "storage/log/log_folder.h"
#include "storage/time/timer_task.h"

namespace sluice {

class Config;
class Dispatcher;
class LockService;
class LogLoader;
class Snapshots;
class Standstill;
struct LogLoadOptions;

// In Redis's words.
inline constexpr std::string_view kNoLogToWaitFor =
    "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";

class LogService final : private OptionFollower {
 public:
  // The parts that it works with; all of them outlive the service.
  struct Uses {
    Config& config;
    Host& host;
    TurnClock& clock;
    TurnGate& gate;
    TurnWaits& waits;
    Effects& effects;
    Dispatcher& dispatcher;
    LockService& locks;
    Standstill& standstill;
    LogState& state;
    SlowPathFlags& flags;
    TimerTasks& timers;
    Keyspace& keyspace;
    Snapshots& snapshots;
    Yielder& yielder;
    int64_t process_id;
  };
  explicit LogService(const Uses& uses);
  ~LogService();

  // Once, in the working directory: with `appendonly yes` opens the log, and begins to load it if
  // there is something in it; without, a snapshot if there is one. A sentence why that cannot be
  // done, or empty.
  Fault Start();
  bool loading() const { return loader_ != nullptr || full_sync_ != nullptr; }
  // A slice of the loading. Requires: loading().
  void Load();
  // When it has something to do again, in engine ms. Requires: loading().
  int64_t NextSlice() const;
  // The turn has ended, and has its number (TurnGate::EndTurn).
  void EndTurn() {
    if (is_on() || rewrite_wanted_) [[unlikely]]
      is_on() ? EndLoggedTurn() : RewriteWithoutLog();
  }
  void EverySecond();
  // A client waits until that turn is on disk (CommitLog::WantSync).
  void WantSync(uint64_t turn) { commits_->WantSync(turn); }
  // A start would find all turns up to this one.
  uint64_t TurnsOnDisk() const {
    return commits_->is_open() && stands() ? commits_->durable_turn() : TurnGate::kNoTurn;
  }
  bool is_on() const { return commits_->is_open() || state_ == BaseState::kDue; }
  bool IsAllDurable() const { return stands() && commits_->IsAllDurable(); }
  // A start would find all that is durable in the log: no base is still to be written.
  bool stands() const { return DoFilesTell(state_); }
  // Everything is written and synced, and the folder is left; false: it could not be.
  bool Finish();
  // It goes on behind Finish, after all: at the end of the log, or in a new base where that is not
  // what Finish left. A sentence why it cannot, or empty.
  Fault Resume();

  // --- DEBUG RELOAD and DEBUG LOADAOF (log_reload.cc): the data are loaded anew, from dbfilename
  // or the log. False: they could not be, and the log of the server says why. Where the data are
  // gone by then, the server ends. Others are answered -LOADING meanwhile. Locks stay as they are.
  struct Reloading {
    bool flush = true;
    bool merge = false;     // what is there already is replaced
    bool is_saved = false;  // the file is what there is
  };
  bool ReloadSnapshot(Session& caller, const Reloading& how);
  bool ReloadLog(Session& caller);

  // --- a full sync (log_full_sync.cc): all data are replaced by those of a server that is followed
  struct FullSync {
    std::string path;         // an RDB file, which has been looked through
    bool is_foreign = false;  // of Redis: see LogLoadOptions, as the next one
    std::optional<int64_t> made_ms;
    std::function<void()> drop;                          // takes away all data that are there
    std::function<void()> slice;                         // is told of each slice
    std::function<void(const std::string& fault)> done;  // behind all of it; empty: it is loaded
  };
  // Begins with the next turn: the data go, and the file is loaded, a slice a turn, while others
  // are answered -LOADING. The log is closed meanwhile, and its files stay as they are: a start
  // finds the data of before, until a base of the new ones is on disk. Where the file cannot be
  // loaded all the same there are no data, and none are written down, until a full sync has come
  // whole or Promoted. Requires: none is loading.
  void LoadFullSync(std::unique_ptr<FullSync> sync);
  // This server follows no other one any more: what there is counts, and the sessions that hold
  // locks have as long to come back as after a start.
  void Promoted();
  // Behind Load, when the clock is right: tells the one who wanted it.
  void TellLoaded();
  // Engine time is so much later from now on.
  void TimeShifted(int64_t ms);

  // --- sluice --import
  // Instead of Start: loads these files of another server, of which it changes none. A key that is
  // over is left out, or kept without a deadline, and counted (LogState::ended).
  void Import(std::vector<std::string> paths, bool is_snapshot, bool keeps_ended);
  // Writes the loaded data to the files that a server with these options starts from. A sentence
  // why not, or empty.
  Fault WriteFiles();

  // --- BGREWRITEAOF
  // At the end of a turn in which nothing else is being written. Without the log, as Redis, it
  // makes one of this moment, for a start that turns it on; a sentence why that cannot be done, or
  // empty.
  Fault Rewrite();
  bool rewrite_wanted() const { return rewrite_wanted_; }
  bool rewriting() const { return IsRewriting(state_); }
  bool rewrite_failed() const { return rewrite_failed_; }
  uint64_t rewrites() const { return rewrites_; }
  uint64_t rewrite_failures() const { return rewrite_failures_; }  // one after another
  int64_t rewrite_took_s() const { return rewrite_took_s_; }       // -1: none has been done
  int64_t rewrite_running_s() const;                               // -1: none is

  const CommitLog& commits() const { return *commits_; }
  uint64_t base_bytes() const { return base_bytes_; }
  uint64_t total_bytes() const { return base_bytes_ + old_bytes_ + commits_->file_bytes(); }

 private:
  std::optional<std::string> OptionChanged(std::string_view option) override;
  Fault OpenFolder();
  Fault LoadSnapshot();
  Fault WhyNotBesideSnapshot() const;
  Fault LoadBeforeFirstBase();
  void BeginLoading(std::vector<std::string> paths, LogLoadOptions options);
  std::unique_ptr<LogLoader> NewLoader(std::vector<std::string> paths, LogLoadOptions options);
  bool LoadLive(Session& caller, LogLoader& loader, bool flush);
  std::string FilesOfLog(std::vector<std::string>& paths);
  Fault OpenForWriting();
  void EndLoading();
  void BeginFullSync();
  void SliceOfFullSync();
  void EndFullSync();
  void PutLogAside();
  void ArmGrace();
  void EndGrace();
  void EndLoggedTurn();
  void CloseLog();
  Fault Switch();
  Fault WriteBaseNow();
  bool HasGrown() const;
  void BeginRewrite();
  // --- log_rewrite.cc: written anew
  void Happen(BaseEvent event, std::string_view fault = {});
  // What is over goes when a master says so: it is loaded with the rest. Following itself begins
  // when the data are there.
  bool LeavesEndsToMaster() const;
  Fault MakePair(std::unique_ptr<DiskFile>& increment);
  Fault BeginWithoutLog();
  void RewriteWithoutLog();
  void RewriteBegins(BaseEvent event);
  void WriteBaseInBackground();
  void Rotated(uint64_t old_bytes, const std::string& fault);
  void BaseWritten(int fault);
  void NamePair();
  void Abandon();
  void Tidy();
  void RewriteDone();
  void RewriteFailed(std::string_view fault);
  void DropRewrite();
  void Outdate();
  void NoticeDoubts();
  bool MayBeginBase() const;
  void BeginBase();
  void LookAfterFiles();
  std::string Boot() const;
  std::string LookOfFiles() const;

  const Uses on_;
  // By itself: a test double has thousands of services, and memory is given out in sizes.
  const std::unique_ptr<CommitLog> commits_;
  std::unique_ptr<LogFolder> folder_;  // null: a job has it, or there is no log
  std::unique_ptr<LogLoader> loader_;
  std::unique_ptr<FullSync> full_sync_;   // that is to be loaded, or is
  std::function<void()> to_tell_;         // TellLoaded
  TimerTaskOf<LogService> grace_{*this};  // of locks that sessions of before held
  int64_t grace_begun_ms_ = 0;
  BaseState state_ = BaseState::kNone;
  uint64_t doubts_ = 0;        // of the log, that are dealt with
  int64_t next_base_ms_ = 0;   // engine time
  bool to_be_closed_ = false;  // CONFIG SET appendonly no: at the turn's end
  uint64_t base_bytes_ = 0;
  uint64_t old_bytes_ = 0;      // of increments before the one that is written
  uint64_t bytes_at_base_ = 0;  // of all, when the base was new
  bool rewrite_wanted_ = false;
  bool rewrite_failed_ = false;
  std::string told_;  // why the last one failed; empty: it did not
  Manifest::File next_base_;
  Manifest::File next_increment_;
  Manifest::File open_;  // the increment that is appended to
  int64_t rewrite_begun_ns_ = 0;
  int64_t rewrite_took_s_ = -1;
  uint64_t rewrites_ = 0;
  uint64_t rewrite_failures_ = 0;
  int64_t next_try_ms_ = 0;  // engine time
  std::string left_;         // the files that Finish left; empty: they do not tell of all there is
};

}  // namespace sluice
