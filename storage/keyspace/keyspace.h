// The keyspace: databases of entries, and the only door to them.
//
// A Database is a directory of small hash tables (segments, absl flat hash sets of packed entry
// pointers) picked by the top bits of the key's hash under a secret key (extendible hashing, Fagin
// 1979). A segment that fills up splits in two; two sparse neighbours merge again. So no request
// waits for a big table to move, and an empty database owns nothing.
//
// The Keyspace owns its databases, a Database its entries and their values, an entry the text or
// value that lies outside its block. The timer wheel is handed in; an entry's node is linked into
// it and carries no pointer back, as its address says whose it is.
//
// `Find` reads, `Modify` and the Put / Set functions write. They are the one place where expiry is
// checked, watchers are told, the running snapshot saves old images, changes are counted and memory
// is accounted. A key past its deadline is treated as missing from that very millisecond on,
// whether or not its timer has run.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/keyspace/database.h"
#include "storage/keyspace/entry.h"
#include "storage/time/clock.h"
#include "storage/time/timer_wheel.h"

namespace sluice {

// Costs: all single-key operations are O(1). Swap and Flush are O(1) whatever the databases hold,
// but for a flush of few keys, which frees them. Work of O(n) comes in slices with a budget:
// FreeSlice, RearmSlice, ImageSlice. The engine calls those every turn.
class Keyspace {
 public:
  static constexpr int kDatabasesMax = 256;  // an entry has a byte for its database
  // `wheel` outlives the keyspace. All keys of hashes are made from `master`, in a fixed order. It
  // is to be secret; the same one gives the same hashes, and so the same order of SCAN.
  Keyspace(int databases, const TableKey& master, TimerWheel& wheel, KeyspaceObserver& observer);
  Keyspace(int databases, const SipKey& master, TimerWheel& wheel, KeyspaceObserver& observer)
      : Keyspace(databases, TableKey(master), wheel, observer) {}
  ~Keyspace();

  int databases() const { return static_cast<int>(by_index_.size()); }
  Database& db(int index) {  // requires: 0 <= index < databases(); made on first use
    assert(index >= 0 && index < databases());
    return made(index) ? *by_index_[index] : MakeDatabase(index);
  }
  bool made(int index) const { return by_index_[index] != nullptr; }  // exists already (INFO)
  HashedKey Hash(std::string_view key) const { return {key, HashName(key, state_.hash_key)}; }
  const HashKeys& hash_keys() const { return hash_keys_; }
  HashKeys& hash_keys() { return hash_keys_; }  // for the tables of values, and temporary ones
  ScanCache& scan_cache() { return state_.scan_cache; }  // for pages of those

  void Swap(int a, int b);
  // Keys are gone at once; their memory is freed now, or in slices by FreeSlice when `lazily` or
  // when they are many (as that of big values always is).
  void Flush(int index, bool lazily);
  // Frees up to `budget` entries of what was flushed lazily, the newest first, and pieces of big
  // values that were deleted or overwritten; false when nothing is left but what an image still
  // needs.
  bool FreeSlice(size_t budget);
  // So many entries and big values.
  size_t waiting_to_be_freed() const {
    return state_.reclaimer.waiting() + (garbage_.empty() ? 0 : flushed_to_be_freed());
  }
  // Memory that is soon free without any key going: flushed databases, whose bytes are not known,
  // and deleted values. O(values that wait).
  bool any_flushed() const { return !garbage_.empty(); }
  // Blocks of entries are given back some at a time: all of them, before their pages are looked at.
  void FreeBlocks() { state_.free_blocks.FreeAll(); }
  size_t values_to_free() const { return state_.reclaimer.waiting(); }
  size_t bytes_to_free() const { return state_.reclaimer.accounted(); }
  // Moves the entry to another database under its name. Requires: absent there.
  void MoveEntry(Database& from, HashedKey key, Database& to, const Now& now);
  // Takes an entry without a deadline out of its database, as it is, for PutBack, into whichever
  // database is then to have it. Nobody is told. Precondition of the latter: absent there.
  Entry& TakeOut(Database& from, const Entry& found);
  void PutBack(Database& to, Entry& entry);
  // Renames within or across databases, value and deadline kept, target overwritten.
  void Rename(Database& from, HashedKey key, Database& to, HashedKey new_key, const Now& now);

  // --- an image of one instant, see keyspace_image.h
  // Requires: none is being taken. `saver` is called until ImageSlice answers false.
  void BeginImage(EntrySaver& saver);
  // Gives the saver some `budget` entries; false when all were given. Timers that have fired in
  // vain meanwhile are set by the present, `now`.
  bool ImageSlice(const Now& now, size_t budget);
  // The saver is called no more; ImageSlice goes on as before.
  void AbandonImage();
  bool takes_image() const { return state_.image.is_taken(); }
  const KeyspaceImage& image() const { return state_.image; }
  // Whether a change of this entry has to wait until it has been given: see KeyspaceImage.
  bool MustWait(const Entry& entry) { return state_.image.MustWait(entry); }
  void set_image_large_bytes(size_t bytes) { state_.image.set_large_bytes(bytes); }  // for tests

  // To be called for a fired TimerNode of kind kEntry: expires it, or re-arms it when its absolute
  // deadline has moved.
  void TimerFired(TimerNode& node, const Now& now);
  // To be called for a fired TimerNode of kind kValue: tells the observer, ValueDue.
  void ValueTimerFired(TimerNode& node, const Now& now);
  // The wall clock was stepped, or a switch below was turned on again: call RearmSlice every turn
  // while it answers that there is more to do. It re-derives the timers of absolute deadlines and
  // sets those again that fired in vain, some `budget` entries a call. Costs nothing where there
  // are none.
  void WallStepped();
  bool RearmSlice(const Now& now, size_t budget);

  // DEBUG SET-ACTIVE-EXPIRE 0: timers leave expired keys where they are until met. Turning this or
  // the next on again sets those that have fired: see RearmSlice.
  void set_active_expiry(bool on);
  // CLIENT PAUSE, replicas, loading: expired keys look missing but are not removed.
  void set_expiry_allowed(bool on);

  // Engine time is so much later from now on (Clock::Shift): what it has measured is not.
  void TimeShifted(int64_t ms) { state_.TimeShifted(ms); }
  int64_t AccessSeconds(const Now& now) const { return state_.AccessClock(now); }
  int64_t AccessClock(const Now& now) const {  // as an entry keeps it
    return state_.AccessClock(now) & Database::kAccessClockMask;
  }

  // How accesses are marked from here on: counted, or (null) by their time. Marks in entries stay
  // and are read in the new way, as in Redis. It outlives the keyspace, or is taken back.
  void set_access_count(AccessCount* count) { state_.access_count = count; }
  const AccessCount* access_count() const { return state_.access_count; }

  uint64_t changes() const { return state_.changes; }  // writes since the start (Redis's dirty)
  // While it stays the same, an entry that was found is where it was: see Database::Suggest.
  uint64_t moves() const { return state_.moves; }
  // Entries, values and tables, those awaiting FreeSlice included.
  size_t memory_bytes() const { return state_.memory_bytes; }
  // Walks everything and checks every invariant; the first violation as a sentence, or empty.
  std::string Audit(const Now& now) const;

 private:
  // A table that FLUSHDB has taken away, until it is freed.
  struct Flushed {
    std::unique_ptr<SlotKeys> slot_keys;  // null: there is none, or it is freed
    SegmentTable table;
    bool of_image = false;  // was flushed while that was taken
  };
  Database& MakeDatabase(int index);
  size_t flushed_to_be_freed() const;
  bool IsNeeded(const Flushed& flushed) const;  // by the image that is taken
  bool ImageFirstPart();                        // false: no entry has to be given first
  // Up to `budget` entries; returns how many. What has them by slots goes first.
  size_t Drain(Flushed& flushed, size_t budget);
  void RestartRearming();
  bool any_parked() const;

  HashKeys hash_keys_;
  KeyspaceState state_;
  std::vector<std::unique_ptr<Database>> made_;  // by database id, which is the order of first use
  std::vector<Database*> by_index_;              // null: not made yet
  // Flushed lazily. Their timers stay linked until an entry is freed: one that fires before is
  // known by its not being in the table of its database any more.
  std::list<Flushed> garbage_;
  bool rearming_ = false;
  size_t rearm_database_ = 0;    // index into made_
  uint64_t rearm_position_ = 0;  // of SegmentTable::Walk
};

}  // namespace sluice
