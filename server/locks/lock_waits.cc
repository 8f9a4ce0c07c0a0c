// See lock_waits.h. The number of a wait is storage's. Its client is found by the number of the
// connection each time, for it may be gone by then.
#include "server/locks/lock_waits.h"

#include "server/core/planted_faults.h"
#include "server/locks/lock_connections.h"
#include "server/locks/lock_reply.h"
#include "server/locks/lock_requests.h"

namespace sluice {
namespace {

LockWaitInVain InVainBy(WaitEnd end) {
  if (end == WaitEnd::kTimeout) return LockWaitInVain::kTimeout;
  return end == WaitEnd::kClosed ? LockWaitInVain::kClosed : LockWaitInVain::kTurnedAway;
}

}  // namespace

void LockWaits::Block(CommandCall& call, uint64_t wait_id, int64_t deadline_ms) {
  // Its keys have to be listened to while it waits.
  on_.flags.Raise(SlowPathFlags::kKeys);
  on_.blocked_clients.Block(call, {.deadline_ms = deadline_ms, .owner = this, .wait_id = wait_id});
  if (BlockedCall* const blocked = BlockedCallOf(call.client)) {
    blocked->kept_bytes = on_.locks.queue().BytesOf(wait_id);
  }
}

void LockWaits::CountInVain(const LockNames& names, LockWaitInVain why) {
  statistics_.CountInVain(names, why);
  for (const LockName& name : names) vain_.Count(name, on_.clock.now());
}

void LockWaits::CountDeadlock(const OpenLocks& asked) {
  LockNames names;
  for (const OpenLock& lock : asked) names.emplace_back(lock.name());
  CountInVain(names, LockWaitInVain::kDeadlock);
}

void LockWaits::WaitCancelled(uint64_t wait_id, WaitEnd end) {
  if (const LockWait* const wait = on_.locks.queue().Find(wait_id))
    CountInVain(wait->request.names, InVainBy(end));
  cancelled_.push_back(wait_id);
  on_.flags.Raise(SlowPathFlags::kServe);
  on_.cancelled();
}

// O(log waiters) each. A wait that is gone already is passed over.
void LockWaits::Cancel() {
  for (const uint64_t id : std::exchange(cancelled_, {})) on_.locks.Cancel(id, on_.clock.now());
}

void LockWaits::Refuse(int& answers_left) {
  while (!taken_.empty() && answers_left > 0) {
    const LockName& name = *taken_.begin();
    const WaitQueue::Line* const line = on_.locks.queue().LineOf(name);
    if (line == nullptr || !on_.held.IsForeign(on_.held.FindLock(name))) {
      taken_.erase(taken_.begin());
      continue;
    }
    --answers_left;
    const LockWait& wait = line->all.begin()->second->wait;
    const uint64_t id = wait.id;
    CountInVain(wait.request.names, LockWaitInVain::kTurnedAway);
    if (Session* session = FindConnection(on_.clients, wait.client)) {
      on_.blocked_clients.Finish(*session,
                                 [](ReplySink& reply) { reply.Error(ErrorCode::kWrongType); });
    }
    on_.locks.Cancel(id, on_.clock.now());
  }
}

// The client may be gone; then its session's end gives the lock back.
void LockWaits::WaitGranted(const LockWait& wait, const LockGrants& grants) {
  if (!wait.request.id.is_none()) [[unlikely]]
    on_.requests.Remember(on_.changes, AskedOf(wait.request), TokensOf(grants), on_.clock.now());
  Session* const session = FindConnection(on_.clients, wait.client);
  if (!session) return;
  const int64_t waited_ms = on_.clock.now().ms() - wait.since_ms;
  statistics_.CountGranted(wait.request.names, waited_ms);
  if (wait.request.upgrades) {
    if (on_.config.settings().lock_min_replicas > 0) session->conditions |= kTellsOfGrant;
  } else if (on_.replica_waits.Wants(wait.request.replicas) &&
             !IsPlanted(PlantedFault::kHandOversBeforeReplicas)) [[unlikely]] {
    return on_.replica_waits.GoOn(*session, {wait.request, grants, waited_ms});
  }
  on_.blocked_clients.Finish(*session, [&](ReplySink& reply) {
    if (wait.request.several) {
      ReplyTokens(reply, grants);
    } else if (wait.request.upgrades) {
      reply.Integer(grants.front().token);
    } else {
      ReplyGrant(reply, grants.front(), waited_ms);
    }
  });
}

// As when its time is over.
void LockWaits::WaitReplaced(const LockWait& wait) {
  CountInVain(wait.request.names, LockWaitInVain::kTurnedAway);
  Session* const session = FindConnection(on_.clients, wait.client);
  if (!session) return;
  on_.blocked_clients.Finish(*session, [](ReplySink& reply) { reply.NullArray(); });
}

void LockWaits::HoldLost(const LockWait& wait) {
  CountInVain(wait.request.names, LockWaitInVain::kTurnedAway);
  Session* const session = FindConnection(on_.clients, wait.client);
  if (!session) return;
  on_.blocked_clients.Finish(*session, [](ReplySink& reply) { reply.Error(kNotHeld); });
}

bool LockWaits::IsConnected(uint64_t connection) const {
  return FindConnection(on_.clients, connection) != nullptr;
}

// From now on it matters soon if its peer is no longer there.
void LockWaits::SessionBound(uint64_t session_number) {
  Session* const session = FindConnection(on_.clients, session_number);
  const int64_t timeout_ms = on_.config.settings().lock_session_timeout;
  if (!session || timeout_ms == 0 || session->peer_watched) return;
  session->peer_watched = true;
  on_.host.WatchPeer(*session, timeout_ms);
}

}  // namespace sluice
