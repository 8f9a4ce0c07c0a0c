// See list.h. A chunk is changed through Alter() alone, which keeps the list's counts true.
#include "storage/types/list.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/base/macros.h"

namespace sluice {
namespace {

// Neighbours that are no more than this together become one chunk.
constexpr size_t kJoinBytes = 2048;
constexpr size_t kChunkKilobytes[] = {4, 8, 16, 32, 64};  // list-max-listpack-size -1 ... -5

// Whether the element may join the chunk.
bool Fits(const ListChunk& chunk, const ListItem& item, const ListLimits& limits) {
  if (limits.KeepsAlone(item) || chunk.large()) return false;
  const size_t bytes = item.size() + sizeof(uint16_t);
  return chunk.count() < limits.chunk_elements &&
         chunk.used_bytes() + bytes <= limits.chunk_bytes && chunk.HasRoomFor(bytes);
}

std::unique_ptr<ListChunk> ChunkOf(const ListItem& item, const ListLimits& limits) {
  if (limits.KeepsAlone(item)) return ListChunk::Large(item);
  auto chunk = std::make_unique<ListChunk>();
  chunk->Push(ListEnd::kBack, item);
  return chunk;
}

}  // namespace

ListLimits ListLimits::Of(int64_t size) {
  if (size >= 0) return {.chunk_elements = static_cast<size_t>(std::max<int64_t>(size, 1))};
  const auto at =
      std::min<size_t>(static_cast<size_t>(-(size + 1)), std::size(kChunkKilobytes) - 1);
  return {.chunk_bytes = kChunkKilobytes[at] * 1024};
}

List::~List() {
  chunks_.clear_and_dispose([](ListChunk* chunk) { delete chunk; });
}

std::unique_ptr<Value> List::Clone() const {
  auto copy = std::make_unique<List>();
  for (const ListChunk& chunk : chunks_) copy->Add(copy->chunks_.end(), chunk.Clone());
  return copy;
}

size_t List::FreeSome(size_t budget) {
  size_t freed = 0;
  for (; freed < budget && !chunks_.empty(); ++freed) Remove(chunks_.begin());
  return freed;
}

std::string List::Audit() const {
  size_t elements = 0, bytes = 0;
  for (const ListChunk& chunk : chunks_) {
    if (std::string fault = chunk.Audit(); !fault.empty()) return fault;
    elements += chunk.count();
    bytes += chunk.MemoryBytes();
  }
  if (elements != size_) return "the elements of a list are miscounted";
  return bytes == chunk_bytes_ ? "" : "the bytes of a list are miscounted";
}

// --- reading

// From the nearer end, chunk by chunk.
List::Place List::Locate(size_t index) const {
  ABSL_HARDENING_ASSERT(index < size_);
  auto& chunks = const_cast<Chunks&>(chunks_);  // an iterator for both kinds of callers
  if (index < size_ / 2) {
    auto chunk = chunks.begin();
    for (; index >= chunk->count(); ++chunk) index -= chunk->count();
    return {chunk, index};
  }
  size_t behind = size_ - index;  // elements from `index` on
  auto chunk = std::prev(chunks.end());
  for (; behind > chunk->count(); --chunk) behind -= chunk->count();
  return {chunk, chunk->count() - behind};
}

const ListChunk* List::NextChunk(const ListChunk& chunk) const {
  const auto next = std::next(chunks_.iterator_to(chunk));
  return next == chunks_.end() ? nullptr : &*next;
}

std::string_view List::At(size_t index, char* scratch) const {
  const Place place = Locate(index);
  return place.chunk->TextAt(place.offset, scratch);
}

std::string_view List::AtEnd(ListEnd end, char* scratch) const {
  ABSL_HARDENING_ASSERT(size_ > 0);
  if (end == ListEnd::kFront) return chunks_.front().TextAt(0, scratch);
  return chunks_.back().TextAt(chunks_.back().count() - 1, scratch);
}

// Place and index go along together: texts of integers are made in `scratch`, for one visit.
void List::Walk(size_t index, ListEnd towards, Visit visit) const {
  if (index >= size_) return;
  char scratch[kTextScratch];
  auto [chunk, offset] = Locate(index);
  while (visit(index, chunk->TextAt(offset, scratch))) {
    if (towards == ListEnd::kBack) {
      if (++index == size_) return;
      if (++offset == chunk->count()) {
        ++chunk;
        offset = 0;
      }
    } else {
      if (index-- == 0) return;
      if (offset == 0) offset = (--chunk)->count();
      --offset;
    }
  }
}

void List::Find(std::string_view text, ListEnd towards, size_t looks,
                absl::FunctionRef<bool(size_t index)> found) const {
  const ListItem item(text);
  looks = std::min(looks, size_);
  if (towards == ListEnd::kBack) {
    size_t index = 0;
    for (const ListChunk& chunk : chunks_) {
      for (size_t i = 0; i < chunk.count(); ++i, ++index) {
        if (index == looks) return;
        if (chunk.Holds(i, item) && !found(index)) return;
      }
    }
    return;
  }
  size_t index = size_;
  for (auto chunk = chunks_.rbegin(); chunk != chunks_.rend(); ++chunk) {
    for (size_t i = chunk->count(); i-- > 0;) {
      if (index == size_ - looks) return;
      if (chunk->Holds(i, item) && !found(index - 1)) return;
      --index;
    }
  }
}

// --- writing

// The one way to change a chunk: its old counts leave the list's accounts before, its new ones
// enter after.
template <typename Change>
void List::Alter(ListChunk& chunk, Change change) {
  size_ -= chunk.count();
  chunk_bytes_ -= chunk.MemoryBytes();
  change(chunk);
  size_ += chunk.count();
  chunk_bytes_ += chunk.MemoryBytes();
}

List::Chunks::iterator List::Add(Chunks::const_iterator before, std::unique_ptr<ListChunk> chunk) {
  size_ += chunk->count();
  chunk_bytes_ += chunk->MemoryBytes();
  return chunks_.insert(before, *chunk.release());
}

List::Chunks::iterator List::Remove(Chunks::iterator chunk) {
  size_ -= chunk->count();
  chunk_bytes_ -= chunk->MemoryBytes();
  return chunks_.erase_and_dispose(chunk, [](ListChunk* gone) { delete gone; });
}

void List::AppendChunk(std::unique_ptr<ListChunk> chunk) { Add(chunks_.end(), std::move(chunk)); }

void List::Push(ListEnd end, std::string_view text, const ListLimits& limits) {
  const ListItem item(text);
  if (!chunks_.empty()) {
    ListChunk& last = end == ListEnd::kFront ? chunks_.front() : chunks_.back();
    if (Fits(last, item, limits)) {
      return Alter(last, [&](ListChunk& chunk) { chunk.Push(end, item); });
    }
    Alter(last, [](ListChunk& chunk) { chunk.Fit(); });  // it is inside the list from now on
  }
  Add(end == ListEnd::kFront ? chunks_.cbegin() : chunks_.cend(), ChunkOf(item, limits));
}

// Whole chunks go without a look at their elements; of the last one a part.
void List::Drop(ListEnd end, size_t count) {
  ABSL_HARDENING_ASSERT(count <= size_);
  while (count > 0) {
    const auto chunk = end == ListEnd::kFront ? chunks_.begin() : std::prev(chunks_.end());
    const size_t held = chunk->count();
    if (held <= count) {
      Remove(chunk);
      count -= held;
    } else {
      const size_t from = end == ListEnd::kFront ? 0 : held - count;
      return Alter(*chunk, [&](ListChunk& part) { part.Erase(from, count); });
    }
  }
}

void List::EraseAt(Place place) {
  if (place.chunk->count() == 1) {
    Remove(place.chunk);
  } else {
    Alter(*place.chunk, [&](ListChunk& chunk) { chunk.Erase(place.offset, 1); });
  }
}

void List::Replace(size_t index, std::string_view text, const ListLimits& limits) {
  EraseAt(Locate(index));
  Insert(index, text, limits);
}

void List::Insert(size_t index, std::string_view text, const ListLimits& limits) {
  if (index == size_) return Push(ListEnd::kBack, text, limits);
  if (index == 0) return Push(ListEnd::kFront, text, limits);
  InsertAt(Locate(index), ListItem(text), limits);
}

// The chunk itself, its neighbour before, a chunk of its own behind a split: the first that has
// room. Last, small neighbours are joined: repeated inserts in the middle must not leave a chain of
// crumbs.
void List::InsertAt(Place place, const ListItem& item, const ListLimits& limits) {
  auto chunk = place.chunk;
  if (Fits(*chunk, item, limits)) {
    return Alter(*chunk, [&](ListChunk& part) { part.Insert(place.offset, item); });
  }
  if (place.offset == 0 && chunk != chunks_.begin() && Fits(*std::prev(chunk), item, limits)) {
    return Alter(*std::prev(chunk), [&](ListChunk& part) { part.Push(ListEnd::kBack, item); });
  }
  if (place.offset > 0) {  // a full chunk: what follows goes into one of its own
    std::unique_ptr<ListChunk> tail;
    Alter(*chunk, [&](ListChunk& part) {
      tail = part.SplitOff(place.offset);
      part.Fit();
    });
    chunk = Add(std::next(chunk), std::move(tail));
    if (Fits(*chunk, item, limits)) {
      return Alter(*chunk, [&](ListChunk& part) { part.Push(ListEnd::kFront, item); });
    }
  }
  JoinNext(std::prev(JoinNext(Add(chunk, ChunkOf(item, limits)))));
}

size_t List::Remove(std::string_view text, size_t max, ListEnd from) {
  const ListItem item(text);
  size_t removed = 0;
  const auto erase_in = [&](ListChunk& chunk) {
    const size_t before = removed;
    Alter(chunk, [&](ListChunk& part) { removed += part.EraseEqual(item, max - removed, from); });
    return removed > before;
  };
  // A changed chunk is joined to one that the search has been through.
  if (from == ListEnd::kFront) {
    for (auto chunk = chunks_.begin(); chunk != chunks_.end() && removed < max;) {
      const auto at = chunk++;
      if (!erase_in(*at)) continue;
      if (at->count() == 0) {
        Remove(at);
      } else if (at != chunks_.begin()) {
        JoinNext(std::prev(at));
      }
    }
  } else {
    for (auto chunk = chunks_.end(); chunk != chunks_.begin() && removed < max;) {
      --chunk;
      if (erase_in(*chunk)) chunk = chunk->count() == 0 ? Remove(chunk) : JoinNext(chunk);
    }
  }
  return removed;
}

List::Chunks::iterator List::JoinNext(Chunks::iterator chunk) {
  const auto next = std::next(chunk);
  if (next == chunks_.end() || chunk->large() || next->large()) return chunk;
  if (chunk->used_bytes() + next->used_bytes() > kJoinBytes) return chunk;
  Alter(*chunk, [&](ListChunk& part) { part.Append(*next); });
  Remove(next);
  return chunk;
}

}  // namespace sluice
