// GrantPromise: the promise that Sluices which follow this server have a grant (a renewal, a FENCED
// write ...) before anybody is told of it: lock-min-replicas of them, and with `replicas-required
// all` whatever was changed. Answers of such a turn wait at the gate, and all behind it, as they
// may show it.
//
//   turn         1 2 3 4 5
//   has a grant    x   x        k Sluices have turn 3: kept() == 3, answers of turn 4 and 5 wait
//
// When a turn has waited for lock-replicas-timeout the Sluices are behind. Clients whose answers
// tell of what is not kept are closed unanswered, other answers leave; and until the Sluices have
// that turn after all, whatever would have to wait for them is refused (-NOREPLICAS), as it is
// where there are too few. So one slow replica holds the others up once, and not again and again.
//
// A grant in the client's place (server/locks/replica_waits.h) has nothing to answer yet, and is
// taken back; here it holds up what is behind it.
//
// A client that has asked for no data yet waits for nothing: a replica that shakes hands may be the
// one that is waited for.
//
// Without lock-min-replicas it is not on, and costs nothing. Else a turn costs O(replicas).
#pragma once

#include <cstdint>
#include <string>

#include "server/clients/clients.h"
#include "server/commit/turn_gate.h"
#include "server/config/follow_state.h"
#include "server/core/follower_turns.h"
#include "server/core/lazy_deque.h"
#include "server/core/slow_path_flags.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/command.h"
#include "server/dispatch/log_state.h"
#include "storage/time/timer_task.h"

namespace sluice {

class GrantPromise final : public TurnPromise {
 public:
  // The parts that it works with; all of them outlive the promise.
  struct Uses {
    const Settings& settings;
    const TurnClock& clock;
    TimerTasks& timers;
    TurnGate& gate;
    LogState& state;
    SlowPathFlags& flags;
    const FollowerTurns& followers;
    const FollowState& follows;
    Clients& clients;
  };
  explicit GrantPromise(const Uses& uses);
  ~GrantPromise() override;

  // One of its options has changed.
  void Configure();
  bool is_on() const { return is_on_; }
  // The session's command has ended, and the stream has come to `told` since. Null: of unknown
  // words.
  void CommandDone(Session& session, const CommandSpec* spec, int64_t told);
  // Once a turn, in which the stream has come to `told`: lets go what is kept by now. A turn
  // `inside` of a command leaves what that has told to its end.
  void Settle(int64_t told, bool inside) {
    if (!is_on_) [[likely]]
      return;
    if (!inside) [[likely]]
      told_ = told;
    Look();
  }
  void TimeShifted(int64_t ms);  // see Assembly::TimeShifted

  // --- as it is seen
  bool is_behind() const { return behind_turn_ != TurnGate::kNoTurn; }
  uint64_t times_behind() const { return times_behind_; }

  // --- TurnPromise: its news are the stream's
  bool HasNews() const override { return false; }
  bool EndTurn(uint64_t turn, const TurnNeeds& needs) override;
  uint64_t kept() const override { return owed_.empty() ? UINT64_MAX : owed_.front().turn - 1; }
  bool has_failed() const override { return false; }
  bool Binds(const Session& session) const override { return session.conditions & kSawData; }

 private:
  static constexpr int64_t kUnknown = -1;

  struct Owed {
    uint64_t turn;
    int64_t deadline_ms;
  };

  uint32_t k() const { return static_cast<uint32_t>(on_.settings.lock_min_replicas); }
  bool is_of_all() const { return on_.settings.replicas_required == "all"; }
  void Look();
  void LetGo();
  void NoteLack();
  std::string WhyRefused() const;
  void TimeIsOver();
  void GiveUp();
  void ArmForFront();

  const Uses on_;
  bool is_on_ = false;
  LazyDeque<Owed> owed_;                      // by turn
  uint64_t behind_turn_ = TurnGate::kNoTurn;  // the Sluices are behind until they have this turn
  uint64_t times_behind_ = 0;
  int64_t told_ = kUnknown;  // of the stream, before the running command
  TimerTaskOf<GrantPromise> front_is_due_{*this};
};

}  // namespace sluice
