// LimitWaiters: what the limiter commands keep beside the keyspace, for the whole server: the named
// policies, which drains go together, what was decided, and which callers wait (LIMIT.TAKE ...
// WAIT).
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
//   call.part<LimitWaiters>().Join(call, key, request, deadline_ms, retry_ms);  // parks it
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "server/core/lazy_deque.h"
#include "server/dispatch/pause.h"
#include "server/notify/key_listeners.h"
#include "server/observe/refused_keys.h"
#include "server/waiting/parked_clients.h"
#include "server/waiting/parsed_args_cache.h"
#include "storage/hashing/key_name.h"
#include "storage/limits/cell.h"
#include "storage/limits/drain_seconds.h"
#include "storage/limits/limiter_state.h"
#include "storage/limits/policy.h"
#include "storage/time/timer_task.h"

namespace sluice {

// What a request of LIMIT.TAKE asks for.
struct TakeOptions {
  LimitRequest request;
  std::string_view policy;  // its name; empty: the request came with numbers
  bool peek = false;
  bool shadow = false;  // answered and stored as any other; statistics and events tell it apart
  std::optional<int64_t> wait_ms;
  std::optional<int64_t> at_unix_us;  // of a logged request: when it was made
};

// What was decided, for INFO. A request that waits counts when its wait is over.
struct LimitStatistics {
  struct Decided {
    uint64_t taken = 0;
    uint64_t refused = 0;
    void Count(bool allowed) { ++(allowed ? taken : refused); }
  };
  std::array<Decided, kLimitAlgorithms> by_algorithm{};
  Decided shadow;  // not in by_algorithm
  // Of requests that named a policy, which are in by_algorithm, too. A name stays when its policy
  // goes, but there are at most so many.
  static constexpr size_t kPolicyCountsMax = kPoliciesMax;
  std::map<std::string, Decided, std::less<>> by_policy;
  void CountFor(std::string_view policy, bool allowed);
  uint64_t waited = 0;  // requests that queued
};

class LimitWaiters final : public WaitOwner, public KeyListener {
 public:
  struct Ticket {
    SessionId session;
    LimitRequest request;
    std::string policy;  // whose numbers the request has; empty: its own
    // Tries the request again and answers the client (ParkedClients::Finish) if it is over. If not,
    // says in how many ms it should fit; -1: no time alone will do.
    std::optional<int64_t> (*try_again)(const Parts& parts, KeyNameView key, const Ticket& ticket);
  };

  // What they work with; all of it outlives them.
  struct Uses {
    const Parts& parts;  // for `try_again`
    Clients& clients;
    const TurnClock& clock;
    TimerTasks& timers;
    ParkedClients& parked;
    Tracking& tracking;
    CurrentClient& current_client;
    const Pause& pause;
    SlowPathFlags& flags;
  };
  LimitWaiters(const Uses& uses, HashKeys& hash_keys);

  PolicyTable& policies() { return policies_; }
  DrainSeconds& drain_seconds() { return drain_seconds_; }
  ParsedArgsCache<TakeOptions>& parsed_takes() {
    return parsed_takes_;
  }                                                                 // of what stands behind the key
  ParsedArgsCache<CellRequest>& cell_memo() { return cell_memo_; }  // the same of CL.THROTTLE

  bool HasWaiters(KeyNameView key) const { return queues_.contains(key); }
  // Parks the call's client until deadline_ms. `retry_ms`: when its cost should fit, -1 as above;
  // it counts only if there is no waiter before it.
  void Join(CommandCall& call, KeyNameView key, Ticket ticket, int64_t deadline_ms,
            int64_t retry_ms, Handler on_timeout);

  // LIMIT.POLICY SET or DEL has changed what a name says.
  void PolicyChanged(std::string_view name);
  LimitStatistics& statistics() { return statistics_; }
  // From now on the keys that are refused most are kept, for the page.
  void KeepRefused() {
    if (!refused_) refused_ = std::make_unique<RefusedKeys>();
  }
  RefusedKeys* refused() { return refused_.get(); }  // null: nobody wants to know
  void NoteRefused(int db, HashedKey key) {
    if (refused_) [[unlikely]]
      refused_->Count(db, key);
  }
  size_t waiting() const { return queue_of_.size(); }

  // --- for the engine
  bool listens() const override { return !queues_.empty(); }
  void KeyTouched(int db, std::string_view key, bool died) override;
  void DatabaseReplaced(int db, int other) override;
  bool any_ready() const { return (!ready_.empty() || !changes_.empty()) && !on_.pause.is_on(); }
  void BeginTurn();
  // Tries heads of the queues whose keys were touched. Between top-level commands only.
  void ServeReady();
  void WaitCancelled(uint64_t wait_id) override;

 private:
  struct Queue : TimerTask {
    explicit Queue(LimitWaiters& whose) : waiters(whose) {}
    LimitWaiters& waiters;
    KeyName key;
    std::map<uint64_t, Ticket> tickets;  // by number: in the order in which they came
    bool noted = false;                  // is in ready_
  };

  void Note(Queue& queue);
  // What concerns some waiters: those with a ticket of these numbers whose policy, or database, it
  // is. Those before `next` have been looked at.
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
  // A waiter pays for itself, with Parked::kept_bytes, the first of a queue for that as well.
  void ChargeWaiter(const Ticket& ticket);
  void ChargeQueue(const Queue& queue);

  const Uses on_;
  PolicyTable policies_;
  DrainSeconds drain_seconds_;
  ParsedArgsCache<TakeOptions> parsed_takes_;
  ParsedArgsCache<CellRequest> cell_memo_;
  KeyNameMap<std::unique_ptr<Queue>> queues_;   // none is empty
  absl::btree_map<uint64_t, Queue*> queue_of_;  // by ticket
  LazyDeque<KeyName> ready_;
  absl::btree_map<std::string, std::set<uint64_t>, std::less<>>
      tickets_of_policy_;  // none is empty
  LazyDeque<Change> changes_;
  LimitStatistics statistics_;
  std::unique_ptr<RefusedKeys> refused_;
  Queue* serving_ = nullptr;
  uint64_t tickets_ = 0;
  int tries_left_ = 0;  // of this turn
  size_t looks_left_ = 0;
};

}  // namespace sluice
