// See reservation.h. One write is on its way at a time; what it holds counts (Written) only when
// the disk has it. A damaged file gives no tokens rather than tokens that might be given twice.
#include "server/locks/reservation.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "protocol/text/concat.h"
#include "server/core/planted_faults.h"

namespace sluice {
namespace {

// Half of what is reserved at a time: the witnesses have time while the other half is given out.
constexpr int64_t kTokensReady = kTokenMarkAhead / 2;  // with fewer the mark is written anew
constexpr int64_t kWriteRetryMs = 50;                  // between attempts, at least
constexpr int64_t kFirstWriteMs = 20;                  // behind the start: no client waits for it

// By the machine's Unix time, which the next start has, also while a master's is shown.
Now OwnNow(const TurnClock& clock) {
  Now now = clock.now();
  now.unix_offset_ms += clock.clock().skew_ms();
  return now;
}

}  // namespace

// --- the start

// Three outcomes. No file: start far ahead of the clock. A sound one: go on behind its mark. Any
// other: no tokens at all.
void Reservation::Load() {
  FenceContent content;
  std::string why;
  switch (file_.Read(content, why)) {
    case FenceFile::Found::kNothing:
      is_missing_ = true;
      tokens_.StartAhead(on_.clock.now());
      return memory_.RaiseFloor(tokens_.last());
    case FenceFile::Found::kSound:
      tokens_.JumpPast(content.mark);
      mark_of_file_ = content.mark;
      found_ = told_ = content;
      on_.log.is_unsure |= content.is_unsure;
      memory_.DoubtUpTo(content.doubted);
      return memory_.RaiseFloor(content.mark);
    case FenceFile::Found::kUseless:
      // Without it a number might be given twice: better none at all.
      damaged_ = true;
      on_.host.Log(LogLevel::kWarning,
                   Concat("no locks can be taken: ", file_.path(), " cannot be read: ", why));
  }
}

void Reservation::Open() {
  if (std::exchange(opened_, true)) return;
  if (file_.path().empty()) {
    mark_of_file_ = kTokenMax;
    return Count();
  }
  Load();
  if (damaged_ || tokens_.Next(on_.clock.now()) == 0) return;
  unused_since_ = tokens_.last();
  is_first_ = true;
  // The timers of a test double are its clients' alone: SLUICE.CLOCK NEXT goes from one to the
  // next.
  if (on_.config.settings().test_double) return Reserve();
  on_.timers.Arm(first_write_, on_.clock.now().ms() + kFirstWriteMs);
}

// Unless a caller has wanted a lock meanwhile.
void Reservation::FirstWriteIsDue() {
  if (is_first_ && !file_.is_writing()) Reserve();
}

void Reservation::Loaded() {
  is_first_ = !tokens_.CanIssue(kTokensAtOnce);
  if (!std::exchange(is_missing_, false)) return;
  // A missing file is as it should be where data come from Redis, too.
  on_.host.Log(LogLevel::kNotice,
               Concat(file_.path(), " is missing, and there are data: tokens of locks go on above ",
                      tokens_.last(), ", far ahead of the clock"));
}

// --- tokens

void Reservation::Want() {
  wanted_ = true;
  // For the write that runs, and for another where that one began before all was loaded.
  if (is_first_) file_.Await();
  if (is_first_ && file_.fault() == 0 && !damaged_) {
    Reserve();
    file_.Await();
  }
  if (tokens_.CanIssue(1) || damaged_ || logged_fault_ != 0 || std::exchange(told_wait_, true))
    return;
  on_.host.Log(
      LogLevel::kWarning,
      mark_of_file_ > tokens_.last()
          ? std::string("locks have to wait: no token is left until as many replicas as "
                        "lock-min-replicas asks for have a higher mark")
          : Concat("locks have to wait: no token is left until ", file_.path(), " is written"));
}

// A mark counts when every witness has it. Tokens that were given stay given.
void Reservation::Count() {
  const bool asks_replicas = on_.config.settings().lock_min_replicas > 0;
  const int64_t mark = asks_replicas ? std::min(mark_of_file_, mark_of_replicas_) : mark_of_file_;
  tokens_.set_mark(std::max(mark, tokens_.last()));
  if (tokens_.CanIssue(1)) told_wait_ = false;
}

void Reservation::LookClosely() {
  if (!opened_) [[unlikely]]
    Open();
  const int64_t replicas = on_.config.settings().lock_min_replicas;
  if (std::exchange(counted_for_, replicas) != replicas) Count();
  const Now now = OwnNow(on_.clock);
  const bool is_behind = IsBehind(now);
  const bool is_reserved = tokens_.Next(now) != 0 &&
                           tokens_.Next(now) - 1 <= mark_of_file_ - kTokensReady &&
                           mark_of_master_ <= mark_of_file_;
  seen_ = Look();
  if (is_reserved && !is_behind) [[likely]]
    return;
  // A server on which nothing asks for tokens does not write again.
  const bool is_used =
      wanted_ || is_behind || tokens_.last() != unused_since_ || mark_of_master_ > mark_of_file_;
  if (is_used && !file_.is_writing() && !damaged_ && now.ms() >= retry_ms_) Reserve();
  seen_ = {};
}

bool Reservation::IsBehind(const Now& now) const {
  const bool is_grace_told = told_.held_back_until_unix_ms == found_.held_back_until_unix_ms;
  return horizon_.IsBehind(now) || !is_doubt_told() || (!is_grace_told && !file_.path().empty());
}

// Nothing to write when neither tokens nor the horizon would go further.
void Reservation::Reserve() {
  const Now now = OwnNow(on_.clock);
  const bool is_more = tokens_.Next(now) != 0 && tokens_.MarkFor(now, 0) > mark_of_file_;
  if (is_more || IsBehind(now) || mark_of_master_ > mark_of_file_) Write();
}

// Requires: no write is on its way.
void Reservation::Write() {
  const Now now = OwnNow(on_.clock);
  job_.content.mark = std::max({mark_of_file_, mark_of_master_, tokens_.last()});
  if (tokens_.Next(now) != 0)
    job_.content.mark = std::max(job_.content.mark, tokens_.MarkFor(now, 0));
  job_.horizon_ms = horizon_.wanted_ms();
  job_.offset_ms = now.unix_offset_ms;
  const int64_t wanted_unix_ms = job_.horizon_ms == 0 ? 0 : job_.horizon_ms + job_.offset_ms;
  job_.content.horizon_unix_ms = std::max(wanted_unix_ms, found_.horizon_unix_ms);
  job_.content.held_back_until_unix_ms = found_.held_back_until_unix_ms;
  job_.content.doubted = memory_.doubted();
  job_.content.is_unsure = on_.log.is_unsure;
  retry_ms_ = now.ms() + kWriteRetryMs;
  if (IsPlanted(PlantedFault::kMarkBeforeFile)) {
    mark_of_file_ = job_.content.mark;
    Count();
  }
  file_.Write(job_.content, [this] { Written(); });
}

// Waits for the disk, twice if a write is on its way: that one may have older content.
int Reservation::WriteNow() {
  if (file_.path().empty()) return 0;
  if (damaged_) return EIO;
  file_.Await();
  Write();
  file_.Await();
  return file_.fault();
}

// A fault is logged once, and once more when it begins to be felt.
void Reservation::Written() {
  const int fault = file_.fault();
  seen_ = {};
  if (fault == 0) {
    mark_of_file_ = std::max(mark_of_file_, job_.content.mark);
    Count();
    horizon_.Written(job_.horizon_ms, job_.offset_ms);
    told_ = job_.content;
    unused_since_ = tokens_.last();
    wanted_ = told_wait_ = false;
    is_first_ = is_first_ && !tokens_.CanIssue(kTokensAtOnce);
    retry_ms_ = 0;
    logged_fault_ = 0;
    return;
  }
  is_first_ = false;  // the disk is in trouble: no caller waits for it
  const bool is_spent = !tokens_.CanIssue(kTokensAtOnce);
  if (fault == logged_fault_ && is_spent == logged_spent_) return;
  logged_fault_ = fault;
  logged_spent_ = is_spent;
  on_.host.Log(LogLevel::kWarning,
               Concat(is_spent ? "no locks can be taken: " : "soon no locks can be taken: ",
                      file_.path(), " cannot be written: ", std::strerror(fault)));
}

// --- replicas, and a master that was followed

int64_t Reservation::MarkForReplicas() {
  const Now now = OwnNow(on_.clock);
  const int64_t next = tokens_.Next(now);
  // While no lock is taken the wall clock alone moves it no further.
  const bool is_used = told_replicas_ == 0 || tokens_.last() != told_replicas_at_;
  if (next != 0 && is_used && next + kTokensReady > told_replicas_) {
    told_replicas_ = std::min(tokens_.MarkFor(now, 0), kTokenRestoredMax);
    told_replicas_at_ = tokens_.last();
  }
  return told_replicas_;
}

void Reservation::ReplicasHave(int64_t mark) {
  if (mark <= mark_of_replicas_) return;
  mark_of_replicas_ = mark;
  Count();
}

void Reservation::ReplicasHaveNothing() {
  mark_of_replicas_ = 0;
  Count();
}

void Reservation::MasterHas(int64_t mark) {
  mark_of_master_ = std::max(mark_of_master_, mark);
  seen_ = {};
}

void Reservation::Promoted() {
  Open();
  tokens_.JumpPast(mark_of_master_);
  told_replicas_ = 0;
  mark_of_replicas_ = 0;
  seen_ = {};
}

void Reservation::PromotedUntold(int64_t ahead) {
  const int64_t wall_ms = std::clamp<int64_t>(OwnNow(on_.clock).unix_ms(), 0, kTokenMax / 2);
  tokens_.JumpPast(wall_ms + ahead);
  Promoted();
}

// --- leases and names held back

int Reservation::HoldBackUntil(int64_t unix_ms) {
  found_.held_back_until_unix_ms = unix_ms;
  return WriteNow();
}

int Reservation::WriteHorizon() { return horizon_.IsBehind(OwnNow(on_.clock)) ? WriteNow() : 0; }

int Reservation::Forget() {
  const bool is_there = horizon_.written_ms() != 0 || found_.horizon_unix_ms != 0;
  // A doubt that was written down while the log was written anew is over with it.
  if (!opened_ || (!is_there && is_doubt_told())) return 0;
  horizon_.Clear();
  found_.horizon_unix_ms = 0;
  return WriteNow();
}

int Reservation::WriteUnsure() {
  Open();
  if (is_doubt_told()) return 0;
  file_.Await();
  const bool is_too_soon = on_.clock.now().ms() < retry_ms_;  // it has just failed
  return is_doubt_told() || is_too_soon ? file_.fault() : WriteNow();
}

}  // namespace sluice
