// Stream: an append-only log of entries (an id and pairs of field and value) with consumer groups.
//
// Entries lie in chunks ordered by their first id, where Redis has listpacks in a radix tree. A
// chunk is full when Redis's node would be (stream-node-max-entries, -bytes), and approximate
// trimming drops whole chunks, so that it leaves what Redis leaves. A chunk without a live entry
// can remain, as there.
//
// Chunks of three entries after XDEL 2-0 and XADD 4-0 (`x` is a tombstone):
//
//   1-0 -> [ 1-0  2-0x  3-0 ]     4-0 -> [ 4-0 ]        length 3, max_deleted_id 2-0
//
// Invariants: length() is the sum of the chunks' live entries; first_id is the first live one, 0-0
// when there is none; no entry is above last_id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "protocol/args.h"
#include "storage/keyspace/value.h"
#include "storage/types/streams/stream_chunk.h"
#include "storage/types/streams/stream_group.h"
#include "storage/types/streams/stream_id.h"

namespace sluice {

// How full a chunk may be; 0: no limit.
struct StreamNodeLimits {
  uint64_t entries_max = 100;
  uint64_t bytes_max = 4096;
};

// The ways to deal with groups that still need an entry which is to go: one that is pending there,
// or that they were not given yet.
enum class StreamReferences : uint8_t {
  kKeep,    // it goes, and stays pending
  kRemove,  // it goes, and is pending no longer
  kHonour,  // it stays
};

struct StreamTrim {
  enum class By : uint8_t { kNothing, kLength, kId };
  By by = By::kNothing;
  bool approximate = false;  // whole chunks only
  uint64_t length_max = 0;   // kLength
  StreamId id_min;           // kId: what is below goes
  uint64_t limit = 0;        // at most so many entries; 0: no limit
  StreamReferences references = StreamReferences::kKeep;
};

// One entry, seen where it lies: valid until the stream changes.
class StreamEntry {
 public:
  StreamEntry(const StreamChunk& chunk, const StreamChunk::Record& record)
      : chunk_(&chunk), record_(record) {}
  StreamId id() const { return record_.id; }
  size_t pairs() const { return record_.pairs; }
  // Visits field and value of each pair in order; the texts live during the visit.
  template <typename Visit>  // (std::string_view field, std::string_view value)
  void ForEachPair(Visit&& visit) const {
    chunk_->ForEachPair(record_, visit);
  }

 private:
  const StreamChunk* chunk_;
  StreamChunk::Record record_;
};

// Append is O(1) amortized, Find and the start of a walk O(log n). It owns chunks and groups.
class Stream final : public Value {
 public:
  static constexpr size_t kEntryBytesMax = size_t{1} << 30;  // Redis's STREAM_LISTPACK_MAX_SIZE
  enum class Added : uint8_t { kYes, kNotGreater, kTooLarge };
  using Groups = absl::btree_map<std::string, std::unique_ptr<StreamGroup>, std::less<>>;
  using Chunks = absl::btree_map<StreamId, std::unique_ptr<StreamChunk>>;

  // --- Value
  ValueType type() const override { return ValueType::kStream; }
  std::string_view Encoding() const override { return "stream"; }
  size_t MemoryBytes() const override;
  std::unique_ptr<Value> Clone() const override;
  size_t Elements() const override;
  size_t FreeSome(size_t budget) override;

  // --- entries
  uint64_t length() const { return length_; }
  // The id that a new entry gets by itself behind `last`; null when there is none left.
  static std::optional<StreamId> NextId(StreamId last, int64_t unix_ms);
  // pairs: field, value, field, value ...; even and not empty.
  Added Append(StreamId id, Args pairs, const StreamNodeLimits& limits);
  // A whole chunk behind all others, as loading has it; false (and nothing happens) when it is
  // none, empty, or not behind them.
  bool AppendChunk(std::unique_ptr<StreamChunk> chunk);
  bool Delete(StreamId id);                      // false when there is no such entry
  bool WouldTrim(const StreamTrim& trim) const;  // any entry
  // How many went; into `gone` those that did, if it is asked for. As Redis's streamTrim: whole
  // chunks from the front; the chunk on the border loses entries one by one, or, where only whole
  // ones may go, none. References are the caller's.
  uint64_t Trim(const StreamTrim& trim, std::vector<StreamId>* gone = nullptr);
  // The entries that a trim would take which honours references: from the oldest on, passing over
  // what is referenced, up to the first chunk on the border. Newer ones go in the place of those
  // that stay. O(entries looked at x groups).
  std::vector<StreamId> Unreferenced(const StreamTrim& trim) const;
  // Null for a tombstone, too. The view is valid until the stream changes.
  std::optional<StreamEntry> Find(StreamId id) const;
  // Live entries between the two ids, both included, until `visit` answers false.
  using Visit = absl::FunctionRef<bool(const StreamEntry&)>;
  void ForEach(StreamId from, StreamId to, Visit visit) const;
  void ForEachBackwards(StreamId from, StreamId to, Visit visit) const;
  // How many ForEach would give, at most `most`.
  uint64_t Count(StreamId from, StreamId to, uint64_t most) const;
  std::optional<StreamId> LastLiveId() const;
  // The first id, be it a tombstone's: what MINID ~ has left.
  std::optional<StreamId> FirstKeptId() const;

  // --- counters (XINFO STREAM)
  StreamId last_id() const { return last_id_; }
  StreamId first_id() const { return first_id_; }
  StreamId max_deleted_id() const { return max_deleted_id_; }
  uint64_t entries_added() const { return entries_added_; }
  // XSETID and loading. Requires: no live entry is above `last_id`. Tombstones that are go, or
  // entries that come under the lower id would lie behind them, out of order.
  void SetLastId(StreamId last_id);
  void SetMaxDeletedId(StreamId id) { max_deleted_id_ = id; }
  void SetEntriesAdded(uint64_t entries) { entries_added_ = entries; }
  const Chunks& chunks() const { return chunks_; }

  // --- groups
  StreamGroup* FindGroup(std::string_view name) const;  // null when there is none
  // Null when the name is taken.
  StreamGroup* AddGroup(std::string_view name, StreamId last_id, int64_t entries_read);
  bool RemoveGroup(std::string_view name);
  const Groups& groups() const { return groups_; }
  // Entries that the group was not given yet; null where deletions make that unknown.
  std::optional<int64_t> Lag(const StreamGroup& group) const;
  // How many entries were added up to this id, itself included; StreamGroup::kUnknown likewise.
  int64_t EntriesAddedUpTo(StreamId id) const;
  // Whether a group needs this entry, be it there or not. O(groups x log pending).
  bool IsReferenced(StreamId id) const;
  // The group has been given `id`, which is above its last one.
  void Deliver(StreamGroup& group, StreamId id) const;

  // Checks every invariant; the first violation as a sentence, or empty.
  std::string Audit() const override;

 private:
  static bool HasRoom(const StreamChunk& chunk, size_t more_bytes, const StreamNodeLimits& limits);
  // The chunk that may hold `id`: the last whose first id is not above it.
  Chunks::const_iterator ChunkOf(StreamId id) const;
  void DropChunk(Chunks::const_iterator at);
  bool DropsWhole(const StreamChunk& chunk, const StreamTrim& trim) const;
  uint64_t TrimInside(StreamChunk& chunk, const StreamTrim& trim, std::vector<StreamId>* gone);
  void UpdateFirstId();
  void DropTombstonesAbove(StreamId id);
  bool HasTombstonesFrom(StreamId id) const;

  Chunks chunks_;
  uint64_t length_ = 0;
  uint64_t entries_added_ = 0;
  StreamId last_id_;
  StreamId first_id_;
  StreamId max_deleted_id_;
  size_t chunk_bytes_ = 0;  // of all chunks
  Groups groups_;
  size_t group_bytes_ = 0;  // of all groups, kept by themselves
};

}  // namespace sluice
