// See commit_log.h. While `busy_`, file_ and job_ are the worker's.
//
// A fault is noted by the worker and dealt with on the loop, in JobDone.
#include "server/log/commit_log.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
void CommitLog::Open(std::unique_ptr<DiskFile> file, uint64_t bytes, std::string boot) {
  boot_ = std::move(boot);
  BeginFile(std::move(file), bytes);
  on_.effects.set_sink(this);
  on_.clients.set_gate(this);
  // Behind what the disk may have lost not a byte goes: a later start would find a hole before it.
  if (on_.state.is_unsure) return NeedBase(EIO);
  // On disk before all that it says of: without it a turn's mark would prove nothing.
  if (const int fault = Write(pending_)) return WriteFailed(fault);
  pending_.clear();
  written_ = appended_;
  if (const int fault = file_->Sync()) return SyncFailed(fault);
  durable_ = appended_;
  file_synced_ = file_written_;
}

void CommitLog::BeginFile(std::unique_ptr<DiskFile> file, uint64_t bytes) {
  file_ = std::move(file);
  always_ = on_.settings.appendfsync == "always";
  writer_.Restart();
  pending_ = LogHeaderLine(boot_);
  file_written_ = file_synced_ = bytes;
  file_end_ = bytes + pending_.size();
  appended_ += pending_.size();
}

void CommitLog::BeginAnew(std::unique_ptr<DiskFile> file, std::string boot) {
  assert(may_begin_anew() && writer_.ready() == 0);
  boot_ = std::move(boot);
  BeginFile(std::move(file), 0);
  needs_cut_ = false;
  on_.effects.set_sink(this);
  on_.clients.set_gate(this);
  if (needs_base_) return;
  // The header is synced by itself, before all that it says of.
  StartJob(/*sync=*/true);
}

void CommitLog::BaseStands() {
  on_.state.is_unsure = false;
  if (std::exchange(needs_base_, false)) StartJob(/*sync=*/true);
}

bool CommitLog::WriteOut() {
  EndTurn();
  on_.host.FinishAside();
  if (!needs_base_ && !pending_.empty() && Write(pending_) == 0) {
    pending_.clear();
    written_ = appended_;
  }
  return !needs_base_ && written_ == appended_;
}

bool CommitLog::Close() {
  if (!is_open()) return true;
  WriteOut();
  if (!needs_base_ && written_ == appended_) {
    if (const int fault = file_->Sync()) SyncFailed(fault);
    if (!needs_base_) durable_ = written_;
  }
  const bool is_whole = durable_ == appended_;
  Release();
  if (!is_whole) CloseHeld();
  on_.effects.set_sink(nullptr);
  on_.clients.set_gate(nullptr);
  on_.state.write_fault.clear();
  if (!on_.state.denies_anything()) on_.flags.Lower(RareFlags::kLog);
  pending_.clear();
  needs_base_ = needs_cut_ = false;
  written_ = durable_ = appended_;
  file_.reset();
  return is_whole;
}

// --- a turn

void CommitLog::EndTurn() {
  if (!is_open()) return;
  turn_changed_ = writer_.ready() > counted_;
  if (!turn_changed_) return;
  if (going_over_) {
    CountTurn();
  } else {
    TakeTurn();
  }
  // Of a group that is still open its turn comes later.
  if (on_.state.must_sync && !writer_.in_group()) {
    on_.state.must_sync = false;
    sync_first_ = appended_;
  }
  Flush();
}

// Its mark says where in which file it stands, which is not known yet.
void CommitLog::CountTurn() {
  appended_ += writer_.ready() - counted_;
  counted_ = writer_.ready();
}

void CommitLog::TakeTurn() {
  const Now& now = on_.clock.now();
  const bool is_told = on_.settings.appendfsync != "no";
  const std::string turn =
      writer_.Take(now.unix_ms(), is_told ? file_synced_ : kSyncUnknown, file_end_);
  writer_.set_timestamps(on_.settings.aof_timestamp_enabled);
  writer_.set_now_s(now.unix_s());
  appended_ += turn.size();
  file_end_ += turn.size();
  pending_ += turn;
}

void CommitLog::Flush() {
  if (busy_ || needs_base_ || pending_.empty()) return;  // the worker takes it when it is done
  if (waits_for_sync() && on_.state.write_fault.empty()) {
    StartJob(/*sync=*/true);
  } else {
    WriteHere();
  }
}

void CommitLog::EverySecond() {
  if (!is_open() || needs_base_) return;
  writer_.set_timestamps(on_.settings.aof_timestamp_enabled);
  writer_.set_now_s(on_.clock.now().unix_s());
  if (busy_) {
    ++delayed_syncs_;
    return;
  }
  WriteHere();
  if (needs_base_ || !pending_.empty()) return;
  if (on_.settings.appendfsync == "no" && durable_ >= sync_wanted_) return;
  if (durable_ < written_) StartJob(/*sync=*/true);
}

void CommitLog::PolicyChanged() {
  always_ = on_.settings.appendfsync == "always";
  if (!is_open()) return;
  if (always_ && !busy_ && !needs_base_ && pending_.empty() && durable_ < written_)
    StartJob(/*sync=*/true);
  Release();
}

// --- writing

int CommitLog::Write(std::string_view bytes) {
  if (std::exchange(needs_cut_, false)) {
    if (const int fault = file_->Truncate(file_written_)) {
      needs_cut_ = true;
      return fault;
    }
  }
  size_t written = 0;
  const int fault = file_->Append(bytes, written);
  if (fault == 0) {
    file_written_ += bytes.size();
  } else if (written > 0) {
    needs_cut_ = file_->Truncate(file_written_) != 0;
  }
  return fault;
}

void CommitLog::WriteHere() {
  if (pending_.empty()) return;
  if (const int fault = Write(pending_)) return WriteFailed(fault);
  pending_.clear();
  written_ = appended_;
  if (!on_.state.write_fault.empty()) Recovered();
  if (waits_for_sync()) {
    StartJob(/*sync=*/true);
  } else {
    Release();
  }
}

void CommitLog::StartJob(bool sync) {
  busy_ = true;
  job_begun_ns_ = on_.clock.clock().TickNanos();
  job_ = {.bytes = std::exchange(pending_, {}), .end = appended_, .sync = sync};
  on_.host.RunAside(
      AsideLane::kLog, [this] { RunJob(); }, [this] { JobDone(); });
}

void CommitLog::GoOver(NextFile next) {
  busy_ = going_over_ = true;
  job_begun_ns_ = on_.clock.clock().TickNanos();
  counted_ = 0;
  job_ = {.bytes = std::exchange(pending_, {}),
          .end = appended_,
          .sync = true,
          .next = std::move(next),
          .header = LogHeaderLine(boot_)};
  // Turns from here on are of the next file.
  writer_.Restart();
  on_.host.RunAside(
      AsideLane::kLog, [this] { RunJob(); }, [this] { JobDone(); });
}

// On the worker.
void CommitLog::RunJob() {
  if (!job_.bytes.empty()) job_.write_fault = Write(job_.bytes);
  if (job_.sync && job_.write_fault == 0) job_.sync_fault = file_->Sync();
  if (job_.next.file && job_.write_fault == 0 && job_.sync_fault == 0) NameNext();
}

// What a manifest names is whole: the header is there before.
void CommitLog::NameNext() {
  size_t written = 0;
  int fault = job_.next.file->Append(job_.header, written);
  if (fault == 0) fault = job_.next.file->Sync();
  job_.naming = fault == 0 ? job_.next.name() : Naming{.fault = std::strerror(fault)};
}

// Into the next file, or not: turns that came meanwhile are of the one that there is now.
void CommitLog::GoneOver() {
  going_over_ = false;
  counted_ = 0;
  std::string fault = std::move(job_.naming.fault);
  if (job_.naming.is_unsure) job_.sync_fault = EIO;
  if (const int old = job_.write_fault != 0 ? job_.write_fault : job_.sync_fault; old != 0) {
    if (fault.empty()) fault = std::strerror(old);
  }
  if (fault.empty()) {
    file_ = std::move(job_.next.file);
    file_end_ = file_written_ = file_synced_ = job_.header.size();
  }
  job_.next.file.reset();
  if (writer_.ready() > 0) TakeTurn();
  std::exchange(job_.next.done, {})(fault);
}

void CommitLog::JobDone() {
  busy_ = false;
  if (going_over_) GoneOver();
  if (job_.write_fault != 0) {
    pending_.insert(0, job_.bytes);
    return WriteFailed(job_.write_fault);
  }
  written_ = job_.end;
  if (job_.sync) {
    ++syncs_;
    sync_us_.Record((on_.clock.clock().TickNanos() - job_begun_ns_) / 1000);
    if (job_.sync_fault != 0) return SyncFailed(job_.sync_fault);
    durable_ = job_.end;
    file_synced_ = file_written_;
  }
  if (!on_.state.write_fault.empty() && !needs_base_) Recovered();
  Release();
  Flush();
}

// --- trouble

void CommitLog::WriteFailed(int fault) {
  Deny("written", fault);
  CloseHeld();
}

void CommitLog::NeedBase(int fault) {
  needs_base_ = on_.state.is_unsure = true;
  durable_ = 0;
  ++failed_syncs_;
  Deny("synced", fault);
  CloseHeld();
}

void CommitLog::SyncFailed(int fault) {
  NeedBase(fault);
  if (on_.settings.appendfsync_failure != "exit") return;
  on_.host.Log(LogLevel::kWarning,
               "the log could not be synced: exiting (appendfsync-failure exit)");
  on_.host.Shutdown(1);
}

void CommitLog::Deny(std::string_view what, int fault) {
  if (on_.state.write_fault.empty()) {
    on_.host.Log(LogLevel::kWarning, Concat("the append-only log cannot be ", what, ": ",
                                            std::strerror(fault), "; no changes are accepted"));
  }
  on_.state.write_fault = std::strerror(fault);
  on_.flags.Raise(RareFlags::kLog);
}

void CommitLog::Recovered() {
  on_.state.write_fault.clear();
  if (!on_.state.denies_anything()) on_.flags.Lower(RareFlags::kLog);
  on_.host.Log(LogLevel::kNotice, "the append-only log is written again; changes are accepted");
}

// --- what may leave

// Where the log cannot be written, a turn that changed nothing is no promise: reads go on.
void CommitLog::TurnEnded(Session& session) {
  OutputBuffer& output = session.output;
  const bool denied = !on_.state.write_fault.empty();
  if (denied && turn_changed_ && safe() < appended_) return Abandon(session);
  if (denied || safe() >= appended_) return output.set_may_leave(output.appended());
  if (output.may_leave() >= output.appended()) return;
  held_.push_back({session.id, appended_, output.appended()});
}

void CommitLog::Release() {
  const uint64_t reached = safe();
  for (; !held_.empty() && held_.front().position <= reached; held_.pop_front()) {
    Session* const session = on_.clients.Find(held_.front().id);
    if (!session) continue;
    OutputBuffer& output = session->output;
    output.set_may_leave(std::max(output.may_leave(), held_.front().appended));
    on_.clients.QueueSend(*session);
  }
}

void CommitLog::CloseHeld() {
  for (const Held& held : std::exchange(held_, {})) {
    Session* const session = on_.clients.Find(held.id);
    if (!session || session->close == CloseMode::kNow) continue;
    Abandon(*session);
    on_.clients.QueueSend(*session);
  }
}

// No answer to it may leave, and without one it must not go on.
void CommitLog::Abandon(Session& session) {
  session.output.Clear();
  session.close = CloseMode::kNow;
}

}  // namespace sluice
