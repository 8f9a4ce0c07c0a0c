// FreeLater: gives small blocks back to malloc some at a time. malloc looks up what it knows of the
// page of a block, which among millions of blocks is a miss of the cache and of the TLB. One by one
// each command waits for its own; in a row the processor waits for many at once.
//
// SETs that end the time of counters, each of which frees a block, among 16 M counters: 22 % of the
// CPU was this wait (tools/bench --only set-growth-p64).
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>

namespace sluice {

class FreeLater {
 public:
  static constexpr size_t kBlocks = 32;
  static constexpr size_t kBytesMax = 256;  // of a block that is put off: it keeps 8 KB at most

  FreeLater() : FreeLater(std::free) {}
  explicit FreeLater(void (*free)(void*)) : free_(free) {}
  FreeLater(const FreeLater&) = delete;
  ~FreeLater() { FreeAll(); }

  // A block of malloc's, which nothing touches any more.
  void Take(void* block, size_t bytes) {
    if (kPutsOff && bytes <= kBytesMax) [[likely]] {
      blocks_[count_++] = block;
      if (count_ == kBlocks) FreeAll();
    } else {
      free_(block);
    }
  }
  void FreeAll() {
    for (size_t i = 0; i < count_; ++i) free_(blocks_[i]);
    count_ = 0;
  }

 private:
// AddressSanitizer is to see every use of a block that is free.
#ifdef __SANITIZE_ADDRESS__  // g++
  static constexpr bool kPutsOff = false;
#elif defined(__clang__)
#if __has_feature(address_sanitizer)
  static constexpr bool kPutsOff = false;
#else
  static constexpr bool kPutsOff = true;
#endif
#else
  static constexpr bool kPutsOff = true;
#endif

  void (*const free_)(void*);
  std::array<void*, kBlocks> blocks_;  // the first count_
  size_t count_ = 0;
};

}  // namespace sluice
