// Reservation: what is reserved ahead of what locks need, so that neither a crash nor a failover
// can take it back: fencing tokens, which so grow over both, and the moment before which all leases
// end (LeaseHorizon). It decides when more is needed, and when what is reserved counts: as soon as
// every witness has it.
//
//   FenceFile        a kill -9 and a restored backup cost numbers, not safety
//   the replicas     with lock-min-replicas k: k Sluices that follow (server/replication); a server
//                    that is promoted goes on above every token that the one before it has given
//
// With no file named the wall clock has to do for a restart, and no names are held back. A damaged
// file is refused; a missing one means a start far ahead of the clock.
//
// The file is written between turns and long before the tokens are spent, and after the first time
// only where locks are taken: a server without locks writes once, and gets along where it cannot.
// That first writing begins some ms behind the start, so it costs the first answer nothing: neither
// the thread of the worker, nor what its sync takes from the processor. A caller who wants a lock
// before it is done begins it, and waits. So does the first one where the log tells of tokens above
// the mark that was found. No other command waits for the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/log_state.h"
#include "server/locks/fence_file.h"
#include "server/locks/lease_horizon.h"
#include "storage/locks/fence.h"
#include "storage/time/timer_task.h"

namespace sluice {

class Reservation {
 public:
  struct Uses {
    const Config& config;
    Host& host;
    const TurnClock& clock;
    LogState& log;
    TimerTasks& timers;
  };
  Reservation(const Uses& uses, FenceTokens& tokens, FenceMemory& memory, LeaseHorizon& horizon)
      : on_(uses),
        file_(uses.config, uses.host),
        tokens_(tokens),
        memory_(memory),
        horizon_(horizon) {
    first_write_.fired = [](TimerTask& task) {
      static_cast<TimerTaskOf<Reservation>&>(task).owner.FirstWriteIsDue();
    };
  }
  ~Reservation() { on_.timers.Disarm(first_write_); }

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

  // --- replicas as a witness
  // The mark that they are to be told: rises long before the tokens below it are spent.
  int64_t MarkForReplicas();
  // lock-min-replicas of them have this mark. It stays true when they go.
  void ReplicasHave(int64_t mark);
  // None is known to have any: lock-min-replicas has risen.
  void ReplicasHaveNothing();

  // --- what a master that is followed has reserved. It is kept in the file, too, when there is
  // time
  void MasterHas(int64_t mark);
  // This server is a master: its tokens go on above all of that.
  void Promoted();
  // The same of one that may not have been told: above the wall clock by so much, too.
  void PromotedUntold(int64_t ahead);

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
  // As it was when nothing was left to be written; by default there was no such time.
  struct Seen {
    int64_t ms = -1;
    int64_t token = 0;
    int64_t horizon_ms = 0;
    int64_t replicas = 0;  // lock-min-replicas
    bool is_unsure = false;
    bool operator==(const Seen&) const = default;
  };
  Seen Look() const {
    return {.ms = on_.clock.now().ms(),
            .token = tokens_.last(),
            .horizon_ms = horizon_.wanted_ms(),
            .replicas = on_.config.settings().lock_min_replicas,
            .is_unsure = on_.log.is_unsure};
  }
  // On its way to the disk.
  struct Job {
    FenceContent content;
    int64_t horizon_ms = 0;
    int64_t offset_ms = 0;  // of the wall clock
  };
  void LookClosely();
  void Load();
  void FirstWriteIsDue();
  void Reserve();
  void Write();
  int WriteNow();
  void Written();
  void Count();
  bool is_doubt_told() const {
    return file_.path().empty() || on_.log.is_unsure == told_.is_unsure;
  }
  bool IsBehind(const Now& now) const;

  const Uses on_;
  FenceFile file_;
  TimerTaskOf<Reservation> first_write_{*this};
  FenceTokens& tokens_;
  FenceMemory& memory_;
  LeaseHorizon& horizon_;
  Seen seen_;
  bool opened_ = false;
  bool damaged_ = false;
  bool wanted_ = false;
  bool is_first_ = false;     // no token could be had yet, since the start: who wants one waits
  bool is_missing_ = false;   // there was no file at the start
  bool told_wait_ = false;    // a caller found no token, and the log says so
  int64_t unused_since_ = 0;  // the last token when some were reserved last
  int64_t retry_ms_ = 0;      // not written again before
  // Marks up to which tokens are reserved, by witness.
  int64_t mark_of_file_ = 0;
  int64_t mark_of_replicas_ = 0;
  int64_t mark_of_master_ = 0;  // of the one that is followed, or was
  int64_t counted_for_ = 0;     // lock-min-replicas
  // The mark that replicas were told last, and the last token then.
  int64_t told_replicas_ = 0;
  int64_t told_replicas_at_ = 0;
  Job job_;
  FenceContent told_;   // on disk: of it is_unsure and held_back_until_unix_ms
  FenceContent found_;  // at the start, but for the mark; written again while it matters
  int logged_fault_ = 0;
  bool logged_spent_ = false;
};

}  // namespace sluice
