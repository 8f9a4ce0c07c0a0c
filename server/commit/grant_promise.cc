// See grant_promise.h.
#include "server/commit/grant_promise.h"

#include <utility>

#include "protocol/text/concat.h"

namespace sluice {

GrantPromise::GrantPromise(const Uses& uses) : on_(uses) {
  front_is_due_.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<GrantPromise>&>(task).owner.TimeIsOver();
  };
}

GrantPromise::~GrantPromise() {
  on_.timers.Disarm(front_is_due_);
  if (is_on_) on_.gate.Remove(*this);
}

void GrantPromise::Configure() {
  const bool is_wanted = on_.settings.lock_min_replicas > 0;
  if (is_wanted && !is_on_) {
    is_on_ = true;
    told_ = kUnknown;
    on_.clients.ForEach([](Session& session) { session.conditions |= kSawData; });
    on_.gate.Add(*this);
  } else if (!is_wanted && is_on_) {
    is_on_ = false;
    owed_.clear();
    behind_turn_ = TurnGate::kNoTurn;
    on_.timers.Disarm(front_is_due_);
    on_.gate.Remove(*this);
    NoteLack();
  }
  if (is_on_) Look();
}

void GrantPromise::CommandDone(Session& session, const CommandSpec* spec, int64_t told) {
  const bool is_of_connection =
      session.rare->replica || (spec && spec->categories & kCatConnection);
  if (!is_of_connection) session.conditions |= kSawData;
  TurnNeeds& needs = on_.gate.needs();
  const int64_t before = std::exchange(told_, told);
  const bool has_changed = before != told && before != kUnknown;
  const bool tells = needs.grants > 0 || (has_changed && is_of_all());
  if (std::exchange(needs.grants, 0) > 0) needs.of_grants = true;
  // A client that waits in its place is told later.
  if (tells && !session.blocked) session.conditions |= kTellsOfGrant;
}

bool GrantPromise::EndTurn(uint64_t turn, const TurnNeeds& needs) {
  const bool is_needed = needs.of_grants || needs.grants > 0 || is_of_all();
  // Where grants are refused nothing waits: what is made all the same (a hand-over) is told to
  // nobody before it is kept.
  if (!is_needed || on_.follows.is_on || !on_.state.sluices_refusal.empty()) return false;
  owed_.push_back({turn, on_.clock.now().ms() + on_.settings.lock_replicas_timeout});
  if (owed_.size() == 1) ArmForFront();
  return true;
}

void GrantPromise::Look() {
  // On a server that is no master any more nobody acknowledges what waits.
  if (on_.follows.is_on && !owed_.empty()) GiveUp();
  LetGo();
  NoteLack();
}

void GrantPromise::LetGo() {
  if (owed_.empty() && !is_behind()) return;
  const uint64_t reached = on_.followers.TurnsAtSluices(k());
  if (is_behind() && (reached >= behind_turn_ || on_.follows.is_on))
    behind_turn_ = TurnGate::kNoTurn;
  if (owed_.empty() || owed_.front().turn > reached) return;
  while (!owed_.empty() && owed_.front().turn <= reached) owed_.pop_front();
  ArmForFront();
  on_.gate.Release();
}

// For the gates of commands, and the gate of answers.
void GrantPromise::NoteLack() {
  on_.state.sluices_refusal = is_on_ && !on_.follows.is_on ? WhyRefused() : std::string();
  on_.state.all_need_sluices = is_of_all();
  const bool lacks = !on_.state.sluices_refusal.empty();
  on_.gate.set_refuses_grants(lacks);
  lacks ? on_.flags.Raise(SlowPathFlags::kSluices) : on_.flags.Lower(SlowPathFlags::kSluices);
}

std::string GrantPromise::WhyRefused() const {
  const size_t there = on_.followers.Sluices();
  if (there < k())
    return Concat("NOREPLICAS lock-min-replicas is ", k(), ", and ", there,
                  there == 1 ? " Sluice follows" : " Sluices follow");
  if (!is_behind()) return {};
  return Concat("NOREPLICAS the replicas are behind: ", on_.followers.SluicesWith(behind_turn_),
                " of ", k(), " had the last grants within lock-replicas-timeout");
}

void GrantPromise::TimeIsOver() {
  LetGo();
  if (owed_.empty()) return;
  if (owed_.front().deadline_ms > on_.clock.now().ms()) return ArmForFront();
  behind_turn_ = on_.gate.last();
  ++times_behind_;
  GiveUp();
  NoteLack();
}

// Other answers leave: who asks from now on is shown the same.
void GrantPromise::GiveUp() {
  owed_.clear();
  on_.timers.Disarm(front_is_due_);
  on_.gate.AbandonGrants();
  on_.gate.Release();
}

void GrantPromise::ArmForFront() {
  if (owed_.empty()) return on_.timers.Disarm(front_is_due_);
  on_.timers.Arm(front_is_due_, owed_.front().deadline_ms);
}

void GrantPromise::TimeShifted(int64_t ms) {
  LazyDeque<Owed> moved;
  for (; !owed_.empty(); owed_.pop_front())
    moved.push_back({owed_.front().turn, owed_.front().deadline_ms + ms});
  owed_ = std::move(moved);
  ArmForFront();
}

}  // namespace sluice
