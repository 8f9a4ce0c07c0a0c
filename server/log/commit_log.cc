// See commit_log.h. It is hard because the worker has the file half of the time, and each fault is
// met in its own place. The worker notes faults in the job; the loop hears of them when the job is
// back, in JobEnded, and the table says what comes of it.
#include "server/log/commit_log.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/free_memory.h"
#include "server/core/log_clock.h"

namespace sluice {
namespace {

constexpr size_t kBytesKept = 256 * 1024;

}  // namespace

void CommitLog::Happen(FileEvent event, std::string_view fault) {
  const FileStep step = StepOf(state_, event);
  assert(step.act != FileAct::kNever);
  state_ = step.next;
  if (step.act == FileAct::kDeny) Deny(fault);
  if (step.act == FileAct::kAccept) Accept();
}

// --- files

void CommitLog::Open(std::unique_ptr<DiskFile> file, uint64_t bytes, std::string boot) {
  boot_ = std::move(boot);
  BeginFile(std::move(file), bytes);
  // Behind what the disk may have lost not a byte goes: a later start would find a hole before it.
  if (on_.state.is_unsure) return FilesAreLost(std::strerror(EIO));
  // On disk before all that it says of: without it a turn's mark would prove nothing.
  if (!WriteLeft()) return;
  if (const int fault = job_->file.Sync()) return SyncFailed(std::strerror(fault));
  durable_ = appended_;
  file_synced_ = job_->file.synced();
}

void CommitLog::BeginFile(std::unique_ptr<DiskFile> file, uint64_t bytes) {
  job_ = std::make_shared<Job>(Job{.file = TurnFile(std::move(file), bytes)});
  always_ = on_.settings.appendfsync == "always";
  writer_.Restart();
  pending_ = LogHeaderLine(boot_);
  file_synced_ = bytes;
  file_end_ = bytes + pending_.size();
  if (!is_open()) {
    // Turns of before are none of this log's.
    written_.turn = durable_.turn = on_.gate.last();
    on_.gate.Add(*this);
  }
  appended_ = {appended_.bytes + pending_.size(), on_.gate.last()};
  on_.effects.set_sink(kToLog, &sink_);
  Happen(FileEvent::kOpened);
}

void CommitLog::BeginAnew(std::unique_ptr<DiskFile> file, std::string boot) {
  assert(may_begin_anew() && writer_.ready() == 0);
  boot_ = std::move(boot);
  BeginFile(std::move(file), 0);
  // The header is synced by itself, before all that it says of.
  if (MayWrite(state_)) StartJob(/*sync=*/true);
}

void CommitLog::BaseStands() {
  on_.state.is_unsure = false;
  Happen(FileEvent::kStands);
  if (state_ == FileState::kFull) StartJob(/*sync=*/true);
}

// True: all is written.
bool CommitLog::WriteLeft() {
  if (!MayWrite(state_)) return false;
  if (pending_.empty()) return true;
  if (const int fault = job_->file.Append(pending_)) {
    Happen(FileEvent::kWriteFailed, std::strerror(fault));
    return false;
  }
  ClearKeeping(pending_, kBytesKept);
  written_ = appended_;
  Happen(FileEvent::kDone);
  return true;
}

bool CommitLog::WriteOut() {
  on_.gate.NumberSoFar();
  on_.host.background().Finish();
  NoteStream();
  return WriteLeft();
}

bool CommitLog::Close() {
  if (!is_open()) return true;
  if (WriteOut()) {
    const int fault = job_->file.Sync();
    fault == 0 ? static_cast<void>(durable_ = written_) : SyncFailed(std::strerror(fault));
  }
  const bool is_whole = durable_.bytes == appended_.bytes;
  on_.gate.Release();
  if (!is_whole) on_.gate.Fail(*this);
  on_.effects.set_sink(kToLog, nullptr);
  on_.gate.Remove(*this);
  on_.state.write_fault.clear();
  if (!on_.state.denies_anything()) on_.flags.Lower(SlowPathFlags::kLog);
  pending_.clear();
  written_ = durable_ = appended_;
  job_.reset();
  Happen(FileEvent::kClosed);
  return is_whole;
}

// --- a turn

bool CommitLog::EndTurn(uint64_t turn, const TurnNeeds& needs) {
  must_sync_ |= needs.disk;
  if (!HasNews()) {
    PassTurn(turn);
    return false;
  }
  if (is_rotating()) {
    CountTurn();
  } else {
    TakeTurn();
  }
  appended_.turn = turn;
  // A group that is still open has its turn later.
  if (must_sync_ && !writer_.in_group()) {
    must_sync_ = false;
    sync_first_ = appended_.bytes;
  }
  Flush();
  return true;
}

// It is as safe as what came before.
void CommitLog::PassTurn(uint64_t turn) {
  for (Position* const position : {&written_, &durable_}) {
    if (position->bytes == appended_.bytes) position->turn = turn;
  }
  appended_.turn = turn;
}

// Its mark says where in which file it stands, which is not known yet.
void CommitLog::CountTurn() {
  appended_.bytes += writer_.ready() - counted_;
  counted_ = writer_.ready();
}

void CommitLog::TakeTurn() {
  const Now now = on_.clock.now();
  const bool is_told = on_.settings.appendfsync != "no";
  // The stream has part of a group that is open, and this turn has none of it.
  noted_stream_ = writer_.in_group() ? std::nullopt : on_.state.stream;
  writer_.set_clock(LogClockOf(on_.clock));
  const std::string turn =
      writer_.Take(now.unix_ms(), is_told ? file_synced_ : kSyncUnknown, file_end_, noted_stream_);
  writer_.set_timestamps(on_.settings.aof_timestamp_enabled);
  writer_.set_now_s(now.unix_s());
  appended_.bytes += turn.size();
  file_end_ += turn.size();
  pending_ += turn;
}

// Much that replicas are sent changes no data, and is in no turn. Where it was the last, a turn of
// its own says how far it went.
void CommitLog::NoteStream() {
  if (!is_open() || !on_.state.stream || on_.state.stream == noted_stream_) return;
  if (!is_rotating() && !writer_.in_group()) TakeTurn();
}

// A worker that is busy takes the rest when it is done.
void CommitLog::Flush() {
  if (pending_.empty() || !MayWrite(state_)) return;
  if (state_ == FileState::kFull || waits_for_sync()) {
    Commit();
  } else {
    WriteHere();
  }
}

void CommitLog::Commit() {
  const uint64_t bytes = appended_.bytes - durable_.bytes;
  const bool is_here =
      state_ == FileState::kReady && sync_place_.IsHere(bytes, on_.clock.clock().WorkNanos());
  is_here ? RunJobHere() : StartJob(/*sync=*/true);
}

void CommitLog::EverySecond() {
  if (!is_open() || is_unsure()) return;
  writer_.set_timestamps(on_.settings.aof_timestamp_enabled);
  writer_.set_now_s(on_.clock.now().unix_s());
  if (!IsAtRest(state_)) {
    ++delayed_syncs_;
    return;
  }
  Flush();
  if (state_ != FileState::kReady) return;
  if (on_.settings.appendfsync == "no" && durable_.turn >= sync_wanted_) return;
  if (durable_.bytes < written_.bytes) StartJob(/*sync=*/true);
}

void CommitLog::PolicyChanged() {
  always_ = on_.settings.appendfsync == "always";
  if (!is_open()) return;
  if (always_ && state_ == FileState::kReady && durable_.bytes < written_.bytes)
    StartJob(/*sync=*/true);
  on_.gate.Release();
}

// --- writing

void CommitLog::WriteHere() {
  if (const int fault = job_->file.Append(pending_))
    return Happen(FileEvent::kWriteFailed, std::strerror(fault));
  ClearKeeping(pending_, kBytesKept);
  written_ = appended_;
  on_.gate.Release();
}

void CommitLog::MakeJob(bool sync) {
  *job_ = {.file = std::move(job_->file),
           .bytes = std::exchange(pending_, {}),
           .end = appended_,
           .sync = sync};
  job_begun_ns_ = on_.clock.clock().TickNanos();
  Happen(FileEvent::kStart);
}

void CommitLog::StartJob(bool sync) {
  MakeJob(sync);
  GiveJob();
}

// Answers that wait for it leave with this turn.
void CommitLog::RunJobHere() {
  MakeJob(/*sync=*/true);
  job_->Run(on_.clock.clock());
  ++syncs_in_place_;
  JobEnded(/*in_place=*/true);
  if (state_ == FileState::kReady) on_.gate.Release();
}

void CommitLog::Rotate(NextFile next) {
  counted_ = 0;
  *job_ = {.file = std::move(job_->file),
           .bytes = std::exchange(pending_, {}),
           .end = appended_,
           .sync = true,
           .next = std::move(next),
           .header = LogHeaderLine(boot_)};
  // Turns from here on are of the next file.
  writer_.Restart();
  job_begun_ns_ = on_.clock.clock().TickNanos();
  Happen(FileEvent::kRotate);
  GiveJob();
}

void CommitLog::GiveJob() {
  Job* const job = job_.get();
  on_.host.background().Run(
      WorkerLane::kLog, [job, &clock = std::as_const(on_.clock.clock())] { job->Run(clock); },
      [this, back = std::move(job_)]() mutable { JobDone(std::move(back)); });
}

// On the worker, or in place. The file's older bytes are synced even if no more can be written.
void CommitLog::Job::Run(const Clock& clock) {
  const int64_t begun_ns = clock.WorkNanos();
  if (!bytes.empty()) write_fault = file.Append(bytes);
  if (sync && (write_fault == 0 || file.synced() < file.end())) sync_fault = file.Sync();
  took_ns = clock.WorkNanos() - begun_ns;
  if (next.file && write_fault == 0 && sync_fault == 0) NameNext();
}

// Files that a manifest names are whole: the header is there before.
void CommitLog::Job::NameNext() {
  size_t written = 0;
  int fault = next.file->Append(header, written);
  if (fault == 0) fault = next.file->Sync();
  naming = fault == 0 ? next.name() : Naming{.fault = std::strerror(fault)};
}

// Into the next file, or not: turns that came meanwhile are of the one that there is now.
void CommitLog::Rotated() {
  Job& job = *job_;
  // In the middle of a turn, that may have added something.
  if (HasNews()) on_.gate.NumberSoFar();
  counted_ = 0;
  std::string fault = std::move(job.naming.fault);
  if (job.naming.is_unsure) job.sync_fault = EIO;
  if (const int old = job.write_fault != 0 ? job.write_fault : job.sync_fault; old != 0) {
    if (fault.empty()) fault = std::strerror(old);
  }
  if (fault.empty()) {
    job.file = TurnFile(std::move(job.next.file), job.header.size());
    file_end_ = file_synced_ = job.header.size();
  }
  job.next.file.reset();
  if (writer_.ready() > 0) TakeTurn();
  std::exchange(job.next.done, {})(fault);
}

void CommitLog::JobDone(std::shared_ptr<Job> job) {
  job_ = std::move(job);
  if (is_rotating()) Rotated();
  JobEnded(/*in_place=*/false);
  // Where a write has just failed it is not tried again at once.
  if (state_ != FileState::kReady) return;
  on_.gate.Release();
  Flush();
}

void CommitLog::JobEnded(bool in_place) {
  const Job& job = *job_;
  if (job.write_fault != 0) {
    pending_.insert(0, job.bytes);
  } else {
    // Turns that this log has nothing of may have passed meanwhile.
    written_ = job.end.bytes == appended_.bytes ? appended_ : job.end;
  }
  ClearKeeping(job_->bytes, kBytesKept);  // a long turn's block goes
  if (job.sync) {
    ++syncs_;
    sync_place_.Ended(in_place, job.took_ns, on_.clock.clock().WorkNanos());
    sync_us_.Record((on_.clock.clock().TickNanos() - job_begun_ns_) / 1000);
  }
  if (job.sync_fault != 0) return SyncFailed(std::strerror(job.sync_fault));
  file_synced_ = job.file.synced();
  if (job.sync && !is_unsure()) durable_ = written_;
  if (job.write_fault != 0) return Happen(FileEvent::kWriteFailed, std::strerror(job.write_fault));
  Happen(FileEvent::kDone);
}

// --- trouble

void CommitLog::BeInDoubt() {
  on_.state.is_unsure = true;
  durable_ = {};
  ++doubts_;
}

void CommitLog::FilesAreLost(const std::string& what) {
  BeInDoubt();
  Happen(FileEvent::kLost, what);
}

void CommitLog::SyncFailed(std::string_view fault) {
  BeInDoubt();
  ++failed_syncs_;
  Happen(FileEvent::kSyncFailed, fault);
  if (on_.settings.appendfsync_failure != "exit") return;
  on_.host.Log(LogLevel::kWarning,
               "the log could not be synced: exiting (appendfsync-failure exit)");
  on_.host.Shutdown(1);
}

void CommitLog::Deny(std::string_view fault) {
  if (on_.state.write_fault.empty()) {
    on_.host.Log(LogLevel::kWarning, Concat("the append-only log cannot be ",
                                            is_unsure() ? "trusted: " : "written: ", fault,
                                            "; no changes are accepted"));
  }
  on_.state.write_fault = fault;
  on_.flags.Raise(SlowPathFlags::kLog);
  on_.gate.Fail(*this);
}

void CommitLog::Accept() {
  on_.state.write_fault.clear();
  if (!on_.state.denies_anything()) on_.flags.Lower(SlowPathFlags::kLog);
  on_.host.Log(LogLevel::kNotice, "the append-only log is written again; changes are accepted");
}

}  // namespace sluice
