// See stream_chunk.h. Flags are one of four small numbers, each an element of two bytes, so that an
// entry is deleted in its place.
#include "storage/types/streams/stream_chunk.h"

#include <algorithm>
#include <cassert>

#include "storage/listpack/listpack_size.h"
#include "storage/memory/heap_bytes.h"

namespace sluice {
namespace {

constexpr size_t kFlagsBytes = 2;
// Flags, two parts of an id, one text and the number behind it.
constexpr size_t kEntryBytesMin = 10;

// An upper bound of what the texts take, one in `step` of them.
size_t RoomOf(Args texts, size_t first, size_t step) {
  size_t bytes = 0;
  for (size_t i = first; i < texts.size(); i += step) bytes += texts[i].size() + kListpackRoom;
  return bytes;
}

// Ids are sums that a hostile node may make wrap: one that does not grow is a fault, whatever made
// it.
StreamId Beyond(StreamId base, int64_t ms, int64_t seq) {
  return {base.ms + static_cast<uint64_t>(ms), base.seq + static_cast<uint64_t>(seq)};
}

}  // namespace

// --- making

char* StreamChunk::Room(size_t bytes) {
  const size_t used = elements_.size();
  elements_.resize(used + bytes);
  return elements_.data() + used;
}

StreamChunk::StreamChunk(StreamId id, Args pairs)
    : base_id_(id), master_pairs_(static_cast<uint32_t>(pairs.size() / 2)) {
  char* at = Room(RoomOf(pairs, 0, 2) + 2 * kListpackRoom);
  at = PutListpackNumber(at, master_pairs_);
  names_at_ = static_cast<uint32_t>(at - elements_.data());
  for (size_t i = 0; i < pairs.size(); i += 2) at = PutListpackText(at, pairs[i]);
  End(PutListpackNumber(at, 0));
  count_ = master_pairs_ + 2;
}

void StreamChunk::Append(StreamId id, Args pairs) {
  assert(records() == 0 || last_id() < id);
  const bool same = HasMasterFields(pairs);
  const size_t first = same ? 1 : 0;
  const size_t step = same ? 2 : 1;
  constexpr size_t kNumbers = 5;
  starts_.push_back(static_cast<uint32_t>(elements_.size()));
  char* at = Room(RoomOf(pairs, first, step) + kNumbers * kListpackRoom);
  at = PutListpackNumber(at, same ? kSameFields : 0);
  at = PutListpackNumber(at, static_cast<int64_t>(id.ms - base_id_.ms));
  at = PutListpackNumber(at, static_cast<int64_t>(id.seq - base_id_.seq));
  if (!same) at = PutListpackNumber(at, static_cast<int64_t>(pairs.size() / 2));
  for (size_t i = first; i < pairs.size(); i += step) at = PutListpackText(at, pairs[i]);
  // The last number counts the elements, so that Redis can walk backwards.
  const uint64_t count = ElementsOf(pairs.size() / 2, same);
  End(PutListpackNumber(at, static_cast<int64_t>(count - 1)));
  count_ += count;
  ++live_;
}

// The same names in the same order, as Redis compares them.
bool StreamChunk::HasMasterFields(Args pairs) const {
  if (pairs.size() / 2 != master_pairs_) return false;
  ListpackWalk names = From(names_at_);
  char scratch[kInt64TextMax];
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (names.Next().Text(scratch) != pairs[i]) return false;
  }
  return true;
}

void StreamChunk::Delete(size_t index) {
  ABSL_HARDENING_ASSERT(index < records());
  assert(!DeletedAt(index) && live_ > 0);
  elements_[starts_[index]] = static_cast<char>(FlagsAt(index) | kDeleted);
  --live_;
}

void StreamChunk::DropTombstonesAbove(StreamId id) {
  while (records() > 0 && last_id() > id) {
    const Record record = RecordAt(records() - 1);
    assert(record.deleted);
    count_ -= ElementsOf(record.pairs, record.same_fields);
    dropped_bytes_ += static_cast<uint32_t>(elements_.size()) - starts_.back();
    elements_.resize(starts_.back());
    starts_.pop_back();
  }
}

void StreamChunk::ShrinkToFit() {
  starts_.shrink_to_fit();
  elements_.shrink_to_fit();
}

// --- a node of Redis's

std::unique_ptr<StreamChunk> StreamChunk::OfListpack(StreamId id, std::string_view listpack,
                                                     bool& counts_fit) {
  if (listpack.size() > UINT32_MAX) return nullptr;
  ListpackReader reader(listpack);
  // live | deleted | fields | name ... | 0 | entry ...
  int64_t live = 0, deleted = 0;  // made anew where a node is written
  if (!reader.TakeNumber(live) || !reader.TakeNumber(deleted)) return nullptr;
  std::unique_ptr<StreamChunk> chunk(new StreamChunk(id));
  const char* const begin = reader.at();
  const uint64_t counts = reader.seen();
  if (!chunk->TakeFields(reader)) return nullptr;
  const uint64_t announced = static_cast<uint64_t>(live) + static_cast<uint64_t>(deleted);
  chunk->starts_.reserve(std::min<uint64_t>(announced, listpack.size() / kEntryBytesMin));
  if (!chunk->TakeEntries(reader, begin)) return nullptr;
  chunk->count_ = reader.seen() - counts;
  chunk->elements_.assign(begin, reader.at());
  if (chunk->starts_.capacity() > chunk->records()) chunk->starts_.shrink_to_fit();
  const auto live_there = static_cast<int64_t>(chunk->live_);
  const auto deleted_there = static_cast<int64_t>(chunk->records() - chunk->live_);
  counts_fit = counts_fit && live == live_there && deleted == deleted_there;
  return chunk;
}

bool StreamChunk::TakeFields(ListpackReader& reader) {
  const char* const begin = reader.at();
  int64_t fields = 0, end = 0;
  if (!reader.TakeNumber(fields) || fields < 0 || fields > UINT32_MAX) return false;
  names_at_ = static_cast<uint32_t>(reader.at() - begin);
  PackedItem name;
  for (int64_t left = fields; left > 0; --left) {
    if (!reader.Take(name)) return false;
  }
  master_pairs_ = static_cast<uint32_t>(fields);
  return reader.TakeNumber(end) && end == 0;
}

// Notes where the entry begins, behind `begin`. False at the end, and at a fault, which is the
// reader's then.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool StreamChunk::TakeEntry(ListpackReader& reader,
                                                                const char* begin, StreamId& last) {
  const char* const at = reader.at();
  PackedItem flags, text;
  if (!reader.Take(flags)) return false;
  int64_t ms = 0, seq = 0, pairs = master_pairs_, behind = 0;
  const bool is_entry = flags.is_number && flags.number >= 0 &&
                        flags.number <= (kDeleted | kSameFields) && reader.at() == at + kFlagsBytes;
  if (!is_entry || !reader.TakeNumber(ms) || !reader.TakeNumber(seq)) return reader.Refuse();
  const bool same = (flags.number & kSameFields) != 0;
  if (!same && !reader.TakeNumber(pairs)) return false;
  if (pairs <= 0 || pairs > UINT32_MAX) return reader.Refuse();
  for (int64_t left = same ? pairs : 2 * pairs; left > 0; --left) {
    if (!reader.Take(text)) return reader.Refuse();
  }
  const StreamId id = Beyond(base_id_, ms, seq);
  const bool grows = records() == 0 ? id >= base_id_ : id > last;
  const auto elements = static_cast<int64_t>(ElementsOf(static_cast<uint64_t>(pairs), same)) - 1;
  if (!grows || !reader.TakeNumber(behind) || behind != elements) return reader.Refuse();
  last = id;
  starts_.push_back(static_cast<uint32_t>(at - begin));
  live_ += (flags.number & kDeleted) == 0;
  return true;
}

// By a reader of its own, which no other function sees: a loop over registers.
bool StreamChunk::TakeEntries(ListpackReader& from, const char* begin) {
  ListpackReader reader = from;
  for (StreamId last; TakeEntry(reader, begin, last);) continue;
  from = reader;
  return reader.ok();
}

std::string StreamChunk::Listpack() const {
  char counts[2 * kListpackRoom];
  char* end = PutListpackNumber(counts, static_cast<int64_t>(live()));
  end = PutListpackNumber(end, static_cast<int64_t>(records() - live()));
  return FramedListpack({counts, static_cast<size_t>(end - counts)}, elements_, count_ + 2);
}

// --- reading

StreamId StreamChunk::IdAt(size_t index) const {
  ABSL_HARDENING_ASSERT(index < records());
  ListpackWalk walk = From(starts_[index] + kFlagsBytes);
  const int64_t ms = walk.Number();
  return Beyond(base_id_, ms, walk.Number());
}

StreamChunk::Record StreamChunk::RecordAt(size_t index) const {
  ABSL_HARDENING_ASSERT(index < records());
  const char flags = FlagsAt(index);
  ListpackWalk walk = From(starts_[index] + kFlagsBytes);
  const int64_t ms = walk.Number();
  Record record{.id = Beyond(base_id_, ms, walk.Number()), .pairs = master_pairs_};
  record.same_fields = (flags & kSameFields) != 0;
  record.deleted = (flags & kDeleted) != 0;
  if (!record.same_fields) record.pairs = static_cast<uint32_t>(walk.Number());
  record.texts_at = static_cast<uint32_t>(walk.at() - elements_.data());
  return record;
}

size_t StreamChunk::LowerBound(StreamId id) const {
  size_t low = 0;
  for (size_t high = records(); low < high;) {
    const size_t middle = (low + high) / 2;
    if (IdAt(middle) < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// --- what it takes

size_t StreamChunk::NodeBytes() const {
  return kListpackFrameBytes + ListpackIntegerBytes(live_) +
         ListpackIntegerBytes(static_cast<int64_t>(records() - live_)) + elements_.size() +
         dropped_bytes_;
}

size_t StreamChunk::MemoryBytes() const {
  return BlockSize(sizeof(*this)) + HeapBytes(starts_) + HeapBytes(elements_);
}

}  // namespace sluice
