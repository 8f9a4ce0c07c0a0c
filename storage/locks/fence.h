// Fencing tokens (Kleppmann 2016; ZooKeeper's zxid, Chubby's sequencers): every grant of a lock
// gets a number above all earlier ones of the server, so that a write by a former holder can be
// told from one by the present holder.
//
// FenceTokens issues them: max(last + 1, wall clock in ms), 13 digits, which Lua's tostring, cjson
// and every double keep. A mark, kept durable ahead of what is issued, makes them grow over crashes
// and restored backups: after a start everything up to the mark counts as issued.
//
// Why: a lock alone cannot stop a holder that was paused beyond its lease.
//
//   A takes the lock, token 33 ... pauses ... the lease ends
//   B takes the lock, token 34, writes with FENCED 34: passes
//   A wakes up and writes with FENCED 33: refused, 34 is the newest
//
// FenceMemory knows the newest token of locks without a holder, for a bounded time and in a
// bounded space. The rule of FENCED is exact: a token passes if it is held, or is the newest of its
// lock. So forgetting is always safe: a lock without a memory lets no token pass but those held.
// The floor is the highest token forgotten.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>

#include "absl/container/flat_hash_map.h"
#include "storage/hashing/sharded_map.h"
#include "storage/locks/lock_name.h"
#include "storage/time/clock.h"

namespace sluice {

inline constexpr int64_t kTokenMax = (int64_t{1} << 53) - 1;  // what a double can hold
// The highest token that a log may tell: tokens of this server stay below it for 140,000 years, and
// whatever a log tells, half of the numbers are left.
inline constexpr int64_t kTokenRestoredMax = int64_t{1} << 52;
// So far ahead of what is issued the mark is written: for 2.8 hours, or so many grants.
inline constexpr int64_t kTokenMarkAhead = 10'000'000;
inline constexpr int64_t kTokensAtOnce = 1024;  // as many as one request may need
// Where the mark is missing, tokens start so far ahead of the wall clock: 3.2 years. A lost mark
// was ahead of the clock by what had been granted beyond 1,000 a second (a million a second make 86
// * 10^9 in a day), by kTokenMarkAhead for each restart, and by what the clock was set back since.
inline constexpr int64_t kTokenStartAhead = 100'000'000'000;

// Numbers between last() and mark() may be issued without asking the disk; nothing above mark()
// ever is. To keep the mark durable is the part of server/locks/reservation.h.
class FenceTokens {
 public:
  // `mark`: read from where it is kept, 0 if nowhere; everything up to it counts as issued.
  explicit FenceTokens(int64_t mark = 0) : last_(mark), mark_(mark) {}

  // The token that Issue gives, as far as the mark lets it; 0 when all numbers are spent. A wall
  // clock that is beyond the numbers, or before 1970, is not followed.
  int64_t Next(const Now& now) const;
  // Whether `count` tokens may be issued under the mark, one above the other.
  bool CanIssue(int64_t count) const { return last_ <= mark_ - count; }
  // Whether `count` are left from Next on. If not, and Next is not 0: write MarkFor and, once it is
  // durable, hand it to set_mark. A server that keeps nothing sets kTokenMax once.
  bool IsReserved(const Now& now, int64_t count) const;
  int64_t MarkFor(const Now& now, int64_t count) const;
  // Lower than it was where another has to keep it from now on, but not below last().
  void set_mark(int64_t mark);
  // Requires: CanIssue(1). The wall clock is followed as long as kTokensAtOnce are left behind it:
  // a mark that lies behind the clock, for the disk is slow or no lock was taken for hours, keeps
  // no caller waiting.
  int64_t Issue(const Now& now);
  // Another server's mark (a replica that is promoted): goes on above it.
  void JumpPast(int64_t mark);
  // There is no mark although there may have been one.
  void StartAhead(const Now& now);

  int64_t last() const { return last_; }
  int64_t mark() const { return mark_; }

 private:
  int64_t last_;
  int64_t mark_;
};

// Takes what is remembered, for a file.
class FenceSaver {
 public:
  virtual ~FenceSaver() = default;
  virtual void SaveFence(const LockName& name, int64_t token) = 0;
};

// Remember, Forget and Newest are O(1). A memory costs some 115 bytes and its name.
class FenceMemory {
 public:
  static constexpr int64_t kRetentionMs = 3'600'000;      // fence-retention
  static constexpr size_t kMemoryMax = 64 * 1024 * 1024;  // fence-memory-max

  explicit FenceMemory(const SipKey& hash_key) : newest_(LockNameHash(hash_key)) {}

  // Memories that a new bound leaves no room for are forgotten by FollowBounds.
  void set_retention_ms(int64_t ms) {
    retention_ms_ = ms;
    has_new_bounds_ = true;
  }
  void set_memory_max(size_t bytes) {
    memory_max_ = bytes;
    has_new_bounds_ = true;
  }
  bool has_new_bounds() const { return has_new_bounds_; }
  // A slice of it, until has_new_bounds() is false.
  void FollowBounds(const Now& now);

  // The lock was given back by its last holder.
  void Remember(LockNameView name, int64_t token, const Now& now);
  bool Forget(LockNameView name);  // its tokens are stale; false: nothing was known of it
  // The lock is held again and remembers for itself: what is known here is stale, its place is
  // kept.
  void Supersede(LockNameView name, const Now& now);
  // Forgets some of what is too old or too much, more than comes between two calls. To be called
  // now and then; Remember does. A memory that is too old counts as forgotten before that.
  void Collapse(const Now& now);
  // FLUSHDB, SWAPDB: every token up to `last` is stale. Costs nothing: what is known stays where it
  // is.
  void ForgetDatabase(int db, int64_t last) { floors_[db] = last; }
  int64_t Newest(LockNameView name, const Now& now) const;  // 0 when nothing is remembered
  // The same, with what is in doubt or too old; or the last token when its database was flushed.
  int64_t NewestTold(LockNameView name) const;

  int64_t FloorOf(int db) const;  // the last token when the database was flushed; 0: it never was

  // After a start in which grants may be missing: each token up to this one may have been followed
  // by one that nothing here knows, so none of them passes by being remembered.
  void DoubtUpTo(int64_t token) { doubted_ = std::max(doubted_, token); }
  int64_t doubted() const { return doubted_; }

  // Nothing is remembered any more, no floor is left and nothing is in doubt. Returns what was, for
  // its destructor takes O(memories). Requires: no image is being taken.
  struct All;
  All TakeAll();

  // A log was played at a moment so long before: what it told is remembered from now on.
  void Shift(int64_t ms) { shift_ms_ += ms; }
  // Visits the memories of locks that are not held, oldest first; some may be too old.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Memory& memory : order_) {
      if (memory.token != 0) visit(memory.name, memory.token);
    }
  }
  // An image of this instant, a slice at a time: a memory that changes before its turn has come is
  // given to the saver first. A memory forgotten meanwhile may be missing. The saver lives until
  // ImageSlice has answered false, or EndImage was called.
  void BeginImage(FenceSaver& saver);
  bool ImageSlice(size_t budget, const Now& now);  // false when all were given
  void EndImage() { saver_ = nullptr; }
  // After a start without the memories of before: everything issued until then is forgotten.
  void RaiseFloor(int64_t token) { floor_ = std::max(floor_, token); }
  int64_t floor() const { return floor_; }
  size_t size() const { return newest_.size(); }
  size_t memory_bytes() const { return memory_bytes_; }

 private:
  struct Memory {
    LockName name;
    int64_t token;
    int64_t since_ms;  // without shift_ms_
    uint64_t serial;   // grows along the order
  };
  using Order = std::list<Memory>;
  // Names are views of those in the list, whose elements keep their places.
  using NewestMap =
      ShardedMap<absl::flat_hash_map<LockNameView, Order::iterator, LockNameHash, LockNameEqual>>;

  static size_t BytesOf(const Memory& memory);
  bool IsOver(const Memory& memory, const Now& now) const {
    return now.ms() - (memory.since_ms + shift_ms_) >= retention_ms_;
  }
  bool HasTooMuch(const Now& now) const {
    return !order_.empty() && (memory_bytes_ > memory_max_ || IsOver(order_.front(), now));
  }
  void Expunge(Memory& memory, const Now& now);
  // Out of list and map.
  void Drop(Order::iterator place);
  void DropOldest();
  void Give(const Memory& memory, const Now& now);

  int64_t retention_ms_ = kRetentionMs;
  int64_t shift_ms_ = 0;  // of engine time, since memories were first made
  size_t memory_max_ = kMemoryMax;
  bool has_new_bounds_ = false;
  int64_t floor_ = 0;
  int64_t doubted_ = 0;
  size_t memory_bytes_ = 0;
  absl::flat_hash_map<int, int64_t> floors_;  // of databases that were flushed or swapped
  Order order_;                               // oldest first
  NewestMap newest_;
  uint64_t last_serial_ = 0;
  // The image that is being taken: its saver, the next memory to give, the serial of its last one.
  FenceSaver* saver_ = nullptr;
  Order::iterator image_next_;
  uint64_t image_last_ = 0;
};

struct FenceMemory::All {
  Order order;
  NewestMap newest;
};

}  // namespace sluice
