// See stream_chunk.h.
#include "storage/types/streams/stream_chunk.h"

#include <algorithm>
#include <cassert>

#include "absl/base/macros.h"
#include "storage/memory/heap_bytes.h"
#include "storage/types/listpack_size.h"

namespace sluice {

// The names of the first entry are kept as the master's; that entry itself is appended like any
// other.
StreamChunk::StreamChunk(StreamId id, Args pairs)
    : base_id_(id), master_pairs_(static_cast<uint32_t>(pairs.size() / 2)) {
  entry_bytes_ = ListpackIntegerBytes(master_pairs_) + ListpackIntegerBytes(0);
  for (size_t i = 0; i < pairs.size(); i += 2) entry_bytes_ += Push(pairs[i]);
}

// What the entry would weigh in Redis's listpack is summed up on the way: that decides when a node
// is full.
void StreamChunk::Append(StreamId id, Args pairs) {
  assert(records_.empty() || records_.back().id < id);
  Record record{.id = id, .first_string = static_cast<uint32_t>(ends_.size())};
  record.pairs = static_cast<uint32_t>(pairs.size() / 2);
  record.same_fields = HasMasterFields(pairs);
  // Flags, id, the entry's strings, and how many elements it has.
  const auto numbers = static_cast<int64_t>(pairs.size() / 2);
  size_t bytes = ListpackIntegerBytes(0) +
                 ListpackIntegerBytes(static_cast<int64_t>(id.ms - base_id_.ms)) +
                 ListpackIntegerBytes(static_cast<int64_t>(id.seq - base_id_.seq)) +
                 ListpackIntegerBytes(record.same_fields ? numbers + 3 : 2 * numbers + 4);
  if (!record.same_fields) bytes += ListpackIntegerBytes(numbers);
  for (size_t i = record.same_fields ? 1 : 0; i < pairs.size(); i += record.same_fields ? 2 : 1) {
    bytes += Push(pairs[i]);
  }
  entry_bytes_ += bytes;
  records_.push_back(record);
  ++live_;
}

void StreamChunk::Delete(size_t index) {
  ABSL_HARDENING_ASSERT(index < records_.size());
  assert(!records_[index].deleted && live_ > 0);
  records_[index].deleted = 1;
  --live_;
}

void StreamChunk::DropTombstonesAbove(StreamId id) {
  for (; !records_.empty() && records_.back().id > id; records_.pop_back()) {
    assert(records_.back().deleted);
  }
}

void StreamChunk::ShrinkToFit() {
  records_.shrink_to_fit();
  ends_.shrink_to_fit();
  text_.shrink_to_fit();
}

// With the same fields the strings are the values alone; else names and values in turn.
std::string_view StreamChunk::Field(const Record& record, size_t pair) const {
  return String(record.same_fields ? pair : record.first_string + 2 * pair);
}

std::string_view StreamChunk::Value(const Record& record, size_t pair) const {
  return String(record.first_string + (record.same_fields ? pair : 2 * pair + 1));
}

size_t StreamChunk::LowerBound(StreamId id) const {
  const auto at = std::lower_bound(records_.begin(), records_.end(), id,
                                   [](const Record& a, StreamId b) { return a.id < b; });
  return static_cast<size_t>(at - records_.begin());
}

size_t StreamChunk::NodeBytes() const {
  return kListpackFrameBytes + ListpackIntegerBytes(live_) +
         ListpackIntegerBytes(static_cast<int64_t>(records_.size() - live_)) + entry_bytes_;
}

size_t StreamChunk::MemoryBytes() const {
  return BlockSize(sizeof(*this)) + HeapBytes(records_) + HeapBytes(ends_) + HeapBytes(text_);
}

std::string_view StreamChunk::String(size_t index) const {
  ABSL_HARDENING_ASSERT(index < ends_.size());
  const size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::string_view(text_).substr(begin, ends_[index] - begin);
}

// The same names in the same order, as Redis compares them.
bool StreamChunk::HasMasterFields(Args pairs) const {
  if (pairs.size() / 2 != master_pairs_) return false;
  for (size_t i = 0; i < master_pairs_; ++i) {
    if (String(i) != pairs[2 * i]) return false;
  }
  return true;
}

size_t StreamChunk::Push(std::string_view text) {
  text_.append(text);
  ends_.push_back(static_cast<uint32_t>(text_.size()));
  return ListpackTextBytes(text);
}

}  // namespace sluice
