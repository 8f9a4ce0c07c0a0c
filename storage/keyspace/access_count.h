// AccessCount: how often a key is used, as Redis's LFU counts it, in the 24 bits that else hold the
// second of its last use:
//
//   | moment of the last use, modulo 2^16 | counter 8 |
//
// The counter grows with a probability of 1 / ((counter - 5) * log_factor + 1) a use, so 255 stands
// for about a million of them at a factor of 10, and falls by one each `decay_minutes`. A new key
// begins with 5, so that it is not the next to go.
//
// Redis keeps the minute of the last use. Here it is a moment of 4 s: counters fall with the minute
// all the same, and of keys that are used equally often (most are new ones, at 5) that one can go
// which was not used for longer. Moments repeat after three days: a walk over keys calls Settled,
// lest one that nobody used for so long looks as if it had just been.
//
//   counting.Used(bits, seconds)          the bits after one more use
//   counting.CounterAt(bits, seconds)     what OBJECT FREQ answers
#pragma once

#include <algorithm>
#include <cstdint>

#include "storage/hashing/random.h"

namespace sluice {

// Seconds are of any clock that is never negative, the same one for all calls.
class AccessCount {
 public:
  static constexpr uint32_t kOfNewKey = 5;
  static constexpr uint32_t kMost = 255;
  static constexpr int64_t kMomentSeconds = 4;
  static constexpr int64_t kMoments = 1 << 16;

  explicit AccessCount(uint64_t seed) : chance_(seed) {}

  void Configure(int64_t log_factor, int64_t decay_minutes) {
    log_factor_ = log_factor;
    decay_minutes_ = decay_minutes;
  }

  static uint32_t Bits(uint32_t counter, int64_t seconds) {
    const int64_t moment = seconds / kMomentSeconds & (kMoments - 1);
    return static_cast<uint32_t>(moment) << 8 | counter;
  }
  // Moments since the last use.
  static int64_t Age(uint32_t bits, int64_t seconds) {
    return (seconds / kMomentSeconds - (bits >> 8)) & (kMoments - 1);
  }
  // The counter as it has decayed by then; the bits stay.
  uint32_t CounterAt(uint32_t bits, int64_t seconds) const {
    const uint32_t counter = bits & kMost;
    if (decay_minutes_ == 0) return counter;
    const int64_t then = (seconds / kMomentSeconds - Age(bits, seconds)) * kMomentSeconds;
    const int64_t minutes = seconds / 60 - then / 60;
    return counter - static_cast<uint32_t>(std::min<int64_t>(counter, minutes / decay_minutes_));
  }
  uint32_t Used(uint32_t bits, int64_t seconds) {
    uint32_t counter = CounterAt(bits, seconds);
    if (counter < kMost && Chance() < GrowsWith(counter)) ++counter;
    return Bits(counter, seconds);
  }
  // The same, but never older than half of the moments: for keys that are met, not used.
  uint32_t Settled(uint32_t bits, int64_t seconds) const {
    if (Age(bits, seconds) <= kMoments / 2) return bits;
    return Bits(CounterAt(bits, seconds), seconds - kMoments / 4 * kMomentSeconds);
  }

 private:
  // The probability that a use makes this counter grow.
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
