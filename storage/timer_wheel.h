// One hierarchical timing wheel (Varghese & Lauck 1987, scheme 6) for everything that has a
// deadline. Ticks are 1 ms. Levels of 256 slots, each slot a circular doubly linked list of
// intrusive nodes; a timer lies on the level of the highest byte in which its deadline differs from
// the wheel's time, and moves down at most once a level. Insert, Move and Cancel are O(1).
//
// Advance does at most `budget` steps (a fired timer, or one moved down a level) and can be called
// again: a slot that is being emptied is detached first, so a million timers due at once are worked
// off in slices, in order of their ticks, while new ones may come. Levels are made on first use.
//
// Deadlines are engine milliseconds, kept in 48 bits (8,919 years); later ones count as the last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "storage/packed_pointer.h"

namespace sluice {

// Who the node belongs to: the owner of a fired node is found by its kind.
enum class TimerKind : uint8_t { kEntry = 0, kTask = 1, kReserved2 = 2, kReserved3 = 3 };

// 18 bytes, alignment 2, inside what it times. Not copyable: its address is in its neighbours.
class TimerNode {
 public:
  TimerNode() = default;
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;

  bool linked() const { return !next_.null(); }
  int64_t deadline_ms() const;
  TimerKind kind() const { return static_cast<TimerKind>(previous_.tag()); }

 private:
  friend class TimerWheel;
  PackedPointer next_;
  PackedPointer previous_;  // its tag is this node's kind
  uint16_t deadline_[3] = {0, 0, 0};
};
static_assert(sizeof(TimerNode) == 18);

class TimerWheel {
 public:
  static constexpr int64_t kNever = INT64_MAX;

  explicit TimerWheel(int64_t now_ms);
  ~TimerWheel();  // linked nodes are forgotten, not fired

  // Precondition: !node.linked(). A deadline at or before the wheel's time fires on the next Advance.
  void Insert(TimerNode& node, TimerKind kind, int64_t deadline_ms);
  void Move(TimerNode& node, int64_t deadline_ms);  // precondition: linked
  void Cancel(TimerNode& node);                     // unlinked nodes are left alone
  // `to` takes the place of `from` in its list, deadline included (its owner moved in memory).
  void Relocate(TimerNode& from, TimerNode& to);

  // Fires timers with deadline <= now_ms, earliest tick first, same tick in order of insertion, until
  // none is left or `budget` is spent; returns how much was spent. The node is unlinked before
  // `fire(node)`, which may insert, move and cancel any timer and free the node.
  size_t Advance(int64_t now_ms, size_t budget, absl::FunctionRef<void(TimerNode&)> fire);

  // When Advance next has something to do: never later than the earliest deadline; may be earlier
  // (a level to move down). kNever when empty; <= the wheel's time while a slice is unfinished.
  int64_t NextWork() const;
  // The earliest deadline itself, exact; walks one slot. For the test double's NEXT.
  int64_t EarliestDeadline() const;

  int64_t now_ms() const { return now_ms_; }
  size_t size() const { return size_; }
};

}  // namespace sluice
