// See replica_waits.h. An answer may end other waits, and a lock that is taken back goes to others,
// whose waits begin here: no place is kept over either.
#include "server/locks/replica_waits.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "protocol/text/concat.h"
#include "server/locks/lock_reply.h"
#include "storage/memory/heap_bytes.h"

namespace sluice {
namespace {

std::string HadIt(size_t had, uint32_t wanted) {
  return Concat("NOREPLICAS ", had, " of ", wanted, had == 1 ? " replica has" : " replicas have",
                " the grant in time, so it is taken back");
}

constexpr std::string_view kLostMeanwhile =
    "NOREPLICAS the lock was lost before enough replicas had the grant";

}  // namespace

std::string ReplicaWaits::WhyTooMany(uint32_t replicas) const {
  const size_t there = on_.followers.Sluices();
  if (replicas <= there) return {};
  return Concat("NOREPLICAS REPLICAS asks for ", replicas, ", and ", there,
                there == 1 ? " Sluice follows" : " Sluices follow");
}

// --- waiting

void ReplicaWaits::Block(CommandCall& call, Grant grant) {
  const BlockTerms terms = Begin(call.client, std::move(grant));
  on_.blocked_clients.Block(call, terms);
  BlockedCallOf(call.client)->kept_bytes = BytesOf(waits_.at(places_.at(terms.wait_id)));
}

void ReplicaWaits::GoOn(Session& session, Grant grant) {
  const BlockTerms terms = Begin(session, std::move(grant));
  on_.blocked_clients.GoOn(session, terms);
  BlockedCallOf(session)->kept_bytes = BytesOf(waits_.at(places_.at(terms.wait_id)));
}

// The grant's effects are of the turn that is not numbered yet. No answer tells of it meanwhile.
BlockTerms ReplicaWaits::Begin(const Session& session, Grant grant) {
  const auto told = static_cast<uint32_t>(grant.grants.size());
  on_.turn_needs.grants -= std::min(on_.turn_needs.grants, told);
  on_.turn_needs.of_grants = true;
  const LockRequest& request = grant.request;
  const int64_t left_ms =
      request.replicas > 0 ? request.replicas_ms : on_.settings.lock_replicas_timeout;
  const Place place{
      .sluices = request.replicas, .turn = on_.followers.NextTurn(), .id = ++last_id_};
  by_token_.emplace(TokenOf(grant), place.id);
  places_[place.id] = place;
  const bool adds_hold = !request.terms.again;
  waits_[place] = {.session = session.id, .grant = std::move(grant), .adds_hold = adds_hold};
  return {.deadline_ms = on_.clock.now().ms() + left_ms,
          .on_timeout = on_.answer_late,
          .owner = this,
          .wait_id = place.id};
}

size_t ReplicaWaits::BytesOf(const Wait& wait) {
  constexpr size_t kPlaces = 2 * sizeof(Place) + 2 * sizeof(std::pair<int64_t, uint64_t>);
  const LockRequest& request = wait.grant.request;
  size_t bytes = TreeNodeBytes<Waits>() + kPlaces + HeapBytes(request.owner);
  for (const LockName& name : request.names) bytes += sizeof(name) + HeapBytes(name.key);
  return bytes + wait.grant.grants.capacity() * sizeof(LockGrant);
}

ReplicaWaits::Progress ReplicaWaits::ProgressOf(int64_t token) const {
  const auto behind = by_token_.upper_bound({token, UINT64_MAX});
  if (behind == by_token_.begin() || std::prev(behind)->first != token) return {};
  const Place& place = places_.at(std::prev(behind)->second);
  return {Asked(place.sluices), on_.followers.SluicesWith(place.turn)};
}

ReplicaWaits::Wait ReplicaWaits::Take(Waits::iterator wait) {
  by_token_.erase({TokenOf(wait->second.grant), wait->first.id});
  places_.erase(wait->first.id);
  Wait taken = std::move(wait->second);
  waits_.erase(wait);
  return taken;
}

// --- the end of a wait

void ReplicaWaits::SettleLines() {
  auto wait = waits_.begin();
  while (wait != waits_.end()) {
    const uint32_t sluices = wait->first.sluices;
    const uint32_t asked = Asked(sluices);
    const uint64_t reached = asked == 0 ? UINT64_MAX : on_.followers.TurnsAtSluices(asked);
    while (wait != waits_.end() && wait->first.sluices == sluices && wait->first.turn <= reached) {
      const Place place = wait->first;
      Finish(wait);
      wait = waits_.upper_bound(place);
    }
    wait = waits_.upper_bound({.sluices = sluices, .turn = UINT64_MAX, .id = UINT64_MAX});
  }
}

// The lease has run on meanwhile. A client that goes has its wait cancelled before.
void ReplicaWaits::Finish(Waits::iterator wait) {
  Wait done = Take(wait);
  Session* const session = on_.clients.Find(done.session);
  assert(session);
  Grant& grant = done.grant;
  const bool is_held = Refresh(grant);
  on_.blocked_clients.Finish(*session, [&](ReplySink& reply) {
    if (!is_held) {
      reply.Error(kLostMeanwhile);
    } else if (grant.request.several) {
      ReplyTokens(reply, grant.grants);
    } else {
      ReplyGrant(reply, grant.grants.front(), grant.waited_ms);
    }
  });
  // The rest of several goes in the next turn: this one has its number.
  if (!is_held) Note(std::move(done));
}

// The rest of each lease, now. False: one of the locks is not held by this grant any more.
bool ReplicaWaits::Refresh(Grant& grant) const {
  for (size_t i = 0; i < grant.grants.size(); ++i) {
    const Lock* const lock = on_.held.FindLock(grant.request.names[i]);
    if (!lock || !lock->IsHeldBy(grant.request.owner, grant.grants[i].token)) return false;
    const LockHolder& holder = *lock->FindOwner(grant.request.owner);
    if (holder.EndsAtMs() <= on_.clock.now().ms()) return false;
    grant.grants[i].lease_ms = holder.LeaseLeftMs(on_.clock.now());
  }
  return true;
}

void ReplicaWaits::WaitCancelled(uint64_t wait_id, WaitEnd) {
  const auto wait = waits_.find(places_.at(wait_id));
  why_late_ = HadIt(on_.followers.SluicesWith(wait->first.turn), Asked(wait->first.sluices));
  if (Note(Take(wait))) on_.noted();
}

bool ReplicaWaits::Note(Wait wait) {
  if (!wait.adds_hold || LeaveToAnother(wait)) return false;
  noted_.push_back(std::move(wait));
  on_.flags.Raise(SlowPathFlags::kServe);
  return true;
}

// The same request was asked again (ID), because this answer seemed lost: it has no hold of its own
// yet, and gets this one.
bool ReplicaWaits::LeaveToAnother(const Wait& wait) {
  const int64_t token = TokenOf(wait.grant);
  for (auto of = by_token_.lower_bound({token, 0}); of != by_token_.end() && of->first == token;
       ++of) {
    Wait& other = waits_.at(places_.at(of->second));
    if (!std::exchange(other.adds_hold, true)) return true;
  }
  return false;
}

void ReplicaWaits::TakeBack() {
  for (const Wait& wait : std::exchange(noted_, {})) {
    // As one: no waiter gets the first lock of several while the others are held.
    const Locks::HandOverLater later(on_.locks, on_.clock.now());
    const LockRequest& request = wait.grant.request;
    for (size_t i = 0; i < request.names.size(); ++i) {
      OpenLock open(on_.held, request.names[i]);
      on_.locks.TakeBack(open, request.owner, wait.grant.grants[i].token, on_.clock.now());
    }
  }
}

}  // namespace sluice
