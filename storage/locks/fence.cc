// See fence.h. FenceMemory keeps its memories in the order in which they were last made, so that
// the oldest are dropped first and an image of them is a walk along that list. Serial numbers say
// whether a memory is older than the image that is being taken.
#include "storage/locks/fence.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice {
namespace {

// Memories dropped in one call: some 2 µs. All at once would be 0.2 s where half a million are
// over.
constexpr int kCollapsedAtOnce = 8;
// The same in a turn, after a bound was lowered.
constexpr int kForgottenATurn = 256;

}  // namespace

// --- FenceTokens

int64_t FenceTokens::Next(const Now& now) const {
  if (last_ >= kTokenMax) return 0;
  const int64_t wall_ms = now.unix_ms();
  return wall_ms > last_ && wall_ms <= kTokenMax ? wall_ms : last_ + 1;
}

bool FenceTokens::IsReserved(const Now& now, int64_t count) const {
  const int64_t next = Next(now);
  return next != 0 && next - 1 <= mark_ - count;
}

// Well ahead of what is needed, so that the disk is asked once in hours and not once a grant.
int64_t FenceTokens::MarkFor(const Now& now, int64_t count) const {
  return std::min(kTokenMax, Next(now) + count + kTokenMarkAhead);
}

void FenceTokens::set_mark(int64_t mark) {
  assert(mark >= last_ && mark <= kTokenMax);
  mark_ = mark;
}

int64_t FenceTokens::Issue(const Now& now) {
  const int64_t next = Next(now);
  assert(next > last_ && CanIssue(1));
  // Following the wall clock costs numbers under the mark; where few are left one is taken at a
  // time.
  last_ = next <= mark_ - kTokensAtOnce ? next : last_ + 1;
  return last_;
}

void FenceTokens::JumpPast(int64_t mark) {
  last_ = std::max(last_, mark);
  mark_ = std::max(mark_, mark);
}

void FenceTokens::StartAhead(const Now& now) {
  const int64_t wall_ms = std::clamp<int64_t>(now.unix_ms(), 0, kTokenMax - kTokenStartAhead);
  JumpPast(wall_ms + kTokenStartAhead - 1);
}

// --- FenceMemory

size_t FenceMemory::BytesOf(const Memory& memory) {
  constexpr size_t kListLinks = 16;
  return sizeof(Memory) + kListLinks + HeapBytes(memory.name.key) + NewestMap::kSlotBytes;
}

void FenceMemory::Remember(LockNameView name, int64_t token, const Now& now) {
  const Order::iterator* const place = newest_.Find(name);
  if (place == nullptr) {
    order_.push_back({LockName(name), token, now.ms() - shift_ms_, ++last_serial_});
    newest_.TryEmplace(LockNameView(order_.back().name), std::prev(order_.end()));
    memory_bytes_ += BytesOf(order_.back());
  } else {
    Expunge(**place, now);
    // To the end of the list, which stays sorted by when memories were made. The image's next place
    // must not move with it.
    if (saver_ != nullptr && *place == image_next_) ++image_next_;
    order_.splice(order_.end(), order_, *place);
    order_.back().token = token;
    order_.back().since_ms = now.ms() - shift_ms_;
    order_.back().serial = ++last_serial_;
  }
  Collapse(now);
}

bool FenceMemory::Forget(LockNameView name) {
  const Order::iterator* found = newest_.Find(name);
  if (found == nullptr) return false;
  Drop(*found);
  return true;
}

void FenceMemory::Supersede(LockNameView name, const Now& now) {
  const Order::iterator* const found = newest_.Find(name);
  if (found != nullptr) Expunge(**found, now);
}

// The image may still lack this memory: then the old token goes to the saver before it is lost.
void FenceMemory::Expunge(Memory& memory, const Now& now) {
  if (saver_ != nullptr && memory.serial <= image_last_ && image_next_ != order_.end() &&
      memory.serial >= image_next_->serial)
    Give(memory, now);
  memory.token = 0;  // which is given no more
}

FenceMemory::All FenceMemory::TakeAll() {
  assert(saver_ == nullptr);
  All all{std::exchange(order_, {}), newest_.TakeAll()};
  floors_.clear();
  floor_ = doubted_ = 0;
  memory_bytes_ = 0;
  return all;
}

// --- an image

void FenceMemory::BeginImage(FenceSaver& saver) {
  saver_ = &saver;
  image_next_ = order_.begin();
  image_last_ = last_serial_;
}

bool FenceMemory::ImageSlice(size_t budget, const Now& now) {
  if (saver_ == nullptr) return false;
  for (; image_next_ != order_.end() && image_next_->serial <= image_last_; ++image_next_) {
    if (budget-- == 0) return true;
    Give(*image_next_, now);
  }
  saver_ = nullptr;
  return false;
}

// A memory that a flush has made stale is not given. One in doubt is: it still tells that its
// holder has given the lock back.
void FenceMemory::Give(const Memory& memory, const Now& now) {
  if (memory.token > FloorOf(memory.name.db) && !IsOver(memory, now))
    saver_->SaveFence(memory.name, memory.token);
}

void FenceMemory::Drop(Order::iterator place) {
  if (saver_ != nullptr && place == image_next_) ++image_next_;
  memory_bytes_ -= BytesOf(*place);
  newest_.Erase(LockNameView(place->name));
  order_.erase(place);
}

// Raises the floor to the token that it forgets: a token up to the floor passes only if it is held
// or still remembered.
void FenceMemory::DropOldest() {
  floor_ = std::max(floor_, order_.front().token);
  Drop(order_.begin());
}

void FenceMemory::Collapse(const Now& now) {
  for (int left = kCollapsedAtOnce; left > 0 && HasTooMuch(now); --left) DropOldest();
}

void FenceMemory::FollowBounds(const Now& now) {
  for (int left = kForgottenATurn; left > 0 && HasTooMuch(now); --left) DropOldest();
  has_new_bounds_ = HasTooMuch(now);
}

int64_t FenceMemory::Newest(LockNameView name, const Now& now) const {
  const Order::iterator* found = newest_.Find(name);
  if (found == nullptr || IsOver(**found, now)) return 0;
  const int64_t token = (*found)->token;
  return token > std::max(FloorOf(name.db), doubted_) ? token : 0;
}

int64_t FenceMemory::NewestTold(LockNameView name) const {
  const Order::iterator* found = newest_.Find(name);
  return std::max(FloorOf(name.db), found == nullptr ? 0 : (*found)->token);
}

int64_t FenceMemory::FloorOf(int db) const {
  const auto floor = floors_.find(db);
  return floor == floors_.end() ? 0 : floor->second;
}

}  // namespace sluice
