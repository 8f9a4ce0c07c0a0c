// LockService: what storage/locks needs of a server. It keeps the locks as values in the keyspace,
// times their leases on the wheel, parks and answers waiting clients, tells events and pushes,
// hears of locks that leave the keyspace by other hands, and keeps fencing tokens growing over
// restarts.
//
// Handlers call Enter() before anything else: it deals with what has happened to locks since (a DEL
// in the same script, a client that is gone), and sees to it that there are tokens to give.
//
// A lock is a key without a deadline, as long as it is held. DEL, FLUSHDB, overwriting, RENAME,
// MOVE, SWAPDB: its holders hold nothing any more, and its tokens are stale. A lock
// without a holder is no key: where one is renamed, moved or swapped to, there is none. A waiter
// for a key that then holds something else is answered WRONGTYPE.
//
// FLUSHDB and SWAPDB cut the locks of a database loose as a whole, at once; they are taken apart a
// slice a turn. Until then a loose lock is a value in the keyspace, or garbage, that counts as no
// lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "boost/intrusive/set.hpp"
#include "server/dispatch/pause.h"
#include "server/locks/fence_mark.h"
#include "server/waiting/waiters.h"
#include "storage/locks/locks.h"
#include "storage/time/timer_task.h"

namespace sluice {

class LockService;

// By LockMode, as LOCK.INFO says it.
inline constexpr std::string_view kLockModeWords[] = {"exclusive", "shared", "permits"};

// LOCK.ACQUIRE's answer, and LOCK.MACQUIRE's.
void ReplyGrant(ReplySink& reply, const LockGrant& grant, int64_t waited_ms);
void ReplyTokens(ReplySink& reply, const LockGrants& grants);

// How a holder came to lose a lock against its will, as NOTIFY's push says it.
enum class LockLoss : uint8_t {
  kExpired,
  kBroken,
  kDeleted,
  kFlushed,
  kOverwritten,
  kRenamed,
  kSwapped,
  kGone,  // deleted or overwritten: not known yet
};

using HeldLockHook =
    boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
struct LockShelf;

// A lock in the keyspace. Named and on a shelf from its first change on until it is removed or
// emptied.
class HeldLock final : public Lock, public HeldLockHook {
 public:
  explicit HeldLock(LockService& service);
  ~HeldLock() override;
  uint64_t number() const { return number_; }  // grows with every lock
  bool Ended() const override;
  size_t MemoryBytes() const override;
  std::unique_ptr<Value> Clone() const override { return std::make_unique<HeldLock>(service_); }

 private:
  friend class LockService;
  struct LeaseTimer : TimerTask {
    HeldLock* lock;
  };
  bool named() const { return is_linked(); }

  LockService& service_;
  LockShelf* shelf_ = nullptr;  // while named
  uint64_t number_ = 0;
  LeaseTimer timer_;
};

// The locks of a database, in the order in which they came to be held. LOCK.LIST walks them.
struct LockShelf {
  struct ByNumber {
    using type = uint64_t;
    type operator()(const HeldLock& lock) const { return lock.number(); }
  };
  using Locks = boost::intrusive::set<HeldLock, boost::intrusive::key_of_value<ByNumber>,
                                      boost::intrusive::constant_time_size<false>>;
  Locks locks;
  size_t size = 0;
  int db;  // where they are
  bool loose = false;
  LockLoss loss = LockLoss::kGone;  // of all of them, when loose
};

class LockService final : public LockStore,
                          public LockListener,
                          public WaitOwner,
                          public KeyListener {
 public:
  static constexpr PartId kPartId = PartId::kLocks;

  // What it works with; all of it outlives the service, but for what is said below.
  struct Uses {
    const Config& config;
    Host& host;
    const TurnClock& clock;
    Keyspace& keyspace;
    Effects& effects;
    Notifications& notifications;
    TimerTasks& timers;
    Clients& clients;
    Waiters& waiters;
    const Pause& pause;
    const Acting& acting;
    RareFlags& flags;
  };
  LockService(const Uses& uses, HashKeys& hash_keys);

  // --- for handlers
  Locks& Enter();
  // What a handler has just found under that name: it needs not be looked up again.
  void Seen(LockNameView name, uint64_t hash, const Entry* entry) const {
    Remember(name, hash, const_cast<Entry*>(entry));
  }
  FenceMemory& memory() { return memory_; }
  FenceTokens& tokens() { return tokens_; }
  const LockCounts& counts() const { return locks_.counts(); }
  size_t waiting() const { return locks_.queue().size(); }
  size_t held() const;  // locks
  // Parks the client of a request that Acquire has queued.
  void Park(CommandCall& call, uint64_t wait_id, int64_t deadline_ms);
  // Tells the log how the owner holds the lock now, if it does: after RENEW, a hold more or one
  // less. What begins and ends is told by itself.
  void RecordHolder(LockNameView name, std::string_view owner);
  // A lock without a holder, for a value that is read.
  std::unique_ptr<Value> MakeLock() { return std::make_unique<HeldLock>(*this); }
  // A key was renamed or moved to where it is now: a lock is none there.
  void Moved(Database& db, HashedKey key);
  // A key was deleted by name, be it there or not: the tokens of a lock without a holder are
  // stale. False when nothing was known of it.
  bool Deleted(LockNameView name) { return memory_.size() > 0 && memory_.Forget(name); }
  // RESET: the connection's session bindings end, as if it had closed.
  void EndBindings(const Session& session);
  // Calls `visit` for up to `count` locks of the database with numbers above `after`; returns that
  // of the last one, 0 when there are no more.
  uint64_t List(int db, uint64_t after, size_t count, absl::FunctionRef<void(const Lock&)> visit);
  static uint64_t ConnectionOf(const Session& session);
  Session* FindConnection(uint64_t connection) const;

  // --- for the engine
  void SessionEnded(const Session& session);
  bool listens() const override { return locks_.queue().size() > 0; }
  void KeyTouched(int db, std::string_view key, bool died) override;
  void DatabaseReplaced(int db, int other) override;
  // A slice of what crowds have left to do; true when there is more. Once a turn, when what the
  // clients had sent by `read_ms` has been run: so a RENEW that came in time and had to wait is in
  // time.
  bool Continue(int64_t read_ms);
  bool has_left_over() const {
    return locks_.has_left_over() || !loose_.empty() || !refusing_.empty() || !pushes_.empty() ||
           !due_.empty();
  }
  bool pending() const { return pending_; }
  // Deals with what has been noted; between top-level commands, and after timers.
  void CatchUp();

  // --- LockStore
  const Lock* FindLock(LockNameView name) const override;
  Lock* ModifyLock(LockNameView name) override;
  Lock& CreateLock(LockNameView name) override;
  void RemoveLock(LockNameView name) override;
  void LockChanged(LockNameView name, const Lock& lock) override;

  // --- LockListener, WaitOwner
  void LockAcquired(LockNameView name, const LockHolder& holder) override;
  void LockEnded(LockNameView name, const LockHolder& holder, LockEnd end) override;
  void LingeringEnded(LockNameView name, const LockHolder& holder, LockEnd end) override;
  void WaitGranted(const LockWait& wait, const LockGrants& grants) override;
  void WaitReplaced(const LockWait& wait) override;
  bool IsConnected(uint64_t connection) const override;
  void SessionBound(uint64_t session) override;
  void WaitCancelled(uint64_t wait_id) override;

 private:
  friend class HeldLock;
  struct Loss {
    uint64_t connection;
    LockName name;
    int64_t token;
    LockLoss why;
  };

  // What a key was found to hold. A request asks again and again for the same one.
  struct Look {
    KeyName name;
    uint64_t hash = 0;
    Entry* entry = nullptr;
    uint64_t changes = 0;  // of the keyspace, and the time: while both stay it holds
    int64_t now_us = 0;
    bool made = false;
    bool Is(LockNameView asked) const;
  };

  HashedKey Hash(LockNameView name) const;
  Entry* FindEntry(LockNameView name) const;  // whatever it holds
  void Remember(LockNameView name, uint64_t hash, Entry* entry) const;
  HeldLock& Adopt(Lock& lock, LockNameView name);
  void Record(LockNameView name, const Lock& lock, const LockHolder& holder);
  void RecordEnd(LockNameView name, int64_t token, LockEnd end);
  void NoteLosses(LockNameView name, const LockHolder& holder, LockLoss why);
  void NoteLosses(const HeldLock& lock, LockLoss why);
  static void Unlist(HeldLock& lock);
  void Lost(HeldLock& lock);
  void Empty(HeldLock& lock, LockLoss why);
  void CutLoose(int db, int goes_to, LockLoss why);
  void TakeApart(size_t budget);
  bool GoOn();
  void SettleDue();
  void TimerFired(HeldLock& lock);
  void Settle();
  void RefuseWaiters();
  void PushLosses();
  void Note(LockName name);
  void SetPending();

  const Uses on_;
  FenceTokens tokens_;
  FenceMemory memory_;
  FenceMark mark_;
  std::map<int, std::unique_ptr<LockShelf>> shelves_;  // by database
  std::vector<std::unique_ptr<LockShelf>> loose_;
  uint64_t last_number_ = 0;
  Locks locks_;
  Lock foreign_;               // what a key of another type looks like: never free
  Entry* modified_ = nullptr;  // of the lock that was modified last, until it is removed
  bool own_change_ = false;
  mutable Look look_;

  TimerTaskOf<LockService> retry_{*this};  // while a wait is ready for which no token could be had
  bool pending_ = false;                   // there is something in one of these
  std::vector<uint64_t> cancelled_;
  std::vector<uint64_t> ended_;
  std::vector<int> flushed_;
  std::vector<LockName> touched_;
  std::vector<LockName> due_;    // leases whose time has come
  std::vector<Loss> losses_;     // noted, their reason perhaps not known yet
  std::deque<Loss> pushes_;      // to be told
  std::set<LockName> refusing_;  // keys that hold something else now: their waiters are refused
  int answers_left_ = 0;         // of this turn: refusals and pushes
};

}  // namespace sluice
