// See timer_wheel.h. The invariant that everything rests on: a node in a slot has a deadline after
// now_ms_, its level is that of the highest byte in which the two differ, and its slot is the value
// of that byte (of a postponed node: it was when it was placed, for an earlier deadline). So
// occupied slots lie ahead of the current one on every level, and the first occupied slot of the
// lowest level that has any is the earliest of all.
#include "storage/time/timer_wheel.h"

#include <bit>
#include <cassert>
#include <cstring>

#include "absl/base/attributes.h"
#include "absl/base/macros.h"

namespace sluice {
namespace {

constexpr uint16_t kNoSlot = 0xffff;  // the mark of heads that are not slots

}  // namespace

TimerWheel::TimerWheel(int64_t now_ms) : now_ms_(Clamp(now_ms)) {
  for (TimerNode* head : {&due_, &late_, &cascading_}) head->deadline_[0] = kNoSlot;
}

TimerWheel::~TimerWheel() = default;

void TimerWheel::Insert(TimerNode& node, TimerKind kind, int64_t deadline_ms) {
  ABSL_HARDENING_ASSERT(!node.linked());
  // As Place, of a node whose tags come with it.
  const int64_t deadline = Clamp(deadline_ms);
  TimerNode& head = ListFor(deadline, late_);
  TimerNode& last = head.linked() ? Previous(head) : head;
  node.next_.Set(&head, static_cast<unsigned>(kind) >> 1);
  node.previous_.Set(&last, static_cast<unsigned>(kind) & 1);
  SetDeadline(node, deadline);
  last.next_.Set(&node, last.next_.tag());
  head.previous_.Set(&node, head.previous_.tag());
  ++size_;
}

void TimerWheel::Move(TimerNode& node, int64_t deadline_ms) {
  assert(node.linked());
  Unlink(node);
  SetDeadline(node, Clamp(deadline_ms));
  Place(node, late_);
}

void TimerWheel::Postpone(TimerNode& node, int64_t deadline_ms) {
  assert(node.linked() && Clamp(deadline_ms) >= node.deadline_ms());
  SetDeadline(node, Clamp(deadline_ms));
}

void TimerWheel::Cancel(TimerNode& node) {
  if (!node.linked()) return;
  Unlink(node);
  --size_;
}

void TimerWheel::Relocate(TimerNode& from, TimerNode& to) {
  ABSL_HARDENING_ASSERT(!to.linked());
  for (int i = 0; i < 3; ++i) to.deadline_[i] = from.deadline_[i];
  to.next_ = from.next_;  // the tags at least
  to.previous_ = from.previous_;
  if (!from.linked()) return;
  Join(Previous(from), to);
  Join(to, Next(from));
  MarkUnlinked(from);
}

size_t TimerWheel::Advance(int64_t now_ms, size_t budget,
                           absl::FunctionRef<void(TimerNode&)> fire) {
  assert(!advancing_);
  advancing_ = true;
  const int64_t target = Clamp(now_ms);
  bool late_taken = false;  // once a call, and after what an unfinished cascade has for this tick
  size_t spent = 0;
  // Unfinished work has precedence: a detached slot that moves down, then what is due at this tick,
  // then a step to the next slot. A budget that ends leaves the lists as they are for the next
  // call.
  while (true) {
    if (cascading_.linked()) {
      if (spent == budget) break;
      TimerNode& node = Next(cascading_);
      Unlink(node);
      Place(node, due_);
      ++spent;
    } else if (!late_taken) {
      if (late_.linked()) Splice(late_, due_);
      late_taken = true;
    } else if (due_.linked()) {
      if (spent == budget) break;
      TimerNode& node = Next(due_);
      Unlink(node);
      ++spent;
      if (node.deadline_ms() > now_ms_) {  // postponed
        Place(node, due_);
        continue;
      }
      --size_;
      fire(node);
    } else {
      const NextSlot next = FindNextSlot();
      if (next.start_ms > target) {
        if (target > now_ms_) now_ms_ = target;  // keeps the invariant: no slot begins in between
        break;
      }
      Detach(next);
    }
  }
  advancing_ = false;
  return spent;
}

void TimerWheel::TurnBack(int64_t now_ms) {
  // Every slot's place depends on the wheel's time, so all nodes are gathered into one list and
  // placed anew: into slots where their deadline is still to come, else into late_.
  assert(!advancing_ && now_ms < now_ms_);
  TimerNode all;
  all.deadline_[0] = kNoSlot;
  const auto take = [&](TimerNode& head) {
    if (!head.linked()) return;
    Splice(head, all);
    MarkEmpty(head);
  };
  for (const auto& level : levels_) {
    if (level == nullptr) continue;
    for (const auto& part : level->parts) {
      if (part != nullptr)
        for (TimerNode& head : *part) take(head);
    }
  }
  for (TimerNode* const head : {&cascading_, &due_, &late_}) take(*head);
  now_ms_ = Clamp(now_ms);
  next_slot_ms_ = kNever;
  while (all.linked()) {
    TimerNode& node = Next(all);
    Unlink(node);
    Place(node, late_);
  }
}

// --- lists
// Circular lists through a head. The two tag bits of a node's pointers are its kind, so every
// change of a pointer keeps the tag.

int64_t TimerWheel::Clamp(int64_t deadline_ms) {
  return deadline_ms < 0 ? 0 : deadline_ms > kDeadlineMsMax ? kDeadlineMsMax : deadline_ms;
}

void TimerWheel::SetDeadline(TimerNode& node, int64_t deadline_ms) {
  const auto low = static_cast<uint32_t>(deadline_ms);
  std::memcpy(node.deadline_, &low, sizeof(low));
  node.deadline_[2] = static_cast<uint16_t>(deadline_ms >> 32);
}

void TimerWheel::Join(TimerNode& before, TimerNode& after) {
  before.next_.Set(&after, before.next_.tag());
  after.previous_.Set(&before, after.previous_.tag());
}

void TimerWheel::MarkUnlinked(TimerNode& node) { node.next_.Set(nullptr, node.next_.tag()); }

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void TimerWheel::Append(TimerNode& head, TimerNode& node) {
  Join(head.linked() ? Previous(head) : head, node);
  Join(node, head);
}

// Moves a whole list to the end of another, in O(1). Requires: from_head is no empty list.
void TimerWheel::Splice(TimerNode& from_head, TimerNode& to_head) {
  TimerNode& last = Previous(from_head);
  Join(to_head.linked() ? Previous(to_head) : to_head, Next(from_head));
  Join(last, to_head);
  MarkUnlinked(from_head);
}

void TimerWheel::Unlink(TimerNode& node) {
  TimerNode& next = Next(node);
  TimerNode& previous = Previous(node);
  if (&next == &previous) {  // the last of its list: both are the head
    MarkEmpty(next);
  } else {
    Join(previous, next);
  }
  MarkUnlinked(node);
}

void TimerWheel::MarkEmpty(TimerNode& head) {
  MarkUnlinked(head);
  const uint16_t place = head.deadline_[0];
  if (place == kNoSlot) return;
  next_slot_ms_ = kUnknown;
  const int level = place >> kSlotBits;
  const int word = (place & (kSlots - 1)) / 64;
  uint64_t& bits = levels_[level]->occupied[word];
  bits &= ~(uint64_t{1} << (place & 63));
  if (bits == 0) occupied_words_ &= ~(uint32_t{1} << (level * kWords + word));
}

// --- slots

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void TimerWheel::Place(TimerNode& node, TimerNode& reached) {
  Append(ListFor(node.deadline_ms(), reached), node);
}

// The head of the list for such a deadline.
inline TimerNode& TimerWheel::ListFor(int64_t deadline, TimerNode& reached) {
  if (deadline <= now_ms_) return reached;
  // The bytes above the level agree with the wheel's time, so the slot is ahead in this very turn
  // of the level: no slot holds timers of two different turns.
  const int level = (63 - std::countl_zero(static_cast<uint64_t>(deadline ^ now_ms_))) / kSlotBits;
  // A new connection queues up behind those of its tick that are still on their way down.
  if (&reached == &late_ && cascading_.linked() && level < cascading_level_) return cascading_;
  const int slot = static_cast<int>(deadline >> (level * kSlotBits)) & (kSlots - 1);
  // A slot begins before the next one only if its deadlines do; an unknown one stays so.
  if (deadline < next_slot_ms_) next_slot_ms_ = StartOf(level, slot);
  return SlotHead(level, slot);
}

// The head of a slot that is about to hold something.
inline TimerNode& TimerWheel::SlotHead(int level, int slot) {
  if (levels_[level] == nullptr || levels_[level]->parts[slot / kPartSlots] == nullptr) [[unlikely]]
    MakePart(level, slot);
  Level& there = *levels_[level];
  there.occupied[slot / 64] |= uint64_t{1} << (slot & 63);
  occupied_words_ |= uint32_t{1} << (level * kWords + slot / 64);
  return there.Head(slot);
}

ABSL_ATTRIBUTE_NOINLINE void TimerWheel::MakePart(int level, int slot) {
  if (levels_[level] == nullptr) levels_[level] = std::make_unique<Level>();
  std::unique_ptr<Part>& part = levels_[level]->parts[slot / kPartSlots];
  part = std::make_unique<Part>();
  const int first = slot / kPartSlots * kPartSlots;
  for (int i = 0; i < kPartSlots; ++i)
    (*part)[i].deadline_[0] = static_cast<uint16_t>(level << kSlotBits | (first + i));
}

// Four words of a bitmap a level: constant time, whatever lies in between.
TimerWheel::NextSlot TimerWheel::FindNextSlot() const {
  if (occupied_words_ == 0) return {};
  // The lowest level that has anything has the earliest: its slots lie inside the current slot of
  // the level above.
  const int first = std::countr_zero(occupied_words_);
  const int level = first / kWords;
  const int word = first % kWords;
  const int slot = word * 64 + std::countr_zero(levels_[level]->occupied[word]);
  return {StartOf(level, slot), level, slot};
}

// The first tick of a slot. Requires: it is not behind the wheel's time.
int64_t TimerWheel::StartOf(int level, int slot) const {
  const int64_t block = int64_t{1} << ((level + 1) * kSlotBits);
  return (now_ms_ & ~(block - 1)) | int64_t{slot} << (level * kSlotBits);
}

// Steps the wheel's time to the begin of the slot and takes its list out.
void TimerWheel::Detach(const NextSlot& next) {
  assert(next.start_ms > now_ms_ && !due_.linked() && !cascading_.linked());
  now_ms_ = next.start_ms;
  TimerNode& head = levels_[next.level]->Head(next.slot);
  Splice(head, next.level == 0 ? due_ : cascading_);
  cascading_level_ = next.level;
  MarkEmpty(head);
}

// --- inspection

void TimerWheel::WalkLists(
    absl::FunctionRef<void(const TimerNode& head, int level, int slot)> visit) const {
  for (const TimerNode* head : {&due_, &late_, &cascading_}) visit(*head, -1, 0);
  for (int level = 0; level < kLevels; ++level) {
    for (int slot = 0; levels_[level] != nullptr && slot < kSlots; ++slot) {
      if (levels_[level]->parts[slot / kPartSlots] != nullptr)
        visit(levels_[level]->Head(slot), level, slot);
    }
  }
}

size_t TimerWheel::CountLinked(TimerKind kind) const {
  size_t count = 0;
  WalkLists([&](const TimerNode& head, int, int) {
    if (!head.linked()) return;
    for (const TimerNode* node = &Next(head); node != &head; node = &Next(*node))
      count += node->kind() == kind ? 1 : 0;
  });
  return count;
}

std::string TimerWheel::Audit() const {
  size_t count = 0;
  std::string fault;
  WalkLists([&](const TimerNode& head, int level, int slot) {
    const bool marked = level >= 0 && (levels_[level]->occupied[slot / 64] >> (slot & 63) & 1) != 0;
    if (level >= 0 && marked != head.linked()) fault = "a slot's bit disagrees with its list";
    if (marked && (occupied_words_ >> (level * kWords + slot / 64) & 1) == 0)
      fault = "a word's bit disagrees with its slots";
    if (!head.linked()) return;
    const TimerNode* previous = &head;
    for (const TimerNode* node = &Next(head); node != &head; previous = node, node = &Next(*node)) {
      ++count;
      const int64_t deadline = node->deadline_ms();
      if (&Previous(*node) != previous) fault = "a timer's neighbours disagree";
      if (level < 0) continue;
      if (deadline <= now_ms_) fault = "a timer of the past lies in a slot";
      if (StartOf(level, slot) <= now_ms_) fault = "a slot of the past is not empty";
      if (StartOf(level, slot) > deadline) fault = "a timer lies in too late a slot";
    }
    if (&Previous(head) != previous) fault = "a list's end disagrees with its head";
  });
  if (fault.empty() && count != size_) fault = "the wheel's size is wrong";
  if (next_slot_ms_ != kUnknown && next_slot_ms_ != FindNextSlot().start_ms)
    fault = "the begin of the next slot is wrong";
  return fault;
}

size_t TimerWheel::memory_bytes() const {
  size_t bytes = sizeof(TimerWheel);
  for (const auto& level : levels_) {
    if (level == nullptr) continue;
    bytes += sizeof(Level);
    for (const auto& part : level->parts) bytes += part != nullptr ? sizeof(Part) : 0;
  }
  return bytes;
}

}  // namespace sluice
