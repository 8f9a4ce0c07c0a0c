// Random: where all chance comes from, but for keys that are secret: SplitMix64 (Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators", 2014). Its state is one word, so that a
// generator is a value: a copy of it goes on as it does, and a server inside the server costs
// nothing for it (std::mt19937_64 takes 2,504 bytes). Not for secrets: who has seen one number
// knows all that follow.
#pragma once

#include <cstdint>
#include <limits>

namespace sluice {

class Random {
 public:
  using result_type = uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  explicit Random(uint64_t seed) : state_(seed) {}

  result_type operator()() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
  }
  bool operator==(const Random&) const = default;

 private:
  uint64_t state_;
};

}  // namespace sluice
