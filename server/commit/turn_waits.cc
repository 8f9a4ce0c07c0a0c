// See turn_waits.h. An answer may end other waits: no place is kept over it.
#include "server/commit/turn_waits.h"

#include <iterator>
#include <utility>

#include "server/commit/turn_gate.h"
#include "storage/memory/heap_bytes.h"

namespace sluice {

void TurnWaits::Block(CommandCall& call, Terms terms) {
  const uint64_t id = last_id_ + 1;
  const BlockTerms blocking{.deadline_ms = terms.deadline_ms,
                            .on_timeout = terms.on_timeout,
                            .owner = this,
                            .wait_id = id};
  if (!blocked_clients_.Block(call, blocking)) return;
  last_id_ = id;
  const Place place{.needs = terms.needs, .turn = terms.turn, .id = id};
  waits_[place] = {.session = call.client.id, .answer = std::move(terms.answer)};
  places_[id] = place;
  BlockedCallOf(call.client)->kept_bytes +=
      TreeNodeBytes<decltype(waits_)>() + TreeNodeBytes<decltype(places_)>();
}

void TurnWaits::WaitCancelled(uint64_t wait_id, WaitEnd) {
  const auto place = places_.find(wait_id);
  cancelled_turn_ = place->second.turn;
  waits_.erase(place->second);
  places_.erase(place);
}

// The first in the first line of which one is over, or the end.
TurnWaits::Waits::const_iterator TurnWaits::FirstMet() const {
  auto wait = waits_.begin();
  while (wait != waits_.end()) {
    TurnNeeds needs = wait->first.needs;
    const uint64_t reached = reached_(needs);
    if (wait->first.turn <= reached) return wait;
    if (reached == TurnGate::kNoTurn) needs.replicas = UINT32_MAX;
    wait = waits_.upper_bound({.needs = needs, .turn = UINT64_MAX, .id = UINT64_MAX});
  }
  return wait;
}

void TurnWaits::SettleLines() {
  for (auto wait = FirstMet(); wait != waits_.end(); wait = FirstMet()) {
    const Answer answer = wait->second.answer;
    Finish(wait, answer);
  }
}

void TurnWaits::FailDisk(std::string_view error) {
  // Those for the disk stand behind those for replicas alone.
  while (!waits_.empty() && waits_.rbegin()->first.needs.disk)
    Finish(std::prev(waits_.end()), [error](ReplySink& reply) { reply.Error(error); });
}

void TurnWaits::Finish(Waits::const_iterator wait, absl::FunctionRef<void(ReplySink&)> answer) {
  Session* const session = clients_.Find(wait->second.session);
  places_.erase(wait->first.id);
  waits_.erase(wait);
  if (session) blocked_clients_.Finish(*session, answer);
}

}  // namespace sluice
