// One hierarchical timing wheel (Varghese & Lauck 1987, scheme 6) for everything that has a
// deadline. Ticks are 1 ms. Levels of 256 slots, each slot a circular doubly linked list of
// intrusive nodes; a timer lies on the level of the highest byte in which its deadline differs from
// the wheel's time, and moves down at most once a level. Insert, Move and Cancel are O(1).
//
// Where a timer lies, with the wheel's time at 0x012345 ms:
//
//   deadline   highest byte that differs    place
//   0x012399   the first:  0x99             level 0, slot 0x99: fires when time is there
//   0x018011   the second: 0x80             level 1, slot 0x80: moves down at 0x018000
//   0x020304   the third:  0x02             level 2, slot 0x02: moves down at 0x020000
//
// Level n spans 256^(n+1) ms: 256 ms, 65 s, 4.7 h, 50 days, 35 years, 8,919 years.
//
// Advance does at most `budget` steps (a fired timer, or one moved down a level) and can be called
// again: a slot that is being emptied is detached first, so a million timers due at once are worked
// off in slices, in order of their ticks, while new ones may come. Levels are made on first use,
// and so are parts of them: an engine with a timer or two has a few hundred bytes of slots.
//
// The wheel's own time goes from slot to slot and stands still while a detached slot is unfinished,
// so it lags behind the caller's clock then; that is what keeps the order. A bitmap a level finds
// the next slot, so an advance over years costs no more than one over a millisecond; and its begin
// is remembered, so that to find nothing due is a comparison.
//
// A deadline that moves away is only written down (Postpone): the node is placed anew when its old
// slot comes up. So a node may lie in an earlier slot than its deadline's, never in a later one.
//
// Deadlines are engine milliseconds, kept in 48 bits (8,919 years); later ones count as the last.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "storage/memory/packed_pointer.h"

namespace sluice {

// The kind of a node's owner, by which the owner of a fired node is found.
enum class TimerKind : uint8_t { kEntry = 0, kTask = 1, kValue = 2, kLease = 3 };

// 18 bytes, alignment 2, inside what it times. Not copyable: its address is in its neighbours.
class TimerNode {
 public:
  TimerNode() = default;
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;

  bool linked() const { return !next_.null(); }
  int64_t deadline_ms() const {
    uint32_t low;
    std::memcpy(&low, deadline_, sizeof(low));
    return static_cast<int64_t>(low | uint64_t{deadline_[2]} << 32);
  }
  // Brings what Move and Cancel will write to into the cache.
  void PrefetchNeighbours() const {
    __builtin_prefetch(next_.As<TimerNode>(), /*rw=*/1);
    __builtin_prefetch(previous_.As<TimerNode>(), /*rw=*/1);
  }
  TimerKind kind() const { return static_cast<TimerKind>(next_.tag() << 1 | previous_.tag()); }

 private:
  friend class TimerWheel;
  PackedPointer next_;      // the tags of both are this node's kind
  PackedPointer previous_;  // ... and stay when the pointers change
  uint16_t deadline_[3] = {0, 0, 0};
};
static_assert(sizeof(TimerNode) == 18);

// It owns no node: a node lives inside what it times, which cancels it before it goes. A million
// pending timers cost 18 bytes each, inside their owners; each level costs 4.7 KB once, in parts.
// Single-threaded.
class TimerWheel {
 public:
  static constexpr int64_t kNever = INT64_MAX;
  static constexpr int64_t kDeadlineMsMax = (int64_t{1} << 48) - 1;

  explicit TimerWheel(int64_t now_ms);
  TimerWheel(const TimerWheel&) = delete;  // the heads of its lists are in it
  TimerWheel& operator=(const TimerWheel&) = delete;
  ~TimerWheel();  // linked nodes are forgotten, not fired

  // Requires: !node.linked(). A deadline at or before the wheel's time fires on the next Advance.
  void Insert(TimerNode& node, TimerKind kind, int64_t deadline_ms);
  void Move(TimerNode& node, int64_t deadline_ms);  // requires: linked
  // As Move to a later deadline, but the node stays in its list until that comes up: what is
  // renewed again and again costs a store of six bytes a time. Requires: linked.
  void Postpone(TimerNode& node, int64_t deadline_ms);
  void Cancel(TimerNode& node);  // unlinked nodes are left alone
  // `to` takes the place of `from` in its list, deadline included (its owner moved in memory); from
  // an unlinked `from` it takes only the deadline. Requires: !to.linked(). `from` is unlinked
  // after.
  void Relocate(TimerNode& from, TimerNode& to);

  // Fires timers with deadline <= now_ms, earliest tick first, same tick in order of insertion,
  // until none is left or `budget` is spent (a postponed timer counts as inserted when it is placed
  // anew, which takes one of the budget); returns how much was spent. The node is unlinked
  // before `fire(node)`, which may insert, move and cancel any timer and free the node, but not
  // Advance.
  //
  // A timer set to a tick that the wheel has reached already fires in the next Advance, after what
  // is left of that tick: one that sets itself again and again fires once a call. (Only if there
  // are as many of those as the budget do they hold up what is later.) `now_ms` before the wheel's
  // time only works off what is due.
  size_t Advance(int64_t now_ms, size_t budget, absl::FunctionRef<void(TimerNode&)> fire);
  // As an Advance that has nothing to do. False: there is something, and nothing has changed.
  bool Passes(int64_t now_ms) {
    if (HasDetached() || now_ms >= NextWork()) return false;
    now_ms_ = std::max(now_ms_, std::min(now_ms, kDeadlineMsMax));  // no slot begins in between
    return true;
  }

  // The wheel's time is so much earlier from here on. All timers are placed anew: O(n). Requires:
  // now_ms < now_ms(), and no Advance runs.
  void TurnBack(int64_t now_ms);

  // When Advance next has something to do: never later than the earliest deadline; may be earlier
  // (a level to move down). kNever when empty; <= the wheel's time while a slice is unfinished.
  int64_t NextWork() const {
    if (HasDetached()) [[unlikely]]
      return now_ms_;
    if (next_slot_ms_ == kUnknown) next_slot_ms_ = FindNextSlot().start_ms;
    return next_slot_ms_;
  }

  int64_t now_ms() const { return now_ms_; }
  size_t size() const { return size_; }

  // Linked nodes of a kind, by walking. For audits and INFO's leisure.
  size_t CountLinked(TimerKind kind) const;
  // Walks all lists; the first violated invariant as a sentence, or empty.
  std::string Audit() const;
  size_t memory_bytes() const;

 private:
  static constexpr int kLevels = 6;
  static constexpr int kSlotBits = 8;
  static constexpr int kSlots = 1 << kSlotBits;
  static constexpr int kPartSlots = 32;
  static constexpr int kWords = kSlots / 64;

  // A list is circular through its head, a node that owns nothing; an unlinked head is an empty
  // list. So Cancel needs no list; the head's deadline says which slot to mark empty.
  using Part = std::array<TimerNode, kPartSlots>;
  struct Level {
    std::array<uint64_t, kWords> occupied{};
    std::array<std::unique_ptr<Part>, kSlots / kPartSlots> parts;

    // Requires: it has held something before.
    TimerNode& Head(int slot) { return (*parts[slot / kPartSlots])[slot % kPartSlots]; }
  };
  struct NextSlot {
    int64_t start_ms = kNever;
    int level = 0;
    int slot = 0;
  };

  static TimerNode& Next(const TimerNode& node) { return *node.next_.As<TimerNode>(); }
  static TimerNode& Previous(const TimerNode& node) { return *node.previous_.As<TimerNode>(); }
  static void Join(TimerNode& before, TimerNode& after);
  static void MarkUnlinked(TimerNode& node);
  static int64_t Clamp(int64_t deadline_ms);
  static void SetDeadline(TimerNode& node, int64_t deadline_ms);
  static void Append(TimerNode& head, TimerNode& node);
  static void Splice(TimerNode& from_head, TimerNode& to_head);

  // Linking and unlinking: all O(1). Place links into the node's slot, or into `reached` when the
  // wheel's time is there already.
  void Place(TimerNode& node, TimerNode& reached);
  void Unlink(TimerNode& node);
  void MarkEmpty(TimerNode& head);
  TimerNode& SlotHead(int level, int slot);
  TimerNode& ListFor(int64_t deadline, TimerNode& reached);
  void MakePart(int level, int slot);
  NextSlot FindNextSlot() const;
  void Detach(const NextSlot& next);
  bool HasDetached() const { return due_.linked() || late_.linked() || cascading_.linked(); }
  int64_t StartOf(int level, int slot) const;
  void WalkLists(absl::FunctionRef<void(const TimerNode& head, int level, int slot)> visit) const;

  int64_t now_ms_;  // nothing in a slot is at or before it
  size_t size_ = 0;
  bool advancing_ = false;
  TimerNode due_;        // of the tick now_ms_, in firing order
  TimerNode late_;       // set to a tick already reached: appended to due_ by the next Advance
  TimerNode cascading_;  // of a detached slot that begins at now_ms_, to be placed on lower levels
  int cascading_level_ = 0;
  static constexpr int64_t kUnknown = -1;
  mutable int64_t next_slot_ms_ = kNever;  // FindNextSlot's; kUnknown: a slot was emptied since
  uint32_t occupied_words_ = 0;            // of all levels, kWords a level: those that are not 0
  std::array<std::unique_ptr<Level>, kLevels> levels_;
};

}  // namespace sluice
