// ListItem: an element of a list in the form in which it is kept. Text that is the canonical
// decimal of a 64-bit integer is kept as the fewest bytes of it (two's complement, lowest first),
// all else as it is. One text has one form, so two elements are equal when their forms are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/base/attributes.h"

namespace sluice {

// Made on the stack for one call: a view of `text`, or its integer in eight bytes.
class ListItem {
 public:
  static constexpr size_t kTextScratch = 24;

  // `text` outlives the item.
  explicit ListItem(std::string_view text);

  std::string_view bytes() const {
    return integer_ ? std::string_view(packed_, packed_bytes_) : text_;
  }
  bool integer() const { return integer_; }
  size_t size() const { return bytes().size(); }
  bool Equals(std::string_view bytes, bool integer) const {
    return integer == integer_ && bytes == this->bytes();
  }

  // The number that was kept. Requires: `bytes` are those of an integer.
  static int64_t Number(std::string_view bytes);
  // The text of what was kept; an integer's is written into `scratch` (kTextScratch bytes).
  static std::string_view Text(std::string_view bytes, bool integer,
                               char* scratch ABSL_ATTRIBUTE_LIFETIME_BOUND);

 private:
  std::string_view text_;
  char packed_[sizeof(int64_t)];
  uint8_t packed_bytes_ = 0;
  bool integer_ = false;
};

}  // namespace sluice
