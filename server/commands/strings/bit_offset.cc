// See bit_offset.h.
#include "server/commands/strings/bit_offset.h"

#include <algorithm>

#include "protocol/text/number_text.h"
#include "storage/memory/text_block.h"

namespace sluice {

// With `#` the product may overflow, so it is checked before it is compared. The bound is in bytes
// because a string is: its last bit must lie inside proto-max-bulk-len. Redis checks the same for
// reads, so GETBIT far behind the end is an error and not 0.
std::optional<uint64_t> ReadBitOffset(const CommandCall& call, std::string_view text,
                                      int field_bits) {
  const bool counts_fields = field_bits > 0 && text.starts_with('#');
  const std::optional<int64_t> number = ParseInt64(text.substr(counts_fields ? 1 : 0));
  int64_t offset = 0;
  if (!number || __builtin_mul_overflow(*number, counts_fields ? field_bits : 1, &offset)) {
    return std::nullopt;
  }
  const auto bytes_max =
      std::min(call.settings.proto_max_bulk_len, static_cast<int64_t>(TextBlock::kBytesMax));
  if (offset < 0 || offset / 8 >= bytes_max) return std::nullopt;
  return static_cast<uint64_t>(offset);
}

}  // namespace sluice
