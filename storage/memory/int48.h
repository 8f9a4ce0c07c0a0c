// Int48: an int64 in six bytes, for times and counts that are kept a million times. It holds what
// engine times in ms can be: 278 years before their zero to 8,640 years after it. What lies beyond
// counts as the nearest of these, but INT64_MAX, which means "never", stays what it is.
//
//   Int48 until_ms = INT64_MAX;
//   if (until_ms > now_ms) ...   // reads and compares as an int64_t
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace sluice {

class Int48 {
 public:
  static constexpr int64_t kMin = -(int64_t{1} << 43);
  static constexpr int64_t kMax = kMin + (int64_t{1} << 48) - 2;

  Int48(int64_t value = 0) {  // NOLINT: it is an int64_t
    auto above_min = static_cast<uint64_t>(value) - static_cast<uint64_t>(kMin);
    if (above_min > kMost) [[unlikely]]
      above_min = value == INT64_MAX ? kNever : value < kMin ? 0 : kMost;
    const auto low = static_cast<uint32_t>(above_min);
    std::memcpy(parts_, &low, sizeof(low));
    parts_[2] = static_cast<uint16_t>(above_min >> 32);
  }
  operator int64_t() const {  // NOLINT: likewise
    uint32_t low;
    std::memcpy(&low, parts_, sizeof(low));
    const uint64_t above_min = low | uint64_t{parts_[2]} << 32;
    return above_min == kNever ? INT64_MAX : static_cast<int64_t>(above_min) + kMin;
  }

 private:
  static constexpr uint64_t kMost = static_cast<uint64_t>(kMax - kMin);
  static constexpr uint64_t kNever = kMost + 1;  // all bits
  static_assert(std::endian::native == std::endian::little);
  uint16_t parts_[3];  // of the value above kMin: so it needs no padding wherever it stands
};
static_assert(sizeof(Int48) == 6 && alignof(Int48) == 2);

}  // namespace sluice
