// Redis's math.random: the drand48 sequence in its own arithmetic. Every script begins where a
// fresh Redis does, so that it gives the same numbers whenever and wherever it runs. (Redis 7
// itself goes on from script to script; its documentation promises the same.)
#pragma once

#include <cstdint>

#include "scripting/libraries/lua_api.h"

namespace sluice {

class RedisRandom {
 public:
  static constexpr int32_t kMax = 0x7fffffff;
  static constexpr int32_t kStart = 0x1234ABCD;  // the seed of a sequence that nobody has seeded

  void Seed(int32_t seed) {
    state_ = (static_cast<uint64_t>(static_cast<uint32_t>(seed)) << 16) | 0x330E;
  }
  // 0 .. kMax.
  int32_t Next() {
    state_ = (state_ * 0x5DEECE66D + 0xB) & ((uint64_t{1} << 48) - 1);
    return static_cast<int32_t>(state_ >> 17);
  }

 private:
  uint64_t state_ = 0x1234ABCD330E;
};

// Puts random and randomseed into the `math` table on top of the stack; `random` outlives it.
void OpenRandom(lua_State* L, RedisRandom& random);

}  // namespace sluice
