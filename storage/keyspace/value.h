// The values of keys. Strings live inside their Entry, long ones in a TextBlock beside it; every
// other type is a Value object that the entry owns, or its packed form (packed_value.h). A type
// decodes, measures and names itself, so that nothing else lists the types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/memory/packed_pointer.h"
#include "storage/time/clock.h"
#include "storage/time/timer_wheel.h"

namespace sluice {

// The numbers stand in entries alone; files have types of their own (storage/rdb/rdb_types.h).
enum class ValueType : uint8_t {
  kString,
  kList,
  kSet,
  kSortedSet,
  kHash,
  kStream,  // Redis's
  kLimiter,
  kLeakyBucket,
  kLock,  // ours
};

// Whether no Redis can hold it.
constexpr bool IsOurs(ValueType type) { return type >= ValueType::kLimiter; }

// The word that TYPE answers: "string", "zset", "leakybucket" ...
std::string_view TypeName(ValueType type);

// Value::EndsAtMs of a value that stays until a command removes it.
inline constexpr int64_t kEndsNever = INT64_MAX;

// The holder of a value: the Entry, which derives from it.
struct ValueHolder {};

// For values in which something ends by itself before the key does. Database sets the timer,
// follows the entry, and tells KeyspaceObserver::ValueDue when the time has come.
struct ValueTimer {
  TimerNode node;        // first: a fired node's address is its timer's
  PackedPointer holder;  // null: none
};

// Owned by the entry (Entry::outside_value), which accounts MemoryBytes after every change: so what
// changes a Value outside of Database calls Database::ValueChanged.
class Value {
 public:
  static constexpr int64_t kNever = TimerWheel::kNever;

  virtual ~Value() = default;
  // Asks for the memory that a change is going to touch first.
  virtual void Prefetch() const {}
  virtual ValueType type() const = 0;
  virtual std::string_view Encoding() const = 0;     // for OBJECT ENCODING
  virtual size_t MemoryBytes() const = 0;            // heap memory owned, itself included
  virtual std::unique_ptr<Value> Clone() const = 0;  // for COPY
  // Writes its packed form (packed_value.h) into `out` and returns how many bytes that took; 0 if
  // it has none, or none of at most `room` bytes.
  virtual size_t Pack([[maybe_unused]] char* out, [[maybe_unused]] size_t room) const { return 0; }
  // From now on this holds it, which may be the former holder at a new address, or under a new key.
  // The former one is still there. In the middle of a change of the keyspace.
  virtual void HeldBy(ValueHolder&) {}
  // It leaves the keyspace, which finds it no more: it is freed, now or in slices. The holder is
  // still there. In the middle of a change of the keyspace.
  virtual void Retire() {}
  // How many pieces freeing it takes: members, chunks. Values of many are freed in slices.
  virtual size_t Elements() const { return 1; }
  // Frees up to `budget` pieces of a value that is out of use; returns how many, 0
  // when only the destructor is left to do. MemoryBytes follows; of the other functions only this,
  // Elements and the destructor may be called afterwards.
  virtual size_t FreeSome(size_t budget) {
    static_cast<void>(budget);
    return 0;
  }
  // Engine ms from when on there is nothing left of it: its key's deadline is never later.
  virtual int64_t EndsAtMs(const Now&) const { return kEndsNever; }
  // That moment is one of the wall clock: it follows when the clock is set.
  virtual bool EndsByWallClock() const { return false; }
  // All of it has ended by itself: its key counts as missing from now on, whatever is still to be
  // freed. O(1), as every look-up of the key asks. Only a value with a timer that is set is asked.
  virtual bool IsOver(const Now&) const { return false; }
  // The first violated invariant as a sentence, or empty.
  virtual std::string Audit() const { return {}; }
  // The timer of a value that has, or had, something to do by itself; null otherwise.
  virtual ValueTimer* timer() { return nullptr; }
  // Engine ms at which it next has; kNever if it has not. Asked for by ValueChanged.
  virtual int64_t NextDueMs(const Now&) const { return kNever; }
};

}  // namespace sluice
