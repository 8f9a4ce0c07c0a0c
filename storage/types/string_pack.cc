// See string_pack.h. Integers are kept as such where that is shorter, and only if their text is the
// canonical one, so that the same text comes back. Each element is checked against the end of the
// block where it is read.
#include "storage/types/string_pack.h"

#include <absl/base/macros.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace sluice {
namespace {

constexpr uint8_t kShortTextMax = 239;  // head: the length of the text
constexpr uint8_t kInteger = 0xF0;      // + bytes of the integer
constexpr uint8_t kText16 = 0xF9;       // a length of 2 bytes follows
constexpr uint8_t kText32 = 0xFA;       // a length of 4 bytes follows
constexpr size_t kHeadMax = 5;

// Head and, of an integer, content of an element in its kept form.
struct Encoded {
  explicit Encoded(std::string_view text);
  size_t bytes() const { return small_size + rest.size(); }
  void WriteTo(char* out) const {
    std::memcpy(out, small, small_size);
    if (!rest.empty()) std::memcpy(out + small_size, rest.data(), rest.size());
  }
  char last() const { return rest.empty() ? small[small_size - 1] : rest.back(); }
  bool Equals(const char* kept) const {
    return std::memcmp(kept, small, small_size) == 0 &&
           (rest.empty() || std::memcmp(kept + small_size, rest.data(), rest.size()) == 0);
  }

  char small[9];
  size_t small_size;
  std::string_view rest;
};

// The fewest bytes whose sign extension is the number: 127 -> 1, 128 -> 2, -128 -> 1.
size_t IntegerBytes(int64_t value) {
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  const size_t bits = 65 - (magnitude == 0 ? 64 : __builtin_clzll(magnitude));  // with a sign bit
  return (bits + 7) / 8;
}

bool MayBeInteger(std::string_view text) {
  return text.size() >= 2 && text.size() <= kInt64TextMax &&
         (text[0] == '-' || (text[0] >= '1' && text[0] <= '9'));
}

// Three forms: an integer where that is shorter, a short text, a long text.
Encoded::Encoded(std::string_view text) : rest(text) {
  if (MayBeInteger(text)) {
    const auto integer = ParseInt64(text);
    const size_t size = integer ? IntegerBytes(*integer) : text.size();
    if (size < text.size()) {
      small[0] = static_cast<char>(kInteger + size);
      for (size_t i = 0; i < size; ++i) small[1 + i] = static_cast<char>(*integer >> (8 * i));
      small_size = 1 + size;
      rest = {};
      return;
    }
  }
  if (text.size() <= kShortTextMax) {
    small[0] = static_cast<char>(text.size());
    small_size = 1;
    return;
  }
  const size_t length_bytes = text.size() <= UINT16_MAX ? 2 : 4;
  small[0] = static_cast<char>(length_bytes == 2 ? kText16 : kText32);
  const auto length = static_cast<uint32_t>(text.size());
  std::memcpy(small + 1, &length, length_bytes);  // the lowest byte first on all that we run on
  small_size = 1 + length_bytes;
}

int64_t ReadInteger(const char* at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{static_cast<uint8_t>(at[i])} << (8 * i);
  const int unused = static_cast<int>(64 - 8 * bytes);
  return static_cast<int64_t>(value << unused) >> unused;
}

}  // namespace

std::string_view StringPack::Item::Text(char* scratch) const {
  if (!is_integer()) return {data_, size_};
  return {scratch, static_cast<size_t>(FormatInt64(scratch, integer_) - scratch)};
}

size_t StringPack::Item::TextBytes() const {
  char scratch[kTextScratch];
  return Text(scratch).size();
}

StringPack& StringPack::operator=(StringPack&& other) noexcept {
  block_ = std::move(other.block_);
  count_ = std::exchange(other.count_, 0);
  return *this;
}

// --- reading

StringPack::Frame StringPack::FrameAt(Position at) const {
  const size_t all = bytes();
  ABSL_HARDENING_ASSERT(at < all);
  const char* const data = block_.data() + at;
  const auto head = static_cast<uint8_t>(data[0]);
  Frame frame{1, head, false};
  if (head > kShortTextMax) [[unlikely]] {
    if (head == kText16 || head == kText32) {
      frame.head = head == kText16 ? 3 : kHeadMax;
      ABSL_HARDENING_ASSERT(frame.head <= all - at);
      uint32_t length = 0;
      std::memcpy(&length, data + 1, frame.head - 1);
      frame.content = length;
    } else {
      ABSL_HARDENING_ASSERT(head > kInteger && head <= kInteger + 8);
      frame.content = head - kInteger;
      frame.integer = true;
    }
  }
  ABSL_HARDENING_ASSERT(frame.head + frame.content <= all - at);
  return frame;
}

StringPack::Position StringPack::Next(Position at) const {
  const Frame frame = FrameAt(at);
  return static_cast<Position>(at + frame.head + frame.content);
}

StringPack::Item StringPack::At(Position at) const {
  const Frame frame = FrameAt(at);
  const char* const content = block_.data() + at + frame.head;
  Item item;
  if (frame.integer) {
    item.integer_ = ReadInteger(content, frame.content);
  } else {
    item.data_ = content;
    item.size_ = frame.content;
  }
  return item;
}

StringPack::Position StringPack::Nth(size_t index) const {
  if (index >= size()) return end();
  Position at = begin();
  for (; index > 0; --index) at = Next(at);
  return at;
}

// As Next, for one look at each of thousands: the two common forms need their head alone.
StringPack::Position StringPack::Behind(const char* data, Position at, size_t all) const {
  const auto head = static_cast<uint8_t>(data[at]);
  const size_t bytes = head <= kShortTextMax                     ? size_t{1} + head
                       : head > kInteger && head <= kInteger + 8 ? size_t{1} + head - kInteger
                                                                 : Next(at) - at;
  ABSL_HARDENING_ASSERT(bytes <= all - at);
  return static_cast<Position>(at + bytes);
}

StringPack::Position StringPack::Find(std::string_view text, Position from, size_t stride) const {
  const Encoded wanted(text);
  // The head, which tells the length, and the last byte tell most apart: names that are counted up
  // begin alike.
  const char head = wanted.small[0];
  const char last = wanted.last();
  const size_t last_at = wanted.bytes() - 1;
  const char* const data = block_.data();
  const Position all = end();
  for (Position at = from; at != all;) {
    const Position next = Behind(data, at, all);
    if (data[at] == head && next - at == last_at + 1 && data[at + last_at] == last &&
        wanted.Equals(data + at)) {
      return at;
    }
    at = next;
    for (size_t i = 1; i < stride && at != all; ++i) at = Behind(data, at, all);
  }
  return all;
}

bool StringPack::AllDiffer(size_t stride) const {
  std::vector<std::string_view> elements;
  elements.reserve(size() / stride);
  for (Position at = begin(); at != end();) {
    const Position next = Next(at);
    elements.emplace_back(block_.data() + at, next - at);
    at = next;
    for (size_t i = 1; i < stride && at != end(); ++i) at = Next(at);
  }
  return sluice::AllDiffer(elements);
}

// Texts that belong together begin alike and end differently: most of them are told apart by their
// last eight bytes.
bool AllDiffer(std::span<std::string_view> texts) {
  const auto ending = [](std::string_view text) {
    uint64_t word = 0;
    const size_t bytes = std::min(text.size(), sizeof word);
    if (bytes > 0) std::memcpy(&word, text.data() + text.size() - bytes, bytes);
    return word;
  };
  struct Keyed {
    uint64_t ending;
    std::string_view text;
    bool operator<(const Keyed& other) const {
      return ending != other.ending ? ending < other.ending : text < other.text;
    }
  };
  std::vector<Keyed> keyed;
  keyed.reserve(texts.size());
  for (const std::string_view text : texts) keyed.push_back({ending(text), text});
  std::sort(keyed.begin(), keyed.end());
  return std::adjacent_find(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
           return a.text == b.text;
         }) == keyed.end();
}

// --- changing

StringPack::Position StringPack::Insert(Position at, std::string_view text) {
  const Encoded encoded(text);
  encoded.WriteTo(block_.Splice(at, 0, encoded.bytes()));
  ++count_;
  return at;
}

void StringPack::Replace(Position at, std::string_view text) {
  const Encoded encoded(text);
  encoded.WriteTo(block_.Splice(at, Next(at) - at, encoded.bytes()));
}

StringPack::Position StringPack::Erase(Position at, size_t count) {
  const Position all = end();
  Position to = at;
  size_t erased = 0;
  for (; erased < count && to != all; ++erased) to = Next(to);
  block_.Splice(at, to - at, 0);
  count_ -= static_cast<uint32_t>(erased);
  return at;
}

}  // namespace sluice
