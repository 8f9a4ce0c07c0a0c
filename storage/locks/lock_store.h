// LockStore: how locks are kept, as Locks sees it. A command opens a lock once and passes it on,
// and changes it in a scope that writes it back at its end:
//
//   OpenLock open(store, {db, key});
//   if (open.lock() == nullptr) ...   // no owner holds it
//   {
//     LockChange change(open);        // counts as a change of the key
//     change->Renew(...);
//   }                                 // accounted and timed, or removed as it has come to be free
//
// The key is looked up when the lock is first asked for, and again only where the store has counted
// a change since that was not made through this OpenLock: so a function need not tell its callers
// what it has done to this lock or to others.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "storage/locks/lock.h"
#include "storage/locks/lock_name.h"

namespace sluice {

class Entry;

// To look, without the right to change. The pointer is valid until the next change of the lock.
class LockFinder {
 public:
  virtual ~LockFinder() = default;
  virtual const Lock* FindLock(LockNameView name) const = 0;  // null: it has no holder
};

// A name and the lock found under it. All else in here is the store's own affair.
struct LockPlace {
  LockNameView name;             // its bytes live as long as the place
  std::optional<uint64_t> hash;  // of the name, once it was needed
  const Entry* entry = nullptr;  // whatever holds the name
  Entry* changing = nullptr;     // the same in the scope of a change
  const Lock* lock = nullptr;    // null: it has no holder
};

// Its functions are for OpenLock and LockChange.
class LockStore : public LockFinder {
 public:
  // Grows with each change by which a place might be wrong.
  virtual uint64_t changes() const = 0;
  virtual void Look(LockPlace& place) = 0;
  virtual Lock* BeginChange(LockPlace& place) = 0;  // null when there is no lock
  virtual Lock& Create(LockPlace& place) = 0;       // requires: there is none
  // The end of what one of these two has begun. Holders or deadlines have changed: accounts the
  // memory, sets the timer to Lock::NextDeadlineMs.
  virtual void EndChange(LockPlace& place) = 0;
  virtual void Remove(LockPlace& place) = 0;
  // A change of this lock would take long now, as a snapshot has still to save its crowd: what can
  // wait does so, and is tried again (Locks::Retry). Requires: place.lock is not null.
  virtual bool MustWait(const LockPlace&) { return false; }
  virtual bool may_have_to_wait() const { return false; }  // false: there is no such lock
  // A lock that loses its last holder now would not be free: it may have one that is not known.
  virtual bool WithholdsFree(LockNameView) const { return false; }
};

// A cheap value: copied for each name of a request, with what the store found for it. It survives
// changes of the keyspace, for it looks again when the store has counted one.
class OpenLock {
 public:
  OpenLock(LockStore& store, LockNameView name) : store_(&store), place_{.name = name} {}
  // One that the store has just looked up.
  OpenLock(LockStore& store, const LockPlace& found)
      : store_(&store), place_(found), looked_at_(store.changes()) {}

  LockNameView name() const { return place_.name; }
  // As it is now; null when it has no holder.
  const Lock* lock() {
    if (looked_at_ != store_->changes()) {
      store_->Look(place_);
      looked_at_ = store_->changes();
    }
    return place_.lock;
  }
  // See LockStore::MustWait.
  bool MustWait() {
    return store_->may_have_to_wait() && lock() != nullptr && store_->MustWait(place_);
  }

 private:
  friend class LockChange;

  LockStore* store_;
  LockPlace place_;
  uint64_t looked_at_ = UINT64_MAX;  // the store's changes at that time
};

// The locks of one request, each once.
using OpenLocks = absl::InlinedVector<OpenLock, 1>;

// The scope of a change. Meanwhile the keyspace may not be touched otherwise.
class LockChange {
 public:
  explicit LockChange(OpenLock& open) : open_(open) {
    open.lock();
    lock_ = open.store_->BeginChange(open.place_);
    was_free_ = lock_ != nullptr && lock_->empty();
    open.looked_at_ = open.store_->changes();
  }
  LockChange(const LockChange&) = delete;
  ~LockChange() {
    if (lock_ == nullptr) return;
    if (lock_->empty() && !was_free_) {
      open_.store_->Remove(open_.place_);
    } else {
      open_.store_->EndChange(open_.place_);
    }
    open_.looked_at_ = open_.store_->changes();
  }

  explicit operator bool() const { return lock_ != nullptr; }  // there is a lock
  Lock& Create() {
    assert(lock_ == nullptr);
    lock_ = &open_.store_->Create(open_.place_);
    open_.looked_at_ = open_.store_->changes();
    return *lock_;
  }
  Lock& operator*() const { return *lock_; }
  Lock* operator->() const { return lock_; }

 private:
  OpenLock& open_;
  Lock* lock_ = nullptr;
  // It had no holder to begin with (a copy, one that was renamed), so the log knows the key: it
  // stays.
  bool was_free_ = false;
};

}  // namespace sluice
