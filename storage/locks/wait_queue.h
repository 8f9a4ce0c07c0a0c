// WaitQueue: who waits for which locks, in the order in which they came, or count as having come.
//
// Every lock name has a line; a request for several locks stands in all of their lines and holds
// nothing meanwhile. A wait may go when each of its locks has room for it and no wait ahead of it
// in any of those lines conflicts with it: two shared requests do not conflict, everything else
// does. So shared requests do not overtake an exclusive one, small permit requests no large one,
// and a request for many locks is not starved by requests for one of them. An owner that holds a
// lock is re-entrant there, and waits for others together with it at the front.
//
// W1 wants a alone, W2 wants a and b, W3 wants b; a is held, b is free:
//
//   line a:  W1  W2          line b:  W2  W3
//
// W3 has to wait although b is free: W2 is ahead of it there. When a is released W1 goes first;
// when W1 gives a back W2 gets both at once, and W3 comes after.
//
// A request with a priority counts as having come so much earlier or later (LockRequest::ahead_ms).
// That a waiter's priority rises with time needs no step: all rise alike, so no two ever change
// places.
//
// The one exception keeps the rule from making deadlocks itself: a request for free locks whose
// only obstacle is waiters that wait, directly or not, for its own owner, which waits nowhere
// itself, goes past them.
//
// Costs. Every wait is parked at one lock that is not to be had for it (as a clause watches one of
// its literals, Moskewicz et al. 2001), and only what happens at that lock makes it looked at
// again: it goes, or is parked at another one. At a lock only the front of the line, the readers
// before the first writer and a reader that asks to write can be free to go. So arriving, leaving
// and a release cost O(names asked for, log of the line) and what they set free, however many wait.
//
// Nothing here changes locks or looks at the clock: locks.h does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "storage/hashing/sharded_map.h"
#include "storage/locks/lock.h"
#include "storage/locks/lock_name.h"
#include "storage/locks/lock_store.h"
#include "storage/memory/block_size.h"

namespace sluice {

// So that it and any engine time add up.
inline constexpr int64_t kAheadMsMax = int64_t{1} << 46;

struct LockRequest {
  std::string owner;
  LockNames names;  // at least one, all different
  LockTerms terms;
  BoxedText id;          // kept for the caller: the request's name of itself; none: it has none
  int priority = 0;      // kept for the caller, who makes ahead_ms of it
  int64_t ahead_ms = 0;  // it stands in line as if it had come so much earlier; |it| <= kAheadMsMax
  bool several = false;  // kept for the caller: it asked by MACQUIRE
  // A reader of the one lock that it names asks to be its writer. It waits ahead of all others
  // there, for other readers alone.
  bool upgrades = false;

  // Kept for the caller: so many replicas are to have the grant within so many ms; 0: as usual.
  uint32_t replicas = 0;
  uint32_t replicas_ms = 0;

  // When it counts as having come.
  int64_t CameMs(int64_t since_ms) const { return since_ms - ahead_ms; }
};

struct LockWait {
  uint64_t id = 0;  // never used again
  LockRequest request;
  uint64_t client = 0;  // of the caller; not looked at
  int64_t since_ms = 0;
  int64_t deadline_ms = kNoDeadline;  // kept for the caller: nothing here times out by itself
};

// It owns the waits; ids are never used again, so a caller may keep one and ask with Find.
class WaitQueue final : public LockWatcher {
 public:
  struct Line;
  struct Owner;
  // A wait that is ahead has less. The rank is the ms from which on it counts as waiting, and a
  // number that makes it unique. All waits of one owner in a line share it, so that one never comes
  // to stand behind a stranger because another has gone. Then follows the wait's id.
  using Rank = std::pair<int64_t, uint64_t>;
  using Spot = std::pair<Rank, uint64_t>;
  struct Place {
    Line* line;
    Spot at;
  };
  struct Queued {
    LockWait wait;
    Owner* owner;
    size_t index;                          // in the owner's waits
    absl::InlinedVector<Place, 1> places;  // one a name
    const Place* parked = nullptr;         // where it is not free to go; null: it is ready
    bool linked = false;

    bool shared() const { return wait.request.terms.shape.mode == LockMode::kShared; }
  };
  using Queue = absl::btree_map<Spot, Queued*>;
  struct Line {
    LockName name;
    uint64_t number;  // never used again
    Queue all;        // never empty
    Queue exclusive;  // all but shared ones
    Queue readers;    // shared ones that are parked here
    // Waits whose owners do or hold something besides: the rest, bystanders, lead nowhere else.
    Queue linked;
    absl::InlinedVector<Queued*, 1> upgrades;  // mostly one: two readers cannot both wait for it
  };
  // Listed while it waits, or holds a lock that is watched: one that others wait for, or of many
  // holders.
  struct Owner {
    std::string name;
    std::vector<Queued*> waits;
    absl::flat_hash_set<const Lock*> holds;
    bool is_bystander() const {
      return waits.size() == 1 && waits.front()->places.size() == 1 && holds.empty();
    }
  };

  WaitQueue(const LockFinder& locks, const SipKey& hash_key);

  enum class Obstacle : uint8_t {
    kNone,
    kQueue,         // only waiters ahead
    kHolders,       // holders, and perhaps waiters
    kLockMode,      // the owner holds one of the locks in another shape
    kOtherPermits,  // one is a semaphore of another m
  };
  // The worst obstacle to a request that came now, where it would stand; or to a wait in its place.
  // Errors weigh most, then holders. Here and below `locks` are those of the request, in its order.
  Obstacle ObstacleOf(const LockRequest& request, absl::Span<OpenLock> locks, int64_t now_ms) const;
  Obstacle ObstacleOf(const LockWait& wait) const;

  uint64_t Add(LockRequest request, absl::Span<OpenLock> locks, uint64_t client, int64_t since_ms,
               int64_t deadline_ms);
  // Whether no wait stands behind it in any of its lines.
  static bool IsLast(const Queued& queued);
  // Undoes what a priority has done for its place: it stands behind all. False: that changes
  // nothing. Requires: waits.
  bool MoveToEnd(uint64_t id);
  void Remove(uint64_t id);  // requires: waits
  void Remove(uint64_t id, absl::Span<OpenLock> locks);
  // As if it had not been added: what it has moved stands where it stood. Requires: the last that
  // was added, and nothing has come or gone since.
  void TakeBack(uint64_t id, absl::Span<OpenLock> locks);
  const LockWait* Find(uint64_t id) const;  // null when it waits no more

  // The wait of this owner for exactly these locks, in any order and on any terms; null if there is
  // none.
  const LockWait* SameAsked(const LockRequest& request) const;
  // A request for the same locks takes the place of a wait, under an id of its own. Returns what
  // was there; PutBack undoes that. Requires: `id` waits.
  LockWait Replace(uint64_t id, LockRequest request, uint64_t client, int64_t since_ms,
                   int64_t deadline_ms, uint64_t* new_id);
  void PutBack(uint64_t id, LockWait former);

  // The first wait for `lock` that may go now; null if none may, or `looks` are used up: it takes
  // one off for every wait that it looks at, and parks elsewhere each that may not go.
  const LockWait* FirstReady(OpenLock& lock, int64_t& looks);
  // The same in O(1), looking at no other lock: null as well where that one waits for others, too,
  // or to become the writer of what it holds.
  const LockWait* FirstReadyAlone(OpenLock& lock);
  // One of this owner that may go because it holds `lock` already.
  const LockWait* FirstReentrant(OpenLock& lock, std::string_view owner);
  // It was ready and does not go: it is looked at again when `name` is. Requires: waits for it.
  void ParkAt(LockNameView name, uint64_t id);

  const Line* LineOf(LockNameView name) const;  // null when it is empty
  size_t LengthOf(LockNameView name) const {
    const Line* line = LineOf(name);
    return line == nullptr ? 0 : line->all.size();
  }
  const Owner* FindOwner(std::string_view owner) const;              // null if it is not listed
  const Queued& At(uint64_t id) const { return **waits_.Find(id); }  // requires: waits
  // The waits of one owner in one line.
  using Together = absl::InlinedVector<Queued*, 1>;
  const Together* TogetherIn(const Line& line, const Owner& owner) const;  // null: none
  // Appends the names of up to `count` lines of a database, those with number `from` and above;
  // returns the number to go on with.
  uint64_t LinesOf(int db, uint64_t from, size_t count, std::vector<LockName>* names) const;
  // The first line of a database with number `from` or above; null: there is none.
  const Line* NextLine(int db, uint64_t from) const {
    const auto line = lines_by_number_.lower_bound({db, from});
    return line != lines_by_number_.end() && line->first.first == db ? line->second : nullptr;
  }
  uint64_t last_line() const { return last_line_; }
  size_t size() const { return waits_.size(); }
  // Nearly: of one wait, which is its caller's to account for; and of all lines and owners, and
  // what is free in tables.
  size_t BytesOf(uint64_t id) const { return BytesOf(At(id)); }  // requires: waits
  size_t MemoryBytes() const {
    return lines_by_number_.size() * BlockSize(sizeof(Line)) +
           owners_.size() * BlockSize(sizeof(Owner)) + waits_.free_bytes() + lines_.free_bytes() +
           owners_.free_bytes() + together_.free_bytes();
  }
  // Waits looked at since the start: for tests of the costs.
  uint64_t steps() const { return steps_; }
  // Requires: it stands in this line.
  static const Place& PlaceIn(const Queued& queued, const Line& line);

  // --- LockWatcher
  void Held(const Lock& lock, std::string_view owner) override;
  void Freed(const Lock& lock, std::string_view owner) override;

 private:
  // How the lock of a place is found: by its name, or because a caller has it open.
  using LockAt = absl::FunctionRef<const Lock*(const Place&)>;

  // The obstacle at one lock: first its holders, then waits ahead of `at` in its line. An owner
  // that holds the lock asks no line.
  Obstacle ObstacleAt(const LockRequest& request, const Lock* lock, const Line* line,
                      Spot at) const;
  Obstacle ObstacleAt(const Queued& queued, const Place& place, const Lock* lock) const;
  const Lock* LockOf(const Line& line) const { return locks_.FindLock(line.name); }
  static size_t BytesOf(const Queued& queued);
  void Keep(std::unique_ptr<Queued> queued);
  std::unique_ptr<Queued> Take(uint64_t id);  // requires: waits
  void Remove(uint64_t id, LockAt lock_at);
  // A wait stands still where it is parked: FindParking takes the first of its locks that is not to
  // be had; false when there is none. FreeToGo is the one to look at when a lock has room.
  bool FindParking(Queued& queued, LockAt lock_at);
  void Park(Queued& queued, const Place& place);
  void Unpark(Queued& queued);
  Queued* FreeToGo(Line& line, const Lock* lock);
  Line* FindLine(LockNameView name) const;
  Line& LineFor(const LockName& name);
  Owner& OwnerFor(std::string_view name);
  void DropIfIdle(Owner& owner);
  Spot SpotFor(const Queued& queued, Line& line, const Lock* lock);
  void Enter(Queued& queued, Place place);
  void Leave(Queued& queued, Place place);
  void Reseat(Queued& queued, Line& line, Rank rank);
  void MoveToFront(Queued& queued, Line& line, Rank front);
  void Drop(Line& line, const Lock* lock);
  void Link(Queued& queued, bool on);
  void LinkAsNeeded(Owner& owner);

  using Waits = ShardedMap<absl::flat_hash_map<uint64_t, std::unique_ptr<Queued>>>;
  using Lines = ShardedMap<LockNameMap<std::unique_ptr<Line>>>;
  using Owners = ShardedMap<LockNameMap<std::unique_ptr<Owner>>>;
  // Where a wait stood before another of its owner came.
  struct Moved {
    Queued* queued;
    Line* line;
    Rank former;
  };
  using TogetherMap = absl::flat_hash_map<std::pair<const Line*, const Owner*>, Together>;

  const LockFinder& locks_;
  uint64_t last_id_ = 0;
  uint64_t steps_ = 0;
  Waits waits_;
  Lines lines_;
  absl::btree_map<std::pair<int, uint64_t>, const Line*> lines_by_number_;  // of each database
  uint64_t last_line_ = 0;
  Owners owners_;  // under names of no database
  ShardedMap<TogetherMap> together_;
  std::vector<Moved> moved_;  // by the last that was added
};

}  // namespace sluice
