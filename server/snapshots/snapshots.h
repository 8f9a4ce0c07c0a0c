// Snapshots: the state as an RDB file, of one instant, written while clients are served: a slice a
// turn (SnapshotWriter, Keyspace::ImageSlice), into a SnapshotTarget. For BGSAVE and the save
// points, for a new base of the log, and for replicas. SAVE writes all at once.
//
// One image is taken at a time. Who wants one meanwhile gets it at the end of a turn in which none
// is, in this order: the log (LogService, which is asked first); then syncs of replicas and a save
// that is due or scheduled, as they came. A save begins at the next full second, and a sync that
// came behind it waits until it has.
//
// A slice is short, and while others have work the slices take snapshot-cpu-percent of the thread.
// Where the disk is slower, the walk waits for it; so do commands that would change what is not
// saved yet, where that is large (SnapshotBarrier). No peer is waited for.
//
// snapshot-memory-max bounds what waits for the disk, and what spools keep for their readers: these
// get at most half of it.
//
// SaveNow gives up a BGSAVE that runs. Faults are errno values; the log says which file and why.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "server/config/option_follower.h"
#include "server/snapshots/file_reads.h"
#include "server/snapshots/flushed_file.h"
#include "server/snapshots/left_out.h"
#include "server/snapshots/snapshot_file.h"
#include "server/snapshots/snapshot_spool.h"
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
class TurnGate;
struct LogState;

// The words behind SHUTDOWN, and of the options for signals.
struct EndWords {
  bool save = false;
  bool nosave = false;
  bool force = false;
  bool now = false;  // replicas are not waited for: of no concern to snapshots
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
    const TurnGate& turn_gate;
    SnapshotWriter::Source source;
    int64_t process_id;
  };
  explicit Snapshots(const Uses& uses);
  ~Snapshots();

  // --- dbfilename
  bool saving() const { return IsRunning(Purpose::kSave); }
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
  void Schedule() {
    if (!is_scheduled()) scheduled_ = ++last_wish_;
  }
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
  bool writing_base() const { return IsRunning(Purpose::kBase); }

  // --- for replicas, who have readers of the spool
  struct Sync {
    std::unique_ptr<SnapshotSpool> spool;
    bool for_redis = false;  // SnapshotWriter::Style, both
    ImageParts parts;
    // At the instant of the image, at the end of a turn. Not told where it cannot begin, which the
    // readers hear, or when they have left by then.
    std::function<void()> begun;
  };
  std::unique_ptr<SnapshotSpool> NewSpool();
  void Enqueue(Sync sync);
  size_t waiting_syncs() const { return syncs_.size(); }
  bool syncing() const { return IsRunning(Purpose::kSync); }
  // Of the last one for Redis that was begun.
  const LeftOut& left_out() const { return left_out_; }

  bool can_begin() const { return !run_ && !on_.source.keyspace.takes_image(); }
  // No more of what runs is written; the file is removed.
  void Abandon();
  // The log cannot go on before it has a new base: a save that runs is put off, and a sync is given
  // up, as its replicas come back.
  void MakeWayForBase();

  // --- turns
  // Requires: busy(). `quiet`: no client had work. True: there is more to do at once.
  bool Slice(bool quiet);
  bool busy() const { return run_ || on_.source.keyspace.takes_image(); }
  // Behind LogService::EndTurn; no command is running.
  void EndTurn() {
    if (!syncs_.empty()) [[unlikely]]
      BeginNextSync();
  }
  // Bytes in memory that wait for the disk, or for readers.
  size_t memory_bytes() const { return (run_ ? waiting_bytes() : 0) + spool_memory_.taken(); }
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
  enum class Purpose : uint8_t { kSave, kBase, kSync };
  struct Run {
    Run(Snapshots& snapshots, std::unique_ptr<SnapshotTarget> target, Purpose purpose,
        bool for_redis = false, ImageParts parts = {});
    const std::unique_ptr<SnapshotTarget> target;
    SnapshotWriter writer;
    const Purpose purpose;
    const bool for_redis;
    const uint64_t changes;  // of the keyspace, at the instant
    const int64_t begun_ns;
    bool is_walked = false;  // all is written, and on its way to the disk
    Finished finished;
  };
  // A sync that has not begun; they and the scheduled save are numbered as they came.
  struct WaitingSync {
    uint64_t wish;
    Sync sync;
  };
  uint64_t changes() const { return on_.source.keyspace.changes(); }
  bool IsRunning(Purpose purpose) const { return run_ && run_->purpose == purpose; }
  bool is_scheduled() const { return scheduled_ != 0; }
  std::string TemporaryName();
  std::unique_ptr<SnapshotTarget> FileOfSave(Host* host);
  std::unique_ptr<SnapshotTarget> FileOfBase(const std::string& path, Host* host);
  SnapshotWriter::Style StyleOf(Purpose purpose, bool for_redis = false,
                                ImageParts parts = {}) const;
  std::string BytesOfAll() const;
  int Begin(std::unique_ptr<Run>& run);  // takes it, or answers an errno value
  bool MayWalk() const;
  bool is_awaited() const;
  size_t waiting_bytes() const {
    return run_->target->waiting_bytes() + run_->writer.waiting_bytes();
  }
  size_t waiting_bytes_max() const;
  uint64_t progress() const { return run_ ? run_->writer.keys() + run_->writer.pieces() : 0; }
  void Walk();
  void Delay(uint64_t keys);
  void WalkEnded();
  void Ended(int fault);
  void SavedInBackground(const Run& run, int fault);
  void BeginNextSync();
  void BeginSync(Sync sync);
  void Synced(const Run& run, int fault);
  void FileSaved(uint64_t changes, uint64_t keys);
  void FileFailed(int fault);
  void FileOfFlush(const std::string& path, uint64_t changes, const FlushedFile::Outcome& outcome);
  void FollowFault();
  static int WriteNow(Run& run);
  const SavePoint* ReachedSavePoint() const;  // null: none

  const Uses on_;
  SpoolMemory spool_memory_;
  std::unique_ptr<Run> run_;
  std::deque<WaitingSync> syncs_;
  LeftOut left_out_;
  FlushedFile flushed_;
  FileReads reads_;
  uint64_t last_wish_ = 0;
  uint64_t scheduled_ = 0;        // the wish; 0: there is none
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
