// FenceMark: keeps what is reserved ahead of what locks need, so that a crash cannot take it back:
// fencing tokens, which so grow over restarts, and the moment before which all leases end
// (LeaseHorizon). It stands in the file fence-mark-file in the working directory, written and
// synced ahead of the tokens that are given: a kill -9 and a restored backup cost numbers, not
// safety. With no file named the wall clock has to do, and no names are held back.
//
//   <mark> <horizon> <held back until>[ doubt <token>][ unsure] <XXH3 of all that, 16 hex digits>\n
//
// The horizon, and until when a start has held names back (RestartGrace), are Unix times in ms; 0:
// there is none. "doubt": a start may have lacked grants up to this token (FenceMemory). "unsure":
// a sync of the log has failed (LogState::is_unsure). Older files lack all of these, and their
// checksum is that of the mark's digits. A file without a checksum is believed only if its number
// has the 16 digits of tokens that were microseconds. One that is damaged is refused; a missing one
// means a start far ahead of the clock.
//
// A worker writes it, between turns and long before the tokens are spent, and after the first time
// only where locks are taken: a server without locks writes once, and gets along where it cannot.
// That first writing begins some ms behind the start, so it costs the first answer nothing: neither
// the thread of the worker, nor what its sync takes from the processor. A caller who wants a lock
// before it is done begins it, and waits. So does the first one where the log tells of tokens above
// the mark that was found. No other command waits for the disk.
#pragma once

#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/log_state.h"
#include "server/locks/lease_horizon.h"
#include "storage/locks/fence.h"
#include "storage/time/timer_task.h"

namespace sluice {

class FenceMark {
 public:
  struct Uses {
    const Config& config;
    Host& host;
    const TurnClock& clock;
    LogState& log;
    TimerTasks& timers;
  };
  FenceMark(const Uses& uses, FenceTokens& tokens, FenceMemory& memory, LeaseHorizon& horizon)
      : on_(uses),
        path_(uses.config.settings().fence_mark_file.empty()
                  ? std::string()
                  : uses.config.disk().Absolute(uses.config.settings().fence_mark_file)),
        tokens_(tokens),
        memory_(memory),
        horizon_(horizon) {
    first_write_.fired = [](TimerTask& task) {
      static_cast<TimerTaskOf<FenceMark>&>(task).owner.FirstWriteIsDue();
    };
  }
  ~FenceMark() { on_.timers.Disarm(first_write_); }

  // Reads the file, before the first turn or in it; that tokens are reserved follows soon. Only the
  // first call does: LookAhead and Started may both come first.
  void Open();

  // Between turns: has more written when less than half of what is reserved is left, or leases go
  // beyond the horizon, or the log is unsure. A mark that cannot be read or written is logged; it
  // is written again while tokens are wanted. Usually a comparison with what it has seen last.
  void LookAhead() {
    if (seen_ != Look()) LookClosely();
  }
  // All that is loaded at the start is there, and with it the tokens that it tells of. Where they
  // are above what is reserved, the first caller who wants a lock waits for the disk, too.
  void Loaded();
  // A token was looked for and not there. At the start this waits for the disk; later it only has
  // the mark written again.
  void Want();
  void TimeShifted() { retry_ms_ = 0; }  // see Assembly::TimeShifted

  // --- what the file has said of leases and of names held back, as Unix times in ms; 0: nothing
  int64_t found_horizon_unix_ms() const { return found_.horizon_unix_ms; }
  // It counts until a server has seen that time end.
  int64_t held_back_until_unix_ms() const { return found_.held_back_until_unix_ms; }
  // The next start holds names back until then at least, and knows of what is in doubt. Waits for
  // the disk. 0, or an errno value.
  int HoldBackUntil(int64_t unix_ms);
  // That time is over. A worker writes it down.
  void HoldBackNoMore() {
    found_.held_back_until_unix_ms = 0;
    seen_ = {};
  }
  // The horizon that is wanted is on disk when this returns. 0, or an errno value.
  int WriteHorizon();
  // At an orderly end: all grants are on disk elsewhere, so the next start has no reason for a
  // grace.
  int Forget();
  // After a failed sync: that is on disk when this returns, so that a restart holds names back even
  // if the log then looks whole. 0, or an errno value.
  int WriteUnsure();

 private:
  struct Content {
    int64_t mark = 0;
    int64_t horizon_unix_ms = 0;
    int64_t held_back_until_unix_ms = 0;
    int64_t doubted = 0;  // a token; 0: none is
    bool is_unsure = false;
  };
  static std::string TextOf(const Content& content);
  static bool Read(std::string_view text, Content& content);
  static bool ReadOldMark(std::string_view text, int64_t& mark);

  // What there was when nothing was left to be written; by default there was no such time.
  struct Seen {
    int64_t ms = -1;
    int64_t token = 0;
    int64_t horizon_ms = 0;
    bool is_unsure = false;
    bool operator==(const Seen&) const = default;
  };
  Seen Look() const {
    return {.ms = on_.clock.now().ms(),
            .token = tokens_.last(),
            .horizon_ms = horizon_.wanted_ms(),
            .is_unsure = on_.log.is_unsure};
  }
  void LookClosely();
  void Load();
  void FirstWriteIsDue();
  void Reserve();
  void Write();
  int WriteNow();
  void Await();
  void Written();
  bool is_doubt_told() const { return path().empty() || on_.log.is_unsure == told_unsure_; }
  bool IsBehind(const Now& now) const {
    const bool is_grace_told = told_grace_unix_ms_ == found_.held_back_until_unix_ms;
    return horizon_.IsBehind(now) || !is_doubt_told() || (!is_grace_told && !path().empty());
  }
  // Absolute: it stays where it was opened when `dir` changes. Empty: there is none.
  const std::string& path() const { return path_; }

  const Uses on_;
  const std::string path_;
  TimerTaskOf<FenceMark> first_write_{*this};
  FenceTokens& tokens_;
  FenceMemory& memory_;
  LeaseHorizon& horizon_;
  Seen seen_;
  bool opened_ = false;
  bool damaged_ = false;
  bool wanted_ = false;
  bool is_writing_ = false;   // the worker does
  bool is_first_ = false;     // no token could be had yet, since the start: who wants one waits
  bool is_missing_ = false;   // there was no file at the start
  bool told_wait_ = false;    // a caller found no token, and the log says so
  int64_t unused_since_ = 0;  // the last token when some were reserved last
  int64_t retry_ms_ = 0;      // not written again before
  uint64_t job_ = 0;          // the worker's number of it
  int job_fault_ = 0;         // what came of it; the worker's, while it writes
  int64_t job_mark_ = 0;      // what it writes
  int64_t job_horizon_ms_ = 0;
  int64_t job_offset_ms_ = 0;  // of the wall clock
  int64_t job_grace_unix_ms_ = 0;
  bool job_unsure_ = false;
  bool told_unsure_ = false;        // on disk
  int64_t told_grace_unix_ms_ = 0;  // the same
  Content found_;  // in the file at the start, but for the mark; written again while it matters
  int logged_fault_ = 0;
  bool logged_spent_ = false;
};

}  // namespace sluice
