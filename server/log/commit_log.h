// CommitLog: what each turn changed, appended to the log once, and the promise that it is as safe
// as appendfsync says.
//
// A turn that changed something has a position, the end of what the log then holds, and with it the
// number that TurnGate has given it. It is kept when everything up to its position is on disk
// (always), or written to the system (everysec, no), where a crash of the process cannot lose it.
// The gate lets its answers go then.
//
//   turn ends ─ Take ─▶ pending_ ─ write ─▶ written_ ─ sync, on a worker ─▶ durable_
//
// Under `always` writing and syncing are the worker's, and a sync covers all turns that came while
// the one before ran. Otherwise a turn writes by itself, unless a sync of the same file runs,
// beside which a write may stand still: then the worker writes it next. The engine never waits but
// for a disk that is known to be faster than the way to the worker and back (SyncPlace).
//
// A lock that no start would know of (LeaseHorizon) makes its turn wait for the disk, and all
// answers behind it, whatever appendfsync says.
//
// Trouble (log_states.h is the whole of it): after a failed write the file is cut back to its last
// whole turn and the promise has failed (TurnGate::Fail); what could not be written is
// kept and tried again by the worker, every second and with every turn that changes something by
// itself (an expiry). After a failed sync nothing written before may count as safe, and nothing is
// accepted until a whole new base is there (LogService).
//
// The file is in the job, and the job is either here or with the worker: there is no second one.
//
// Positions are bytes since the log was opened, and only grow; offsets are those of the file, and
// begin anew with each increment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/clients/host.h"
#include "server/commit/turn_gate.h"
#include "server/config/settings.h"
#include "server/core/slow_path_flags.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/effects/effects.h"
#include "server/dispatch/log_state.h"
#include "server/log/log_sink.h"
#include "server/log/log_states.h"
#include "server/log/sync_place.h"
#include "server/observe/histogram.h"
#include "storage/log/turn_file.h"
#include "storage/log/turn_writer.h"

namespace sluice {

class CommitLog final : public TurnPromise {
 public:
  // The parts that it works with; all of them outlive the log.
  struct Uses {
    const Settings& settings;
    Host& host;
    const TurnClock& clock;
    TurnGate& gate;
    Effects& effects;
    LogState& state;
    SlowPathFlags& flags;
  };
  explicit CommitLog(const Uses& uses) : on_(uses) {}

  // From now on effects are recorded, at the end of `file`, of which `bytes` are there and safe;
  // or, where the log is unsure, a new base is needed first.
  void Open(std::unique_ptr<DiskFile> file, uint64_t bytes, std::string boot);
  // Between two turns: the whole state is being written into a new base, and what comes goes into
  // this empty file beside it. No file before counts any more. After a failed sync changes are
  // denied, and none is written, until BaseStands(). Requires: may_begin_anew().
  void BeginAnew(std::unique_ptr<DiskFile> file, std::string boot);
  bool may_begin_anew() const { return IsAtRest(state_) && !on_.effects.in_command(); }
  // The base is on disk, and so is that the file goes on from it.
  void BaseStands();
  // The log's files are not what they were, as `what` says: nothing but a new base helps.
  void FilesAreLost(const std::string& what);
  // Between two turns: what comes goes into another file, once all that was before is on disk, and
  // the worker has made it the log's. Where that fails the log goes on in the file that it has,
  // unless what the disk has is not known. Requires: can_rotate().
  struct Naming {
    std::string fault;       // why the file is not the log's; empty: it is
    bool is_unsure = false;  // it may be all the same, after a power cut
  };
  struct NextFile {
    std::unique_ptr<DiskFile> file;                      // empty
    std::function<Naming()> name;                        // makes it the log's last; on the worker
    std::function<void(const std::string& fault)> done;  // on the loop; empty: it has rotated
  };
  void Rotate(NextFile next);
  bool can_rotate() const {
    return state_ == FileState::kReady && writer_.ready() == 0 && !on_.effects.in_command();
  }
  // Writes all there is. False: it could not. Requires: no group is open.
  bool WriteOut();
  // Writes and syncs all there is, and records no more. False: it could not.
  bool Close();
  bool is_open() const { return state_ != FileState::kOff; }
  // The content of the disk is not known, or lost.
  bool is_unsure() const { return IsUnsure(state_); }
  // How often that has begun.
  uint64_t doubts() const { return doubts_; }

  void EverySecond();
  void PolicyChanged();  // appendfsync has another value
  void TimestampsChanged() { writer_.set_timestamps(on_.settings.aof_timestamp_enabled); }
  // That turn is to be on disk within a second or so after it has ended, whatever appendfsync says.
  // Not at once: a client that asks again and again would keep the disk from the others.
  void WantSync(uint64_t turn) { sync_wanted_ = std::max(sync_wanted_, turn); }
  // All turns up to this one are on disk.
  uint64_t durable_turn() const { return durable_.turn; }

  // --- for INFO and WAITAOF
  uint64_t position() const { return appended_.bytes; }
  uint64_t durable() const { return durable_.bytes; }
  uint64_t file_bytes() const { return file_end_; }
  size_t waiting_bytes() const { return pending_.size() + writer_.ready(); }
  bool syncing() const { return !IsAtRest(state_); }
  uint64_t syncs() const { return syncs_; }
  uint64_t syncs_in_place() const { return syncs_in_place_; }  // of these
  uint64_t delayed_syncs() const { return delayed_syncs_; }
  uint64_t failed_syncs() const { return failed_syncs_; }
  // From the moment at which a sync was asked for until the loop heard of its end, in µs.
  const Histogram& sync_us() const { return sync_us_; }
  // The turn so far counts, too.
  bool IsAllDurable() const {
    return durable_.bytes == appended_.bytes && writer_.ready() == 0 && !writer_.in_group();
  }

  // --- TurnPromise
  bool HasNews() const override { return writer_.ready() > counted_; }
  bool EndTurn(uint64_t turn, const TurnNeeds& needs) override;
  uint64_t kept() const override { return safe().turn; }
  bool has_failed() const override { return !on_.state.write_fault.empty(); }

 private:
  // A place in the log: the end of a turn.
  struct Position {
    uint64_t bytes = 0;  // since the log was opened
    uint64_t turn = TurnGate::kNoTurn;
  };
  // The file, and what is to be done with it.
  struct Job {
    TurnFile file;
    std::string bytes;
    Position end;  // theirs
    bool sync = false;
    int64_t took_ns = 0;  // writing and syncing; 0: not known
    int write_fault = 0;
    int sync_fault = 0;
    NextFile next;  // the file to go on in, if it is to be another
    std::string header;
    Naming naming;

    void Run(const Clock& clock);
    void NameNext();
  };

  // Answers wait for the disk: always, or for a turn that must be there first.
  bool waits_for_sync() const { return always_ || durable_.bytes < sync_first_; }
  const Position& safe() const { return waits_for_sync() ? durable_ : written_; }
  bool is_rotating() const { return state_ == FileState::kRotating; }
  void Happen(FileEvent event, std::string_view fault = {});
  void BeginFile(std::unique_ptr<DiskFile> file, uint64_t bytes);
  void PassTurn(uint64_t turn);
  void CountTurn();
  void TakeTurn();
  void NoteStream();
  void Flush();
  void Commit();
  void WriteHere();
  bool WriteLeft();
  void StartJob(bool sync);
  void MakeJob(bool sync);
  void GiveJob();
  void RunJobHere();
  void Rotated();
  void JobDone(std::shared_ptr<Job> job);
  void JobEnded(bool in_place);
  void SyncFailed(std::string_view fault);
  void BeInDoubt();
  void Deny(std::string_view fault);
  void Accept();

  const Uses on_;
  FileState state_ = FileState::kOff;
  std::shared_ptr<Job> job_;  // null: the worker has it, or there is no file
  std::string boot_;
  TurnWriter writer_;  // turns stay here while the log rotates, and it is open of which file
  LogSink sink_{on_.clock, writer_};
  std::string pending_;                         // whole turns that are not written
  size_t counted_ = 0;                          // bytes of the writer_'s turns that have a position
  std::optional<StreamPosition> noted_stream_;  // the last that a turn has said
  bool always_ = false;                         // appendfsync
  bool must_sync_ = false;  // a turn that needs the disk, and whose group is open still
  Position appended_;
  Position written_;
  Position durable_;
  uint64_t sync_first_ = 0;   // no answer leaves before these bytes are durable
  uint64_t sync_wanted_ = 0;  // a client waits until this turn is
  // Offsets in the file.
  uint64_t file_end_ = 0;     // with what is pending
  uint64_t file_synced_ = 0;  // as far as the loop knows
  SyncPlace sync_place_;
  uint64_t syncs_ = 0;
  uint64_t syncs_in_place_ = 0;
  uint64_t delayed_syncs_ = 0;
  uint64_t failed_syncs_ = 0;
  uint64_t doubts_ = 0;
  int64_t job_begun_ns_ = 0;
  Histogram sync_us_;
};

}  // namespace sluice
