// See stream.h. An entry that is deleted stays as a mark in its chunk; memory comes back when a
// chunk has lost its last live entry, or is trimmed as a whole. The first live id is kept beside
// the chunks, so whatever removes that entry looks for the next one (UpdateFirstId).
#include "storage/types/streams/stream.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice {
namespace {

constexpr size_t kChunkShareBytes = sizeof(Stream::Chunks::value_type) * 9 / 8;
constexpr size_t kGroupShareBytes = sizeof(Stream::Groups::value_type) * 9 / 8;

void AddLive(const StreamChunk& chunk, std::vector<StreamId>& ids) {
  for (size_t i = 0; i < chunk.records(); ++i)
    if (!chunk.DeletedAt(i)) ids.push_back(chunk.IdAt(i));
}

}  // namespace

// --- Value

size_t Stream::MemoryBytes() const {
  return sizeof(*this) + chunk_bytes_ + chunks_.size() * kChunkShareBytes + group_bytes_ +
         groups_.size() * kGroupShareBytes;
}

// O(n): chunk by chunk, and every group with its consumers and pending entries.
std::unique_ptr<Value> Stream::Clone() const {
  auto copy = std::make_unique<Stream>();
  for (const auto& [id, chunk] : chunks_) {
    auto chunk_copy = std::make_unique<StreamChunk>(*chunk);
    copy->chunk_bytes_ += chunk_copy->MemoryBytes();
    copy->chunks_.emplace_hint(copy->chunks_.end(), id, std::move(chunk_copy));
  }
  copy->length_ = length_;
  copy->entries_added_ = entries_added_;
  copy->last_id_ = last_id_;
  copy->first_id_ = first_id_;
  copy->max_deleted_id_ = max_deleted_id_;
  for (const auto& [name, group] : groups_) {
    StreamGroup* const made = copy->AddGroup(name, group->last_id, group->entries_read);
    made->CopyFrom(*group);
  }
  return copy;
}

size_t Stream::Elements() const {
  size_t elements = chunks_.size();
  for (const auto& [name, group] : groups_) elements += 1 + group->pending().size();
  return elements;
}

// Chunks first, then groups, of which each gives up its pending entries before it goes.
size_t Stream::FreeSome(size_t budget) {
  size_t freed = 0;
  for (; freed < budget && !chunks_.empty(); ++freed) DropChunk(chunks_.begin());
  while (freed < budget && !groups_.empty()) {
    StreamGroup& group = *groups_.begin()->second;
    freed += group.FreeSome(budget - freed);
    if (freed == budget) break;
    group_bytes_ -= group.MemoryBytes();
    groups_.erase(groups_.begin());
    ++freed;
  }
  return freed;
}

// --- adding

std::optional<StreamId> Stream::NextId(StreamId last, int64_t unix_ms) {
  const auto ms = static_cast<uint64_t>(unix_ms);
  if (ms > last.ms) return StreamId{ms, 0};
  return last.Next();
}

// Redis's rule for a node, to the byte: a new node begins where its listpack would have become too
// long.
bool Stream::HasRoom(const StreamChunk& chunk, size_t more_bytes, const StreamNodeLimits& limits) {
  const size_t bytes_max =
      limits.bytes_max == 0 ? kEntryBytesMax : std::min<size_t>(limits.bytes_max, kEntryBytesMax);
  if (chunk.NodeBytes() + more_bytes >= bytes_max) return false;
  return limits.entries_max == 0 || chunk.records() < limits.entries_max;
}

Stream::Added Stream::Append(StreamId id, Args pairs, const StreamNodeLimits& limits) {
  assert(!pairs.empty() && pairs.size() % 2 == 0);
  if (id <= last_id_) return Added::kNotGreater;
  size_t bytes = 0;
  for (const std::string_view text : pairs) bytes += text.size();
  if (bytes > kEntryBytesMax) return Added::kTooLarge;

  StreamChunk* chunk = chunks_.empty() ? nullptr : chunks_.rbegin()->second.get();
  if (chunk != nullptr) {
    chunk_bytes_ -= chunk->MemoryBytes();
    // A chunk that is full gives its room back, and the entry begins the next one.
    if (!HasRoom(*chunk, bytes, limits)) {
      chunk->ShrinkToFit();
      chunk_bytes_ += chunk->MemoryBytes();
      chunk = nullptr;
    }
  }
  if (chunk == nullptr) {
    chunk = chunks_.emplace_hint(chunks_.end(), id, std::make_unique<StreamChunk>(id, pairs))
                ->second.get();
  }
  chunk->Append(id, pairs);
  chunk_bytes_ += chunk->MemoryBytes();
  ++length_;
  ++entries_added_;
  last_id_ = id;
  if (length_ == 1) first_id_ = id;
  return Added::kYes;
}

bool Stream::AppendChunk(std::unique_ptr<StreamChunk> chunk) {
  if (!chunk || chunk->records() == 0) return false;
  const StreamId last = chunk->last_id();
  if (!chunks_.empty() && chunk->base_id() <= last_id_) return false;
  if (last.zero()) return false;
  length_ += chunk->live();
  entries_added_ += chunk->live();
  last_id_ = last;
  chunk_bytes_ += chunk->MemoryBytes();
  // The first live entry is looked for in this chunk alone: those before it have none.
  if (length_ == chunk->live() && length_ > 0) {
    size_t first = 0;
    while (chunk->DeletedAt(first)) ++first;
    first_id_ = chunk->IdAt(first);
  }
  chunks_.emplace_hint(chunks_.end(), chunk->base_id(), std::move(chunk));
  return true;
}

// --- finding

Stream::Chunks::const_iterator Stream::ChunkOf(StreamId id) const {
  auto after = chunks_.upper_bound(id);
  return after == chunks_.begin() ? chunks_.end() : std::prev(after);
}

std::optional<StreamEntry> Stream::Find(StreamId id) const {
  const auto at = ChunkOf(id);
  if (at == chunks_.end()) return std::nullopt;
  const StreamChunk& chunk = *at->second;
  const size_t index = chunk.LowerBound(id);
  if (index == chunk.records()) return std::nullopt;
  const StreamChunk::Record record = chunk.RecordAt(index);
  if (record.id != id || record.deleted) return std::nullopt;
  return StreamEntry(chunk, record);
}

void Stream::ForEach(StreamId from, StreamId to, Visit visit) const {
  auto at = ChunkOf(from);
  if (at == chunks_.end()) at = chunks_.begin();
  for (; at != chunks_.end() && at->first <= to; ++at) {
    const StreamChunk& chunk = *at->second;
    for (size_t i = from <= at->first ? 0 : chunk.LowerBound(from); i < chunk.records(); ++i) {
      const StreamChunk::Record record = chunk.RecordAt(i);
      if (record.id > to) return;
      if (!record.deleted && !visit(StreamEntry(chunk, record))) return;
    }
  }
}

// From the last entry that is not above `to`; tombstones are passed.
void Stream::ForEachBackwards(StreamId from, StreamId to, Visit visit) const {
  auto after = chunks_.upper_bound(to);
  while (after != chunks_.begin()) {
    --after;
    const StreamChunk& chunk = *after->second;
    size_t i = chunk.LowerBound(to);
    if (i < chunk.records() && chunk.IdAt(i) == to) ++i;
    while (i-- > 0) {
      const StreamChunk::Record record = chunk.RecordAt(i);
      if (record.id < from) return;
      if (!record.deleted && !visit(StreamEntry(chunk, record))) return;
    }
  }
}

uint64_t Stream::Count(StreamId from, StreamId to, uint64_t most) const {
  // The whole range is known without a walk, and so is a chunk that lies in it.
  if (from <= first_id_ && to >= last_id_) return std::min(most, length_);
  uint64_t count = 0;
  auto at = ChunkOf(from);
  if (at == chunks_.end()) at = chunks_.begin();
  for (; count < most && at != chunks_.end() && at->first <= to; ++at) {
    const StreamChunk& chunk = *at->second;
    if (from <= at->first && chunk.last_id() <= to) {
      count += chunk.live();
      continue;
    }
    for (size_t i = chunk.LowerBound(from);
         count < most && i < chunk.records() && chunk.IdAt(i) <= to; ++i) {
      count += !chunk.DeletedAt(i);
    }
  }
  return std::min(count, most);
}

std::optional<StreamId> Stream::LastLiveId() const {
  std::optional<StreamId> last;
  ForEachBackwards(StreamId::Min(), StreamId::Max(), [&](const StreamEntry& entry) {
    last = entry.id();
    return false;
  });
  return last;
}

std::optional<StreamId> Stream::FirstKeptId() const {
  if (chunks_.empty()) return std::nullopt;
  return chunks_.begin()->second->IdAt(0);
}

// --- removing

void Stream::DropChunk(Chunks::const_iterator at) {
  length_ -= at->second->live();
  chunk_bytes_ -= at->second->MemoryBytes();
  chunks_.erase(at);
}

// A walk past the tombstones at the begin.
void Stream::UpdateFirstId() {
  first_id_ = {};
  ForEach(StreamId::Min(), StreamId::Max(), [&](const StreamEntry& entry) {
    first_id_ = entry.id();
    return false;
  });
}

// From the end: whole chunks that lie above the id, then the end of the chunk that it falls into.
void Stream::DropTombstonesAbove(StreamId id) {
  while (!chunks_.empty()) {
    const auto last = std::prev(chunks_.end());
    StreamChunk& chunk = *last->second;
    if (chunk.last_id() <= id) return;
    if (last->first > id) {
      assert(chunk.live() == 0);
      DropChunk(last);
      continue;
    }
    chunk.DropTombstonesAbove(id);
    if (chunk.records() > 0) return;
    DropChunk(last);
  }
}

void Stream::SetLastId(StreamId last_id) {
  DropTombstonesAbove(last_id);
  last_id_ = last_id;
}

// A mark, unless it was the chunk's last live entry: then the chunk goes with all its marks.
bool Stream::Delete(StreamId id) {
  const auto at = ChunkOf(id);
  if (at == chunks_.end()) return false;
  StreamChunk& chunk = *at->second;
  const size_t index = chunk.LowerBound(id);
  if (index == chunk.records() || chunk.IdAt(index) != id || chunk.DeletedAt(index)) return false;
  if (chunk.live() == 1) {
    DropChunk(at);
  } else {
    chunk.Delete(index);
    --length_;
  }
  max_deleted_id_ = std::max(max_deleted_id_, id);
  if (id == first_id_) UpdateFirstId();
  return true;
}

bool Stream::DropsWhole(const StreamChunk& chunk, const StreamTrim& trim) const {
  if (trim.by == StreamTrim::By::kLength) return length_ - chunk.live() >= trim.length_max;
  return chunk.last_id() < trim.id_min;
}

// Trim's own decisions up to the first entry that it would take: asked before a key is touched.
bool Stream::WouldTrim(const StreamTrim& trim) const {
  if (trim.by == StreamTrim::By::kNothing) return false;
  for (const auto& [id, chunk] : chunks_) {
    if (trim.by == StreamTrim::By::kLength && length_ <= trim.length_max) return false;
    if (trim.limit != 0 && chunk->live() > trim.limit) return false;
    const bool whole = DropsWhole(*chunk, trim);
    if (whole && chunk->live() == 0) continue;
    if (whole || trim.by == StreamTrim::By::kLength) return whole || !trim.approximate;
    return !trim.approximate && first_id_ < trim.id_min;
  }
  return false;
}

uint64_t Stream::TrimInside(StreamChunk& chunk, const StreamTrim& trim,
                            std::vector<StreamId>* gone) {
  uint64_t deleted = 0;
  for (size_t i = 0; i < chunk.records(); ++i) {
    if (trim.by == StreamTrim::By::kLength && length_ <= trim.length_max) break;
    if (trim.by == StreamTrim::By::kId && chunk.IdAt(i) >= trim.id_min) break;
    if (chunk.DeletedAt(i)) continue;
    if (gone) gone->push_back(chunk.IdAt(i));
    chunk.Delete(i);
    --length_;
    ++deleted;
  }
  return deleted;
}

uint64_t Stream::Trim(const StreamTrim& trim, std::vector<StreamId>* gone) {
  if (trim.by == StreamTrim::By::kNothing) return 0;
  uint64_t deleted = 0;
  while (!chunks_.empty()) {
    if (trim.by == StreamTrim::By::kLength && length_ <= trim.length_max) break;
    const auto first = chunks_.begin();
    const uint64_t live = first->second->live();
    if (trim.limit != 0 && deleted + live > trim.limit) break;
    if (!DropsWhole(*first->second, trim)) {
      if (!trim.approximate) deleted += TrimInside(*first->second, trim, gone);
      break;
    }
    if (gone) AddLive(*first->second, *gone);
    DropChunk(first);
    deleted += live;
  }
  if (deleted > 0) UpdateFirstId();
  return deleted;
}

std::vector<StreamId> Stream::Unreferenced(const StreamTrim& trim) const {
  std::vector<StreamId> ids;
  if (trim.by == StreamTrim::By::kNothing) return ids;
  for (const auto& [first, chunk] : chunks_) {
    const bool by_length = trim.by == StreamTrim::By::kLength;
    const uint64_t length = length_ - ids.size();
    if (by_length && length <= trim.length_max) break;
    if (trim.limit != 0 && ids.size() + chunk->live() > trim.limit) break;
    const bool is_whole =
        by_length ? length - chunk->live() >= trim.length_max : chunk->last_id() < trim.id_min;
    for (size_t i = 0; i < chunk->records(); ++i) {
      const StreamId id = chunk->IdAt(i);
      if (by_length ? length_ - ids.size() <= trim.length_max : id >= trim.id_min) break;
      if (!chunk->DeletedAt(i) && !IsReferenced(id)) ids.push_back(id);
    }
    if (!is_whole) break;
  }
  return ids;
}

bool Stream::IsReferenced(StreamId id) const {
  return std::ranges::any_of(groups_, [id](const auto& row) {
    const StreamGroup& group = *row.second;
    return id > group.last_id || group.pending().contains(id);
  });
}

}  // namespace sluice
