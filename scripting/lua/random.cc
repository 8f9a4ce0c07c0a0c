// See random.h.
#include "scripting/lua/random.h"

#include <cmath>

namespace sluice {
namespace {

// The generator of the port, which outlives the state.
RedisRandom& Shared(lua_State* L) {
  return *static_cast<RedisRandom*>(lua_touserdata(L, lua_upvalueindex(1)));
}

// math.random([[low,] high]), with the faults worded as in Lua's own.
int Random(lua_State* L) {
  // As Redis computes it, the modulo included: [0, 1).
  const int32_t drawn = Shared(L).Next() % RedisRandom::kMax;
  const lua_Number fraction = static_cast<lua_Number>(drawn) / RedisRandom::kMax;
  switch (lua_gettop(L)) {
    case 0:
      lua_pushnumber(L, fraction);
      return 1;
    case 1: {
      const int high = luaL_checkint(L, 1);
      luaL_argcheck(L, 1 <= high, 1, "interval is empty");
      lua_pushnumber(L, std::floor(fraction * high) + 1);
      return 1;
    }
    case 2: {
      const int low = luaL_checkint(L, 1);
      const int high = luaL_checkint(L, 2);
      luaL_argcheck(L, low <= high, 2, "interval is empty");
      // The width may not fit an int.
      const lua_Number width = static_cast<lua_Number>(high) - low + 1;
      lua_pushnumber(L, std::floor(fraction * width) + low);
      return 1;
    }
    default:
      return luaL_error(L, "wrong number of arguments");
  }
}

// math.randomseed(number): the sequence from here on, also for scripts to come.
int RandomSeed(lua_State* L) {
  Shared(L).Seed(luaL_checkint(L, 1));
  return 0;
}

}  // namespace

void OpenRandom(lua_State* L, RedisRandom& random) {
  lua_pushlightuserdata(L, &random);
  lua_pushcclosure(L, Random, 1);
  lua_setfield(L, -2, "random");
  lua_pushlightuserdata(L, &random);
  lua_pushcclosure(L, RandomSeed, 1);
  lua_setfield(L, -2, "randomseed");
}

}  // namespace sluice
