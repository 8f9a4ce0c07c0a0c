// See tick_run.h. The numbers are varints (LEB128: seven bits a byte, the lowest first), read
// without a bound within the records: the constructor has checked how many bytes they take, and
// Audit that they end there.
#include "storage/limits/tick_run.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "absl/base/macros.h"
#include "protocol/text/copy_bytes.h"

namespace sluice {
namespace {

constexpr size_t kRecordBytesMax = 10;  // two numbers of 33 bits, seven to a byte

// --- numbers and records

inline const char* ReadVarint(const char* at, uint64_t& value) {
  value = static_cast<uint8_t>(*at++);
  if (value < 0x80) [[likely]]
    return at;
  value &= 0x7f;
  for (int shift = 7;; shift += 7) {
    const auto byte = static_cast<uint8_t>(*at++);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return at;
  }
}

inline char* WriteVarint(char* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

}  // namespace

// One unit is the usual number, and takes no byte: a bit of the gap says that there are more.
inline const char* TickRun::ReadRecord(const char* at, Record& record) {
  at = ReadVarint(at, record.gap);
  const bool many = record.gap & 1;
  record.gap >>= 1;
  record.units = 1;
  if (!many) return at;
  at = ReadVarint(at, record.units);
  record.units += 2;
  return at;
}

inline char* TickRun::WriteRecord(char* at, const Record& record) {
  const bool many = record.units > 1;
  at = WriteVarint(at, record.gap << 1 | (many ? 1 : 0));
  return many ? WriteVarint(at, record.units - 2) : at;
}

// --- reading

TickRun::TickRun(std::string_view bytes) : size_(bytes.size()) {
  // Bytes of this process; checked all the same, as `used` decides how far is read.
  ABSL_HARDENING_ASSERT(bytes.size() >= kHeaderBytes && bytes.size() <= kBytesMax);
  if (bytes.size() == kSizes[0]) [[likely]] {
    std::memcpy(static_cast<void*>(&image_), bytes.data(), kSizes[0]);  // without a call
  } else {
    std::memcpy(static_cast<void*>(&image_), bytes.data(), bytes.size());
  }
  ABSL_HARDENING_ASSERT(kHeaderBytes + image_.used <= bytes.size());
}

void TickRun::ForEach(absl::FunctionRef<void(int64_t, uint64_t)> visit) const {
  if (empty()) return;
  int64_t tick = first();
  Record record;
  for (const char* at = image_.records; at != end();) {
    at = ReadRecord(at, record);
    visit(tick, record.units);
    tick += static_cast<int64_t>(record.gap);
  }
  visit(tick, image_.last_units);
}

size_t TickRun::records() const {
  size_t count = 0;
  ForEach([&count](int64_t, uint64_t) { ++count; });
  return count;
}

uint64_t TickRun::UnitsAfter(int64_t after) const {
  uint64_t sum = 0;
  ForEach([&sum, after](int64_t tick, uint64_t units) { sum += tick > after ? units : 0; });
  return sum;
}

// --- changing

bool TickRun::Add(int64_t tick, uint64_t units) {
  assert(units >= 1);
  if (units > UINT32_MAX) return false;
  const auto narrow = static_cast<uint32_t>(units);
  if (empty()) {
    image_.last = tick;
    image_.last_units = narrow;
    return true;
  }
  if (tick == last()) {
    if (narrow > UINT32_MAX - image_.last_units) return false;
    image_.last_units += narrow;
    return true;
  }
  if (tick < last()) return Insert(tick, narrow);
  // The tick comes behind the last, which becomes a record.
  if (tick - first() > UINT32_MAX) return false;
  char bytes[kRecordBytesMax];
  const auto gap = static_cast<uint32_t>(tick - last());
  const char* const stop = WriteRecord(bytes, {gap, image_.last_units});
  if (!Replace(end(), end(), {bytes, stop})) return false;
  image_.last = tick;
  image_.span += gap;
  image_.last_units = narrow;
  return true;
}

// Adds a tick before the last: its record gets the units, or the gap that it lies in is parted in
// two.
bool TickRun::Insert(int64_t tick, uint32_t units) {
  char bytes[2 * kRecordBytesMax];
  if (tick < first()) {
    if (last() - tick > UINT32_MAX) return false;
    const auto gap = static_cast<uint32_t>(first() - tick);
    const char* const stop = WriteRecord(bytes, {gap, units});
    if (!Replace(image_.records, image_.records, {bytes, stop})) return false;
    image_.span += gap;
    return true;
  }
  int64_t before = first();
  const char* begin = image_.records;
  Record record;
  const char* next = ReadRecord(begin, record);
  while (before + static_cast<int64_t>(record.gap) <= tick) {
    before += static_cast<int64_t>(record.gap);
    begin = next;
    next = ReadRecord(begin, record);
  }
  if (before == tick) {
    if (record.units + units > UINT32_MAX) return false;
    const char* const stop = WriteRecord(bytes, {record.gap, record.units + units});
    return Replace(begin, next, {bytes, stop});
  }
  const auto age = static_cast<uint64_t>(tick - before);
  const char* const stop =
      WriteRecord(WriteRecord(bytes, {age, record.units}), {record.gap - age, units});
  return Replace(begin, next, {bytes, stop});
}

bool TickRun::Replace(const char* begin, const char* stop, std::string_view records) {
  const auto taken = static_cast<size_t>(stop - begin);
  const size_t used = image_.used - taken + records.size();
  if (used > sizeof(image_.records)) return false;
  char* const at = image_.records + (begin - image_.records);
  if (stop != end()) std::memmove(at + records.size(), stop, static_cast<size_t>(end() - stop));
  CopyBytes(at, records.data(), records.size());
  image_.used = static_cast<uint8_t>(used);
  return true;
}

// The span shrinks by the gaps that go, so that first() follows: no tick is written down but the
// last.
void TickRun::DropSome(int64_t tick) {
  if (tick >= last()) {
    image_.span = image_.used = image_.last_units = 0;
    return;
  }
  const char* at = image_.records;
  Record record;
  while (first() <= tick) {
    at = ReadRecord(at, record);
    image_.span -= static_cast<uint32_t>(record.gap);
  }
  Replace(image_.records, at, {});
}

// --- the bytes

void TickRun::Resize(size_t needed) {
  const auto size_for = [](size_t wanted) {
    return *std::ranges::find_if(kSizes, [wanted](size_t size) { return size >= wanted; });
  };
  if (needed > size_) {
    size_ = size_for(needed);
    std::memset(image_.records + image_.used, 0, size_ - needed);
  } else {
    size_ = size_for(2 * needed);
  }
}

std::string TickRun::Audit() const {
  if (empty()) return image_.used + image_.span > 0 ? "an empty run of ticks has records" : "";
  uint64_t gaps = 0;
  Record record;
  for (const char* at = image_.records; at != end();) {
    at = ReadRecord(at, record);
    if (at > end()) return "a record of ticks is cut off";
    if (record.gap == 0) return "two records are of one tick";
    if (record.units > UINT32_MAX) return "a record of ticks has too many units";
    gaps += record.gap;
  }
  return gaps == image_.span ? "" : "the gaps of a run of ticks are not its span";
}

}  // namespace sluice
