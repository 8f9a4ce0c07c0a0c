// The keyspace: databases of entries, and the only door to them.
//
// A Database is a directory of small hash tables (segments, absl flat hash sets of packed entry
// pointers) picked by the top bits of the key's XXH3 hash under a random seed (extendible hashing,
// Fagin 1979). A segment that fills up splits in two; two sparse neighbours merge again. So no
// request waits for a big table to move, and an empty database owns nothing.
//
// `Find` reads, `Modify` and the Put / Set functions write. Those are the one place where expiry is
// checked, watchers are told, the running snapshot will save old images, changes are counted and
// memory is accounted. A key past its deadline is treated as missing from that very millisecond on,
// whether or not its timer has run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "storage/clock.h"
#include "storage/entry.h"
#include "storage/timer_wheel.h"

namespace sluice {

using Random = std::mt19937_64;

// A key and its hash, computed once (by the prefetching of a batch) and carried along.
struct HashedKey {
  std::string_view bytes;
  uint64_t hash = 0;
};

// Told of what happens to keys. `db` is the index clients use (SELECT).
class KeyspaceObserver {
 public:
  virtual ~KeyspaceObserver() = default;
  // A key was created, changed, deleted, or found expired and removed.
  virtual void KeyTouched(int db, std::string_view key) = 0;
  // A key past its deadline is being removed, by its timer or because it was met; `entry` is still
  // whole. Called before KeyTouched. late_ms: how long after its deadline.
  virtual void KeyExpired(int db, const Entry& entry, int64_t late_ms) = 0;
  // All keys of `db` go away (FLUSHDB), or change place with those of `other` (SWAPDB); called before
  // it happens. other = -1 for a flush.
  virtual void DatabaseReplaced(int db, int other) = 0;
};

class Keyspace;

class Database {
 public:
  ~Database();

  // --- reading
  // Null when missing or past its deadline (then it is removed, unless the keyspace is paused for
  // expiry: see Keyspace::set_expiry_allowed).
  const Entry* Find(HashedKey key, const Now& now);
  // As Find, and marks the access (OBJECT IDLETIME); Find is Redis's LOOKUP_NOTOUCH.
  const Entry* FindAndTouch(HashedKey key, const Now& now);
  void Prefetch(HashedKey key) const;       // brings the table's lines into the cache
  void PrefetchEntry(HashedKey key) const;  // second stage: the entry itself
  size_t size() const;
  size_t volatile_size() const;  // keys with a deadline
  // All keys, in no order; not changed meanwhile. Expired ones included: ask Expired().
  void ForEach(absl::FunctionRef<void(const Entry&)> visit) const;
  // Calls `visit` for the entries of whole hash ranges, from `cursor` (0: the start) until `count` were
  // given; returns the next cursor, 0 at the end. Cursors are below 2^48. What stays from the first to
  // the last call is given exactly once, whatever is split, merged or swapped in between.
  uint64_t Scan(uint64_t cursor, size_t count, absl::FunctionRef<void(const Entry&)> visit) const;
  const Entry* RandomEntry(Random& random) const;  // uniform; null when empty; may be expired

  // --- writing. Each tells the observer and counts a change.
  // Null when missing or expired. The caller is going to change what it points to.
  Entry* Modify(HashedKey key, const Now& now);
  // Creates or overwrites with a string. Text that is a canonical int64 is kept as an integer, as
  // Redis's tryObjectEncoding does. The deadline is `deadline` (None: the key becomes persistent).
  Entry& PutText(HashedKey key, std::string_view text, Deadline deadline, const Now& now);
  // The same without the attempt to make it an integer (INCRBYFLOAT, COPY).
  Entry& PutTextAsIs(HashedKey key, std::string_view text, Deadline deadline, const Now& now);
  Entry& PutInteger(HashedKey key, int64_t integer, Deadline deadline, const Now& now);
  Entry& PutValue(HashedKey key, std::unique_ptr<Value> value, Deadline deadline, const Now& now);
  // In-place changes of an entry got from Modify in this call; they return it, perhaps moved.
  Entry& SetText(Entry& entry, std::string_view text);     // keeps the deadline; no integer attempt
  Entry& SetInteger(Entry& entry, int64_t integer);        // keeps the deadline
  // The entry's text as a growable string, to be changed at will until the next call to the database;
  // from now on its encoding is raw. Call TextChanged when done (it accounts the memory).
  std::string& MutableText(Entry*& entry);
  void TextChanged(Entry& entry);
  Entry& SetDeadline(Entry& entry, Deadline deadline);     // None: PERSIST
  void ValueChanged(Entry& entry);                         // a Value grew or shrank: account it
  bool Delete(HashedKey key, const Now& now);              // false when missing or expired

  int index() const;  // what SELECT calls it
};

class Keyspace {
 public:
  // `wheel` outlives the keyspace. `seed` makes the hashes and so the order of SCAN repeatable.
  Keyspace(int databases, uint64_t seed, TimerWheel& wheel, KeyspaceObserver& observer);
  ~Keyspace();

  int databases() const;
  Database& db(int index);            // precondition: 0 <= index < databases(); made on first use
  bool made(int index) const;         // whether it exists already, for INFO and DBSIZE
  HashedKey Hash(std::string_view key) const;

  void Swap(int a, int b);
  // Keys are gone at once; their memory is freed now, or in slices by FreeSlice when `lazily`.
  void Flush(int index, bool lazily);
  // Frees up to `budget` entries of what was flushed lazily; false when nothing is left.
  bool FreeSlice(size_t budget);
  // Moves the entry to another database under its name. Precondition: absent there.
  void MoveEntry(Database& from, HashedKey key, Database& to, const Now& now);
  // Renames within or across databases, value and deadline kept, target overwritten.
  void Rename(Database& from, HashedKey key, Database& to, HashedKey new_key, const Now& now);

  // To be called for a fired TimerNode of kind kEntry: expires it, or re-arms it when its absolute
  // deadline has moved.
  void TimerFired(TimerNode& node, const Now& now);
  // The wall clock was stepped: re-derives the timers of absolute deadlines, `budget` entries a call;
  // true while there is more to do.
  void WallStepped();
  bool RearmSlice(const Now& now, size_t budget);

  // DEBUG SET-ACTIVE-EXPIRE 0: timers leave expired keys where they are until met.
  void set_active_expiry(bool on);
  // CLIENT PAUSE, replicas, loading: expired keys look missing but are not removed.
  void set_expiry_allowed(bool on);

  uint64_t changes() const;     // writes since the start (Redis's dirty)
  size_t memory_bytes() const;  // entries, values and tables
  // Walks everything and checks every invariant; the first violation as a sentence, or empty.
  std::string Audit(const Now& now) const;
};

}  // namespace sluice
