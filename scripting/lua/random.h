// Redis's math.random: the drand48 sequence in its own arithmetic. A server begins where a fresh
// Redis does, and every script goes on where the one before it has stopped, as in Redis 7. (Its
// documentation has each begin anew; that was so while scripts were replicated as such.)
#pragma once

#include <cstdint>

#include "scripting/lua/lua_api.h"

namespace sluice {

// X(n+1) = (0x5DEECE66D X(n) + 0xB) mod 2^48, of which Next gives the 31 highest bits: drand48's
// generator. Not for secrets: a few draws tell all that follow.
class RedisRandom {
 public:
  // The highest value that Next gives.
  static constexpr int32_t kMax = 0x7fffffff;

  // As srand48: the seed in the upper 32 bits, 0x330E below.
  void Seed(int32_t seed) {
    state_ = (static_cast<uint64_t>(static_cast<uint32_t>(seed)) << 16) | 0x330E;
  }
  // 0 .. kMax.
  int32_t Next() {
    state_ = (state_ * 0x5DEECE66D + 0xB) & ((uint64_t{1} << 48) - 1);
    return static_cast<int32_t>(state_ >> 17);
  }
  bool operator==(const RedisRandom&) const = default;

 private:
  uint64_t state_ = 0x1234ABCD330E;  // of a sequence that no script has seeded
};

// Puts random and randomseed into the `math` table on top of the stack; `random` outlives it.
void OpenRandom(lua_State* L, RedisRandom& random);

}  // namespace sluice
