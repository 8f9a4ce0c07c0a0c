// A Database: entries found by key, and everything that may happen to one. See keyspace.h for the
// rules; this is the part of it that handlers see most.
//
// How a change goes: a handler finds the entry (Find), decides, and only then asks for the right to
// change it (Modify). So a refused command leaves no trace: no watcher is told, no old image saved.
//
//   const Entry* found = db.Find(key, now);
//   if (found == nullptr || !found->is_string()) return ...;
//   Entry& entry = db.SetInteger(db.Modify(*found, now), 17);     // may have moved: use the result
//
// Every function that writes may move the entry to another block. So each returns where it lies,
// and pointers and views from before are void after it.
//
// Invariants: an entry that is volatile has a linked timer, or is counted as parked; memory, counts
// and table agree with the entries; every entry carries the database's id.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/attributes.h"
#include "absl/functional/function_ref.h"
#include "protocol/text/same_bytes.h"
#include "storage/hashing/key_hash.h"
#include "storage/keyspace/access_count.h"
#include "storage/keyspace/entry.h"
#include "storage/keyspace/keyspace_image.h"
#include "storage/keyspace/reclaimer.h"
#include "storage/keyspace/segment_table.h"
#include "storage/keyspace/slot_keys.h"
#include "storage/memory/free_later.h"
#include "storage/time/clock.h"
#include "storage/time/timer_wheel.h"

namespace sluice {

class Database;

// Told of what happens to keys. `db` is the index clients use (SELECT). The callbacks run in the
// middle of a change: but for the last they must not touch the keyspace, not even to read it.
class KeyspaceObserver {
 public:
  virtual ~KeyspaceObserver() = default;
  // A key was created, changed or deleted.
  virtual void KeyTouched(int db, std::string_view key) = 0;
  // A key past its deadline is being removed, by its timer or because it was met; `entry` is still
  // whole. KeyTouched is not called for it. late_ms: how long after its deadline.
  virtual void KeyExpired(int db, const Entry& entry, int64_t late_ms) = 0;
  // The same of a key without a deadline of its own, or not past it: its value is over.
  virtual void ValueIsOver(int, const Entry&) {}
  // A key is looked for by its name, to be read or written. Only in builds that assert.
  virtual void KeyLookedUp(int, std::string_view) {}
  // A key has come to be, under this name, where none was.
  virtual void KeyCreated(int, std::string_view) {}
  // All keys of `db` go away (FLUSHDB), or change place with those of `other` (SWAPDB); called
  // before anything of it has happened, so that here Find may be used. other = -1 for a flush. One
  // call a flush or swap.
  virtual void DatabaseReplaced(int db, int other) = 0;
  // The time has come that Value::NextDueMs named, and the value is not over. Not in the middle of
  // a change: the value may be changed here, and its key deleted; call ValueChanged.
  virtual void ValueDue(Database&, HashedKey, Entry&) {}
};

// The state that the databases of a keyspace share. Owned by Keyspace, which outlives its
// databases. Times are engine ms where not said otherwise.
struct KeyspaceState {
  TimerWheel& wheel;
  KeyspaceObserver& observer;
  // One for all databases: SWAPDB takes keys from one to another, and a request is hashed once.
  const KeyspaceKey hash_key;
  Now now;  // the latest one handed to a write: SetDeadline follows it
  size_t memory_bytes = 0;
  Reclaimer reclaimer{memory_bytes};
  FreeLater free_blocks;  // of entries
  KeyspaceImage image;
  ScanCache scan_cache;
  size_t values_timed = 0;       // timers of values that are linked
  uint64_t moves = 0;            // entries, or whole tables, that left their place or were freed
  int64_t access_origin_ms = 0;  // engine time at which OBJECT IDLETIME's clock is 0
  int64_t clock_read_us = INT64_MIN;  // when AccessClockOfTurn was worked out
  int64_t clock_read = 0;
  // Never negative, and in what an entry keeps of it the same: a log is played long before the
  // origin.
  int64_t AccessClock(const Now& at) const {
    constexpr int64_t kBeforeAllMs = (int64_t{1} << 32) * 1000;
    return (at.ms() - access_origin_ms + kBeforeAllMs) / 1000;
  }
  // The same for marks: of all accesses of a turn it is worked out once.
  int64_t AccessClockOfTurn(const Now& at) {
    if (at.steady_us != clock_read_us) [[unlikely]]
      ReadAccessClock(at);
    return clock_read;
  }
  void ReadAccessClock(const Now& at);
  // Accesses at that moment are marked with clock_read, as it is.
  bool MarksByClockOf(const Now& at) const {
    return at.steady_us == clock_read_us && access_count == nullptr;
  }
  void TimeShifted(int64_t ms) {
    access_origin_ms += ms;
    clock_read_us = INT64_MIN;
  }
  // Null: the last access is marked by its time. Else by how many there were.
  AccessCount* access_count = nullptr;
  // Changes in all databases since the start: what Redis calls dirty.
  uint64_t changes = 0;
  // Off: timers that fire leave their keys (DEBUG SET-ACTIVE-EXPIRE 0).
  bool active_expiry = true;
  // Off: no key is removed for its age, be it met or timed; it only looks missing.
  bool expiry_allowed = true;
};

class Database {
 public:
  // An entry keeps the seconds of its last access in three bytes: they wrap after 194 days.
  static constexpr int64_t kAccessClockMask = (1 << 24) - 1;

  ~Database();

  // --- reading
  // Null when missing or expired, by its own deadline or because its value is over (then it is
  // removed, unless the keyspace is paused for expiry: see Keyspace::set_expiry_allowed).
  const Entry* Find(const HashedKey& key, const Now& now);
  // The entry that lies there, past its deadline or not; nothing is removed.
  const Entry* FindEvenExpired(HashedKey key) const { return LookUp(key); }
  // As Find, and marks the access (OBJECT IDLETIME); Find is Redis's LOOKUP_NOTOUCH.
  const Entry* FindAndTouch(const HashedKey& key, const Now& now);
  // Bring what Find will look at into the cache, in steps: each needs what the one before it has
  // fetched, so each is called for many keys before the next, and nothing changes meanwhile. The
  // second returns null for a key that is surely missing. The last returns what Find is likely to
  // find; then Entry's may follow.
  void PrefetchSegment(HashedKey key) const { table_.PrefetchSegment(key.hash); }
  void Prefetch(HashedKey key) const { table_.Prefetch(key.hash); }
  const PackedPointer* PrefetchSlot(HashedKey key) const { return table_.PrefetchSlot(key.hash); }
  static const Entry* PrefetchEntry(const PackedPointer& slot) {
    return SegmentTable::PrefetchElement(slot);
  }
  // What PrefetchEntry has returned for the key that is looked for next: the table need not be
  // asked for it then. Requires: Keyspace::moves() is what it was at that moment.
  void Suggest(HashedKey key, const Entry& likely) {
    suggested_ = const_cast<Entry*>(&likely);
    suggested_hash_ = key.hash;
  }
  // Keys, those included that are past their deadline and not removed yet.
  size_t size() const;
  size_t volatile_size() const;                          // keys with a deadline
  size_t timed_values() const { return timed_values_; }  // keys whose value ends in parts
  // How long keys with a deadline have left on average, ms: of all, or, where there are more than
  // some thousand keys, of as many, which are a fair sample: their order is that of keyed hashes.
  int64_t MeanTtlMs(const Now& now) const;
  size_t table_bytes() const { return table_.table_bytes(); }  // by walking its segments
  // So many keys are about to be put into it, which is empty: see SegmentTableOf.
  void Expect(size_t keys) { table_.Expect(keys); }
  void ExpectNoMore() { table_.ExpectNoMore(); }
  // All keys, in no order; not changed meanwhile. Expired ones included: ask Expired().
  void ForEach(absl::FunctionRef<void(const Entry&)> visit) const;
  // Calls `visit` for the entries of a range of hashes, from `cursor` (0: the start), `count` or a
  // few more (PageSlack) where there are so many; returns the next cursor, 0 at the end. Any number
  // may be given as a cursor; those returned are below four times the number of keys, in the main
  // (see scan_order.h). An entry that stays from the first to the last call is given exactly once,
  // whatever is split, merged or swapped in between.
  uint64_t Scan(uint64_t cursor, size_t count, absl::FunctionRef<void(const Entry&)> visit) const;

  // From here on keys are kept by the slots of a cluster, too. O(keys).
  void KeepBySlots();
  const SlotKeys* slot_keys() const { return slot_keys_.get(); }  // null: they are not
  const Entry* RandomEntry(Random& random) const;  // uniform; null when empty; may be expired
  // For a choice among all keys, without order: gives the entries of the segment (some 300) of hash
  // `position`, which nothing changes meanwhile; returns where the next one begins, 0 at the end.
  uint64_t WalkSegment(uint64_t position, absl::FunctionRef<void(const Entry&)> visit) const {
    return table_.Walk(position, 1, visit);
  }
  uint64_t HashOf(const Entry& entry) const;
  // Whether this very entry, which is not read, is in it.
  bool Holds(const Entry& entry, uint64_t hash) const { return table_.Holds(entry, hash); }

  // --- writing. Each tells the observer and counts a change.
  // Null when missing or expired. The caller is going to change what it points to.
  Entry* Modify(HashedKey key, const Now& now);
  // The same for an entry that Find or FindAndTouch has just given: no second look-up.
  Entry& Modify(const Entry& found, const Now& now);
  // As that, but the observer is not told: what changes is no content of the key in the eyes of
  // WATCH (the book-keeping of a stream's groups).
  Entry& ModifyUnseen(const Entry& found, const Now& now);
  // Creates or overwrites with a string. Text that is a canonical int64 is kept as an integer, as
  // Redis's tryObjectEncoding does. The deadline is `deadline` (None: the key becomes persistent).
  Entry& PutText(const HashedKey& key, std::string_view text, Deadline deadline, const Now& now);
  // The same without the attempt to make it an integer (INCRBYFLOAT, COPY).
  Entry& PutTextAsIs(const HashedKey& key, std::string_view text, Deadline deadline,
                     const Now& now);
  // The same without a copy; its encoding is raw.
  Entry& PutRawText(HashedKey key, TextBlock text, Deadline deadline, const Now& now);
  Entry& PutInteger(HashedKey key, int64_t integer, Deadline deadline, const Now& now);
  // The database owns the value from here on, packed if it is small enough.
  Entry& PutValue(HashedKey key, std::unique_ptr<Value> value, Deadline deadline, const Now& now);
  // A value of that type in its packed form (packed_value.h).
  Entry& PutPacked(HashedKey key, ValueType type, std::string_view packed, Deadline deadline,
                   const Now& now);
  // The same two under a key that Find has just not found: no second look-up.
  Entry& AddValue(HashedKey key, std::unique_ptr<Value> value, Deadline deadline, const Now& now);
  Entry& AddPacked(HashedKey key, ValueType type, std::string_view packed, Deadline deadline,
                   const Now& now);
  // PutText under a key that Find has just been asked for: no second look-up. Null: it was missing.
  Entry& PutTextOver(const Entry* found, const HashedKey& key, std::string_view text,
                     Deadline deadline, const Now& now);
  // In-place changes of an entry got from Modify in this call; they return it, perhaps moved.
  Entry& SetText(Entry& entry, std::string_view text);  // keeps the deadline; no integer attempt
  Entry& SetInteger(Entry& entry, int64_t integer);     // keeps the deadline
  // The entry's text as a growable string, to be changed at will until the next call to the
  // database; from now on its encoding is raw. Call TextChanged when done (it accounts the memory).
  TextBlock& MutableText(Entry*& entry);
  void TextChanged(Entry& entry);
  // The string that Find has just given keeps its text and is shown as raw from now on. No change
  // of the key: the observer is not told.
  void MakeRaw(const Entry& found, const Now& now);
  // None: PERSIST; it may have passed. A value that ends by itself (Value::EndsAtMs) gets no later
  // deadline than that.
  Entry& SetDeadline(Entry& entry, Deadline deadline);
  // The packed form of the entry's value in a new state, and the deadline that comes with it.
  Entry& SetPacked(Entry& entry, std::string_view packed, Deadline deadline);
  // The same where neither its length nor the deadline changes.
  static void OverwritePacked(Entry& entry, std::string_view packed) {
    assert(entry.is_packed() && entry.packed().size() == packed.size());
    std::memcpy(entry.base() + entry.value_offset(), packed.data(), packed.size());
  }
  // The object that a packed value becomes, of the same type; keeps the deadline.
  Entry& SetValue(Entry& entry, std::unique_ptr<Value> value);
  // Packs an object that takes about half of the room, so that one which goes up and down does not
  // move with each change. Requires: the value is an object, and accounted.
  Entry& PackIfSmall(Entry& entry);
  // A Value grew or shrank, or is due at another time: accounts it, sets its timer.
  void ValueChanged(Entry& entry);
  // Frees, in slices, what a value has become too large for; ValueChanged follows.
  void Discard(std::unique_ptr<Value> part);
  // Frees it at once, or leaves it to the reclaimer if it is large. False when missing or expired;
  // one that only looks missing (set_expiry_allowed) goes, too.
  bool Delete(HashedKey key, const Now& now);
  // Removes one that is past its deadline, and tells it as any such, though none goes by itself now
  // (set_expiry_allowed). False: there is none, or it has to stay for now.
  bool RemoveOverdue(HashedKey key, const Now& now);
  // As Delete, of an entry that is known. Requires: held, and no image waits for it.
  void DeleteFound(const Entry& entry, uint64_t hash);

  // The clock of OBJECT IDLETIME, in seconds, of which an entry keeps 24 bits.
  int64_t AccessClock(const Now& now) const { return state_.AccessClock(now); }
  int64_t IdleSeconds(const Entry& entry, const Now& now) const {
    return (AccessClock(now) - entry.access_clock()) & kAccessClockMask;
  }
  // The entry will be changed by other ways than Modify.
  void BeforeChange(const Entry& found) { state_.image.BeforeChange(const_cast<Entry&>(found)); }
  // As RESTORE IDLETIME and loading want it; modulo 2^24.
  void SetAccessClock(Entry& entry, uint32_t seconds);
  // Whether accesses are counted: then IdleSeconds means nothing, else the next two.
  bool counts_accesses() const { return state_.access_count != nullptr; }
  uint32_t AccessCounter(const Entry& entry, const Now& now) const {
    return state_.access_count->CounterAt(entry.access_clock(), AccessClock(now));
  }
  int64_t AccessAge(const Entry& entry, const Now& now) const {
    return AccessCount::Age(entry.access_clock(), AccessClock(now));
  }
  // For an entry that is met on a walk: AccessCount::Settled.
  void SettleAccess(const Entry& found, const Now& now) {
    const_cast<Entry&>(found).set_access_clock(
        state_.access_count->Settled(found.access_clock(), AccessClock(now)));
  }
  void SetAccessCounter(Entry& entry, uint32_t counter, const Now& now) {
    entry.set_access_clock(AccessCount::Bits(counter, AccessClock(now)));
  }

  int index() const { return index_; }  // what SELECT calls it

 private:
  friend class EntryMover;
  friend class Keyspace;

  Database(KeyspaceState& state, uint8_t id, int index);

  // --- finding
  // The entry that was suggested, if it is that of the key; else null, and the table is to be
  // asked.
  ABSL_ATTRIBUTE_ALWAYS_INLINE Entry* Suggested(const HashedKey& key) const {
    if (suggested_hash_ != key.hash || !suggested_ || !SameBytes(suggested_->key(), key.bytes))
      return nullptr;
    assert(suggested_ == table_.Find(key));
    return suggested_;
  }
  Entry* LookUp(const HashedKey& key) const {
    Entry* const suggested = Suggested(key);
    return suggested ? suggested : table_.Find(key);
  }
  // Both remove an expired entry where that is allowed.
  Entry* FindLive(const HashedKey& key, const Now& now);  // null when expired
  // An expired one that has to stay is found.
  Entry* FindToReplace(const HashedKey& key, const Now& now);
  // The ways where nothing was suggested, or what was has expired.
  Entry* FindLiveInTable(const HashedKey& key, const Now& now);
  Entry* FindInTableToReplace(const HashedKey& key, const Now& now);
  Entry* FindInTableAndTouch(const HashedKey& key, const Now& now);
  Entry& Touched(Entry& entry, const Now& now);
  void TellLookUp([[maybe_unused]] std::string_view key) {
#ifndef NDEBUG
    state_.observer.KeyLookedUp(index_, key);
#endif
  }
  Entry* MeetExpired(Entry& entry, uint64_t hash, const Now& now);
  void Touch(std::string_view key);
  void MarkAccess(Entry& entry, const Now& now);
  void MarkNew(Entry& entry, const Now& now);

  // --- changing. A payload may point into the entry that it replaces.
  Entry& Put(const HashedKey& key, const EntryPayload& payload, Deadline deadline, const Now& now) {
    return PutOver(FindToReplace(key, now), key, payload, deadline, now);
  }
  // `entry`: what is there; null: nothing.
  Entry& PutOver(Entry* entry, const HashedKey& key, const EntryPayload& payload, Deadline deadline,
                 const Now& now);
  Entry& PutTextAt(Entry* entry, const HashedKey& key, std::string_view text, Deadline deadline,
                   const Now& now);
  Entry& PutValueOver(Entry* entry, const HashedKey& key, std::unique_ptr<Value> value,
                      Deadline deadline, const Now& now);
  bool PutInPlace(Entry* entry, const HashedKey& key, std::string_view text, Deadline deadline,
                  const Now& now);
  Entry& PutTextAsIsAt(Entry* entry, const HashedKey& key, std::string_view text, Deadline deadline,
                       const Now& now);
  static bool HasRoomFor(const Entry& entry, std::string_view text);
  void AssignInPlace(Entry& entry, std::string_view text);
  // The entry with another payload or kind of deadline, in place or in a new block. A timer that it
  // gets is not armed yet; one that it loses is cancelled.
  Entry& Reshape(Entry& entry, const EntryPayload& payload, bool is_volatile, bool is_absolute);
  // As Reshape, and frees what the old payload pointed to.
  Entry& Overwrite(Entry& entry, const EntryPayload& payload, bool is_volatile, bool is_absolute);
  // Puts `object` in the place of the one outside, which says the same, and frees that.
  void ReplaceOutside(Entry& entry, const void* object);
  Entry& OverwriteKeepingDeadline(Entry& entry, const EntryPayload& payload);
  Entry& Rehouse(Entry& old, const EntryShape& shape, std::string_view key,
                 const EntryPayload& payload);
  Deadline Storable(Deadline deadline) const;
  Deadline NotAfterItsEnd(const Entry& entry, Deadline deadline) const;
  void Arm(Entry& entry, Deadline deadline);
  void AccountOutside(Entry& entry);
  void SetValueTimer(Entry& entry);
  void FollowEntry(Entry& entry);
  static void RetireValue(KeyspaceState& state, Value& value);

  // Find may not show what is there, and past its deadline.
  bool HidesEntries() const { return !state_.expiry_allowed || state_.image.is_taken(); }

  // --- coming and going
  void Adopt(Entry& entry, uint64_t hash);    // into table and counts
  void Release(Entry& entry, uint64_t hash);  // out of them; its timer stays as it is
  void Replace(const Entry& from, Entry& to, uint64_t hash);  // in the table
  // Before an entry of it leaves its place, or is freed.
  void EntryMoves() {
    suggested_ = nullptr;
    ++state_.moves;
  }
  void Remove(Entry& entry, uint64_t hash);
  void RemoveExpired(Entry& entry, uint64_t hash, const Now& now);
  // Whether a key whose time is over may go. Else it looks missing, and stays.
  bool MayRemove(const Entry& entry) {
    return state_.expiry_allowed && !state_.image.MustWait(entry);
  }
  static void Destroy(KeyspaceState& state, Entry& entry);  // one that was released

  // --- for Keyspace
  // All entries, and what has them by slots (null: nothing), which are to be freed before them.
  SegmentTable TakeAll(std::unique_ptr<SlotKeys>& slot_keys);
  void TimerFired(Entry& entry, uint64_t hash, const Now& now);
  void ValueTimerFired(Entry& entry, uint64_t hash, const Now& now);
  bool any_parked() const { return parked_ > 0; }  // keys whose timer has fired in vain
  bool needs_rearming() const { return absolute_ + parked_ + state_.values_timed > 0; }
  void Rearm(Entry& entry, const Now& now);
  // Adds its timers and bytes to what the keyspace compares with the whole.
  std::string Audit(size_t& linked, size_t& memory) const;
  static bool ValueIsTimed(const Entry& entry);
  std::string AuditEntry(const Entry& entry) const;
  std::string AuditSlots() const;

  KeyspaceState& state_;
  const uint8_t id_;  // what its entries carry; stays when SWAPDB changes the index
  int index_;
  size_t volatile_ = 0;
  size_t timed_values_ = 0;  // entries with Entry::kMayEnd
  size_t absolute_ = 0;
  // Volatile and not linked: its timer fired when nothing might be removed (or, for a moment, it is
  // about to be armed).
  size_t parked_ = 0;
  Entry* suggested_ = nullptr;  // by Suggest; null: nothing is, or what was has left its place
  uint64_t suggested_hash_ = 0;
  std::unique_ptr<SlotKeys> slot_keys_;
  SegmentTable table_;
};

// --- on the way of every command, inline

ABSL_ATTRIBUTE_ALWAYS_INLINE inline Entry* Database::FindToReplace(const HashedKey& key,
                                                                   const Now& now) {
  TellLookUp(key.bytes);
  state_.now = now;
  Entry* const entry = Suggested(key);
  if (entry && !entry->Expired(now)) [[likely]]
    return entry;
  return FindInTableToReplace(key, now);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline Entry* Database::FindLive(const HashedKey& key,
                                                              const Now& now) {
  TellLookUp(key.bytes);
  state_.now = now;
  Entry* const entry = Suggested(key);
  if (entry && !entry->Expired(now)) [[likely]]
    return entry;
  return FindLiveInTable(key, now);
}

// WATCH and client-side caching learn of the change here, before it happens.
inline void Database::Touch(std::string_view key) {
  state_.observer.KeyTouched(index_, key);
  ++state_.changes;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Database::MarkAccess(Entry& entry, const Now& now) {
  const int64_t clock = state_.AccessClockOfTurn(now);
  if (counts_accesses()) [[unlikely]]
    return entry.set_access_clock(state_.access_count->Used(entry.access_clock(), clock));
  entry.set_access_clock(static_cast<uint32_t>(clock));
}

}  // namespace sluice
