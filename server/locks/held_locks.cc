// See held_locks.h. The hard part is to tell the locks' own changes of a key from those of others:
// both reach the keyspace's observer. OwnChange marks the first, so that only the second are noted
// as touched. A detached lock (FLUSHDB, SWAPDB) is no lock any more for every look-up here, though
// its value is still to be taken apart.
#include "server/locks/held_locks.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace sluice {
namespace {

// Until what waits for a snapshot is tried again: it takes some 50 ms to save 100,000 holders.
constexpr int64_t kReleaseRetryMs = 5;

// Loose locks that are taken apart in one turn, them and their holders: some 0.15 ms. A crowd ends
// at the cost of one.
constexpr uint64_t kNoConnection = UINT64_MAX;  // no connection's number

// By an owner that no client can name, under a token that is never given.
const Lock* NeverFree(std::unique_ptr<Lock>& made) {
  if (!made) {
    made = std::make_unique<Lock>();
    made->Grant(std::string(kOwnerBytesMax + 1, '\0'), LockTerms{.session = kNoConnection},
                kTokenMax, Now{});
  }
  return made.get();
}

HeldLock& HeldIn(const Entry& entry) { return static_cast<HeldLock&>(entry.value()); }

}  // namespace

// The timer is part of the lock, so a lease costs no allocation of its own.
HeldLock::HeldLock(HeldLocks& all) : database_(&all.no_database_) {}

HeldLock::~HeldLock() {
  Retire();
  FreeSome(SIZE_MAX);
  Unwatch();
  all().on_.losses.Freed(*this);
}

HeldLocks& HeldLock::all() const { return database_->all; }

const LockTies* HeldLock::ties() const { return &all().on_.locks.ties(); }

std::unique_ptr<Value> HeldLock::Clone() const { return all().MakeLock(); }

std::string_view HeldLock::key() const { return entry() ? entry()->key() : kept_key(); }

// Where it is renamed it keeps the name under which it is held, until that is over (Moved).
void HeldLock::HeldBy(ValueHolder& holder) {
  const Entry& to = static_cast<const Entry&>(holder);
  if (named() && to.key() != key()) return LeaveEntry();
  lease_.holder.Set(&to, 0);
}

void HeldLock::LeaveEntry() {
  if (entry() && !holders().empty()) KeepKey(entry()->key());
  lease_.holder.Set(nullptr, 0);
}

// The value leaves its key: from here on no look-up finds it, though its memory is still there.
void HeldLock::Retire() {
  all().on_.timers.DisarmLease(lease_.node);
  if (named()) all().Lost(*this);
  LeaveEntry();
}

// O(budget). Holders of a crowd are told of their loss as their memory goes.
size_t HeldLock::FreeSome(size_t budget) {
  return FreeHolders(
      budget, [this](const LockHolder& holder) { all().on_.losses.HolderFreed(*this, holder); });
}

// A detached lock counts as gone, but for an image of before it was cut detached.
bool HeldLock::Ended() const { return empty() || (is_detached() && !database_->is_in_image); }

bool HeldLock::is_detached() const { return named() && database_->detached; }

HeldLocks::HeldLocks(const Uses& uses) : on_(uses) {
  retry_.fired = [](TimerTask& task) {
    HeldLocks& locks = static_cast<TimerTaskOf<HeldLocks>&>(task).owner;
    locks.retries_ = true;
    locks.due_.insert(locks.due_.end(), locks.due_later_.begin(), locks.due_later_.end());
    locks.due_later_.clear();
  };
}

// --- looking

// Hashed at most once a place.
HashedKey HeldLocks::KeyOf(LockPlace& place) const {
  if (!place.hash) place.hash = on_.keyspace.Hash(place.name.key).hash;
  return {place.name.key, *place.hash};
}

const Lock* HeldLocks::LockAt(LockNameView name, const Entry* entry) const {
  if (entry && entry->type() != ValueType::kLock) return NeverFree(foreign_);
  if (entry && !HeldIn(*entry).is_detached()) return &HeldIn(*entry);
  return WithholdsFree(name) ? NeverFree(withheld_) : nullptr;
}

// O(1); null also for a database that was never used.
const Entry* HeldLocks::FindEntry(LockNameView name) const {
  LockPlace place{.name = name};
  if (!on_.keyspace.made(name.db)) return nullptr;
  return on_.keyspace.db(name.db).Find(KeyOf(place), on_.clock.now());
}

void HeldLocks::Look(LockPlace& place) {
  place.entry = on_.keyspace.made(place.name.db)
                    ? on_.keyspace.db(place.name.db).Find(KeyOf(place), on_.clock.now())
                    : nullptr;
  place.lock = LockAt(place.name, place.entry);
}

OpenLock HeldLocks::Open(int db, HashedKey key, const Entry* found) {
  const LockNameView name = {db, key.bytes};
  return {*this,
          LockPlace{.name = name, .hash = key.hash, .entry = found, .lock = LockAt(name, found)}};
}

// O(databases with locks), detached ones not counted.
size_t HeldLocks::size() const {
  size_t size = 0;
  for (const auto& [db, database] : databases_) size += database->size;
  return size;
}

uint64_t HeldLocks::List(int db, uint64_t after, size_t count,
                         absl::FunctionRef<void(const Lock&)> visit) {
  const auto database = databases_.find(db);
  if (database == databases_.end()) return 0;
  const DatabaseLocks::Locks& locks = database->second->locks;
  auto lock = locks.upper_bound(after);
  for (; count > 0 && lock != locks.end(); --count, ++lock) {
    visit(*lock);
    after = lock->number();
  }
  return lock == locks.end() ? 0 : after;
}

// --- changing

HeldLock& HeldLocks::Adopt(LockPlace& place, Entry& entry) {
  HeldLock& held = HeldIn(entry);
  place.entry = place.changing = &entry;
  place.lock = &held;
  if (held.named()) return held;
  assert(held.entry() == &entry);
  held.set_db(place.name.db);
  std::unique_ptr<DatabaseLocks>& database = databases_[place.name.db];
  if (!database) {
    database = std::make_unique<DatabaseLocks>(*this);
    database->db = place.name.db;
  }
  held.database_ = database.get();
  held.number_ = ++last_number_;
  database->locks.push_back(held);  // the highest number so far
  ++database->size;
  return held;
}

// Null where there is no lock that could be changed: a free name, another type, a withheld name.
Lock* HeldLocks::BeginChange(LockPlace& place) {
  if (!place.lock || IsForeign(place.lock) || IsWithheld(place.lock)) return nullptr;
  const OwnChange own(*this);
  return &Adopt(place, on_.keyspace.db(place.name.db).Modify(*place.entry, on_.clock.now()));
}

// Requires: the name is free.
Lock& HeldLocks::Create(LockPlace& place) {
  const OwnChange own(*this);
  Database& db = on_.keyspace.db(place.name.db);
  const Now now = on_.clock.now();
  // Without an entry it was looked for, and not found; one that was found may be gone.
  Entry& entry = place.entry ? db.PutValue(KeyOf(place), MakeLock(), Deadline::None(), now)
                             : db.AddValue(KeyOf(place), MakeLock(), Deadline::None(), now);
  return Adopt(place, entry);
}

// The memory is accounted and the timer set to the next moment at which something ends.
void HeldLocks::EndChange(LockPlace& place) {
  Entry& entry = *std::exchange(place.changing, nullptr);
  on_.keyspace.db(place.name.db).ValueChanged(entry);
  HeldLock& held = HeldIn(entry);
  const int64_t ends_ms = held.NextDeadlineMs();
  TimerNode& lease = held.lease_.node;
  if (ends_ms == kNoDeadline) {
    on_.timers.DisarmLease(lease);
  } else if (!lease.linked() || lease.deadline_ms() != ends_ms) {
    on_.timers.ArmLease(lease, ends_ms);
  }
}

// Order matters: a lock that is on no database is not taken for one that was lost.
void HeldLocks::Remove(LockPlace& place) {
  Entry& entry = *std::exchange(place.changing, nullptr);
  HeldLock& held = HeldIn(entry);
  Unlist(held);
  on_.timers.DisarmLease(held.lease_.node);
  {
    const OwnChange own(*this);
    on_.keyspace.db(place.name.db).DeleteFound(entry, KeyOf(place).hash);
  }
  place.entry = nullptr;
  place.lock = nullptr;
}

void HeldLocks::Delete(Database& db, HashedKey key) {
  const OwnChange own(*this);
  db.Delete(key, on_.clock.now());
}

void HeldLocks::Unlist(HeldLock& lock) {
  --std::exchange(lock.database_, &no_database_)->size;
  lock.unlink();
}

// A snapshot gets it next.
bool HeldLocks::MustWait(const LockPlace& place) {
  if (place.entry == nullptr || place.entry->type() != ValueType::kLock) return false;
  if (!on_.keyspace.MustWait(*place.entry)) return false;
  RetryLater();
  return true;
}

void HeldLocks::RetryLater() {
  if (!retry_.node.linked()) on_.timers.Arm(retry_, on_.clock.now().ms() + kReleaseRetryMs);
}

std::vector<LockName> HeldLocks::TakeDue() {
  std::vector<LockName> due = std::exchange(due_, {});
  if (!may_have_to_wait()) [[likely]]
    return due;
  const auto later = std::stable_partition(due.begin(), due.end(), [this](const LockName& name) {
    return !OpenLock(*this, name).MustWait();
  });
  due_later_.insert(due_later_.end(), later, due.end());
  due.erase(later, due.end());
  return due;
}

void HeldLocks::LeaseTimerFired(TimerNode& node) {
  auto& lease = reinterpret_cast<ValueTimer&>(node);
  const auto& entry = *lease.holder.As<const Entry>();
  due_.emplace_back(HeldIn(entry).name());
}

// --- what others do to locks

void HeldLocks::SetAside() {
  are_aside_ = true;
  for (const auto& [db, database] : databases_) {
    for (const HeldLock& lock : database->locks) {
      LockPlace place{.name = {db, lock.name().key}};
      const Entry* const entry = FindEntry(place.name);
      // Entries keep their addresses, and with them what points to them.
      aside_.push_back({LockName(lock.name()), &on_.keyspace.TakeOut(on_.keyspace.db(db), *entry)});
    }
  }
}

void HeldLocks::BringBack() {
  for (const auto& [name, entry] : std::exchange(aside_, {})) {
    Database& db = on_.keyspace.db(name.db);
    Delete(db, on_.keyspace.Hash(name.key));
    on_.keyspace.PutBack(db, *entry);
  }
  are_aside_ = false;
}

void HeldLocks::Note(LockNameView name) {
  if (are_aside_) return;
  touched_.emplace_back(name);
  on_.flags.Raise(SlowPathFlags::kServe);
}

void HeldLocks::Lost(HeldLock& lock) {
  const bool detached = lock.database_->detached;
  on_.losses.NoteAll(lock, detached ? lock.database_->loss : LockLoss::kGone);
  Unlist(lock);
  // For a detached one all has been seen to.
  if (!detached) Note(lock.name());
}

// Its holders lose it, for this reason. A crowd is emptied in O(1), and freed later.
void HeldLocks::Empty(HeldLock& lock, LockLoss why) {
  on_.losses.NoteAll(lock, why);
  if (lock.is_crowd()) {
    lock.EndAll(true);
  } else {
    lock.Break(0, on_.clock.now(), [](const LockHolder&) {});
    lock.Unwatch();
  }
  Unlist(lock);
  on_.timers.DisarmLease(lock.lease_.node);
}

void HeldLocks::Moved(Database& db, HashedKey key) {
  if (are_aside_) return;
  on_.losses.NoteOverwritten({db.index(), key.bytes});
  const Entry* const entry = db.Find(key, on_.clock.now());
  if (!entry || entry->type() != ValueType::kLock) return;
  HeldLock& held = HeldIn(*entry);
  if (held.named()) {
    Note(held.name());
    Empty(held, held.is_detached() ? held.database_->loss : LockLoss::kRenamed);
  }
  db.Delete(key, on_.clock.now());
}

void HeldLocks::Detach(int db, int goes_to, LockLoss why) {
  const auto found = databases_.find(db);
  if (found == databases_.end()) return;
  std::unique_ptr<DatabaseLocks> database = std::move(found->second);
  databases_.erase(found);
  if (database->locks.empty()) return;
  database->db = goes_to;
  database->detached = true;
  database->loss = why;
  database->is_in_image = on_.keyspace.takes_image();
  detached_.push_back(std::move(database));
}

// Loose databases follow their values to the other database, or into the garbage with -1.
void HeldLocks::DatabaseReplaced(int db, int other) {
  if (are_aside_) return;
  for (const std::unique_ptr<DatabaseLocks>& database : detached_) {
    const int at = database->db;
    if (at == db) database->db = other;
    if (at == other && other >= 0) database->db = db;
  }
  const LockLoss why = other < 0 ? LockLoss::kFlushed : LockLoss::kSwapped;
  Detach(db, other, why);
  if (other >= 0) Detach(other, db, why);
  flushed_.push_back(db);
  if (other >= 0) flushed_.push_back(other);
  on_.flags.Raise(SlowPathFlags::kServe);
}

void HeldLocks::FreeDetached(size_t budget) {
  const bool is_imaged = on_.keyspace.takes_image();
  std::erase_if(detached_, [&](const std::unique_ptr<DatabaseLocks>& database) {
    // Flushed locks are garbage, which is freed by others. While an image is taken that is all that
    // happens to them: it may still want them whole.
    if (is_imaged && database->db < 0) {
      RetryLater();
    } else {
      FreeDatabase(*database, budget);
    }
    return database->locks.empty();
  });
}

void HeldLocks::FreeDatabase(DatabaseLocks& database, size_t& budget) {
  while (!database.locks.empty() && budget > 0) {
    HeldLock& held = *database.locks.begin();
    const std::string key(held.name().key);
    LockPlace place{.name = {database.db, key}};
    // Looked up anew for each: it may have been overwritten since. Only its own lock is deleted.
    const Entry* const entry = database.db < 0 ? nullptr : FindEntry(place.name);
    const bool is_there = entry && entry->type() == ValueType::kLock && &HeldIn(*entry) == &held;
    if (is_there && on_.keyspace.MustWait(*entry)) return RetryLater();
    budget -= std::min(budget, held.is_crowd() ? 1 : held.Elements());
    if (is_there) on_.keyspace.db(database.db).BeforeChange(*entry);
    Empty(held, database.loss);
    if (is_there) Delete(on_.keyspace.db(database.db), KeyOf(place));
  }
}

}  // namespace sluice
