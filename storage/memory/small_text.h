// SmallText: a text that is set once and takes 16 bytes where it stands. Up to 15 bytes of text lie
// in there, a longer one in a block of its own. For what most objects of a kind have and is short,
// such as the address of a client: std::string takes 32 bytes for that.
//
//   SmallText address("127.0.0.1:54321");
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "storage/memory/boxed_text.h"

namespace sluice {

class SmallText {
 public:
  static constexpr size_t kInsideMax = 15;

  SmallText() = default;
  SmallText(std::string_view text) {  // NOLINT: a text is its bytes
    if (text.size() > kInsideMax) {
      Box(BoxedText(text));
    } else {
      size_ = static_cast<unsigned char>(text.size());
      text.copy(bytes_, text.size());
    }
  }
  SmallText(const char* text) : SmallText(std::string_view(text)) {}         // NOLINT
  SmallText(const std::string& text) : SmallText(std::string_view(text)) {}  // NOLINT
  SmallText(const SmallText& other) : SmallText(other.view()) {}
  SmallText(SmallText&& other) noexcept { TakeFrom(other); }
  SmallText& operator=(SmallText other) noexcept {
    Clear();
    TakeFrom(other);
    return *this;
  }
  ~SmallText() { Clear(); }

  // Valid until it is set anew, moved or destroyed.
  std::string_view view() const {
    return is_boxed() ? boxed().view() : std::string_view(bytes_, size_);
  }
  operator std::string_view() const { return view(); }  // NOLINT: a text is its bytes
  bool empty() const { return view().empty(); }
  bool operator==(std::string_view other) const { return view() == other; }
  friend size_t HeapBytes(const SmallText& text) {
    return text.is_boxed() ? HeapBytes(text.boxed()) : 0;
  }

 private:
  static constexpr unsigned char kBoxed = kInsideMax + 1;  // a size that says: see the box

  bool is_boxed() const { return size_ == kBoxed; }
  BoxedText& boxed() { return *std::launder(reinterpret_cast<BoxedText*>(bytes_)); }
  const BoxedText& boxed() const {
    return *std::launder(reinterpret_cast<const BoxedText*>(bytes_));
  }
  void Box(BoxedText text) {
    size_ = kBoxed;
    new (bytes_) BoxedText(std::move(text));
  }
  // Requires: it is empty.
  void TakeFrom(SmallText& other) {
    if (other.is_boxed()) return Box(std::move(other.boxed()));
    size_ = other.size_;
    other.view().copy(bytes_, size_);
  }
  void Clear() {
    if (is_boxed()) boxed().~BoxedText();
    size_ = 0;
  }

  alignas(BoxedText) char bytes_[kInsideMax];  // the text, or a BoxedText
  unsigned char size_ = 0;
};
static_assert(sizeof(SmallText) == 16);

}  // namespace sluice
