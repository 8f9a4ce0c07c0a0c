// See pause.h. While clients are paused no key ends either, so that the data stand still. Requests
// that were held back go on when the pause is over, as those that were left over by a turn.
#include "server/dispatch/pause.h"

#include <algorithm>
#include <utility>

#include "server/dispatch/command.h"

namespace sluice {

Pause::Pause(Clients& clients, Keyspace& keyspace, TimerTasks& timers, const TurnClock& clock,
             SlowPathFlags& flags)
    : clients_(clients), keyspace_(keyspace), timers_(timers), clock_(clock), flags_(flags) {
  end_.fired = [](TimerTask& task) { static_cast<TimerTaskOf<Pause>&>(task).owner.End(); };
}

void Pause::Start(Mode mode, int64_t ms) {
  // A pause that follows before what the last one has held back was run goes on with it.
  if (!StandsStill()) began_ms_ = clock_.now().ms();
  mode_ = std::max(mode_, mode);
  until_ms_ = std::max(until_ms_, clock_.now().ms() + ms);
  flags_.Raise(SlowPathFlags::kPaused);
  keyspace_.set_expiry_allowed(false);
  timers_.Arm(end_, until_ms_);
}

// The list is taken first: a session that goes on may be held again by a new pause.
void Pause::End() {
  timers_.Disarm(end_);
  keyspace_.set_expiry_allowed(true);
  mode_ = Mode::kNone;
  until_ms_ = 0;
  ended_ms_ = clock_.now().ms();
  flags_.Lower(SlowPathFlags::kPaused);
  flags_.Raise(SlowPathFlags::kServe);  // those that waited for a limit
  for (const SessionId id : std::exchange(held_, {})) {
    if (Session* session = clients_.Find(id)) {
      session->paused = false;
      clients_.Resume(*session);
      (session->push_sink ? of_host_ : resumed_).push_back(id);
    }
  }
}

// A session that is not requeued has nothing left that can be run now.
void Pause::ForgetThoseThatRan() {
  if (clock_.now().ms() >= ended_ms_ + kResumedMsMax) {
    resumed_.clear();
    return of_host_.clear();
  }
  std::erase_if(resumed_, [&](SessionId id) {
    const Session* const session = clients_.Find(id);
    return !session || !session->requeued;
  });
  std::erase_if(of_host_, [&](SessionId id) { return !clients_.Find(id); });
}

// The pause lasts as long as it was to last.
void Pause::TimeShifted(int64_t ms) {
  if (mode_ == Mode::kNone) return;
  until_ms_ += ms;
  began_ms_ += ms;
  timers_.Arm(end_, until_ms_);
}

bool Pause::Holds(uint32_t flags, bool transaction_writes) const {
  // kMayReplicate holds PUBLISH and scripts too, which change what replicas would see.
  return mode_ == Mode::kAll || (flags & (kWrite | kMayReplicate)) || transaction_writes;
}

// In the order in which they came: End lets them go on in it.
void Pause::Hold(Session& session) {
  session.paused = true;
  held_.push_back(session.id);
}

}  // namespace sluice
