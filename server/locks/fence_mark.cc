// See fence_mark.h. The file is one line: mark, horizon and the end of the grace as decimal
// numbers, the word "unsure" after a failed sync, and XXH3-64 of all that in hex. One write is on
// its way at a time; what it holds counts (Written) only when the disk has it. A damaged file gives
// no tokens rather than tokens that might be given twice.
#include "server/locks/fence_mark.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/core/planted_faults.h"
#include "xxhash.h"

namespace sluice {
namespace {

// Half of what a write reserves: the disk has time while the other half is given out.
constexpr int64_t kTokensReady = kTokenMarkAhead / 2;  // with fewer the mark is written anew
constexpr int64_t kWriteRetryMs = 50;                  // between attempts, at least
constexpr int64_t kFirstWriteMs = 20;                  // behind the start: no client waits for it
constexpr std::string_view kUnsure = " unsure";
// A bare number without a checksum counts only from here on: tokens start from the time in µs.
constexpr int64_t kLeastInMicros = 1'000'000'000'000'000;

// XXH3-64 as 16 hex digits. It guards against a torn or edited file, not against an attacker.
std::string Checksum(std::string_view bytes) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(bytes.data(), bytes.size())));
  return digits;
}

constexpr std::string_view kDoubt = "doubt ";

// By the machine's Unix time, which the next start has, also while a master's is shown.
Now OwnNow(const TurnClock& clock) {
  Now now = clock.now();
  now.unix_offset_ms += clock.clock().skew_ms();
  return now;
}

// The number before the next space, which is taken off; none: there is no such number.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  const size_t end = text.find(' ');
  const std::optional<int64_t> number = ParseInt64(text.substr(0, end));
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace

// --- the file

// "<mark> <horizon> <held back until>[ doubt <token>][ unsure] <checksum>\n"
std::string FenceMark::TextOf(const Content& content) {
  const std::string doubt =
      content.doubted == 0 ? std::string() : Concat(" ", kDoubt, content.doubted);
  const std::string said =
      Concat(content.mark, " ", content.horizon_unix_ms, " ", content.held_back_until_unix_ms,
             doubt, content.is_unsure ? kUnsure : std::string_view());
  return Concat(said, " ", Checksum(said), "\n");
}

// Strict: the text must be exactly what TextOf would write for what was read.
bool FenceMark::Read(std::string_view text, Content& content) {
  if (ReadOldMark(text, content.mark)) return true;
  std::string_view left = text;
  for (int64_t* const into :
       {&content.mark, &content.horizon_unix_ms, &content.held_back_until_unix_ms}) {
    const std::optional<int64_t> number = TakeNumber(left);
    if (!number) return false;
    *into = *number;
  }
  if (left.starts_with(kDoubt)) {
    left.remove_prefix(kDoubt.size());
    const std::optional<int64_t> number = TakeNumber(left);
    if (!number) return false;
    content.doubted = *number;
  }
  content.is_unsure = left.starts_with(kUnsure.substr(1));
  return content.mark <= kTokenMax && text == TextOf(content);
}

// Reads the mark of a server that wrote no horizon.
bool FenceMark::ReadOldMark(std::string_view text, int64_t& mark) {
  const std::optional<int64_t> number = ParseInt64(text.substr(0, text.find_first_of(" \n")));
  if (!number || *number < 0 || *number > kTokenMax) return false;
  mark = *number;
  const std::string digits = Concat(mark);
  if (text == Concat(digits, " ", Checksum(digits), "\n")) return true;
  return text.find(' ') == text.npos && mark >= kLeastInMicros;
}

// Three outcomes. No file: start far ahead of the clock. A sound one: go on behind its mark. Any
// other: no tokens at all.
void FenceMark::Load() {
  std::string text;
  const int fault = on_.config.disk().Read(path(), text);
  if (fault == ENOENT) {
    is_missing_ = true;
    tokens_.StartAhead(on_.clock.now());
    return memory_.RaiseFloor(tokens_.last());
  }
  Content content;
  if (fault == 0 && Read(text, content)) {
    tokens_.JumpPast(content.mark);
    found_ = content;
    told_unsure_ = content.is_unsure;
    told_grace_unix_ms_ = content.held_back_until_unix_ms;
    on_.log.is_unsure |= content.is_unsure;
    memory_.DoubtUpTo(content.doubted);
    return memory_.RaiseFloor(content.mark);
  }
  // Without it a number might be given twice: better none at all.
  damaged_ = true;
  on_.host.Log(LogLevel::kWarning, Concat("no locks can be taken: ", path(), " cannot be read: ",
                                          fault ? std::strerror(fault)
                                                : "it is damaged; without it tokens "
                                                  "start far ahead of the clock"));
}

void FenceMark::Open() {
  if (std::exchange(opened_, true)) return;
  if (path().empty()) return tokens_.set_mark(kTokenMax);
  Load();
  if (damaged_ || tokens_.Next(on_.clock.now()) == 0) return;
  unused_since_ = tokens_.last();
  is_first_ = true;
  // The timers of a test double are its clients' alone: SLUICE.CLOCK NEXT goes from one to the
  // next.
  if (on_.config.settings().test_double) return Reserve();
  on_.timers.Arm(first_write_, on_.clock.now().ms() + kFirstWriteMs);
}

// Unless somebody wanted a lock meanwhile.
void FenceMark::FirstWriteIsDue() {
  if (is_first_ && !is_writing_) Reserve();
}

void FenceMark::Loaded() {
  is_first_ = !tokens_.CanIssue(kTokensAtOnce);
  if (!std::exchange(is_missing_, false)) return;
  // A missing file is as it should be where data come from Redis, too.
  on_.host.Log(LogLevel::kNotice,
               Concat(path(), " is missing, and there are data: tokens of locks go on above ",
                      tokens_.last(), ", far ahead of the clock"));
}

void FenceMark::Want() {
  wanted_ = true;
  // For the write that runs, and for another where that one began before all was loaded.
  if (is_first_) Await();
  if (is_first_ && job_fault_ == 0 && !damaged_) {
    Reserve();
    Await();
  }
  if (tokens_.CanIssue(1) || damaged_ || logged_fault_ != 0 || std::exchange(told_wait_, true))
    return;
  on_.host.Log(LogLevel::kWarning,
               Concat("locks have to wait: no token is left until ", path(), " is written"));
}

void FenceMark::LookClosely() {
  if (!opened_) [[unlikely]]
    Open();
  const Now now = OwnNow(on_.clock);
  const bool is_behind = IsBehind(now);
  if (tokens_.IsReserved(now, kTokensReady) && !is_behind) [[likely]] {
    seen_ = Look();
    return;
  }
  // A server on which nothing asks for tokens does not write again.
  const bool is_used = wanted_ || is_behind || tokens_.last() != unused_since_;
  if (is_used && !is_writing_ && !damaged_ && now.ms() >= retry_ms_) Reserve();
}

// Nothing to write when neither tokens nor the horizon would go further.
void FenceMark::Reserve() {
  const Now now = OwnNow(on_.clock);
  const bool is_more = tokens_.Next(now) != 0 && tokens_.MarkFor(now, 0) > tokens_.mark();
  if (is_more || IsBehind(now)) Write();
}

// Requires: !is_writing_. The path is made absolute here: the working directory may be another when
// it is written.
void FenceMark::Write() {
  const Now now = OwnNow(on_.clock);
  job_mark_ = tokens_.mark();
  if (tokens_.Next(now) != 0) job_mark_ = std::max(job_mark_, tokens_.MarkFor(now, 0));
  job_horizon_ms_ = horizon_.wanted_ms();
  job_offset_ms_ = now.unix_offset_ms;
  job_unsure_ = on_.log.is_unsure;
  job_grace_unix_ms_ = found_.held_back_until_unix_ms;
  retry_ms_ = now.ms() + kWriteRetryMs;
  const int64_t wanted_unix_ms = job_horizon_ms_ == 0 ? 0 : job_horizon_ms_ + job_offset_ms_;
  const Content content = {.mark = job_mark_,
                           .horizon_unix_ms = std::max(wanted_unix_ms, found_.horizon_unix_ms),
                           .held_back_until_unix_ms = job_grace_unix_ms_,
                           .doubted = memory_.doubted(),
                           .is_unsure = job_unsure_};
  if (IsPlanted(PlantedFault::kMarkBeforeFile)) tokens_.set_mark(job_mark_);
  Disk& disk = on_.config.disk();
  is_writing_ = true;
  job_ = on_.host.background().Run(
      WorkerLane::kLog,
      [this, &disk, file = path(), text = TextOf(content)] {
        job_fault_ = disk.Replace(file, text);
      },
      [this] { Written(); });
}

// Blocks the thread: for the start, the end, and leases that no log keeps.
void FenceMark::Await() {
  if (is_writing_) on_.host.background().Await(job_);
}

// Waits for the disk, twice if a write is on its way: that one may have older content.
int FenceMark::WriteNow() {
  if (path().empty()) return 0;
  if (damaged_) return EIO;
  Await();
  Write();
  Await();
  return job_fault_;
}

int FenceMark::HoldBackUntil(int64_t unix_ms) {
  found_.held_back_until_unix_ms = unix_ms;
  return WriteNow();
}

int FenceMark::WriteHorizon() { return horizon_.IsBehind(OwnNow(on_.clock)) ? WriteNow() : 0; }

int FenceMark::Forget() {
  const bool is_there = horizon_.written_ms() != 0 || found_.horizon_unix_ms != 0;
  // A doubt that was written down while the log was written anew is over with it.
  if (!opened_ || (!is_there && is_doubt_told())) return 0;
  horizon_.Clear();
  found_.horizon_unix_ms = 0;
  return WriteNow();
}

int FenceMark::WriteUnsure() {
  Open();
  if (is_doubt_told()) return 0;
  Await();
  const bool is_too_soon = on_.clock.now().ms() < retry_ms_;  // it has just failed
  return is_doubt_told() || is_too_soon ? job_fault_ : WriteNow();
}

// A fault is logged once, and once more when it begins to be felt.
void FenceMark::Written() {
  is_writing_ = false;
  const int fault = job_fault_;
  if (fault == 0) {
    tokens_.set_mark(std::max(job_mark_, tokens_.mark()));  // a log may have said more meanwhile
    horizon_.Written(job_horizon_ms_, job_offset_ms_);
    told_unsure_ = job_unsure_;
    told_grace_unix_ms_ = job_grace_unix_ms_;
    unused_since_ = tokens_.last();
    wanted_ = told_wait_ = false;
    is_first_ = is_first_ && !tokens_.CanIssue(kTokensAtOnce);
    retry_ms_ = 0;
    logged_fault_ = 0;
    return;
  }
  is_first_ = false;  // the disk is in trouble: nobody waits for it
  const bool is_spent = !tokens_.CanIssue(kTokensAtOnce);
  if (fault == logged_fault_ && is_spent == logged_spent_) return;
  logged_fault_ = fault;
  logged_spent_ = is_spent;
  on_.host.Log(LogLevel::kWarning,
               Concat(is_spent ? "no locks can be taken: " : "soon no locks can be taken: ", path(),
                      " cannot be written: ", std::strerror(fault)));
}

}  // namespace sluice
