// CommitLog: what each turn changed, appended to the log once, and the one place that decides when
// answers may leave.
//
// A turn that changed something gets a position, the end of what the log then holds. Outputs leave
// when everything up to the position at the end of their turn is as safe as appendfsync promises:
// on disk (always), or written to the system (everysec, no), where a crash of the process cannot
// lose it. So an answer never shows, or acknowledges, what can still be lost.
//
//   turn ends ─ Take ─▶ pending_ ─ write ─▶ written_ ─ sync, on a worker ─▶ durable_
//
// Under `always` writing and syncing are the worker's, and a sync covers all turns that came while
// the one before ran. Otherwise a turn writes by itself, unless a sync of the same file runs,
// beside which a write may stand still: then the worker writes it next. The engine never waits.
//
// Trouble: after a failed write the file is cut back to its last whole turn and clients whose
// answers waited are closed unanswered; what could not be written is kept and tried again, every
// second and with every turn that changes something by itself (an expiry). After a failed sync
// nothing written before may count as safe, and nothing is accepted until a whole new base is there
// (LogService).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "server/clients/clients.h"
#include "server/core/rare_flags.h"
#include "server/dispatch/effects.h"
#include "server/dispatch/log_state.h"
#include "storage/log/turn_writer.h"

namespace sluice {

class CommitLog final : public EffectSink, public OutputGate {
 public:
  // What it works with; all of it outlives the log.
  struct Uses {
    const Settings& settings;
    Host& host;
    const TurnClock& clock;
    Clients& clients;
    Effects& effects;
    LogState& state;
    RareFlags& flags;
  };
  explicit CommitLog(const Uses& uses) : on_(uses) {}

  // From now on effects are recorded, at the end of `file`, of which `bytes` are there and safe.
  void Open(std::unique_ptr<DiskFile> file, uint64_t bytes, std::string boot);
  // The whole state stands in a new base: the log goes on in this empty file, and all that came
  // before is safe.
  void GoOnIn(std::unique_ptr<DiskFile> file);
  // Writes and syncs all there is, and records no more. False: it could not.
  bool Close();
  bool is_open() const { return file_ != nullptr; }

  // The turn is over: its effects get their position. Before outputs are sent.
  void EndTurn();
  void EverySecond();
  void PolicyChanged();  // appendfsync has another value
  // A sync has failed: only a new base helps.
  bool needs_base() const { return needs_base_; }

  // --- for INFO and WAITAOF
  uint64_t position() const { return appended_; }
  uint64_t durable() const { return durable_; }
  uint64_t file_bytes() const { return file_end_; }
  size_t waiting_bytes() const { return pending_.size() + writer_.ready(); }
  bool syncing() const { return busy_; }
  uint64_t syncs() const { return syncs_; }
  uint64_t delayed_syncs() const { return delayed_syncs_; }
  size_t held_answers() const { return held_.size(); }

  // --- EffectSink
  void Effect(int db, Args command) override { writer_.Effect(db, command); }
  void GroupBegin() override { writer_.GroupBegin(); }
  void GroupEnd() override { writer_.GroupEnd(); }
  // --- OutputGate
  void TurnEnded(Session& session) override;

 private:
  // An output that waits for its position.
  struct Held {
    SessionId id;
    uint64_t position;
    uint64_t appended;  // of the output: what may leave then
  };
  struct Job {
    std::string bytes;
    uint64_t end = 0;  // position
    bool sync = false;
    int write_fault = 0;
    int sync_fault = 0;
  };

  bool always() const { return on_.settings.appendfsync == "always"; }
  uint64_t safe() const { return always() ? durable_ : written_; }
  void Begin(std::unique_ptr<DiskFile> file, uint64_t bytes);
  void TakeTurn();
  void Flush();
  void WriteHere();
  void StartJob(bool sync);
  void JobDone();
  int Write(std::string_view bytes);
  void WriteFailed(int fault);
  void SyncFailed(int fault);
  void Deny(std::string_view what, int fault);
  void Recovered();
  void Release();
  void CloseHeld();
  void Abandon(Session& session);

  const Uses on_;
  std::unique_ptr<DiskFile> file_;
  std::string boot_;
  TurnWriter writer_;
  std::string pending_;  // whole turns that are not written
  Job job_;              // the worker's, while busy_
  bool busy_ = false;
  bool needs_cut_ = false;  // the file ends with a part of a turn
  bool needs_base_ = false;
  bool turn_changed_ = false;
  // Positions: bytes since the log was opened.
  uint64_t appended_ = 0;
  uint64_t written_ = 0;
  uint64_t durable_ = 0;
  // Offsets in the file.
  uint64_t file_end_ = 0;      // with what is pending
  uint64_t file_written_ = 0;  // whole turns
  uint64_t file_synced_ = 0;
  uint64_t syncs_ = 0;
  uint64_t delayed_syncs_ = 0;
  std::deque<Held> held_;  // by position
};

}  // namespace sluice
