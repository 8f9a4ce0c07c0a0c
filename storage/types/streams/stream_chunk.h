// StreamChunk: a run of up to some hundred entries of a stream, in the order of their ids.
//
// The strings of all entries stand one after the other in one text; a record an entry says where
// its own begin. An entry with the same field names as the chunk's first one keeps its values only.
// A deleted entry leaves its record (a tombstone) until the whole chunk goes: Redis's nodes do so,
// and the chunk counts what its node would weigh, because that decides what XADD MAXLEN ~ trims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "storage/types/streams/stream_id.h"

namespace sluice {

// XADD 1-0 name Ann age 30, XADD 2-0 name Bob age 41, XADD 3-0 city Rome:
//
//   text_      name age Ann 30 Bob 41 city Rome         the names of the first entry come first
//   records_   1-0: from string 2, same fields | 2-0: from 4, same | 3-0: from 6, its own fields
class StreamChunk {
 public:
  struct Record {
    StreamId id;
    uint32_t first_string = 0;  // index of its first
    uint32_t pairs : 30 = 0;
    uint32_t same_fields : 1 = 0;
    uint32_t deleted : 1 = 0;
  };

  // The field names of `pairs` (field, value, field, value ...) are those that others are compared
  // with. `id` is the one that its entries' ids are written relative to in a dump.
  StreamChunk(StreamId id, Args pairs);

  // Precondition: id is greater than all of the chunk's; the texts together are below 2^30 bytes.
  void Append(StreamId id, Args pairs);
  void Delete(size_t index);  // precondition: not deleted yet
  // Their strings stay with the chunk, and weigh as they do in Redis's node. Precondition: no live
  // entry is above `id`.
  void DropTombstonesAbove(StreamId id);
  void ShrinkToFit();

  StreamId base_id() const { return base_id_; }
  size_t records() const { return records_.size(); }  // tombstones included
  size_t live() const { return live_; }
  const Record& record(size_t index) const { return records_[index]; }
  std::string_view Field(const Record& record, size_t pair) const;
  std::string_view Value(const Record& record, size_t pair) const;
  size_t master_pairs() const { return master_pairs_; }
  std::string_view MasterField(size_t pair) const { return String(pair); }
  // The first record whose id is not below `id`; records() when there is none.
  size_t LowerBound(StreamId id) const;

  size_t NodeBytes() const;    // what Redis's listpack with the same content has
  size_t MemoryBytes() const;  // itself included

 private:
  std::string_view String(size_t index) const;
  bool HasMasterFields(Args pairs) const;
  // Keeps the string; what it weighs in a listpack.
  size_t Push(std::string_view text);

  StreamId base_id_;
  uint32_t live_ = 0;
  uint32_t master_pairs_;
  size_t entry_bytes_ = 0;  // of a listpack, but for its frame and its two counts
  std::vector<Record> records_;
  std::vector<uint32_t> ends_;  // of each string in text_
  std::string text_;
};

}  // namespace sluice
