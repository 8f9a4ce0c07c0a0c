// A pointer in 6 bytes. User-space addresses of x86-64 and arm64 Linux have at most 48 bits; two
// bytes saved per list link and per table slot are a tenth of what a small key costs. The lowest
// bit carries a tag, so what is pointed to lies at an even address.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace sluice {

// Three 16-bit parts, so that it needs an alignment of 2 and no padding wherever it stands.
class PackedPointer {
 public:
  PackedPointer() = default;
  explicit PackedPointer(const void* pointer, unsigned tag = 0) { Set(pointer, tag); }

  // Without the tag.
  template <typename T>
  T* As() const {
    return reinterpret_cast<T*>(bits() & ~uint64_t{1});
  }
  unsigned tag() const { return parts_[0] & 1; }
  bool null() const { return As<void>() == nullptr; }
  void Set(const void* pointer, unsigned tag) {
    assert(tag <= 1);
    const uint64_t bits = reinterpret_cast<uint64_t>(pointer) | tag;
    assert((bits >> 48) == 0 && (reinterpret_cast<uint64_t>(pointer) & 1) == 0);
    const auto low = static_cast<uint32_t>(bits);
    std::memcpy(parts_, &low, sizeof(low));
    parts_[2] = static_cast<uint16_t>(bits >> 32);
  }
  bool operator==(const PackedPointer&) const = default;

 private:
  // Two of the parts at once: half the loads and stores.
  uint64_t bits() const {
    uint32_t low;
    std::memcpy(&low, parts_, sizeof(low));
    return low | uint64_t{parts_[2]} << 32;
  }
  static_assert(std::endian::native == std::endian::little);
  uint16_t parts_[3] = {0, 0, 0};
};
static_assert(sizeof(PackedPointer) == 6 && alignof(PackedPointer) == 2);

}  // namespace sluice
