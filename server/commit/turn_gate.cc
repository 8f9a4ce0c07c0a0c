// See turn_gate.h. Promises may be called in turn while they are gone over (EndTurn, which may
// Release or Fail), but neither come nor go meanwhile.
#include "server/commit/turn_gate.h"

#include <algorithm>
#include <cassert>

#include "server/core/planted_faults.h"

namespace sluice {

// --- promises

void TurnGate::Add(TurnPromise& promise) {
  assert(std::ranges::find(promises_, &promise, &Watched::promise) == promises_.end());
  promises_.push_back({.promise = &promise});
  if (promises_.size() == 1) clients_.set_gate(this);
}

void TurnGate::Remove(TurnPromise& promise) {
  const auto found = std::ranges::find(promises_, &promise, &Watched::promise);
  assert(found != promises_.end());
  promises_.erase(found);
  Release();
  if (promises_.empty()) clients_.set_gate(nullptr);
}

// Up to which turn answers may leave, to all or to this client. One that has failed is not waited
// for.
uint64_t TurnGate::Reached(const Session* session) const {
  uint64_t reached = last_;
  if (IsPlanted(PlantedFault::kAnswersBeforeSync)) return reached;
  for (const Watched& watched : promises_) {
    const bool binds = session == nullptr || watched.promise->Binds(*session);
    if (binds && !watched.promise->has_failed())
      reached = std::min(reached, watched.promise->kept());
  }
  return reached;
}

bool TurnGate::IsAnyLost(uint64_t turn) const {
  return std::ranges::any_of(promises_, [turn](const Watched& watched) {
    return watched.news > turn && watched.promise->has_failed() &&
           watched.promise->kept() < watched.news;
  });
}

// --- turns

bool TurnGate::HasNews() const {
  return std::ranges::any_of(promises_,
                             [](const Watched& watched) { return watched.promise->HasNews(); });
}

void TurnGate::EndNumberedTurn() {
  before_ = ended_;
  NumberSoFar();
  if (last_ != before_) needs_ = {};
  ended_ = last_;
}

void TurnGate::Gather() const {
  for (const Watched& watched : promises_) watched.promise->Gather();
}

void TurnGate::NumberSoFar() {
  Gather();
  if (!HasNews()) return;
  ++last_;
  // They may be of a command that goes on, and is of another number.
  const TurnNeeds needs = needs_;
  for (Watched& watched : promises_) {
    if (watched.promise->EndTurn(last_, needs)) watched.news = last_;
  }
}

// --- what may leave

void TurnGate::TurnEnded(Session& session) {
  // A replica may have more than is promised: it is no answer, and the next full sync is its loss.
  if (session.kind == SessionKind::kReplica) [[unlikely]]
    return session.output.set_may_leave(session.output.appended());
  if (IsAnyLost(before_)) [[unlikely]]
    return Abandon(session);
  const bool tells_of_grant = session.conditions & kTellsOfGrant;
  session.conditions &= ~kTellsOfGrant;
  if (tells_of_grant && refuses_grants_) [[unlikely]]
    return Abandon(session);
  OutputBuffer& output = session.output;
  if (Reached(&session) >= last_) return output.set_may_leave(output.appended());
  if (output.may_leave() >= output.appended()) return;
  held_.push_back({session.id, last_, output.appended(), tells_of_grant});
}

void TurnGate::AbandonGrants() {
  for (const Held& held : held_) {
    Session* const session = held.tells_of_grant ? clients_.Find(held.id) : nullptr;
    if (!session || session->close == CloseMode::kNow) continue;
    Abandon(*session);
    clients_.QueueSend(*session);
  }
}

void TurnGate::Release() {
  if (held_.empty()) return;
  const uint64_t reached = Reached();
  for (; !held_.empty() && held_.front().turn <= reached; held_.pop_front()) {
    Session* const session = clients_.Find(held_.front().id);
    if (!session || session->close == CloseMode::kNow) continue;
    OutputBuffer& output = session->output;
    output.set_may_leave(std::max(output.may_leave(), held_.front().appended));
    clients_.QueueSend(*session);
  }
}

void TurnGate::Fail(const TurnPromise& promise) {
  if (held_.empty()) return;
  const auto first = std::ranges::upper_bound(held_, promise.kept(), {}, &Held::turn);
  for (auto held = first; held != held_.end(); ++held) {
    Session* const session = clients_.Find(held->id);
    if (!session || session->close == CloseMode::kNow) continue;
    Abandon(*session);
    clients_.QueueSend(*session);
  }
  held_.Truncate(static_cast<size_t>(first - held_.begin()));
  Release();
}

// No answer to it may leave, and without one it must not go on.
void TurnGate::Abandon(Session& session) {
  session.output.Clear();
  session.close = CloseMode::kNow;
}

}  // namespace sluice
