// LimitWaiters: the requests that wait for a limit (LIMIT.TAKE ... WAIT).
//
// Waiters of a key stand in a queue, first come first served. Only its head is ever tried: at the
// moment from when on its cost should fit, and whenever a command has touched the key (a refund,
// DEL, a flush), after the current top-level command. So a grant costs the same however many wait.
// A key is waited for by its database and name, whatever is there. A waiter that named a policy
// asks with what the policy says when it is tried; a change of the policy has such heads tried.
//
// Crowds are dealt with in slices: all calls of a turn share a budget of requests that are tried
// and waiters that are looked at, and what is left is for the next turn.
//
//   call.part<LimitWaiters>().Join(call, key, request, deadline_ms, retry_ms);  // blocks it
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "server/core/lazy_deque.h"
#include "server/core/standstill.h"
#include "server/core/turn_clock.h"
#include "server/limits/limit_service.h"
#include "server/limits/request_ids.h"
#include "server/notify/key_listeners.h"
#include "server/waiting/blocked_clients.h"
#include "storage/hashing/key_name.h"
#include "storage/time/timer_task.h"

namespace sluice {

class LimitWaiters final : public WaitOwner, public KeyListener {
 public:
  struct Ticket {
    SessionId session;
    LimitRequest request;
    std::string policy;       // whose numbers the request has; empty: its own
    RequestIds::Asked asked;  // its id is empty: it has none
    // Tries the request again and answers the client (BlockedClients::Finish) if it is over. If
    // not, says in how many ms it should fit; -1: no time alone will do.
    std::optional<int64_t> (*try_again)(const Parts& parts, KeyNameView key, const Ticket& ticket);
  };

  // The parts that they work with; all of them outlive the waiters.
  struct Uses {
    const Parts& parts;  // for `try_again`
    LimitService& limits;
    Clients& clients;
    const TurnClock& clock;
    TimerTasks& timers;
    BlockedClients& blocked_clients;
    Tracking& tracking;
    CurrentClient& current_client;
    const Standstill& standstill;
    SlowPathFlags& flags;
  };
  LimitWaiters(const Uses& uses, HashKeys& hash_keys);

  bool HasWaiters(KeyNameView key) const { return queues_.contains(key); }
  // Blocks the call's client until deadline_ms. `retry_ms`: when its cost should fit, -1 as above;
  // it counts only if there is no waiter before it.
  void Join(CommandCall& call, KeyNameView key, Ticket ticket, int64_t deadline_ms,
            int64_t retry_ms, Handler on_timeout);

  // LIMIT.POLICY SET or DEL has changed what a name says. O(changes that are still to be looked
  // at).
  void PolicyChanged(std::string_view name);
  size_t waiting() const { return queue_of_.size(); }

  // --- for the engine
  bool listens() const override { return !queues_.empty(); }
  void KeyTouched(int db, std::string_view key, bool died) override;
  void DatabaseReplaced(int db, int other) override;
  bool any_ready() const {
    return (!ready_.empty() || !changes_.empty()) && !on_.standstill.is_on();
  }
  void BeginTurn();
  // Tries heads of the queues whose keys were touched. Between top-level commands only.
  void ServeReady();
  void WaitCancelled(uint64_t wait_id, WaitEnd end) override;

 private:
  struct Queue : TimerTask {
    explicit Queue(LimitWaiters& whose) : waiters(whose) {}
    LimitWaiters& waiters;
    KeyName key;
    std::map<uint64_t, Ticket> tickets;  // by number: in the order in which they came
    bool noted = false;                  // is in ready_
  };

  void Note(Queue& queue);
  // Concerns the waiters of a policy, or of two databases, whose tickets have numbers up to `last`.
  // Tickets before `next` have been looked at.
  struct Change {
    std::string policy;  // empty: it is of databases
    int db = -1;
    int other = -1;
    uint64_t next = 0;
    uint64_t last = 0;
  };
  template <typename Which>
  void DropChanges(Which which);
  void NoteOfChanges();
  bool NoteSome(Change& change);
  void NoteHead(uint64_t ticket, Queue& queue);
  void LeavePolicy(uint64_t number, const Ticket& ticket);
  void Serve(Queue& queue);
  void TimerFired(Queue& queue);
  void ArmFor(Queue& queue, int64_t retry_ms);
  void Forget(Queue& queue);
  // A waiter pays for itself, with BlockedCall::kept_bytes, the first of a queue for that as well.
  void ChargeWaiter(const Ticket& ticket);
  void ChargeQueue(const Queue& queue);

  const Uses on_;
  KeyNameMap<std::unique_ptr<Queue>> queues_;   // none is empty
  absl::btree_map<uint64_t, Queue*> queue_of_;  // by ticket
  LazyDeque<KeyName> ready_;
  absl::btree_map<std::string, std::set<uint64_t>, std::less<>>
      tickets_of_policy_;  // none is empty
  LazyDeque<Change> changes_;
  Queue* serving_ = nullptr;
  uint64_t tickets_ = 0;
  int tries_left_ = 0;  // of this turn
  size_t looks_left_ = 0;
};

}  // namespace sluice
