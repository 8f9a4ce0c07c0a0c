// AccessCount: how often a key is used, as Redis's LFU counts it, in the 24 bits that else hold the
// second of its last use:
//
//   | minute of the last count, modulo 2^16 | counter 8 |
//
// The counter grows with a probability of 1 / ((counter - 5) * log_factor + 1) a use, so 255 stands
// for about a million of them at a factor of 10, and falls by one each `decay_minutes`. A new key
// begins with 5, so that it is not the next to go.
//
//   counting.Used(bits, minute)          the bits after one more use
//   counting.CounterAt(bits, minute)     what OBJECT FREQ answers
#pragma once

#include <algorithm>
#include <cstdint>

#include "storage/hashing/random.h"

namespace sluice {

class AccessCount {
 public:
  static constexpr uint32_t kOfNewKey = 5;
  static constexpr uint32_t kMost = 255;
  static constexpr int64_t kMinutes = 1 << 16;

  explicit AccessCount(uint64_t seed) : chance_(seed) {}

  void Configure(int64_t log_factor, int64_t decay_minutes) {
    log_factor_ = log_factor;
    decay_minutes_ = decay_minutes;
  }

  // Minutes of any clock, modulo 2^16; the same one for all calls.
  static uint32_t Bits(uint32_t counter, int64_t minute) {
    return static_cast<uint32_t>(minute & (kMinutes - 1)) << 8 | counter;
  }
  // The counter as it has decayed by then; the bits stay.
  uint32_t CounterAt(uint32_t bits, int64_t minute) const {
    const uint32_t counter = bits & kMost;
    if (decay_minutes_ == 0) return counter;
    const int64_t since = (minute - (bits >> 8)) & (kMinutes - 1);
    return counter - static_cast<uint32_t>(std::min<int64_t>(counter, since / decay_minutes_));
  }
  uint32_t Used(uint32_t bits, int64_t minute) {
    uint32_t counter = CounterAt(bits, minute);
    if (counter < kMost && Chance() < GrowsWith(counter)) ++counter;
    return Bits(counter, minute);
  }

 private:
  // Of a use that finds the counter so.
  double GrowsWith(uint32_t counter) const {
    const uint32_t above = counter - std::min(counter, kOfNewKey);
    return 1.0 / (static_cast<double>(above) * static_cast<double>(log_factor_) + 1);
  }
  // In [0, 1).
  double Chance() { return static_cast<double>(chance_() >> 11) * 0x1p-53; }

  int64_t log_factor_ = 10;
  int64_t decay_minutes_ = 1;
  Random chance_;
};

}  // namespace sluice
