// Texts of constant tables, smaller than views of them: the loader of a program with a position of
// its own copies and writes each page of constants that holds an address, at each start.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

// A literal, or nothing.
class ConstantText {
 public:
  constexpr ConstantText() = default;
  constexpr ConstantText(const char* literal) : literal_(literal) {}  // NOLINT: reads as one
  constexpr bool empty() const { return literal_ == nullptr; }
  constexpr operator std::string_view() const {  // NOLINT
    return literal_ ? literal_ : std::string_view();
  }

 private:
  const char* literal_ = nullptr;
};

// Where a text stands in a longer one.
struct TextPlace {
  uint16_t at = 0;
  uint16_t size = 0;
  constexpr bool empty() const { return size == 0; }
};

}  // namespace sluice
