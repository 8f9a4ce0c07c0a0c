// BoxedText: a text that is set once and takes 8 bytes where it stands: its length and its bytes
// lie in one block of their own. For names that are kept a million times, where std::string is 32
// bytes beside its block.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "storage/memory/block_size.h"

namespace sluice {

class BoxedText {
 public:
  BoxedText() = default;  // is_none
  // At most 2^32 - 1 bytes.
  explicit BoxedText(std::string_view text) : block_(new char[kLengthBytes + text.size()]) {
    const auto length = static_cast<uint32_t>(text.size());
    std::memcpy(block_.get(), &length, kLengthBytes);
    text.copy(block_.get() + kLengthBytes, text.size());  // which may be none, at no address
  }
  BoxedText(const BoxedText& other) : BoxedText() { *this = other; }
  BoxedText(BoxedText&&) = default;
  BoxedText& operator=(const BoxedText& other) {
    if (this == &other) return *this;
    return *this = other.is_none() ? BoxedText() : BoxedText(other.view());
  }
  BoxedText& operator=(BoxedText&&) = default;
  BoxedText& operator=(std::string_view text) { return *this = BoxedText(text); }

  bool is_none() const { return block_ == nullptr; }  // which is not the empty text
  // Valid until it is set anew, also while the BoxedText itself moves.
  std::string_view view() const {
    return is_none() ? std::string_view() : std::string_view(block_.get() + kLengthBytes, length());
  }
  operator std::string_view() const { return view(); }  // NOLINT: a text is its bytes
  bool operator==(std::string_view other) const { return view() == other; }
  friend size_t HeapBytes(const BoxedText& text) {
    return text.is_none() ? 0 : BlockSize(kLengthBytes + text.length());
  }

 private:
  static constexpr size_t kLengthBytes = sizeof(uint32_t);

  uint32_t length() const {
    uint32_t length;
    std::memcpy(&length, block_.get(), kLengthBytes);
    return length;
  }

  std::unique_ptr<char[]> block_;
};

}  // namespace sluice
