// StreamChunk: a run of up to some hundred entries of a stream, in the order of their ids.
//
// Its entries lie in the elements of Redis's listpack, as its node would have them, and an index
// says where each begins. So a chunk is loaded, copied and dumped as one run of bytes, whatever its
// entries repeat: the field names of the chunk's first entry stand there once, and entries with the
// same names have their values alone. And what a node weighs, which decides what XADD MAXLEN ~
// trims, is how long the bytes are. A deleted entry leaves its record (a tombstone) until the whole
// chunk goes, as in Redis's nodes.
//
// XADD 1-0 name Ann age 30, XADD 1-5 name Bob age 41, XADD 2-0 city Rome; flags 2 says "the same
// names", 1 "deleted":
//
//   elements_   2 name age 0 | 2 0 0 Ann 30 5 | 2 0 5 Bob 41 5 | 0 1 0 1 city Rome 6
//               names        | flags, ms and sequence beyond the first id, [pairs], texts, how many
//   starts_                    ^              ^               ^
//
// A ListpackReader checks bytes from outside to the last one; from then on a ListpackWalk goes over
// them, which holds back any read beyond the end, should one ever be wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "storage/listpack/listpack.h"
#include "storage/types/streams/stream_id.h"

namespace sluice {

// A chunk's elements are below 4 GiB.
class StreamChunk {
 public:
  // An entry as its elements say it. Valid until the chunk changes.
  struct Record {
    StreamId id;
    uint32_t pairs = 0;
    uint32_t texts_at = 0;  // where its first text begins
    bool same_fields = false;
    bool deleted = false;
  };

  // The field names of `pairs` (field, value, field, value ...) are those that others are compared
  // with; this entry, too, is to be appended. `id` is the one that its entries' ids are written
  // relative to.
  StreamChunk(StreamId id, Args pairs);
  // A node of Redis's that anyone may have written; null when it cannot be read, or ids do not
  // grow. How many entries it says to have, live and deleted, is not believed: `counts_fit` becomes
  // false when they are others. A chunk without entries is no fault.
  static std::unique_ptr<StreamChunk> OfListpack(StreamId id, std::string_view listpack,
                                                 bool& counts_fit);
  std::string Listpack() const;

  // Requires: id is greater than all of the chunk's; the texts together are below 2^30 bytes.
  void Append(StreamId id, Args pairs);
  void Delete(size_t index);  // requires: not deleted yet
  // They weigh on as they do in Redis's node, which keeps them. Requires: no live entry is above
  // `id`.
  void DropTombstonesAbove(StreamId id);
  void ShrinkToFit();

  StreamId base_id() const { return base_id_; }
  size_t records() const { return starts_.size(); }  // tombstones included
  size_t live() const { return live_; }
  // Requires: index < records().
  Record RecordAt(size_t index) const;
  StreamId IdAt(size_t index) const;
  bool DeletedAt(size_t index) const { return (FlagsAt(index) & kDeleted) != 0; }
  StreamId last_id() const { return IdAt(records() - 1); }
  // Visits field and value of each pair in order; the texts live during the visit.
  template <typename Visit>  // (std::string_view field, std::string_view value)
  void ForEachPair(const Record& record, Visit&& visit) const;
  // The first record whose id is not below `id`; records() when there is none.
  size_t LowerBound(StreamId id) const;

  size_t NodeBytes() const;    // what Redis's listpack with the same content has
  size_t MemoryBytes() const;  // itself included

 private:
  static constexpr int64_t kDeleted = 1;
  static constexpr int64_t kSameFields = 2;

  explicit StreamChunk(StreamId id) : base_id_(id) {}
  bool TakeFields(ListpackReader& reader);
  bool TakeEntry(ListpackReader& reader, const char* begin, StreamId& last);
  bool TakeEntries(ListpackReader& reader, const char* begin);

  ListpackWalk From(size_t at) const {
    return ListpackWalk(std::string_view(elements_).substr(at));
  }
  // Makes room behind the elements, and takes back what is left of it behind `end`.
  char* Room(size_t bytes);
  void End(const char* end) { elements_.resize(static_cast<size_t>(end - elements_.data())); }
  char FlagsAt(size_t index) const { return elements_[starts_[index]]; }
  bool HasMasterFields(Args pairs) const;
  // Elements of an entry, the number behind it included.
  static uint64_t ElementsOf(uint64_t pairs, bool same_fields) {
    return same_fields ? pairs + 4 : 2 * pairs + 5;
  }

  StreamId base_id_;
  std::string elements_;
  std::vector<uint32_t> starts_;  // of each entry in elements_
  uint32_t live_ = 0;
  uint32_t master_pairs_ = 0;
  uint32_t names_at_ = 0;       // of the master fields: behind their count
  uint32_t dropped_bytes_ = 0;  // of tombstones that weigh, but are gone
  uint64_t count_ = 0;          // of elements_
};

template <typename Visit>
void StreamChunk::ForEachPair(const Record& record, Visit&& visit) const {
  ListpackWalk texts = From(record.texts_at);
  ListpackWalk names = From(names_at_);
  char field_scratch[kInt64TextMax];
  char value_scratch[kInt64TextMax];
  for (uint32_t i = 0; i < record.pairs; ++i) {
    const PackedItem field = record.same_fields ? names.Next() : texts.Next();
    const PackedItem value = texts.Next();
    visit(field.Text(field_scratch), value.Text(value_scratch));
  }
}

}  // namespace sluice
