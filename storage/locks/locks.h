// Locks: the one door to locks, their waiters and their tokens. Handlers read arguments, ask here,
// and answer; the keyspace stands behind LockStore, what happens to holders is told to
// LockListener, and what happens to callers to LockCallers, in the same turn.
//
//   OpenLock lock(store, {db, key});
//   locks.Acquire({&lock, 1}, std::move(request), {client, wait_ms}, now)  -> granted | queued ...
//   locks.Release(lock, owner, all, token, now)         -> holds left; next waits granted
//
// Rules that live here: expired leases are settled before anything else looks at a lock; every
// grant takes a token; a lock that loses its last holder leaves the keyspace and its newest token
// goes to FenceMemory; whenever a lock has got room, its queue moves on until no wait may go.
// Crowds are dealt with in slices: what is left after kWorkPerCall, or when the meter is spent, is
// for Continue. A crowd of holders that ends as a whole ends at the cost of one.
//
// A call, with a waiter behind the holder:
//
//   A: LOCK.RELEASE -> Locks::Release -> Lock::Release, the holder ends -> LockListener::LockEnded
//      -> the line is noted in moving_ -> Work -> WaitQueue::FirstReady: B's wait
//      -> HandTo: a token is issued, B is granted -> LockCallers::WaitGranted
//   A's reply and B's reply leave in the same turn.
//
// Timers are the caller's: after each call LockStore::EndChange has told when Settle has something
// to do, and a wait's deadline is known when it is queued (then call Cancel).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "storage/locks/fence.h"
#include "storage/locks/lock_store.h"
#include "storage/locks/wait_queue.h"

namespace sluice {

inline constexpr size_t kOwnerBytesMax = 1024;
inline constexpr size_t kLabelBytesMax = 1024;
inline constexpr size_t kLockNamesMax = 1024;  // of one MACQUIRE
// The most that one call does for others: lines and waits that it looks at, and by kHandOverWork
// each what it grants and what it ends of a closed session. 100 hand-overs are some 0.5 ms with
// their answers; where they take longer a WorkMeter ends them sooner.
inline constexpr int64_t kWorkPerCall = 1000;
// So much between two looks at the meter, and before the first: some 5 hand-overs.
inline constexpr int64_t kWorkPerLook = 45;
// And all calls of a turn together, but Continue: hundreds of time-outs in one turn are hundreds of
// calls.
inline constexpr int64_t kWorkPerTurn = 500;
inline constexpr int64_t kHandOverWork = 9;
// Leases that SettleAll ends in one call: some 0.5 ms.
inline constexpr int64_t kExpiredPerCall = 512;
// Leases that requests which look at crowds end in one turn.
inline constexpr int64_t kExpiredPerTurn = 128;
inline constexpr int64_t kExpiredPerLook = 32;  // between two looks at the meter
// Beyond that a request for permits ends so many leases, if it needs their room.
inline constexpr int64_t kExpiredForRoom = 64;

// A closed session releases; kForgone: a log says so; kTakenBack: its owner was never told of it.
enum class LockEnd : uint8_t { kReleased, kExpired, kBroken, kForgone, kTakenBack };

struct LockGrant {
  int64_t token = 0;
  int64_t lease_ms = 0;  // -1: bound to a session alone
  int64_t holds = 0;
};

using LockGrants = absl::InlinedVector<LockGrant, 1>;  // one a name

// Since the start, for INFO.
struct LockCounts {
  uint64_t granted = 0;     // tokens given
  uint64_t hand_overs = 0;  // waits that ended with a grant
  uint64_t released = 0;    // holders that are none any more: given back, their sessions closed,
  uint64_t expired = 0;     // leases over,
  uint64_t broken = 0;      // thrown out
  uint64_t taken_back = 0;  // grants that were never answered
  uint64_t deadlocks = 0;   // refused
  uint64_t fenced = 0;      // stale tokens
};

// Told of holders in the middle of a change: must not call back.
class LockListener {
 public:
  virtual ~LockListener() = default;
  virtual void LockAcquired(const Lock& lock, const LockHolder& holder) = 0;
  // It goes on holding the lock: it took it once more, gave one of several holds back, or renewed.
  virtual void HoldChanged(const Lock& lock, const LockHolder& holder) = 0;
  virtual void LockEnded(const Lock& lock, const LockHolder& holder, LockEnd end) = 0;
  // A crowd lost it, and all that linger; those whose leases were over, by that. The lock is about
  // to leave the store; who its holders were can be seen until it is freed.
  virtual void AllEnded(const Lock& lock, const Lock::CrowdEnd& crowd, LockEnd end) = 0;
  // It goes on holding the lock, in another mode and under another token than `former`.
  virtual void ModeChanged(const Lock& lock, const LockHolder& holder, int64_t former) = 0;
  // One that had lost it before takes no room any more.
  virtual void MinimumHoldEnded(const Lock& lock, const LockHolder& holder, LockEnd end) = 0;
};

// The connections behind the requests: must not call back.
class LockCallers {
 public:
  virtual ~LockCallers() = default;
  // A wait is over, one grant a name in its order; `wait` lives until the return.
  virtual void WaitGranted(const LockWait& wait, const LockGrants& grants) = 0;
  // A later request of its owner has taken the place of the wait.
  virtual void WaitReplaced(const LockWait& wait) = 0;
  // A reader that waited to be the writer holds the lock no more, or otherwise.
  virtual void HoldLost(const LockWait& wait) = 0;
  virtual bool IsConnected(uint64_t connection) const = 0;
  // It is a binding of a lock from now on, maybe of others already.
  virtual void SessionBound(uint64_t session) = 0;
};

// Says when a turn has done enough for crowds.
class WorkMeter {
 public:
  virtual ~WorkMeter() = default;
  virtual bool IsSpent() = 0;
};

enum class AcquireOutcome : uint8_t {
  kGranted,
  kQueued,
  kRefused,       // would have to wait, and may not
  kDeadlock,      // would wait for itself
  kLockMode,      // its owner holds it in another mode
  kOtherPermits,  // the semaphore has another m
  kNoTokens,      // no fencing token may be issued
  kNotHeld,       // its owner holds nothing that could be in another mode
};

struct WaitTerms {
  uint64_t client = 0;
  int64_t wait_ms = 0;  // 0: do not wait; <= kLeaseMsMax
};

struct AcquireResult {
  AcquireOutcome outcome = AcquireOutcome::kRefused;
  LockGrants grants;
  uint64_t wait_id = 0;
};

enum class TokenCheck : uint8_t {
  kValid,
  kNeverIssued,  // above the last
  kForgotten,    // nothing is known of this lock: collapsed into the floor, deleted, never held
  kSuperseded,   // not held, and not the newest of this lock
};

// One per server. It owns the waits and what sessions hold; the locks are the store's, tokens and
// their memory belong to the references that it is given, which all outlive it. Not re-entrant:
// listeners and callers must not call back.
class Locks {
 public:
  Locks(LockStore& store, LockListener& listener, LockCallers& callers, FenceTokens& tokens,
        FenceMemory& memory, const SipKey& hash_key, WorkMeter* meter = nullptr);

  // The names of the request are those of `locks`. Requires: its terms have a lease or a session.
  // Tokens never go above their mark: without room under it nothing is granted, so see to
  // FenceTokens::IsReserved between turns.
  AcquireResult Acquire(absl::Span<OpenLock> locks, LockRequest&& request, const WaitTerms& wait,
                        const Now& now);
  // A reader becomes the writer, at once when it is alone, else it waits for that ahead of all
  // others; and a writer a reader, so that readers who wait are granted. Each is a grant with a new
  // token. An owner that holds it so already keeps its token.
  AcquireResult Upgrade(OpenLock& lock, std::string_view owner, const WaitTerms& wait,
                        const Now& now);
  AcquireResult Downgrade(OpenLock& lock, std::string_view owner, const Now& now);
  // The new lease in ms; -1 if the owner holds nothing, or (token != 0) under another token.
  int64_t Renew(OpenLock& lock, std::string_view owner, int64_t lease_ms, int64_t token,
                const Now& now);
  // The holds left; -1 likewise.
  int64_t Release(OpenLock& lock, std::string_view owner, bool all, int64_t token, const Now& now);
  // A grant of which its owner was not told, and never will be: one hold less; with the last its
  // token is worth nothing. False: the owner does not hold it by that token any more.
  bool TakeBack(OpenLock& lock, std::string_view owner, int64_t token, const Now& now);
  // How many holders were thrown out: all, or (token != 0) that one.
  int64_t Break(OpenLock& lock, int64_t token, const Now& now);

  // Follows a log or another server: `holder` holds the lock (or lingers there), or no owner does
  // under this token any more. False if that cannot be.
  bool Restore(OpenLock& lock, const LockHolder& holder, const LockShape& shape, const Now& now);
  void Forgo(OpenLock& lock, int64_t token, const Now& now);
  // Restores a holder whose grant is missing after a restart. Holders that it could not be beside
  // are older and have ended in what is missing, so they end here (broken). False: a holder in the
  // way is newer, or has permits of the semaphore that are taken, as far as is known. With
  // `is_free` no owner is known to hold the lock, whatever the store shows.
  bool Claim(OpenLock& lock, const LockHolder& holder, const LockShape& shape, bool is_free,
             const Now& now);
  // The owner holds this lock, and has proved it (Lock::Prove).
  void Prove(OpenLock& lock, std::string_view owner, const Now& now);
  void set_holders_may_be_missing(bool may_be) { holders_may_be_missing_ = may_be; }

  // A wait is over by time, or its client is gone. False when it waits no more.
  bool Cancel(uint64_t wait_id, const Now& now);
  // While the data stand still (CLIENT PAUSE) no lock is handed over and no ended session gives any
  // back: that is for the end, when this goes on with it at once.
  void StandStill(bool still, const Now& now) {
    stands_still_ = still;
    StartWork(now);
  }
  bool stands_still() const { return stands_still_; }
  bool HoldsAny(uint64_t session) const { return sessions_.First(session) != nullptr; }
  // Ends what the session holds bond by bond, in slices. Requires: its waits have been cancelled. A
  // session that `goes_on` may hold locks anew, so that nothing of it is put off (MustWait).
  void SessionEnded(uint64_t session, const Now& now, bool goes_on = false);
  // Goes on with what calls have left; true when there is more. To be called every turn, and once
  // tokens can be issued again after they could not.
  bool Continue(const Now& now);
  // From here on calls share kWorkPerTurn until the next turn. Without turns each has its own.
  void BeginTurn() {
    turn_work_left_ = kWorkPerTurn;
    expired_left_ = kExpiredPerTurn;
  }
  bool has_left_over() const {
    return !fresh_.empty() || !moving_.empty() || !ended_sessions_.empty() || !dropped_.empty();
  }
  bool wants_tokens() const { return !starved_.empty(); }
  // Hand-overs and ends of sessions may have to wait for a lock that others need as it is
  // (LockStore::MustWait). Retry tries them again; to be called before anything looks at such a
  // lock.
  bool any_held_up() const { return !held_up_.empty() || !held_up_sessions_.empty(); }
  void Retry(const Now& now);
  // Expires what is due and lets the queue move on: before looking at a lock. Where only a part of
  // a crowd is over, that part goes in slices: first what the caller looks at.
  struct Looked {
    std::string_view owner = {};
    int64_t token = 0;
    int64_t permits = 0;  // wanted
  };
  void Settle(OpenLock& lock, const Now& now) { Settle(lock, now, {}); }
  void Settle(OpenLock& lock, const Now& now, const Looked& looked);
  // For callers that only look: what is over stays where a change has to wait, and is known by its
  // end.
  void SettleToLook(OpenLock& lock, const Now& now, const Looked& looked);
  // While one lives nothing is handed over: what has come free is when the outermost one ends. So
  // several locks are given back as one, and no waiter gets the first while the others are held.
  class HandOverLater {
   public:
    HandOverLater(Locks& locks, const Now& now)
        : locks_(locks), now_(now), was_working_(std::exchange(locks.working_, true)) {}
    HandOverLater(const HandOverLater&) = delete;
    ~HandOverLater() {
      locks_.working_ = was_working_;
      locks_.StartWork(now_);
    }

   private:
    Locks& locks_;
    const Now now_;
    const bool was_working_;
  };
  // Settles several at once: all leases that are over end before any lock is handed over, so that
  // an owner whose lease ends at this moment gets a new hold of it and is not re-entrant. Crowds of
  // holders are dealt with in slices: returns the locks that were not looked at yet, and what is
  // left of the last one is due still (LockStore::EndChange).
  std::vector<LockName> SettleAll(absl::Span<const LockName> names, const Now& now);
  // Leases that end later are not ended yet, whatever the time: what their holders have sent before
  // is still to be read.
  void set_leases_until_ms(int64_t ms) { leases_until_ms_ = ms; }
  // The lock left the keyspace by other hands (DEL, FLUSH, RENAME, overwritten): whatever was
  // issued for it is stale, and its waiters may go.
  void Dropped(LockNameView name, const Now& now);
  void DroppedDatabase(int db, const Now& now);  // all of them: FLUSHDB
  // The locks of a database are no longer kept from their waiters.
  void LookAgain(int db, const Now& now);

  // FENCED's question. Expired leases count as ended whether or not Settle has run.
  TokenCheck CheckToken(OpenLock& lock, int64_t token, const Now& now);

  const WaitQueue& queue() const { return queue_; }
  const LockCounts& counts() const { return counts_; }
  const LockTies& ties() const { return ties_; }  // outlive the locks
  // Nodes and edges that searches for circles have looked at: for tests of the costs.
  uint64_t search_steps() const { return search_steps_; }

 private:
  using Names = std::vector<LockName>;
  struct Fresh {
    LockName name;
    std::string owner;
  };
  // The lines of a database that are still to be looked at, by number.
  struct DroppedLines {
    int db;
    uint64_t next;
    uint64_t last;
  };

  AcquireResult Grant(absl::Span<OpenLock> locks, const LockRequest& request, const Now& now);
  AcquireResult Wait(absl::Span<OpenLock> locks, LockRequest&& request, const WaitTerms& wait,
                     bool only_queue, const Now& now);
  AcquireResult WaitInPlaceOf(const LockWait& former, absl::Span<OpenLock> locks,
                              LockRequest request, const WaitTerms& terms, const Now& now);
  bool ClosesCircle(uint64_t wait_id, const Now& now);
  bool WouldWaitForItself(absl::Span<OpenLock> locks, LockRequest request, const Now& now);
  bool ClosesCircleWhereItStands(uint64_t wait_id, bool entangled, const Now& now);
  TokenCheck Check(OpenLock& lock, int64_t token, const Now& now);
  static bool HoldsUntil(const Lock& lock, int64_t token, const Now& until);
  Now Until(const Now& now) const;
  int64_t Expire(OpenLock& lock, const Now& now, int64_t most);
  bool MayIssueFor(absl::Span<OpenLock> locks, const LockRequest& request) const;
  LockGrants GrantAll(absl::Span<OpenLock> locks, const LockRequest& request, const Now& now);
  LockGrant GrantOne(OpenLock& open, const LockRequest& request, const Now& now);
  const LockHolder& PutHolder(Lock& lock, const LockRequest& request, const Now& now);
  const LockHolder& ReenterOne(Lock& lock, const LockRequest& request, const Now& now);
  const LockHolder& ChangeMode(Lock& lock, std::string_view owner, LockMode mode, const Now& now);
  // Ends holders of the lock and returns a count; EndHolders does what follows every loss.
  using End = absl::FunctionRef<int64_t(Lock&, Lock::OnEnd)>;
  int64_t EndHolders(OpenLock& open, LockEnd why, const Now& now, End end);
  struct HandedOver {
    LockWait wait;
    LockGrants grants;
  };
  std::optional<HandedOver> HandOverInPlace(OpenLock& open, Lock& lock, const Now& now);
  void TellOfGrant(const LockWait& wait, const LockGrants& grants);
  int64_t EndAll(OpenLock& open, LockEnd why, const Now& now);
  uint64_t& CountOf(LockEnd why);
  void RememberNewest(const Lock& lock, LockNameView name, const Now& now);
  void MoveOnIfAwaited(LockNameView name, const Now& now);
  void MoveOn(Names names, const Now& now);
  void StartWork(const Now& now);
  void Work(int64_t budget, const Now& now);
  bool HasTime();
  void MoveLine(const Now& now);
  void MoveDropped();
  void LetReenter(absl::Span<OpenLock> granted, std::string_view owner);
  void Reenter(const Now& now);
  bool HandTo(OpenLock& at, const LockWait& next, const Now& now);
  bool MustWait(OpenLock& at, const LockWait& next);
  void EndBond(uint64_t session, const Now& now);

  LockStore& store_;
  LockListener& listener_;
  LockCallers& callers_;
  FenceTokens& tokens_;
  FenceMemory& memory_;
  LockSessions sessions_;
  WaitQueue queue_;
  bool holders_may_be_missing_ = false;
  const LockTies ties_{queue_, sessions_, holders_may_be_missing_};
  std::vector<Fresh> fresh_;              // held since just now by an owner that waits elsewhere
  Names moving_;                          // locks whose lines are to be looked at
  std::vector<uint64_t> ended_sessions_;  // that still hold locks
  std::vector<DroppedLines> dropped_;
  Names held_up_;  // locks whose lines are to be looked at again
  std::vector<uint64_t> held_up_sessions_;
  uint64_t going_on_ = 0;      // the last session that goes on
  LockNameMap<bool> starved_;  // locks for which a wait is ready, but there was no token
  int64_t leases_until_ms_ = kNoDeadline;
  WorkMeter* const meter_;       // null: only what is counted ends a slice
  int64_t work_left_ = 0;        // of this call
  int64_t meter_looked_at_ = 0;  // so much was left then
  int64_t turn_work_left_ = INT64_MAX;
  int64_t expired_left_ = INT64_MAX;  // of crowds, by requests of this turn
  bool working_ = false;
  bool stands_still_ = false;
  LockCounts counts_;
  uint64_t search_steps_ = 0;
};

}  // namespace sluice
