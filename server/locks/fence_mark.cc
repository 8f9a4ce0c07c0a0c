// See fence_mark.h.
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
#include "xxhash.h"

namespace sluice {
namespace {

constexpr int64_t kTokensReady = kTokenMarkAhead / 2;  // with fewer the mark is written anew
constexpr int64_t kRetryMs = 50;                       // between attempts, at least
constexpr int64_t kLeastInMicros = 1'000'000'000'000'000;

std::string WithChecksum(int64_t mark) {
  const std::string digits = Concat(mark);
  char checksum[17];
  std::snprintf(checksum, sizeof checksum, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(digits.data(), digits.size())));
  return Concat(digits, " ", checksum, "\n");
}

// Null: it is no mark.
std::optional<int64_t> ReadMark(std::string_view text) {
  const size_t end = text.find_first_of(" \n");
  const std::optional<int64_t> mark = ParseInt64(text.substr(0, end));
  if (!mark || *mark < 0 || *mark > kTokenMax) return std::nullopt;
  if (text == WithChecksum(*mark)) return mark;
  const bool without = text.find(' ') == text.npos;
  return without && *mark >= kLeastInMicros ? mark : std::nullopt;
}

}  // namespace

void FenceMark::Load() {
  std::string text;
  const int fault = on_.config.disk().Read(path(), text);
  if (fault == ENOENT) {
    tokens_.StartAhead(on_.clock.now());
    return memory_.RaiseFloor(tokens_.last());
  }
  const std::optional<int64_t> mark = fault ? std::nullopt : ReadMark(text);
  if (mark) {
    tokens_.JumpPast(*mark);
    return memory_.RaiseFloor(*mark);
  }
  // Without it a number might be given twice: better none at all.
  damaged_ = true;
  on_.host.Log(3, Concat("no locks can be taken: ", path(), " cannot be read: ",
                         fault ? std::strerror(fault)
                               : "it is damaged; without it tokens "
                                 "start far ahead of the clock"));
}

void FenceMark::Open() {
  opened_ = true;
  if (path().empty()) return tokens_.set_mark(kTokenMax);
  Load();
  if (damaged_ || tokens_.Next(on_.clock.now()) == 0) return;
  unused_since_ = tokens_.last();
  Reserve();
  is_first_ = job_ != 0;
}

void FenceMark::Want() {
  wanted_ = true;
  if (is_first_) Written(job_mark_, on_.worker.Await(std::exchange(job_, 0)));
}

void FenceMark::LookAhead() {
  if (!opened_) [[unlikely]]
    Open();
  if (job_ != 0) [[unlikely]]
    TakeOutcome();
  if (tokens_.IsReserved(on_.clock.now(), kTokensReady)) [[likely]]
    return;
  const bool is_used = wanted_ || tokens_.last() != unused_since_;
  if (is_used && job_ == 0 && !damaged_ && on_.clock.now().ms() >= retry_ms_) Reserve();
}

void FenceMark::Reserve() {
  const Now& now = on_.clock.now();
  if (tokens_.Next(now) == 0) return;
  job_mark_ = tokens_.MarkFor(now, 0);
  if (job_mark_ <= tokens_.mark()) return;
  retry_ms_ = now.ms() + kRetryMs;
  job_ = on_.worker.ReplaceLater(path(), WithChecksum(job_mark_));
}

void FenceMark::TakeOutcome() {
  const std::optional<int> fault = on_.worker.TakeOutcome(job_);
  if (!fault) return;
  job_ = 0;
  Written(job_mark_, *fault);
}

// A fault is logged once, and once more when it begins to be felt.
void FenceMark::Written(int64_t mark, int fault) {
  is_first_ = false;
  if (fault == 0) {
    tokens_.set_mark(std::max(mark, tokens_.mark()));  // a log may have said more meanwhile
    unused_since_ = tokens_.last();
    wanted_ = false;
    retry_ms_ = 0;
    logged_fault_ = 0;
    return;
  }
  const bool is_spent = !tokens_.CanIssue(kTokensAtOnce);
  if (fault == logged_fault_ && is_spent == logged_spent_) return;
  logged_fault_ = fault;
  logged_spent_ = is_spent;
  on_.host.Log(3, Concat(is_spent ? "no locks can be taken: " : "soon no locks can be taken: ",
                         path(), " cannot be written: ", std::strerror(fault)));
}

}  // namespace sluice
