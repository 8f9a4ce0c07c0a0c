// HeldLocks: the locks as values in the keyspace, found, made, changed and removed for
// storage/locks (LockStore), with their leases on the wheel; and what others do to them.
//
// A lock is a key without a deadline, as long as it is held. DEL, FLUSHDB, overwriting, RENAME,
// MOVE, SWAPDB: its holders hold nothing any more, and its tokens are stale. A lock
// without a holder is no key: where one is renamed, moved or swapped to, there is none. Names where
// that has happened are noted, for the waiters of the lock.
//
// FLUSHDB and SWAPDB cut the locks of a database detached as a whole, at once; they are taken apart
// a slice a turn. Until then a detached lock is a value in the keyspace, or garbage, that counts as
// no lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "boost/intrusive/set.hpp"
#include "server/core/slow_path_flags.h"
#include "server/core/turn_clock.h"
#include "server/locks/lock_losses.h"
#include "server/locks/restart_grace.h"
#include "storage/keyspace/keyspace.h"
#include "storage/locks/locks.h"
#include "storage/memory/block_size.h"
#include "storage/time/timer_task.h"

namespace sluice {

class HeldLocks;

using HeldLockHook =
    boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
                                    boost::intrusive::optimize_size<true>>;
struct DatabaseLocks;

// A lock in the keyspace. Named and on a database from its first change on until it is removed or
// emptied. Its key is that of its entry; when it leaves that with holders, it takes the key along.
class HeldLock final : public Lock, public HeldLockHook {
 public:
  explicit HeldLock(HeldLocks& all);
  ~HeldLock() override;
  uint64_t number() const { return number_; }  // grows with every lock
  bool Ended() const override;
  size_t MemoryBytes() const override { return BlockSize(sizeof(HeldLock)) + OutsideBytes(); }
  std::unique_ptr<Value> Clone() const override;
  void HeldBy(ValueHolder& entry) override;
  void Retire() override;
  size_t FreeSome(size_t budget) override;

 protected:
  const LockTies* ties() const override;
  std::string_view key() const override;

 private:
  friend class HeldLocks;
  bool named() const { return is_linked(); }
  bool is_detached() const;
  HeldLocks& all() const;
  const Entry* entry() const { return lease_.holder.As<const Entry>(); }  // null: it has left it
  void LeaveEntry();

  ValueTimer lease_;         // of the next end of a lease
  DatabaseLocks* database_;  // HeldLocks::no_database_ while it is not named
  uint64_t number_ = 0;
};
// With an entry of 48 bytes and an owner of 48 a lock takes 236 bytes in all.
static_assert(sizeof(HeldLock) <= 128);

// The locks of a database, in the order in which they came to be held. LOCK.LIST walks them.
struct DatabaseLocks {
  struct ByNumber {
    using type = uint64_t;
    type operator()(const HeldLock& lock) const { return lock.number(); }
  };
  using Locks = boost::intrusive::set<HeldLock, boost::intrusive::key_of_value<ByNumber>,
                                      boost::intrusive::constant_time_size<false>>;

  explicit DatabaseLocks(HeldLocks& whose) : all(whose) {}

  HeldLocks& all;
  Locks locks;
  size_t size = 0;
  int db = -1;  // where they are
  bool detached = false;
  bool is_in_image = false;  // was cut detached after the instant of an image that is being taken
  LockLoss loss = LockLoss::kGone;  // of all of them, when detached
};

// One for the server. It owns no lock: entries of the keyspace do, and databases only link them.
class HeldLocks final : public LockStore {
 public:
  // Elements of locks that were cut detached.
  static constexpr size_t kFreedPerTurn = 512;

  // The parts that they work with; all of them outlive the locks.
  struct Uses {
    Keyspace& keyspace;
    const TurnClock& clock;
    TimerTasks& timers;
    SlowPathFlags& flags;
    LockLosses& losses;
    const RestartGrace& grace;
    const Locks& locks;  // for the ties of locks that are made
  };
  explicit HeldLocks(const Uses& uses);
  ~HeldLocks() override { on_.timers.Disarm(retry_); }

  // For handlers, which have looked the key up already: `found` is its entry, or null.
  OpenLock Open(int db, HashedKey key, const Entry* found);
  // A lock without a holder, for a value that is read.
  std::unique_ptr<Value> MakeLock() { return std::make_unique<HeldLock>(*this); }
  size_t size() const;
  // Calls `visit` for up to `count` locks of the database with numbers above `after`; returns that
  // of the last one, 0 when there are no more. Locks that come meanwhile have higher numbers, so a
  // full walk sees every lock that was there all the time. O(log locks + count).
  uint64_t List(int db, uint64_t after, size_t count, absl::FunctionRef<void(const Lock&)> visit);
  bool IsTaken(LockNameView name) const { return FindEntry(name) != nullptr; }  // by whatever
  // Whether it stands for a key of another type: a lock that is never free.
  bool IsForeign(const Lock* lock) const { return lock && lock == foreign_.get(); }
  // Or for a name that no owner is known to hold, in the grace after a restart.
  bool IsWithheld(const Lock* lock) const { return lock && lock == withheld_.get(); }

  // --- what others do to locks
  // A key was renamed or moved to where it is now. A lock is held under its name alone, so its
  // holders lose it and the key goes.
  void Moved(Database& db, HashedKey key);
  void DatabaseReplaced(int db, int other);
  // A key that is waited for was touched, by hands other than these. Nothing is settled yet: this
  // may be the middle of another command's change.
  void Note(LockNameView name);
  bool changes_a_key() const { return own_change_; }

  // --- a live server loads its data anew: locks are out of the keyspace meanwhile, as they are,
  // and nothing that happens to keys there happens to them
  void SetAside();
  // A key that has come to be there under the name of a lock is removed.
  void BringBack();
  bool are_aside() const { return are_aside_; }

  // --- what has been noted
  bool any_noted() const { return !touched_.empty() || !flushed_.empty(); }
  std::vector<LockName> TakeTouched() { return std::exchange(touched_, {}); }
  std::vector<int> TakeFlushed() { return std::exchange(flushed_, {}); }
  bool any_flushed() const { return !flushed_.empty(); }
  // An image of this instant is begun: what is detached already is not of it.
  void ImageBegins() {
    for (const std::unique_ptr<DatabaseLocks>& database : detached_) database->is_in_image = false;
  }
  // A slice of the locks that were cut detached; or all of them.
  void FreeDetached(size_t budget = kFreedPerTurn);
  // While those that are left wait for a snapshot there is nothing to do.
  bool any_detached() const { return !detached_.empty() && !retry_.node.linked(); }
  // Locks with leases whose time has come. Locks that cannot be settled yet are given back.
  std::vector<LockName> TakeDue();
  void GiveBackDue(std::vector<LockName> due) { due_ = std::move(due); }
  bool any_due() const { return !due_.empty(); }
  void LeaseTimerFired(TimerNode& node);

  // --- LockStore
  const Lock* FindLock(LockNameView name) const override { return LockAt(name, FindEntry(name)); }
  uint64_t changes() const override { return on_.keyspace.changes(); }
  void Look(LockPlace& place) override;
  Lock* BeginChange(LockPlace& place) override;
  Lock& Create(LockPlace& place) override;
  void EndChange(LockPlace& place) override;
  void Remove(LockPlace& place) override;
  bool MustWait(const LockPlace& place) override;
  bool may_have_to_wait() const override { return on_.keyspace.takes_image(); }
  bool WithholdsFree(LockNameView name) const override { return on_.grace.WithholdsFree(name); }
  // So much time has passed since something had to wait that it is to be tried again.
  bool retries() const { return retries_; }
  bool TakeRetry() { return std::exchange(retries_, false); }

 private:
  friend class HeldLock;
  // The scope of a change of these hands.
  class OwnChange {
   public:
    explicit OwnChange(HeldLocks& whose) : whose_(whose) { whose_.own_change_ = true; }
    ~OwnChange() { whose_.own_change_ = false; }
    OwnChange(const OwnChange&) = delete;

   private:
    HeldLocks& whose_;
  };

  HashedKey KeyOf(LockPlace& place) const;
  const Entry* FindEntry(LockNameView name) const;  // whatever it holds
  // The lock as storage/locks is to see it under a name with this entry: itself, a stand-in that is
  // never free, or null for a free name.
  const Lock* LockAt(LockNameView name, const Entry* entry) const;
  // Gives an entry's lock its name and its place on a database, at its first change.
  HeldLock& Adopt(LockPlace& place, Entry& entry);
  void Unlist(HeldLock& lock);
  // A value has left its key while it was held, in the middle of a change of the keyspace.
  void Lost(HeldLock& lock);
  void Empty(HeldLock& lock, LockLoss why);
  // The database as a whole, in O(1).
  void Detach(int db, int goes_to, LockLoss why);
  void FreeDatabase(DatabaseLocks& database, size_t& budget);
  void Delete(Database& db, HashedKey key);
  void RetryLater();

  const Uses on_;
  // Locks that are never free, made when they are first seen.
  mutable std::unique_ptr<Lock> foreign_;
  mutable std::unique_ptr<Lock> withheld_;
  DatabaseLocks no_database_{*this};  // of locks that are on none: always empty
  std::map<int, std::unique_ptr<DatabaseLocks>> databases_;  // by database
  std::vector<std::unique_ptr<DatabaseLocks>> detached_;
  uint64_t last_number_ = 0;
  bool own_change_ = false;
  // A lock that is out of the keyspace; the entry is owned here until BringBack.
  struct BackgroundTask {
    LockName name;
    Entry* entry;
  };
  std::vector<BackgroundTask> aside_;
  bool are_aside_ = false;
  std::vector<int> flushed_;       // databases
  std::vector<LockName> touched_;  // names of locks that are gone, or waited for
  std::vector<LockName> due_;
  std::vector<LockName> due_later_;  // that have to wait
  TimerTaskOf<HeldLocks> retry_{*this};
  bool retries_ = false;
};

}  // namespace sluice
