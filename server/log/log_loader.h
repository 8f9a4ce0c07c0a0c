// LogLoader: plays the files of a log into an empty keyspace, a slice a turn, so that others can be
// told that it goes on.
//
// While it plays, nothing is decided by time: the clock is held at a moment before all that a log
// can tell of, so that no key looks expired, no past deadline deletes and no timer fires. When it
// ends, time comes back at once, and what ended meanwhile goes by the ordinary way, and is logged.
//
// A file is input like any other. A last file that ends in the middle of a turn is cut back, if
// aof-load-truncated allows it; every other fault is refused with file and offset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/clients/session.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/log_state.h"
#include "server/locks/lock_service.h"
#include "server/log/rdb_base.h"
#include "storage/log/log_folder.h"
#include "storage/log/log_reader.h"

namespace sluice {

class LogLoader {
 public:
  // 120 turns of the clock by which OBJECT IDLETIME counts, which so shows what it should.
  static constexpr int64_t kHeldBackSeconds = int64_t{120} << 24;

  // What it works with; all of it outlives the loader.
  struct Uses {
    const Settings& settings;
    Host& host;
    TurnClock& clock;
    Dispatcher& dispatcher;
    Keyspace& keyspace;
    LockService& locks;
    LogState& state;
  };
  LogLoader(const Uses& uses, LogFolder& folder);

  // A slice, of some milliseconds. False: all is played, or fault() says why not.
  bool Slice();
  const std::string& fault() const { return fault_; }
  uint64_t commands() const { return commands_; }
  int64_t last_unix_ms() const { return last_unix_ms_; }  // of the last turn; 0: not known

 private:
  bool OpenNext();
  bool PlayNext();
  bool PlayPart();
  bool PlayTurn();
  bool Play(int db, Args words);
  std::string TakeError();
  bool EndFile();
  bool CutBack();
  bool Fail(std::string_view what, uint64_t offset);
  void Report();
  bool is_last() const { return at_ + 1 == files_.size(); }
  std::string Path() const { return folder_.disk().Absolute(folder_.PathOf(files_[at_])); }

  const Uses on_;
  LogFolder& folder_;
  const std::vector<Manifest::File> files_;
  size_t at_ = 0;  // of files_
  std::unique_ptr<DiskFile> file_;
  uint64_t file_bytes_ = 0;
  std::unique_ptr<LogReader> reader_;  // of a file of commands
  std::unique_ptr<RdbBase> rdb_;       // of one that Redis has written as an RDB file
  Session session_;
  uint64_t done_bytes_ = 0;  // of the files before
  uint64_t commands_ = 0;
  int64_t last_unix_ms_ = 0;
  int64_t begun_ns_ = 0;
  int64_t reported_ns_ = 0;
  std::string fault_;
};

}  // namespace sluice
