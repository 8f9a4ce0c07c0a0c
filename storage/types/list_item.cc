// See list_item.h.
#include "storage/types/list_item.h"

#include <bit>
#include <cstring>
#include <optional>

#include "protocol/text/number_text.h"

namespace sluice {
namespace {

template <typename Word>
uint64_t Load(std::string_view bytes, size_t at) {
  static_assert(std::endian::native == std::endian::little);
  Word word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

}  // namespace

ListItem::ListItem(std::string_view text) : text_(text) {
  // '9' bounds the first character, which turns away most texts before they are parsed.
  if (text.empty() || text.size() > kInt64TextMax || text[0] > '9') return;
  const std::optional<int64_t> number = ParseInt64(text);
  if (!number) return;
  integer_ = true;
  std::memcpy(packed_, &*number, sizeof packed_);
  packed_bytes_ = 1;
  // As many bytes as give the number back when the last one's sign is extended.
  while (packed_bytes_ < sizeof packed_) {
    const int shift = 64 - 8 * packed_bytes_;
    if (static_cast<int64_t>(static_cast<uint64_t>(*number) << shift) >> shift == *number) break;
    ++packed_bytes_;
  }
}

int64_t ListItem::Number(std::string_view bytes) {
  // Two loads that may overlap: a copy of so few bytes, unknown how many, is a call, and a loop's
  // end is hard to foretell.
  uint64_t number;
  if (bytes.size() >= 4) {
    number = Load<uint32_t>(bytes, 0) | Load<uint32_t>(bytes, bytes.size() - 4)
                                            << 8 * (bytes.size() - 4);
  } else if (bytes.size() >= 2) {
    number = Load<uint16_t>(bytes, 0) | Load<uint16_t>(bytes, bytes.size() - 2)
                                            << 8 * (bytes.size() - 2);
  } else {
    number = Load<uint8_t>(bytes, 0);
  }
  const int shift = 64 - 8 * static_cast<int>(bytes.size());
  return static_cast<int64_t>(number << shift) >> shift;
}

std::string_view ListItem::Text(std::string_view bytes, bool integer, char* scratch) {
  if (!integer) return bytes;
  return {scratch, static_cast<size_t>(FormatInt64(scratch, Number(bytes)) - scratch)};
}

}  // namespace sluice
