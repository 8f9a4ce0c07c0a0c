// See listpack.h. Bytes that are read come from a peer: every length is checked against what is
// left, back-lengths too.
#include "storage/rdb/listpack.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "storage/types/listpack_size.h"

namespace sluice {
namespace {

constexpr uint8_t kEnd = 0xff;
constexpr uint64_t kTooManyToCount = UINT16_MAX;

// Sign-extends a number of so many bits.
int64_t Signed(uint64_t value, int bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

}  // namespace

// --- writing

void ListpackWriter::LittleEndian(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) Byte(value >> 8 * i & 255);
}

// Three forms by length: 6, 12 and 32 bits.
void ListpackWriter::Text(std::string_view text) {
  if (const std::optional<int64_t> number = ListpackNumber(text)) return Number(*number);
  const size_t begin = used_;
  if (text.size() < 64) {
    Byte(0x80 | text.size());
  } else if (text.size() < 4096) {
    Byte(0xe0 | text.size() >> 8);
    Byte(text.size() & 255);
  } else {
    Byte(0xf0);
    LittleEndian(text.size(), 4);
  }
  std::ranges::copy(text, Room(text.size()));
  used_ += text.size();
  EndElement(begin);
}

// Six forms: 7 bits in one byte, 13 in two, then 2, 3, 4 and 8 bytes behind a byte that says so.
void ListpackWriter::Number(int64_t number) {
  const auto bits = static_cast<uint64_t>(number);
  const size_t count = ListpackIntegerBytes(number) - 1;
  if (count == 1) return Encoded(bits, count);
  if (count == 2) return Encoded(0xc0 | (bits >> 8 & 31) | (bits & 255) << 8, count);
  if (count <= 5) {
    const uint64_t kept = bits & ((uint64_t{1} << 8 * (count - 1)) - 1);
    return Encoded((0xf1 + count - 3) | kept << 8, count);
  }
  const size_t begin = used_;
  Byte(0xf4);
  LittleEndian(bits, 8);
  EndElement(begin);
}

// An element of at most seven bytes, the first in the lowest of a word; at once, with its length.
void ListpackWriter::Encoded(uint64_t bytes, size_t count) {
  static_assert(std::endian::native == std::endian::little);
  bytes |= static_cast<uint64_t>(count) << (8 * count);
  std::memcpy(Room(sizeof bytes), &bytes, sizeof bytes);  // a copy of count + 1 would be a call
  used_ += count + 1;
  ++elements_;
}

// The length goes backwards: it is read from its last byte to its first, whose top bit is clear;
// seven bits a byte.
void ListpackWriter::EndElement(size_t begin) {
  const size_t encoded = used_ - begin;
  const size_t bytes = ListpackBacklengthBytes(encoded);
  for (size_t i = bytes; i-- > 0;) Byte((encoded >> 7 * i & 127) | (i + 1 < bytes ? 128 : 0));
  ++elements_;
}

// A count of 65,535 and more is written as 65,535: readers count then.
std::string ListpackWriter::Finish() {
  Byte(kEnd);
  const uint64_t header[] = {used_, elements_ < kTooManyToCount ? elements_ : kTooManyToCount};
  for (size_t i = 0; i < kHeaderBytes; ++i) {
    const uint64_t part = i < 4 ? header[0] >> 8 * i : header[1] >> 8 * (i - 4);
    bytes_[i] = static_cast<char>(part & 255);
  }
  bytes_.resize(std::exchange(used_, kHeaderBytes));
  elements_ = 0;
  return std::exchange(bytes_, std::string(kRoomAtFirst, '\0'));
}

// --- reading

ListpackReader::ListpackReader(std::string_view bytes) : rest_(bytes) {
  if (bytes.size() < kListpackFrameBytes) {
    Fail();
    return;
  }
  const uint64_t total = *LittleEndian(4);
  announced_ = *LittleEndian(2);
  if (total != bytes.size() || static_cast<uint8_t>(bytes.back()) != kEnd) Fail();
}

std::optional<PackedItem> ListpackReader::Fail() {
  ok_ = false;
  rest_ = {};
  return std::nullopt;
}

// At the end byte: it has to be the last, and the count has to be right.
std::optional<PackedItem> ListpackReader::Next() {
  if (rest_.empty()) return std::nullopt;
  if (static_cast<uint8_t>(rest_[0]) == kEnd) {
    const bool counted = announced_ == kTooManyToCount || announced_ == seen_;
    if (rest_.size() != 1 || !counted) return Fail();
    rest_ = {};
    return std::nullopt;
  }
  const size_t before = rest_.size();
  PackedItem item;
  if (!TakeItem(item) || !TakeBacklength(before - rest_.size())) return Fail();
  if (rest_.empty()) return Fail();  // no end
  ++seen_;
  return item;
}

std::optional<uint64_t> ListpackReader::LittleEndian(size_t bytes) {
  if (rest_.size() < bytes) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<uint8_t>(rest_[i]);
  rest_.remove_prefix(bytes);
  return value;
}

bool ListpackReader::TakeText(size_t bytes, PackedItem& item) {
  if (rest_.size() < bytes) return false;
  item.text = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return true;
}

// The first byte says all: ranges from the most frequent to the rarest.
bool ListpackReader::TakeItem(PackedItem& item) {
  const auto first = static_cast<uint8_t>(rest_[0]);
  rest_.remove_prefix(1);
  if (first < 0x80) {
    item.number = first;
    return true;
  }
  if (first < 0xc0) return TakeText(first & 63, item);
  if (first < 0xf0) {
    const std::optional<uint64_t> low = LittleEndian(1);
    if (!low) return false;
    if (first >= 0xe0) return TakeText((first & 15u) << 8 | *low, item);
    item.number = Signed((first & 31u) << 8 | *low, 13);
    return true;
  }
  if (first > 0xf4) return false;
  constexpr size_t kBytes[] = {4, 2, 3, 4, 8};
  const size_t bytes = kBytes[first - 0xf0];
  const std::optional<uint64_t> value = LittleEndian(bytes);
  if (!value) return false;
  if (first == 0xf0) return TakeText(*value, item);
  item.number = Signed(*value, static_cast<int>(8 * bytes));
  return true;
}

// Has to be what a writer would have written for an element of so many bytes, to the byte.
bool ListpackReader::TakeBacklength(size_t encoded_bytes) {
  const size_t bytes = ListpackBacklengthBytes(encoded_bytes);
  if (rest_.size() < bytes) return false;
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    const auto byte = static_cast<uint8_t>(rest_[i]);
    if ((byte >= 128) != (i > 0)) return false;
    value = value << 7 | (byte & 127);
  }
  rest_.remove_prefix(bytes);
  return value == encoded_bytes;
}

}  // namespace sluice
