// Snapshots: the state as an RDB file, of one instant, written while clients are served: a slice a
// turn (SnapshotWriter, Keyspace::ImageSlice), to disk on a worker (SnapshotFile). For BGSAVE and
// the save points, and for a new base of the log, one at a time. SAVE writes all at once.
//
// A slice is short, and while others have work the slices take snapshot-cpu-percent of the thread.
// Where the disk is slower, the walk waits for it; so do commands that would change what is not
// saved yet, where that is large (SnapshotBarrier).
//
// SaveNow gives up a BGSAVE that runs. Faults are errno values; the log says which file and why.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/config/option_follower.h"
#include "server/snapshots/file_reads.h"
#include "server/snapshots/flushed_file.h"
#include "server/snapshots/snapshot_file.h"
#include "server/snapshots/snapshot_writer.h"

namespace sluice {

class Clients;
class Config;
class Host;
class LockService;
class BlockedClients;
class SlowPathFlags;
class SnapshotBarrier;
class TurnClock;
struct LogState;

// The words behind SHUTDOWN, and of the options for signals.
struct EndWords {
  bool save = false;
  bool nosave = false;
  bool force = false;
  static EndWords Of(std::string_view words);
};

class Snapshots final : private OptionFollower {
 public:
  // 0 or an errno value.
  using Finished = std::function<void(int fault)>;

  // The parts that they work with; all of them outlive the snapshots.
  struct Uses {
    Config& config;
    Host& host;
    TurnClock& clock;
    Clients& clients;
    BlockedClients& blocked_clients;
    LogState& state;
    SlowPathFlags& flags;
    LockService& locks;
    SnapshotBarrier& snapshot_barrier;
    SnapshotWriter::Source source;
    int64_t process_id;
  };
  explicit Snapshots(const Uses& uses);
  ~Snapshots();

  // --- dbfilename
  bool saving() const { return run_ && !run_->is_base; }
  // The whole file before it returns; 0 or an errno value.
  int SaveNow();
  // The same, counted as SAVE is.
  int Save();
  // The same as a file would hold, for another server on a machine of that boot; false: one is
  // being written.
  bool WriteTo(ByteSink& sink, std::string_view boot);
  // From this moment on, beside clients. last_failed() tells how it ended, also where it could not
  // begin. Requires: can_begin().
  void SaveInBackground();
  // The server is about to end: what runs is given up, and all is saved where `save` says so, or
  // there are save points. False: that has failed, and `force` was not said.
  bool PrepareEnd(const EndWords& words);
  // As soon as nothing else is being written.
  void Schedule() { scheduled_ = true; }
  // FLUSHALL has left nothing of any database. As in Redis, a save that runs is given up, for its
  // image is of before; and where there are save points the file says so before the call is
  // answered, by this: a crash brings nothing back. A base of the log goes on: behind it stands the
  // flush.
  void AllIsFlushed(CommandCall& call);
  // Answers the call with a piece of the file that was saved last.
  void ReadSaved(CommandCall& call, uint64_t offset, size_t bytes);
  // Gives up the snapshot that runs or is scheduled. False: there is none.
  bool Cancel();
  // All has been saved, or loaded, as of now.
  void AllIsSaved() { saved_changes_ = changes(); }

  // --- a base of the log, into the file `path`. Requires: can_begin().
  void WriteBase(const std::string& path, Finished finished);
  // The same before it returns; 0 or an errno value.
  int WriteBaseNow(const std::string& path);
  bool writing_base() const { return run_ && run_->is_base; }

  bool can_begin() const { return !run_ && !on_.source.keyspace.takes_image(); }
  // No more of what runs is written; the file is removed.
  void Abandon();

  // --- turns
  // Requires: busy(). `quiet`: no client had work. True: there is more to do at once.
  bool Slice(bool quiet);
  bool busy() const { return run_ || on_.source.keyspace.takes_image(); }
  int64_t NextWork() const;  // engine ms; TimerWheel::kNever
  void EverySecond();
  // For tests: from which size on values are saved in pieces, and how long those are.
  void set_pieces(size_t large_bytes, size_t piece_bytes);

  // --- for INFO
  uint64_t changes_since_save() const { return changes() - saved_changes_; }
  int64_t saved_unix_s() const { return saved_unix_s_; }
  // The last one beside clients has failed, and none was saved since, in whatever way.
  bool last_failed() const { return failed_; }
  int64_t last_took_s() const { return took_s_; }
  int64_t running_s() const;                 // -1: nothing runs
  uint64_t saves() const { return saves_; }  // that succeeded, since the start
  // By SAVE and beside clients, since CONFIG RESETSTAT: Redis's rdb_saves.
  uint64_t begun() const { return begun_; }
  void ResetStatistics() { begun_ = 0; }
  uint64_t keys_done() const { return run_ ? run_->writer.keys() : 0; }
  uint64_t keys_in_all() const { return run_ ? run_->writer.keys_at_first() : 0; }

 private:
  std::optional<std::string> OptionChanged(std::string_view option) override;
  struct Run {
    Run(Snapshots& snapshots, Host* host, SnapshotFile::Names names, bool base);
    SnapshotFile file;
    SnapshotWriter writer;
    const bool is_base;
    const uint64_t changes;  // of the keyspace, at the instant
    const int64_t begun_ns;
    bool is_walked = false;  // all is written, and on its way to the disk
    Finished finished;
  };
  uint64_t changes() const { return on_.source.keyspace.changes(); }
  SnapshotFile::Names NamesOfFile();
  SnapshotWriter::Style StyleOf(bool is_base) const;
  std::string BytesOfAll() const;
  int Begin(std::unique_ptr<Run>& run);  // takes it, or answers an errno value
  bool MayWalk() const;
  bool is_awaited() const;
  size_t waiting_bytes() const { return run_->file.waiting_bytes() + run_->writer.waiting_bytes(); }
  uint64_t progress() const { return run_ ? run_->writer.keys() + run_->writer.pieces() : 0; }
  void Walk();
  void Delay(uint64_t keys);
  void WalkEnded();
  void Ended(int fault);
  void SavedInBackground(const Run& run, int fault);
  void FileSaved(uint64_t changes, uint64_t keys);
  void FileFailed(int fault);
  void FileOfFlush(const std::string& path, uint64_t changes, const FlushedFile::Outcome& outcome);
  void FollowFault();
  static int WriteNow(Run& run);
  const SavePoint* ReachedSavePoint() const;  // null: none

  const Uses on_;
  std::unique_ptr<Run> run_;
  FlushedFile flushed_;
  FileReads reads_;
  bool scheduled_ = false;
  int64_t next_slice_ns_ = 0;     // while others have work
  int64_t delayed_until_ms_ = 0;  // rdb-key-save-delay; engine time
  uint64_t saved_changes_ = 0;
  int64_t saved_unix_s_;
  int64_t tried_unix_s_ = 0;
  int64_t took_s_ = -1;
  uint64_t saves_ = 0;
  uint64_t begun_ = 0;
  uint64_t files_ = 0;  // that were begun
  size_t large_bytes_ = LargeValueWriter::kLargeBytes;
  size_t piece_bytes_ = LargeValueWriter::kPieceBytes;
  bool failed_ = false;
};

}  // namespace sluice
