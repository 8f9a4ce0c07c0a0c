// TickRun: a short list of (tick, units) in order of time, in so few bytes that it lies inside a
// keyspace entry: the drains of a leaky bucket, the requests of a LOG limiter. A record that does
// not fit is refused; the caller keeps all in an object then (DrainQueue, RequestLog).
//
//   TickRun run(entry.packed());
//   run.DropThrough(now.ms());
//   if (run.Add(due_ms, 1)) Store(run.bytes()); else MoveOut();
//
// The last record stands apart, so that what comes in order of time, or within one tick, changes
// some bytes at the end and nothing else. The others are written as the units of each and the gap
// to the next, one to three bytes for most:
//
//   last tick 8 | last - first 4 | units of the last 4 | bytes of records 1 | records | room
//   record: varint(gap << 1 | many) [varint(units - 2) if many]        gap >= 1, units >= 1
//
// Three drains: 1 unit at 5,000, 3 at 5,200, 1 at 9,000:
//
//   9000 | 4000 | 1 | 5 | 90 03 | b1 3b 01 | room       gaps of 200 (<< 1 = 400) and 3800 (7601)
//
// bytes() has one of three sizes, so that a block in the heap is made anew twice, not with each
// record: the first is room for 16 drains some seconds apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/base/attributes.h"
#include "absl/functional/function_ref.h"

namespace sluice {

// A value of 112 bytes, made from the entry's bytes and written back. A walk over the records is
// O(n) of at most 87.
class TickRun {
 public:
  static constexpr size_t kBytesMin = 48;
  static constexpr size_t kBytesMax = 103;  // kInlineBytesMax, less what a limiter has beside it

  TickRun() : TickRun(size_t{0}) {}  // empty
  // Empty, in the place of one whose bytes() had that size: it keeps to it.
  explicit TickRun(size_t size) : image_{}, size_(size) {}
  // Requires: what bytes() has given in this process.
  explicit TickRun(std::string_view bytes);

  bool empty() const { return image_.last_units == 0; }
  // Precondition of both: !empty().
  int64_t first() const { return image_.last - image_.span; }
  int64_t last() const { return image_.last; }
  uint64_t UnitsAfter(int64_t tick) const;  // of those after it; far below 2^64
  size_t records() const;
  // In order of time.
  void ForEach(absl::FunctionRef<void(int64_t tick, uint64_t units)> visit) const;

  // Units of a tick share a record. False if it does not fit, and nothing has changed. Requires:
  // units >= 1.
  bool Add(int64_t tick, uint64_t units);
  void DropThrough(int64_t tick) {  // takes out what is at or before it
    if (!empty() && tick >= first()) DropSome(tick);
  }

  // The form to store, of one of the three sizes: the next larger when there is no room, a smaller
  // one when that is half empty and this one three quarters. Valid until the next change.
  std::string_view bytes() ABSL_ATTRIBUTE_LIFETIME_BOUND {
    const size_t needed = kHeaderBytes + image_.used;
    if (needed > size_ || needed <= size_ / 4) [[unlikely]]
      Resize(needed);
    return {reinterpret_cast<const char*>(&image_), size_};
  }
  // The first violated invariant as a sentence, or empty.
  std::string Audit() const;

 private:
  struct Image {  // what bytes() is the begin of
    int64_t last;
    uint32_t span;
    uint32_t last_units;  // 0: it is empty
    uint8_t used;
    char records[kBytesMax - 17];
  };
  static constexpr size_t kHeaderBytes = offsetof(Image, records);
  static_assert(kHeaderBytes == 17);
  static constexpr size_t kSizes[] = {kBytesMin, 80, kBytesMax};
  struct Record {
    uint64_t gap;
    uint64_t units;
  };

  static const char* ReadRecord(const char* at, Record& record);
  static char* WriteRecord(char* at, const Record& record);
  bool Insert(int64_t tick, uint32_t units);
  // Puts records in the place of those from `begin` to `end`; false, and nothing moves, if they do
  // not fit.
  bool Replace(const char* begin, const char* end, std::string_view records);
  void DropSome(int64_t tick);
  void Resize(size_t needed);
  const char* end() const { return image_.records + image_.used; }

  Image image_;
  size_t size_;  // of what bytes() has given
};

}  // namespace sluice
