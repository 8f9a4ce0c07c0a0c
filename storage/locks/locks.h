// Locks: the one door to locks, their waiters and their tokens. Handlers read arguments, ask here,
// and answer; the keyspace stands behind LockStore, and what happens to others than the caller is
// told to LockListener in the same turn.
//
//   locks.Acquire(request, WaitTerms{client, wait_ms}, now)  -> granted | queued | why not
//   locks.Release({db, key}, owner, all, token, now)         -> holds left; the next ones were
//   granted
//
// Rules that live here: expired leases are settled before anything else looks at a lock; every
// grant takes a token; a lock that loses its last holder leaves the keyspace and its newest token
// goes to FenceMemory; whenever a lock has got room, its queue moves on until nobody may go.
//
// Timers are the caller's: after each call LockStore::LockChanged has told when Settle has
// something to do, and a wait's deadline is known when it is queued (then call Cancel).
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "storage/locks/fence.h"
#include "storage/locks/wait_queue.h"

namespace sluice {

inline constexpr size_t kOwnerBytesMax = 1024;
inline constexpr size_t kLabelBytesMax = 1024;
inline constexpr size_t kLockNamesMax = 1024;  // of one MACQUIRE

// The keyspace, as locks see it. Names are given as long as the call lasts.
class LockStore : public LockFinder {
 public:
  virtual Lock* ModifyLock(LockNameView name) = 0;  // null when there is none
  virtual Lock& CreateLock(LockNameView name) = 0;  // Lock(&owner_counts()); precondition: absent
  virtual void RemoveLock(LockNameView name) = 0;   // precondition: present
  // Holders or deadlines have changed: account its memory, set its timer to NextDeadlineMs.
  virtual void LockChanged(LockNameView name, const Lock& lock) = 0;
};

// A closed session releases; kForgone: a log says so.
enum class LockEnd : uint8_t { kReleased, kExpired, kBroken, kForgone };

struct LockGrant {
  int64_t token = 0;
  int64_t lease_ms = 0;  // -1: bound to a session alone
  int64_t holds = 0;
};

using LockGrants = absl::InlinedVector<LockGrant, 1>;  // one a name

// Told in the middle of a change: must not call back.
class LockListener {
 public:
  virtual ~LockListener() = default;
  virtual void LockAcquired(LockNameView name, const LockHolder& holder) = 0;
  virtual void LockEnded(LockNameView name, const LockHolder& holder, LockEnd end) = 0;
  // One that had lost it before takes no room any more.
  virtual void LingeringEnded(LockNameView name, const LockHolder& holder) = 0;
  // A wait is over, one grant a name in its order; `wait` lives until the return.
  virtual void WaitGranted(const LockWait& wait, const LockGrants& grants) = 0;
};

enum class AcquireOutcome : uint8_t {
  kGranted,
  kQueued,
  kRefused,       // would have to wait, and may not
  kDeadlock,      // would wait for itself
  kLockMode,      // its owner holds it in another mode
  kOtherPermits,  // the semaphore has another m
  kNoTokens,      // no fencing token may be issued
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

class Locks {
 public:
  Locks(LockStore& store, LockListener& listener, FenceTokens& tokens, FenceMemory& memory,
        const SipKey& hash_key);

  // Precondition: terms have a lease or a session. Tokens never go above their mark: without room
  // under it nothing is granted, so see to FenceTokens::CanIssue at the start of a turn.
  AcquireResult Acquire(LockRequest request, const WaitTerms& wait, const Now& now);
  // The new lease in ms; -1 if the owner holds nothing, or (token != 0) under another token.
  int64_t Renew(LockNameView name, std::string_view owner, int64_t lease_ms, int64_t token,
                const Now& now);
  // The holds left; -1 likewise.
  int64_t Release(LockNameView name, std::string_view owner, bool all, int64_t token,
                  const Now& now);
  // How many holders were thrown out: all, or (token != 0) that one.
  int64_t Break(LockNameView name, int64_t token, const Now& now);

  // What a log or another server says: `holder` holds the lock (or lingers there), or nobody does
  // under this token any more. False if that cannot be.
  bool Restore(LockNameView name, const LockHolder& holder, const LockShape& shape, const Now& now);
  void Forgo(LockNameView name, int64_t token, const Now& now);

  // A wait is over by time, or its client is gone. False when it waits no more.
  bool Cancel(uint64_t wait_id, const Now& now);
  bool HoldsAny(uint64_t session) const { return sessions_.contains(session); }
  // Precondition: its waits have been cancelled.
  void SessionEnded(uint64_t session, const Now& now);
  // Expires what is due and lets the queue move on: from the lock's timer, or before looking at it.
  void Settle(LockNameView name, const Now& now);
  // The lock left the keyspace by other hands (DEL, FLUSH, RENAME, overwritten): whatever was
  // issued for it is stale, and who waited for it may go.
  void Dropped(LockNameView name, const Now& now);
  void DroppedDatabase(int db, const Now& now);  // all of them (FLUSHDB); -1: of all databases

  // FENCED's question. Expired leases count as ended whether or not Settle has run.
  TokenCheck CheckToken(LockNameView name, int64_t token, const Now& now);

  const WaitQueue& queue() const { return queue_; }
  OwnerCounts& owner_counts() { return owners_; }  // outlive the locks, or clear those first

 private:
  using Names = LockNames;
  // Where a session holds locks. Names of locks that were dropped stay in it until it is swept.
  struct SessionLocks {
    std::map<LockName, size_t> names;  // and how many holders of each are the session's
    size_t sweep_at = 1024;
  };

  AcquireOutcome WhyNot(const LockRequest& request, const WaitTerms& wait);
  LockGrants GrantAll(const LockRequest& request, const Now& now);
  LockGrant GrantOne(LockNameView name, const LockRequest& request, const Now& now);
  // What every loss of a lock is followed by. `end` ends holders of the lock and returns a count.
  int64_t EndHolders(LockNameView name, LockEnd why, const Now& now,
                     absl::FunctionRef<int64_t(Lock&, Lock::OnEnd)> end);
  void MoveOn(Names names, const Now& now);
  void LetReenter(Names fresh, std::string_view owner, Names* moved, const Now& now);
  Names HandTo(const LockWait& next, const Now& now);
  void JoinSession(uint64_t session, LockNameView name);
  void LeaveSession(uint64_t session, LockNameView name);

  LockStore& store_;
  LockListener& listener_;
  FenceTokens& tokens_;
  FenceMemory& memory_;
  OwnerCounts owners_;
  WaitQueue queue_;
  absl::flat_hash_map<uint64_t, SessionLocks> sessions_;
};

}  // namespace sluice
