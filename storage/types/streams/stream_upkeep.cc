// The groups of a stream, what they lag behind, and the stream's audit: see stream.h. How many
// entries lie before an id is known only where nothing was deleted from the middle; Redis's rules.
#include "storage/types/streams/stream.h"

namespace sluice {

// --- groups

StreamGroup* Stream::FindGroup(std::string_view name) const {
  const auto found = groups_.find(name);
  return found == groups_.end() ? nullptr : found->second.get();
}

StreamGroup* Stream::AddGroup(std::string_view name, StreamId last_id, int64_t entries_read) {
  const auto [at, is_new] = groups_.try_emplace(std::string(name));
  if (!is_new) return nullptr;
  at->second = std::make_unique<StreamGroup>(last_id, entries_read, &group_bytes_);
  return at->second.get();
}

bool Stream::RemoveGroup(std::string_view name) {
  const auto found = groups_.find(name);
  if (found == groups_.end()) return false;
  group_bytes_ -= found->second->MemoryBytes();
  groups_.erase(found);
  return true;
}

// Redis's streamRangeHasTombstones, for the range from `id` to the end.
bool Stream::HasTombstonesFrom(StreamId id) const {
  if (length_ == 0 || max_deleted_id_.zero() || first_id_ > max_deleted_id_) return false;
  return id <= max_deleted_id_;
}

// Redis's streamEstimateDistanceFromFirstEverEntry: only the ends of a stream are known for sure.
int64_t Stream::EntriesAddedUpTo(StreamId id) const {
  if (entries_added_ == 0) return 0;
  // Clients may set it to anything, so the differences are those of whole numbers of 64 bits.
  const auto added = static_cast<int64_t>(entries_added_);
  const auto before_first = static_cast<int64_t>(entries_added_ - length_);
  if (length_ == 0 && id <= last_id_) return added;
  if (id == last_id_) return added;
  if (id > last_id_) return StreamGroup::kUnknown;
  if (max_deleted_id_.zero() || max_deleted_id_ < first_id_) {
    // Nothing is missing from the first entry on.
    if (id < first_id_) return before_first;
    if (id == first_id_) return NextCount(before_first);
  }
  return StreamGroup::kUnknown;
}

// The group's own counter where it is sound, else an estimate from its last id; null where
// deletions in between make both a guess.
std::optional<int64_t> Stream::Lag(const StreamGroup& group) const {
  if (entries_added_ == 0) return 0;
  const bool counts = group.entries_read != StreamGroup::kUnknown;
  const int64_t read = counts && !HasTombstonesFrom(group.last_id)
                           ? group.entries_read
                           : EntriesAddedUpTo(group.last_id);
  if (read == StreamGroup::kUnknown) return std::nullopt;
  return static_cast<int64_t>(entries_added_ - static_cast<uint64_t>(read));
}

void Stream::Deliver(StreamGroup& group, StreamId id) const {
  if (group.entries_read != StreamGroup::kUnknown && !HasTombstonesFrom(id)) {
    group.entries_read = NextCount(group.entries_read);
  } else if (entries_added_ > 0) {
    group.entries_read = EntriesAddedUpTo(id);
  }
  group.last_id = id;
}

// --- audit

std::string Stream::Audit() const {
  uint64_t live = 0;
  size_t bytes = 0;
  std::optional<StreamId> before;
  std::optional<StreamId> first;
  for (const auto& [id, chunk] : chunks_) {
    if (chunk->records() == 0) return "a chunk is empty";
    if (chunk->base_id() != id) return "a chunk is not where its id says";
    size_t chunk_live = 0;
    for (size_t i = 0; i < chunk->records(); ++i) {
      const StreamChunk::Record record = chunk->RecordAt(i);
      if (record.id < id || (before && record.id <= *before)) return "entries are out of order";
      before = record.id;
      if (record.deleted) continue;
      ++chunk_live;
      if (!first) first = record.id;
    }
    if (chunk_live != chunk->live()) return "a chunk's live entries are miscounted";
    live += chunk_live;
    bytes += chunk->MemoryBytes();
  }
  if (live != length_) return "the length is wrong";
  if (bytes != chunk_bytes_) return "the memory is miscounted";
  if (first.value_or(StreamId{}) != first_id_) return "the first id is wrong";
  if (before && *before > last_id_) return "an entry is above the last id";
  size_t group_bytes = 0;
  for (const auto& [name, group] : groups_) {
    group_bytes += group->MemoryBytes();
    size_t owned = group->unowned().size();
    for (const auto& [consumer_name, consumer] : group->consumers()) {
      if (consumer_name != consumer->name) return "a consumer is not under its name";
      owned += consumer->pending.size();
    }
    if (owned != group->pending().size()) return "pending entries are miscounted";
    for (const auto& [place, id] : group->unowned()) {
      const auto pending = group->pending().find(id);
      if (pending == group->pending().end() || !pending->second.unowned() ||
          pending->second.delivered_ms != place)
        return "an unowned entry is not where its place says";
    }
  }
  if (group_bytes != group_bytes_) return "the memory of groups is miscounted";
  return "";
}

}  // namespace sluice
