// See pause.h. Requests that were held back go on when the pause is over, as those that were left
// over by a turn.
#include "server/dispatch/pause.h"

#include <algorithm>
#include <utility>

#include "server/dispatch/command.h"

namespace sluice {

Pause::Pause(Clients& clients, Standstill& standstill, TimerTasks& timers, const TurnClock& clock,
             SlowPathFlags& flags)
    : clients_(clients), standstill_(standstill), timers_(timers), clock_(clock), flags_(flags) {
  end_.fired = [](TimerTask& task) { static_cast<TimerTaskOf<Pause>&>(task).owner.End(); };
}

void Pause::Start(Mode mode, int64_t ms) {
  asked_ = std::max(asked_, mode);
  until_ms_ = std::max(until_ms_, clock_.now().ms() + ms);
  Begin();
  timers_.Arm(end_, until_ms_);
}

void Pause::End() {
  timers_.Disarm(end_);
  until_ms_ = 0;
  const Mode before = mode();
  asked_ = Mode::kNone;
  LetGo(before);
}

void Pause::HoldWrites(Cause cause) {
  causes_ |= static_cast<uint8_t>(cause);
  Begin();
}

void Pause::LetWrites(Cause cause) {
  const Mode before = mode();
  causes_ &= static_cast<uint8_t>(~static_cast<uint8_t>(cause));
  LetGo(before);
}

void Pause::Begin() {
  flags_.Raise(SlowPathFlags::kPaused);
  standstill_.Begin(Standstill::kPause, clock_.now());
}

// Less is held back than before, if so. The list is taken first: a session that goes on may be held
// again, by a new pause or by what is left of this one.
void Pause::LetGo(Mode before) {
  if (mode() == before) return;
  ended_ms_ = clock_.now().ms();
  if (!is_on()) flags_.Lower(SlowPathFlags::kPaused);
  for (const SessionId id : std::exchange(held_, {})) {
    if (Session* session = clients_.Find(id)) {
      session->paused = false;
      clients_.Resume(*session);
      (session->rare->push_sink ? of_host_ : resumed_).push_back(id);
    }
  }
  if (any_resumed()) standstill_.Begin(Standstill::kResuming, clock_.now());
  if (!is_on()) standstill_.End(Standstill::kPause);
}

// A session that is not requeued has nothing left that can be run now.
void Pause::ForgetThoseThatRan() {
  if (clock_.now().ms() >= ended_ms_ + kResumedMsMax) {
    resumed_.clear();
    of_host_.clear();
  }
  std::erase_if(resumed_, [&](SessionId id) {
    const Session* const session = clients_.Find(id);
    return !session || !session->requeued;
  });
  std::erase_if(of_host_, [&](SessionId id) { return !clients_.Find(id); });
  EndResuming();
}

void Pause::ForgetOfHost(const Session& session) {
  std::erase(of_host_, session.id);
  EndResuming();
}

void Pause::EndResuming() {
  if (!any_resumed()) standstill_.End(Standstill::kResuming);
}

// The pause lasts as long as it was to last.
void Pause::TimeShifted(int64_t ms) {
  if (asked_ == Mode::kNone) return;
  until_ms_ += ms;
  timers_.Arm(end_, until_ms_);
}

bool Pause::Holds(uint32_t flags, bool transaction_writes) const {
  // kMayReplicate holds PUBLISH and scripts too, which change what replicas would see.
  return mode() == Mode::kAll || (flags & (kWrite | kMayReplicate)) || transaction_writes;
}

// In the order in which they came: End lets them go on in it.
void Pause::Hold(Session& session) {
  session.paused = true;
  held_.push_back(session.id);
}

}  // namespace sluice
