// MemoryLimit: `maxmemory` and what it asks for. Before a command it makes room by evicting keys,
// as `maxmemory-policy` says, and refuses what takes memory where there is none to be had.
//
// On the way of a command it costs one comparison: of what the keyspace takes, which is counted as
// it changes, with what it may take. The memory of all else (clients, scripts, waits, what is
// remembered of locks) is counted once a turn.
//
// Locks, limiters and buckets are never evicted, nor is a key that a glob of `evict-never` names. A
// command that makes one may take `maxmemory-reserved-for-locks` beyond the limit, when there is no
// room for anything else; a command that gives one back takes no memory and always runs.
//
// An eviction is an effect (DEL), an event (`evicted`), and a change that WATCH and client-side
// caching hear of. A turn evicts for `maxmemory-eviction-tenacity`, at most 1 ms: meanwhile
// commands run, as in Redis, and the rest goes in the turns that follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "server/core/parts.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

inline constexpr std::string_view kOutOfMemoryText =
    "OOM command not allowed when used memory > 'maxmemory'.";

// The memory that a request may need: none, some for what locks and limits remember, or any.
enum class MemoryNeed : uint8_t { kNone, kLocks, kAny };

// For INFO; CONFIG RESETSTAT forgets it.
struct EvictionCounts {
  uint64_t keys = 0;
  int64_t exceeded_ms = 0;        // in all, but for the time that it is exceeded now
  int64_t exceeded_since_ms = 0;  // engine time; 0: it is not
};

class MemoryLimit {
 public:
  // `parts` outlive it, and are asked from Configure on.
  explicit MemoryLimit(const Parts& parts);
  ~MemoryLimit();

  // An option has changed: maxmemory and its kin, evict-never, lfu-*.
  void Configure();
  bool is_set() const { return too_much_ != kNoLimit; }
  // At the beginning of a turn, if it is set: what all but the keyspace takes.
  void BeginTurn(size_t bytes_beside);

  // Whether there is anything to be asked.
  bool IsOver(const Keyspace& keyspace) const { return keyspace.memory_bytes() >= too_much_; }
  // Requires: IsOver. Makes room, as far as this turn may. False: there is none for that.
  bool Admits(MemoryNeed need);
  // A command begins that need not ask: there was room.
  void NotOver();
  // The command that runs has begun without room, and has not been refused by itself; a script's
  // calls ask it, as long as the script has written nothing.
  bool Lacks(MemoryNeed need) const;
  // Evicts as far as this turn may; true when there is more to do at once.
  bool Continue();
  // This turn has spent its time on evictions and needs more: no further requests are begun.
  bool has_spent_turn() const;

  EvictionCounts counts() const;
  void ResetStatistics();

 private:
  static constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
  enum class Room : uint8_t { kEnough, kSoon, kNone };
  struct State;

  bool MayEvict() const;
  bool Fits(MemoryNeed need) const;
  bool HasRoomFor(size_t more) const;
  Room MakeRoom();
  Room Evict(int64_t end_ns);
  void EvictKey(Database& db, const Entry& entry, uint64_t hash);
  void NoteRoom(Room room);

  const Parts& parts_;
  size_t too_much_ = kNoLimit;  // bytes that the keyspace must stay below
  std::unique_ptr<State> state_;
};

}  // namespace sluice
