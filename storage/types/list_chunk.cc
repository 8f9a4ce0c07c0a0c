// See list_chunk.h. A slot is the offset at which its element ends, shifted by one, with the lowest
// bit set for an integer: so elements that move by n bytes have n << 1 added to their slots, and
// nothing else of them changes.
#include "storage/types/list_chunk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/base/macros.h"

namespace sluice {
namespace {

constexpr size_t kSparseBytesMin = 512;  // smaller blocks are not worth a smaller one

std::unique_ptr<uint16_t[]> NewBlock(size_t bytes) {
  return std::unique_ptr<uint16_t[]>(new uint16_t[(bytes + 1) / 2]);
}

}  // namespace

std::unique_ptr<ListChunk> ListChunk::Large(const ListItem& alone) {
  auto chunk = std::make_unique<ListChunk>();
  chunk->block_ = NewBlock(alone.size());
  chunk->large_bytes_ = alone.size();
  std::memcpy(chunk->block_.get(), alone.bytes().data(), alone.size());
  return chunk;
}

std::unique_ptr<ListChunk> ListChunk::Of(std::span<const uint16_t> slots, std::string_view bytes) {
  ABSL_HARDENING_ASSERT(!slots.empty() && bytes.size() <= kBytesMax);
  ABSL_HARDENING_ASSERT(slots.back() >> 1 == bytes.size());
  auto chunk = std::make_unique<ListChunk>();
  chunk->slots_max_ = chunk->count_ = static_cast<uint16_t>(slots.size());
  chunk->bytes_max_ = chunk->last_ = static_cast<uint16_t>(bytes.size());
  chunk->block_ = NewBlock(chunk->block_bytes());
  std::memcpy(chunk->block_.get(), slots.data(), slots.size_bytes());
  if (!bytes.empty()) std::memcpy(chunk->bytes(), bytes.data(), bytes.size());
  return chunk;
}

// The copy is as large as its elements, and its slots count from its own begin.
std::unique_ptr<ListChunk> ListChunk::Clone() const {
  if (large()) return Large(ListItem(BytesAt(0)));
  auto chunk = std::make_unique<ListChunk>();
  chunk->slots_max_ = chunk->count_ = count_;
  chunk->bytes_max_ = chunk->last_ = static_cast<uint16_t>(last_ - first_);
  chunk->block_ = NewBlock(chunk->block_bytes());
  std::memcpy(chunk->block_.get(), block_.get() + slot_first_, count_ * sizeof(uint16_t));
  if (first_ > 0) {  // the copy begins without room
    for (size_t i = 0; i < count_; ++i) {
      chunk->block_[i] = static_cast<uint16_t>(chunk->block_[i] - (first_ << 1));
    }
  }
  if (chunk->last_ > 0) std::memcpy(chunk->bytes(), bytes() + first_, chunk->last_);
  return chunk;
}

std::string ListChunk::Audit() const {
  if (large()) return slots_max_ == 0 && count_ == 0 ? "" : "a large chunk of a list has slots";
  if (count_ == 0) return "a chunk of a list is empty";
  if (slot_first_ + count_ > slots_max_) return "a chunk's slots lie outside its block";
  if (first_ > last_ || last_ > bytes_max_) return "a chunk's elements lie outside its block";
  for (size_t i = 0; i < count_; ++i) {
    if (start(i) > end(i)) return "an element of a chunk ends before it begins";
  }
  return end(count_ - 1u) == last_ ? "" : "a chunk's last slot is not where its elements end";
}

std::string_view ListChunk::BytesAt(size_t index) const {
  if (large()) return {reinterpret_cast<const char*>(block_.get()), large_bytes_};
  ABSL_HARDENING_ASSERT(index < count_);
  const size_t from = start(index);
  return {bytes() + from, end(index) - from};
}

// --- changing

void ListChunk::Push(ListEnd at, const ListItem& item) {
  ABSL_HARDENING_ASSERT(HasRoomFor(item.size()));
  const size_t size = item.size();
  if (at == ListEnd::kBack) {
    if (last_ + size > bytes_max_ || slot_first_ + count_ == slots_max_) MakeRoom(at, size);
    std::memcpy(bytes() + last_, item.bytes().data(), size);
    last_ = static_cast<uint16_t>(last_ + size);
    block_[slot_first_ + count_] = Slot(last_, item.integer());
  } else {
    // The mirror image: slots and bytes grow towards lower places.
    if (first_ < size || slot_first_ == 0) MakeRoom(at, size);
    block_[--slot_first_] = Slot(first_, item.integer());
    first_ = static_cast<uint16_t>(first_ - size);
    std::memcpy(bytes() + first_, item.bytes().data(), size);
  }
  ++count_;
}

void ListChunk::Insert(size_t index, const ListItem& item) {
  ABSL_HARDENING_ASSERT(index <= count_);
  if (index == 0 && count_ > 0) return Push(ListEnd::kFront, item);
  Push(ListEnd::kBack, item);
  if (index + 1 == count_) return;
  // From the back to its place: the bytes by a rotation, the slots one by one.
  char* const from = bytes() + start(index);
  std::rotate(from, bytes() + start(count_ - 1u), bytes() + last_);
  for (size_t i = count_ - 1u; i > index; --i) {
    const uint16_t before = slot(i - 1);
    block_[slot_first_ + i] = Slot((before >> 1) + item.size(), (before & 1) != 0);
  }
  block_[slot_first_ + index] = Slot(start(index) + item.size(), item.integer());
}

// At the front only the marks move; elsewhere what follows moves up, and its slots by as much.
void ListChunk::Erase(size_t index, size_t count) {
  ABSL_HARDENING_ASSERT(!large() && index + count <= count_);
  if (count == 0) return;
  const size_t from = start(index);
  const size_t to = end(index + count - 1);
  if (index == 0) {
    slot_first_ = static_cast<uint16_t>(slot_first_ + count);
    first_ = static_cast<uint16_t>(to);
  } else {
    std::memmove(bytes() + from, bytes() + to, last_ - to);
    for (size_t i = index + count; i < count_; ++i) {
      block_[slot_first_ + i - count] = static_cast<uint16_t>(slot(i) - ((to - from) << 1));
    }
    last_ = static_cast<uint16_t>(last_ - (to - from));
  }
  count_ = static_cast<uint16_t>(count_ - count);
  FitIfSparse();
}

size_t ListChunk::EraseEqual(const ListItem& item, size_t max, ListEnd from) {
  size_t equal = 0;  // says which are the last ones
  for (size_t i = 0; i < count(); ++i) equal += Holds(i, item);
  const size_t erased = std::min(equal, max);
  if (erased == 0) return 0;
  if (large()) {
    block_.reset();
    large_bytes_ = 0;
    return 1;
  }
  // Which of the equal ones: the first `erased`, or all behind the first `kept`.
  const size_t kept = from == ListEnd::kFront ? 0 : equal - erased;
  size_t seen = 0;
  size_t left = 0;
  size_t write = first_;
  for (size_t i = 0, read = first_; i < count_; ++i) {
    const size_t stop = end(i);
    const std::string_view element(bytes() + read, stop - read);
    const bool integer = IntegerAt(i);
    const bool same = item.Equals(element, integer);
    if (!same || seen < kept || seen >= kept + erased) {
      std::memmove(bytes() + write, element.data(), element.size());
      write += element.size();
      block_[slot_first_ + left++] = Slot(write, integer);
    }
    seen += same;
    read = stop;
  }
  count_ = static_cast<uint16_t>(left);
  last_ = static_cast<uint16_t>(write);
  FitIfSparse();
  return erased;
}

std::unique_ptr<ListChunk> ListChunk::SplitOff(size_t index) {
  ABSL_HARDENING_ASSERT(!large() && index <= count_);
  std::unique_ptr<ListChunk> tail = Clone();
  tail->Erase(0, index);
  Erase(index, count_ - index);
  return tail;
}

// Another chunk's elements behind these: one rebuild, and its slots shifted.
void ListChunk::Append(const ListChunk& next) {
  ABSL_HARDENING_ASSERT(!next.large() && HasRoomFor(next.used_bytes()));
  const size_t added = static_cast<size_t>(next.last_ - next.first_);
  Rebuild({}, {added, next.count_});
  if (added) std::memcpy(bytes() + last_, next.bytes() + next.first_, added);
  for (size_t i = 0; i < next.count_; ++i) {
    block_[slot_first_ + count_ + i] =
        static_cast<uint16_t>(next.slot(i) - (next.first_ << 1) + (last_ << 1));
  }
  count_ = static_cast<uint16_t>(count_ + next.count_);
  last_ = static_cast<uint16_t>(last_ + added);
}

// --- the block

// Room is made for elements of the mean size. A block that was large enough, but had its room at
// the other end or in the other area, is followed by one with an eighth to spare: else a queue, or
// a list of uneven elements, would soon be moved at every push.
void ListChunk::MakeRoom(ListEnd at, size_t size) {
  const size_t in_use = static_cast<size_t>(last_ - first_);
  const size_t slots = count_ + 1u;
  const size_t needed = in_use + size + slots * sizeof(uint16_t);
  const size_t block = BlockSize(needed <= block_bytes() ? needed + needed / 8 : needed);
  Room room;
  room.slots = 1 + (block - needed) / (needed / slots);
  room.bytes = std::min(block - (count_ + room.slots) * sizeof(uint16_t), kBytesMax) - in_use;
  at == ListEnd::kBack ? Rebuild({}, room) : Rebuild(room, {});
}

void ListChunk::Rebuild(Room front, Room back) {
  const size_t in_use = static_cast<size_t>(last_ - first_);
  const size_t slots_max = front.slots + count_ + back.slots;
  const size_t bytes_max = front.bytes + in_use + back.bytes;
  std::unique_ptr<uint16_t[]> block = NewBlock(slots_max * sizeof(uint16_t) + bytes_max);
  // Every slot is rebased: the first element begins at front.bytes afterwards.
  for (size_t i = 0; i < count_; ++i) {
    block[front.slots + i] =
        static_cast<uint16_t>(slot(i) - (first_ << 1) + static_cast<int>(front.bytes << 1));
  }
  if (in_use) {
    std::memcpy(reinterpret_cast<char*>(block.get() + slots_max) + front.bytes, bytes() + first_,
                in_use);
  }
  block_ = std::move(block);
  slots_max_ = static_cast<uint16_t>(slots_max);
  slot_first_ = static_cast<uint16_t>(front.slots);
  bytes_max_ = static_cast<uint16_t>(bytes_max);
  first_ = static_cast<uint16_t>(front.bytes);
  last_ = static_cast<uint16_t>(front.bytes + in_use);
}

void ListChunk::Fit() {
  if (!large() && BlockSize(used_bytes()) < BlockSize(block_bytes())) Rebuild({}, {});
}

// Only below a quarter: a queue that goes up and down does not move with each step.
void ListChunk::FitIfSparse() {
  if (block_bytes() > kSparseBytesMin && used_bytes() < block_bytes() / 4) Fit();
}

}  // namespace sluice
