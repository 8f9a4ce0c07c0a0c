// See drain_queue.h. The radix heap: a tick's level is the highest bit in which it differs
// from the time up to which all has drained. As that time moves on, ticks only ever go down.
#include "storage/limits/drain_queue.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "protocol/text/free_memory.h"

namespace sluice {

// --- ScatteredDrains

int ScatteredDrains::HighestBit(int64_t tick, int64_t other) {
  return 63 - std::countl_zero(static_cast<uint64_t>((tick - kTickMin) ^ (other - kTickMin)));
}

std::vector<int64_t>& ScatteredDrains::LevelOf(int64_t due_ms) {
  // The level depends on base_ms_, and so it is right only until the next DrainTo, which moves what
  // has come to be on a wrong one.
  assert(due_ms > base_ms_ && base_ms_ >= kTickMin && (due_ms - kTickMin) >> kTickBits == 0);
  return levels_[HighestBit(due_ms, base_ms_)];
}

void ScatteredDrains::Add(int64_t due_ms, uint64_t units) {
  const auto [place, is_new] = units_.try_emplace(due_ms, units);
  if (is_new) {
    LevelOf(due_ms).push_back(due_ms);
  } else {
    place->second += units;
  }
}

// An example in 4 bits: base 0100, ticks 0110 (level 1), 1001 (level 3). DrainTo(0111): the highest
// bit in which the times differ is 1, so levels 0 and 1 are emptied: 0110 is due. 1001 stays on
// level 3, as 1001 and 0111 still differ there.
uint64_t ScatteredDrains::Pass(int64_t now_ms, bool keeps) {
  if (now_ms <= base_ms_) return 0;
  // Below the highest bit in which the times differ everything is due; on it some is, and the rest
  // agrees with now_ms in that bit, so it belongs further down; above it nothing changes.
  const int highest = std::min(kTickBits - 1, HighestBit(now_ms, base_ms_));
  base_ms_ = now_ms;
  uint64_t passed = 0;
  for (int level = 0; level <= highest; ++level) {
    // Taken out first: what is not due goes to a lower level, which may have been emptied just now.
    const std::vector<int64_t> ticks = std::move(levels_[level]);
    levels_[level].clear();
    for (const int64_t tick : ticks) {
      if (tick > now_ms) {
        LevelOf(tick).push_back(tick);
        continue;
      }
      const auto found = units_.find(tick);
      passed += found->second;
      if (keeps) {
        passed_.push_back(tick);
      } else {
        units_.erase(found);
      }
    }
  }
  return passed;
}

uint64_t ScatteredDrains::DrainTo(int64_t now_ms) {
  if (!passed_.empty()) [[unlikely]]
    DropPassed();
  return Pass(now_ms, false);
}

void ScatteredDrains::DropPassed() {
  for (const int64_t tick : passed_) units_.erase(tick);
  FreeMemory(passed_);
}

size_t ScatteredDrains::heap_bytes() const {
  size_t bytes = sizeof(*this) + units_.capacity() * (sizeof(int64_t) + sizeof(uint64_t) + 1) +
                 passed_.capacity() * sizeof(int64_t);
  for (const std::vector<int64_t>& level : levels_) bytes += level.capacity() * sizeof(int64_t);
  return bytes;
}

// --- DrainQueue

// For COPY, which is O(n).
DrainQueue& DrainQueue::operator=(const DrainQueue& other) {
  ring_ = other.ring_;
  epoch_ms_ = other.epoch_ms_;
  last_due_ms_ = other.last_due_ms_;
  next_due_ms_ = other.next_due_ms_;
  passed_ms_ = other.passed_ms_;
  passed_ = other.passed_;
  any_passed_ = other.any_passed_;
  if (this != &other)
    scattered_ = other.scattered_ == nullptr ? nullptr
                                             : std::make_unique<ScatteredDrains>(*other.scattered_);
  return *this;
}

void DrainQueue::Add(int64_t now_ms, int64_t due_ms, uint64_t units) {
  assert(due_ms > now_ms && units >= 1 && !any_passed_);
  const bool was_empty = empty();
  if (!AddToRing(due_ms, units)) {
    if (scattered_ == nullptr) scattered_ = std::make_unique<ScatteredDrains>(now_ms);
    scattered_->Add(due_ms, units);
  }
  last_due_ms_ = was_empty ? due_ms : std::max(last_due_ms_, due_ms);
  next_due_ms_ = was_empty ? due_ms : std::min(next_due_ms_, due_ms);
}

// Requires: the ring is not empty.
int64_t DrainQueue::RingLastMs() const {
  // Without scattered drains the ring's last is last_due_ms_, which saves a look at cold memory.
  return scattered_ == nullptr ? last_due_ms_ : epoch_ms_ + ring_.back().due;
}

// False when it is not the ring's: before its last, or too far or too much for 32 bits.
bool DrainQueue::AddToRing(int64_t due_ms, uint64_t units) {
  if (units > UINT32_MAX) return false;
  if (ring_.empty()) {
    epoch_ms_ = due_ms;
  } else {
    const int64_t last_ms = RingLastMs();
    if (due_ms < last_ms) return false;
    if (due_ms == last_ms && units <= UINT32_MAX - ring_.back().units) {
      ring_.back().units += static_cast<uint32_t>(units);
      return true;
    }
    if (due_ms - epoch_ms_ > UINT32_MAX && !Rebase(due_ms)) return false;
  }
  ring_.PushBack({static_cast<uint32_t>(due_ms - epoch_ms_), static_cast<uint32_t>(units)});
  return true;
}

// Counts the ring's ticks from its front on, so that due_ms fits. False when that is not enough or
// would not last: a walk over the ring pays only if the next one is half the range away.
bool DrainQueue::Rebase(int64_t due_ms) {
  const uint32_t shift = ring_.front().due;
  if (shift < UINT32_MAX / 2 || due_ms - epoch_ms_ - shift > UINT32_MAX) return false;
  for (size_t i = 0; i < ring_.size(); ++i) ring_[i].due -= shift;
  epoch_ms_ += shift;
  return true;
}

// The front of the ring as long as it is due, then what is scattered.
uint64_t DrainQueue::PassTo(int64_t now_ms) {
  // The usual answer, from the object's own cache line.
  if (now_ms < next_due_ms_) return 0;
  uint64_t passed = 0;
  for (; passed_ < ring_.size() && RingDueMs(passed_) <= now_ms; ++passed_)
    passed += ring_[passed_].units;
  if (scattered_ != nullptr) passed += scattered_->PassTo(now_ms);
  any_passed_ = true;
  passed_ms_ = now_ms;
  // Scattered drains are in no order: they are asked at the next tick again.
  next_due_ms_ = scattered_ != nullptr    ? now_ms + 1
                 : passed_ < ring_.size() ? RingDueMs(passed_)
                                          : kNothing;
  return passed;
}

uint64_t DrainQueue::DrainTo(int64_t now_ms) {
  if (any_passed_) [[unlikely]]
    DropPassed();
  if (now_ms < next_due_ms_) return 0;
  uint64_t drained = 0;
  while (!ring_.empty() && RingDueMs(0) <= now_ms) {
    drained += ring_.front().units;
    ring_.PopFront();
  }
  if (scattered_ != nullptr) {
    drained += scattered_->DrainTo(now_ms);
    if (scattered_->empty()) scattered_ = nullptr;
  }
  passed_ms_ = now_ms;
  next_due_ms_ = scattered_ != nullptr ? now_ms + 1 : ring_.empty() ? kNothing : RingDueMs(0);
  return drained;
}

void DrainQueue::DropPassed() {
  for (; passed_ > 0; --passed_) ring_.PopFront();
  any_passed_ = false;
  if (scattered_ == nullptr) return;
  scattered_->DropPassed();
  if (scattered_->empty()) scattered_ = nullptr;
}

size_t DrainQueue::records() const {
  size_t count = 0;
  ForEach(passed_ms_, [&count](int64_t, uint64_t) { ++count; });
  return count;
}

bool DrainQueue::CopyTo(TickRun& run) const {
  if (scattered_ != nullptr) return false;
  for (size_t i = passed_; i < ring_.size(); ++i)
    if (!run.Add(RingDueMs(i), ring_[i].units)) return false;
  return true;
}

size_t DrainQueue::heap_bytes() const {
  return ring_.heap_bytes() + (scattered_ == nullptr ? 0 : scattered_->heap_bytes());
}

void DrainQueue::ForEach(int64_t after_ms, absl::FunctionRef<void(int64_t, uint64_t)> visit) const {
  DrainWalk walk(*this, after_ms);
  walk.InOrder(SIZE_MAX, visit);
  walk.Scattered(SIZE_MAX, visit);
}

// --- DrainWalk

DrainWalk::DrainWalk(const DrainQueue& queue, int64_t after_ms)
    : queue_(queue), after_ms_(after_ms) {
  size_t end = queue.ring_.size();
  for (in_ring_ = 0; in_ring_ < end;) {
    const size_t middle = in_ring_ + (end - in_ring_) / 2;
    if (queue.RingDueMs(middle) <= after_ms) {
      in_ring_ = middle + 1;
    } else {
      end = middle;
    }
  }
  if (queue.scattered_ != nullptr) scattered_ = queue.scattered_->units().begin();
}

bool DrainWalk::InOrder(size_t count, Visit visit) {
  const size_t size = queue_.ring_.size();
  for (; count > 0 && in_ring_ < size; --count, ++in_ring_)
    visit(queue_.RingDueMs(in_ring_), queue_.ring_[in_ring_].units);
  return in_ring_ < size;
}

bool DrainWalk::Scattered(size_t count, Visit visit) {
  if (queue_.scattered_ == nullptr) return false;
  const auto end = queue_.scattered_->units().end();
  for (; count > 0 && scattered_ != end; --count, ++scattered_) {
    if (scattered_->first > after_ms_) visit(scattered_->first, scattered_->second);
  }
  return scattered_ != end;
}

}  // namespace sluice
