// See ziplist.h.
#include "storage/rdb/ziplist.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sluice {
namespace {

constexpr uint8_t kEnd = 0xff;
constexpr uint8_t kLong = 0xfe;  // a length of four bytes follows

// Takes bytes from the front; after a fault everything is empty and `ok` false.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  size_t left() const { return rest_.size(); }
  uint8_t peek() const { return rest_.empty() ? 0 : static_cast<uint8_t>(rest_[0]); }
  std::string_view Take(size_t bytes) {
    if (bytes > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  uint64_t LittleEndian(size_t bytes) {
    uint64_t value = 0;
    const std::string_view taken = Take(bytes);
    for (size_t i = taken.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(taken[i]);
    return value;
  }
  uint64_t BigEndian(size_t bytes) {
    uint64_t value = 0;
    for (const char c : Take(bytes)) value = value << 8 | static_cast<uint8_t>(c);
    return value;
  }
  int64_t Signed(size_t bytes) {
    const int unused = static_cast<int>(64 - 8 * bytes);
    return static_cast<int64_t>(LittleEndian(bytes) << unused) >> unused;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// 00pppppp, 01pppppp +1, 10000000 +4: text; 11......: a number, by the whole byte.
//
// The part of a ziplist's entry behind the length of the one before.
bool TakeZiplistItem(Taker& taker, PackedItem& item) {
  const auto first = static_cast<uint8_t>(taker.BigEndian(1));
  switch (first >> 6) {
    case 0:
      item.text = taker.Take(first & 63);
      return taker.ok();
    case 1:
      item.text = taker.Take((first & 63u) << 8 | taker.BigEndian(1));
      return taker.ok();
    case 2:
      if (first != 0x80) return false;
      item.text = taker.Take(taker.BigEndian(4));
      return taker.ok();
  }
  switch (first) {
    case 0xc0:
      item = PackedItem::Of(taker.Signed(2));
      break;
    case 0xd0:
      item = PackedItem::Of(taker.Signed(4));
      break;
    case 0xe0:
      item = PackedItem::Of(taker.Signed(8));
      break;
    case 0xf0:
      item = PackedItem::Of(taker.Signed(3));
      break;
    case 0xfe:
      item = PackedItem::Of(taker.Signed(1));
      break;
    default:
      if (first < 0xf1 || first > 0xfd) return false;
      item = PackedItem::Of(int64_t{first & 15} - 1);
  }
  return taker.ok();
}

// A length of a zipmap; null at its end.
std::optional<size_t> TakeZipmapLength(Taker& taker) {
  const auto first = static_cast<uint8_t>(taker.LittleEndian(1));
  if (!taker.ok() || first == kEnd) return std::nullopt;
  return first < kLong ? first : taker.LittleEndian(4);
}

}  // namespace

// Everything that is said twice has to agree: total bytes, the offset of the last, the count, and
// of each entry how long the one before it was.
bool ForEachInZiplist(std::string_view bytes, VisitPacked visit) {
  constexpr uint64_t kTooManyToCount = UINT16_MAX;
  Taker taker(bytes);
  const uint64_t total = taker.LittleEndian(4);
  const uint64_t last_at = taker.LittleEndian(4);
  const uint64_t announced = taker.LittleEndian(2);
  if (!taker.ok() || total != bytes.size()) return false;
  uint64_t seen = 0;
  size_t before = 0;  // bytes of the entry before
  size_t begin = bytes.size() - taker.left();
  while (taker.left() > 0 && taker.peek() != kEnd) {
    begin = bytes.size() - taker.left();
    const uint64_t first = taker.LittleEndian(1);
    const uint64_t before_said = first < kLong ? first : taker.LittleEndian(4);
    PackedItem item;
    if (!taker.ok() || before_said != before || !TakeZiplistItem(taker, item)) return false;
    if (!visit(item)) return false;
    before = bytes.size() - taker.left() - begin;
    ++seen;
  }
  const bool counted = announced == kTooManyToCount || announced == seen;
  return taker.left() == 1 && counted && last_at == begin;
}

// Redis 2.4's small hashes. `free` bytes behind a value are room that an update has left.
bool ForEachInZipmap(std::string_view bytes, VisitPacked visit) {
  constexpr uint64_t kTooManyToCount = 254;
  Taker taker(bytes);
  const uint64_t announced = taker.LittleEndian(1);
  uint64_t seen = 0;
  while (const std::optional<size_t> name_bytes = TakeZipmapLength(taker)) {
    PackedItem name, value;
    name.text = taker.Take(*name_bytes);
    const std::optional<size_t> value_bytes = TakeZipmapLength(taker);
    if (!value_bytes) return false;
    const uint64_t unused = taker.LittleEndian(1);
    value.text = taker.Take(*value_bytes);
    taker.Take(unused);
    if (!taker.ok() || !visit(name) || !visit(value)) return false;
    ++seen;
  }
  return taker.ok() && taker.left() == 0 && (announced >= kTooManyToCount || announced == seen);
}

// Ascending is checked: a set has no member twice.
bool ForEachInIntset(std::string_view bytes, VisitPacked visit) {
  Taker taker(bytes);
  const uint64_t width = taker.LittleEndian(4);
  const uint64_t count = taker.LittleEndian(4);
  if (!taker.ok() || (width != 2 && width != 4 && width != 8)) return false;
  if (taker.left() != width * count) return false;
  std::optional<int64_t> before;
  for (uint64_t i = 0; i < count; ++i) {
    const PackedItem item = PackedItem::Of(taker.Signed(width));
    if ((before && *before >= item.number) || !visit(item)) return false;
    before = item.number;
  }
  return true;
}

}  // namespace sluice
