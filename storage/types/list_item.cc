// See list_item.h.
#include "storage/types/list_item.h"

#include <cstring>
#include <optional>

#include "protocol/text/number_text.h"

namespace sluice {

ListItem::ListItem(std::string_view text) : text_(text) {
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
  uint64_t number = 0;  // byte by byte: a copy of so few, unknown how many, is a call
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  const int shift = 64 - 8 * static_cast<int>(bytes.size());
  return static_cast<int64_t>(number << shift) >> shift;
}

std::string_view ListItem::Text(std::string_view bytes, bool integer, char* scratch) {
  if (!integer) return bytes;
  return {scratch, static_cast<size_t>(FormatInt64(scratch, Number(bytes)) - scratch)};
}

}  // namespace sluice
