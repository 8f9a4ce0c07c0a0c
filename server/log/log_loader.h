// LogLoader: plays the files of a log, or a snapshot, into an empty keyspace, a slice a turn, so
// that others can be told that it goes on.
//
// Time decides nothing that it plays: it runs at a moment before all that a log can tell of
// (TurnClock::Hold), so that no key looks expired and no past deadline deletes; and no timer fires
// until all is played. When it ends, what ended meanwhile goes by the ordinary way, and is logged.
//
// Relative times are relative again. Each command is played with the offset of Unix time to engine
// time that it was written with, so its deadlines are on the writer's engine time; and at the end
// the clock is shifted so that that time goes on: with the machine's own while it has not been
// booted, else by the wall clock. Files without notes of a clock (Redis's) have Unix times alone.
//
// A server that serves already can load its data anew, too (`is_live`): then its engine time goes
// on, and the moments that files tell of are moved instead; and locks stay as they are (HeldLocks),
// so what files tell of them is left out.
//
// And a server that follows another one loads that one's data (`made_ms`): the writer's time goes
// on here from the moment at which the file was made, whatever the two wall clocks say.
//
// A file is input like any other. A last file that ends in the middle of a turn is cut back, if
// aof-load-truncated allows it; every other fault is refused with file and offset.
//
// Faults are sentences for a person who has to decide what to do with the file. A slice takes some
// 5 ms (LoadPace).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/clients/session.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/log_state.h"
#include "server/locks/lock_service.h"
#include "server/log/load_pace.h"
#include "server/log/rdb_base.h"
#include "server/log/replay_batch.h"
#include "storage/log/log_reader.h"

namespace sluice {

struct LogLoadOptions {
  std::string boot;          // the machine's
  bool is_snapshot = false;  // there is one file, an RDB file; those of a log may be commands
  bool is_live = false;
  bool merges = false;      // of a snapshot: what is there already is replaced
  bool is_foreign = false;  // the files are another's, and stay as they are
  // Keys of a snapshot whose time is over are not left out. In another's files they lose their
  // deadline (SortOutEndedKeys).
  bool keeps_ended = false;
  // When the file was made, in ms of this server's clock without its shift, and the writer's Unix
  // time is shown from then on; not known: as long ago as the clocks say.
  std::optional<int64_t> made_ms;
};

class LogLoader final : private RdbBase::Player {
 public:
  // The parts that it works with; all of them outlive the loader.
  struct Uses {
    const Settings& settings;
    Host& host;
    TurnClock& clock;
    Dispatcher& dispatcher;
    Keyspace& keyspace;
    LockService& locks;
    LogState& state;
  };
  // `paths`: the files, in the order in which they are played.
  LogLoader(const Uses& uses, Disk& disk, std::vector<std::string> paths, LogLoadOptions options);
  LogLoader(const LogLoader&) = delete;
  ~LogLoader();

  // There is data: it goes first, with all libraries of functions.
  void Empty();
  // A slice, of some milliseconds. False: all is played, or fault() says why not.
  bool Slice();
  // When it has something to do again, in engine ms.
  int64_t next_slice_ms() const { return pace_.next_ms(); }
  const std::string& fault() const { return fault_; }
  uint64_t commands() const { return commands_; }
  const std::string& boot() const { return boot_; }       // of the last turns; empty: not known
  int64_t last_unix_ms() const { return last_unix_ms_; }  // of the last turn; 0: not known
  // Where the stream to replicas stands with the data. Null: the last of the files does not say, or
  // they are another server's.
  std::optional<StreamPosition> stream() const {
    return options_.is_foreign ? std::nullopt : stream_;
  }
  // All is played. What it told of is as long ago, or as far ahead, as it is by the clock.
  void BringTimeBack();
  // Behind it, of an import: takes out what is over, or keeps it, and counts it (LogState::ended).
  void SortOutEndedKeys();

 private:
  bool OpenNext();
  bool PlayNext();
  bool PlayPart();
  bool EndRdb();
  bool PlayTurns();
  bool PlayCommand(size_t index);
  bool Play(int db, Args words, const Now& moment);
  bool Run(int db, Args words, const ReplayBatch::Looked& looked, const Now& moment);
  std::string PlayWords(int db, Args words) override;
  Now FollowClock(const LogClock& clock, int64_t unix_ms, std::string_view boot) override;
  Now Present() const override;
  int64_t ShiftMs() const;
  void FollowOffsetOf(const LogClock& clock);
  bool EndFile();
  bool CutBack();
  bool Fail(std::string_view what, uint64_t offset);
  void Report();
  uint64_t LoadedSoFar() const { return commands_ + (rdb_ ? rdb_->keys() : 0); }
  bool is_last() const { return at_ + 1 == paths_.size(); }
  std::string Path() const { return disk_.Absolute(paths_[at_]); }

  const Uses on_;
  Disk& disk_;
  const std::vector<std::string> paths_;
  const LogLoadOptions options_;
  size_t at_ = 0;  // of paths_
  std::unique_ptr<DiskFile> file_;
  uint64_t file_bytes_ = 0;
  std::unique_ptr<LogReader> reader_;  // of a file of commands
  std::unique_ptr<RdbBase> rdb_;       // of an RDB file
  ReplayBatch batch_;                  // of the turns that are played
  Session session_;
  Now moment_;  // at which the files are played: long ago, by the offset that they name
  LoadPace pace_;
  uint64_t done_bytes_ = 0;  // of the files before
  bool is_large_ = false;    // all of them together
  uint64_t commands_ = 0;
  int64_t last_unix_ms_ = 0;
  // As the last turn that says so has it: who wrote it, on which boot, and its engine time.
  std::optional<LogClock> clock_;
  std::string boot_;
  int64_t last_engine_ms_ = 0;
  std::optional<StreamPosition> stream_;
  int64_t offset_ms_;        // by which the timers of Unix times are set
  bool is_stepped_ = false;  // not all by the same
  int64_t begun_ns_ = 0;
  int64_t reported_ns_ = 0;
  std::string fault_;
};

}  // namespace sluice
