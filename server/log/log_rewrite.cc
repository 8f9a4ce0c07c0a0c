// The log is written anew. At each moment the manifest must name files that hold all that was
// answered. So a new base and its increment are made first, and named together.
//
// The steps of a rewriting: MakePair, the base beside clients (WriteBaseInBackground), Rotate to
// the increment, and SwitchTo, which names the two. Base and rotation end in either order. The
// table (log_states.h) says which of them names the two, and what follows where one of them fails.
//
// Steps that need the folder are taken where it is here; a job that needs it takes it along.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "server/log/log_service.h"
#include "server/snapshots/snapshots.h"

namespace sluice {
namespace {

constexpr int64_t kRetryMs = 60'000;   // of a rewriting that the log began by itself
constexpr int64_t kRetryBaseMs = 900;  // of a base without which the log tells of nothing

}  // namespace

void LogService::Happen(BaseEvent event, std::string_view fault) {
  const BaseStep step = StepOf(state_, event);
  assert(step.act != BaseAct::kNever);
  state_ = step.next;
  switch (step.act) {
    case BaseAct::kNever:
    case BaseAct::kNothing:
      break;
    case BaseAct::kName:
      return NamePair();
    case BaseAct::kFail:
      Abandon();
      return RewriteFailed(fault);
    case BaseAct::kTidy:
      return Tidy();
    case BaseAct::kDrop:
      Abandon();
      return Tidy();
    case BaseAct::kStand:
      commits_->BaseStands();
      [[fallthrough]];
    case BaseAct::kDone:
      return RewriteDone();
  }
}

// --- it begins

bool LogService::HasGrown() const {
  const Settings& settings = on_.config.settings();
  const auto percent = static_cast<uint64_t>(settings.auto_aof_rewrite_percentage);
  const uint64_t bytes = total_bytes();
  if (percent == 0 || bytes < settings.auto_aof_rewrite_min_size) return false;
  if (on_.clock.now().ms() < next_try_ms_) return false;
  const auto before = static_cast<double>(std::max<uint64_t>(bytes_at_base_, 1));
  return static_cast<double>(bytes) / before * 100 - 100 >= static_cast<double>(percent);
}

Fault LogService::Rewrite() {
  rewrite_wanted_ = true;
  return is_on() || !on_.snapshots.can_begin() ? Fault() : BeginWithoutLog();
}

// Names for a new base and an increment, which is made.
Fault LogService::MakePair(std::unique_ptr<DiskFile>& increment) {
  folder_->NamePair(next_base_, next_increment_);
  return folder_->MakeIncrement(next_increment_, increment);
}

Fault LogService::BeginWithoutLog() {
  rewrite_wanted_ = false;
  std::unique_ptr<DiskFile> increment;
  std::string fault = OpenFolder();
  if (fault.empty()) fault = folder_->Begin();
  if (fault.empty()) fault = MakePair(increment);
  if (!fault.empty()) {
    folder_.reset();
    return fault;
  }
  RewriteBegins(BaseEvent::kAsideBegun);
  WriteBaseInBackground();
  return {};
}

// It was asked for while something else was being written.
void LogService::RewriteWithoutLog() {
  if (on_.state.loading || on_.effects.in_command() || !on_.snapshots.can_begin()) return;
  if (const std::string fault = BeginWithoutLog(); !fault.empty())
    on_.host.Log(LogLevel::kWarning, Concat("the log cannot be written: ", fault));
}

// The instant of the base is that between the two increments: the end of a turn. The increment is
// made first: where it cannot be, the log goes on in the one that it has.
void LogService::BeginRewrite() {
  rewrite_wanted_ = false;
  std::unique_ptr<DiskFile> next;
  if (const std::string fault = MakePair(next); !fault.empty()) return RewriteFailed(fault);
  RewriteBegins(BaseEvent::kBegun);
  WriteBaseInBackground();
  if (state_ != BaseState::kRotating) return Happen(BaseEvent::kNotRotated);
  const auto lent = std::make_shared<std::unique_ptr<LogFolder>>(std::move(folder_));
  const auto name = [lent, which = next_increment_] {
    CommitLog::Naming naming{.fault = (*lent)->AddIncrement(which)};
    naming.is_unsure = !naming.fault.empty() && !(*lent)->IsAsKnown();
    return naming;
  };
  const auto done = [this, lent, bytes = commits_->file_bytes()](const std::string& fault) {
    folder_ = std::move(*lent);
    Rotated(bytes, fault);
  };
  commits_->Rotate({.file = std::move(next), .name = name, .done = done});
}

void LogService::RewriteBegins(BaseEvent event) {
  rewrite_begun_ns_ = on_.clock.clock().TickNanos();
  on_.host.Log(LogLevel::kNotice, "Background append only file rewriting started");
  Happen(event);
}

void LogService::WriteBaseInBackground() {
  on_.snapshots.WriteBase(folder_->PathOf(next_base_), [this](int fault) { BaseWritten(fault); });
}

// --- a base that is due

// Other data are there than the files tell of.
void LogService::Outdate() {
  on_.state.is_unsure = true;
  next_base_ms_ = 0;
  Happen(BaseEvent::kOutdated);
}

// A base is due within a second. Doubts that the log has noted in one turn are dealt with once.
void LogService::NoticeDoubts() {
  if (doubts_ == commits_->doubts()) [[likely]]
    return;
  doubts_ = commits_->doubts();
  next_base_ms_ = on_.clock.now().ms() + kRetryBaseMs;
  Happen(BaseEvent::kUnsure, "what is on disk of the log is not known");
}

bool LogService::MayBeginBase() const {
  return folder_ && !on_.state.lacks_data && commits_->may_begin_anew() &&
         on_.snapshots.can_begin() && on_.clock.now().ms() >= next_base_ms_;
}

// After a failed sync no part of the old files may be trusted, even if they were loaded: the
// system may have read them from its cache. The instant of the base is the end of a turn, and
// what comes goes into the increment that is named with it.
void LogService::BeginBase() {
  rewrite_wanted_ = false;
  std::unique_ptr<DiskFile> increment;
  std::string fault = folder_->Reclaim();
  if (fault.empty()) fault = MakePair(increment);
  if (!fault.empty()) return RewriteFailed(fault);
  RewriteBegins(BaseEvent::kFirstBegun);
  WriteBaseInBackground();
  if (state_ != BaseState::kFirst) return;  // it could not even be begun
  commits_->BeginAnew(std::move(increment), Boot());
  folder_->Discard(std::exchange(open_, next_increment_));
}

// --- its steps

void LogService::Rotated(uint64_t old_bytes, const std::string& fault) {
  if (!fault.empty()) return Happen(BaseEvent::kNotRotated, fault);
  old_bytes_ += old_bytes;
  open_ = next_increment_;
  Happen(BaseEvent::kRotated);
}

void LogService::BaseWritten(int fault) {
  NoticeDoubts();
  if (!IsRewriting(state_)) return;  // which has given it up
  if (fault != 0) return Happen(BaseEvent::kFailed, std::strerror(fault));
  Happen(BaseEvent::kWritten);
}

void LogService::NamePair() {
  const auto lent = std::make_shared<std::unique_ptr<LogFolder>>(std::move(folder_));
  const auto outcome = std::make_shared<std::string>();
  on_.host.background().Run(
      WorkerLane::kLog,
      [lent, outcome, base = next_base_, next = next_increment_] {
        *outcome = (*lent)->SwitchTo(base, next);
      },
      [this, lent, outcome] {
        folder_ = std::move(*lent);
        NoticeDoubts();
        if (!outcome->empty()) return Happen(BaseEvent::kNotNamed, *outcome);
        Happen(BaseEvent::kNamed, "the log could not be synced meanwhile");
      });
}

// Somebody may have removed, replaced or moved what the log consists of: then what is written goes
// where no start finds it.
void LogService::LookAfterFiles() {
  if (!folder_ || !stands() || !commits_->is_open() || commits_->is_unsure()) return;
  const auto watch = std::make_shared<const LogFolder::Watch>(folder_->watch());
  const auto lost = std::make_shared<std::string>();
  on_.host.background().Run(
      WorkerLane::kLog, [watch, lost] { *lost = watch->WhatIsLost(); },
      [this, watch, lost] {
        const bool is_so = folder_ && folder_->watch().number == watch->number;
        if (lost->empty() || !is_so || !commits_->is_open()) return;
        commits_->FilesAreLost(*lost);
        NoticeDoubts();
      });
}

// --- its end

void LogService::Abandon() {
  if (on_.snapshots.writing_base()) on_.snapshots.Abandon();
}

// Removes files that were written for a rewriting and are not the log's.
void LogService::Tidy() {
  if (!folder_) return;  // when the log has rotated
  folder_->Discard(next_base_);
  if (next_increment_ != open_) folder_->Discard(next_increment_);
  if (!is_on()) folder_.reset();
}

// Waits for the worker to end its part of a new base, which has no use. Test harnesses wait for
// Redis's line.
void LogService::DropRewrite() {
  if (on_.snapshots.writing_base())
    on_.host.Log(LogLevel::kNotice, "Killing running AOF rewrite child (a task of this process)");
  rewrite_wanted_ = false;
  Happen(BaseEvent::kStopped);
  on_.host.background().Finish();
}

void LogService::RewriteDone() {
  base_bytes_ = folder_->BytesOf(next_base_);
  old_bytes_ = 0;
  bytes_at_base_ = total_bytes();
  rewrite_failed_ = false;
  rewrite_took_s_ = (on_.clock.clock().TickNanos() - rewrite_begun_ns_) / 1'000'000'000;
  rewrite_failures_ = 0;
  ++rewrites_;
  told_.clear();
  if (!is_on()) folder_.reset();
  on_.host.Log(LogLevel::kNotice, "Background AOF rewrite finished successfully");
}

// Said once, however often it is tried again.
void LogService::RewriteFailed(std::string_view fault) {
  Tidy();
  const int64_t now_ms = on_.clock.now().ms();
  if (state_ == BaseState::kDue) next_base_ms_ = now_ms + kRetryBaseMs;
  next_try_ms_ = now_ms + kRetryMs;
  rewrite_failed_ = true;
  rewrite_took_s_ = (on_.clock.clock().TickNanos() - rewrite_begun_ns_) / 1'000'000'000;
  ++rewrite_failures_;
  if (std::exchange(told_, fault) == fault) return;
  on_.host.Log(LogLevel::kWarning, Concat("the log could not be written anew: ", fault));
}

int64_t LogService::rewrite_running_s() const {
  if (!rewriting()) return -1;
  return (on_.clock.clock().TickNanos() - rewrite_begun_ns_) / 1'000'000'000;
}

}  // namespace sluice
