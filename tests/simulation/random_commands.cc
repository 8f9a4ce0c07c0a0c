#include "tests/simulation/random_commands.h"

#include <cstdlib>
#include <span>
#include <sstream>
#include <string_view>

namespace sluice {
namespace {

// k: a key, v: a value, n: a small number, t: milliseconds, s: seconds, u / U: a Unix time in s /
// ms around the start of the manual clock, b: a bit.
constexpr std::string_view kCommands[] = {
    "SET k v",
    "SET k v PX t",
    "SET k v EX s",
    "SET k v NX PX t",
    "SET k v XX KEEPTTL",
    "SET k n",
    "SET k v PXAT U",
    "SET k v EXAT u GET",
    "SET k v IFEQ v",
    "GET k",
    "GETEX k PX t",
    "GETEX k PERSIST",
    "GETDEL k",
    "GETSET k v",
    "SETNX k v",
    "SETEX k s v",
    "PSETEX k t v",
    "MSET k v k v",
    "MSETNX k v k v",
    "MSETEX 2 k v k v PX t",
    "MGET k k k",
    "APPEND k v",
    "SETRANGE k n v",
    "GETRANGE k 0 n",
    "INCR k",
    "DECR k",
    "INCRBY k n",
    "DECRBY k n",
    "INCRBYFLOAT k 0.1",
    "INCREX k BYINT n EX s",
    "INCREX k UBOUND n SATURATE PX t ENX",
    "DELEX k IFEQ v",
    "DELIFEQ k v",
    "CAS k v v PX t",
    "CAD k v",
    "DIGEST k",
    "SETBIT k n b",
    "GETBIT k n",
    "BITOP OR k k k",
    "BITOP NOT k k",
    "BITFIELD k INCRBY u8 n n SET i16 0 n",
    "BITCOUNT k",
    "ZADD k n v n v n v",
    "ZADD k GT CH n v",
    "ZADD k INCR n v",
    "ZINCRBY k n v",
    "ZREM k v",
    "ZPOPMIN k",
    "ZPOPMAX k n",
    "ZMPOP 2 k k MIN COUNT n",
    "ZRANGE k 0 -1 WITHSCORES",
    "ZRANGESTORE k k 0 n",
    "ZREMRANGEBYRANK k 0 b",
    "ZREMRANGEBYSCORE k 0 n",
    "ZUNIONSTORE k 2 k k",
    "ZINTERSTORE k 2 k k AGGREGATE MAX",
    "ZDIFFSTORE k 2 k k",
    "GEOADD k b b v b n v",
    "GEOSEARCHSTORE k k FROMLONLAT 0 0 BYRADIUS 9000 km STOREDIST",
    "DEL k k",
    "UNLINK k",
    "EXISTS k k",
    "RENAME k k",
    "RENAMENX k k",
    "COPY k k",
    "COPY k k REPLACE",
    "COPY k k DB 1 REPLACE",
    "MOVE k 1",
    "EXPIRE k s",
    "PEXPIRE k t",
    "PEXPIRE k t NX",
    "PEXPIRE k t GT",
    "PEXPIRE k t LT",
    "EXPIREAT k u",
    "PEXPIREAT k U",
    "PERSIST k",
    "TTL k",
    "PEXPIRETIME k",
    "PEXPIRE k -1",
    "SCAN 0 COUNT n",
    "KEYS *",
    "RANDOMKEY",
    "DBSIZE",
    "TOUCH k",
    "TYPE k",
    "OBJECT ENCODING k",
    "LCS k k",
    "EXISTS k",
};
constexpr std::string_view kMischief[] = {
    "MULTI",
    "MULTI",
    "EXEC",
    "EXEC",
    "EXEC",
    "DISCARD",
    "WATCH k",
    "WATCH k k",
    "UNWATCH",
    "RESET",
    "SELECT 1",
    "SELECT 0",
    "SELECT 99",
    "SWAPDB 0 1",
    "FLUSHDB",
    "FLUSHALL ASYNC",
    "HELLO 3",
    "HELLO 2",
    "CLIENT KILL ID n",
    "CLIENT PAUSE t WRITE",
    "CLIENT PAUSE t ALL",
    "CLIENT UNPAUSE",
    "CLIENT REPLY OFF",
    "CLIENT REPLY ON",
    "CLIENT REPLY SKIP",
    "CLIENT SETNAME k",
    "CLIENT LIST",
    "NOSUCH k",
    "SET k",
    "INCR",
    "GET k k k",
    "QUIT",
    "EXEC NX k",
    "EXEC IFEQ k v",
    "CONFIG SET timeout 0",
    "INFO",
    "COMMAND COUNT",
    "DEBUG SLEEP 0.001",
};

constexpr int64_t kUnixStartMs = 1'700'000'000'000;  // where ManualClock begins

std::string Filled(std::string_view word, SimulationRandom& random) {
  if (word.size() != 1) return std::string(word);
  switch (word[0]) {
    case 'k':
      return "key:" + std::to_string(Between(random, 0, 12));
    case 'v':
      return std::string(static_cast<size_t>(Between(random, 0, 40)), 'x') +
             std::to_string(Between(random, 0, 3));
    case 'n':
      return std::to_string(Between(random, 0, 50));
    case 't':
      return std::to_string(Between(random, 1, 400));
    case 's':
      return std::to_string(Between(random, 1, 3));
    case 'u':
      return std::to_string(kUnixStartMs / 1000 + Between(random, -1, 8));
    case 'U':
      return std::to_string(kUnixStartMs + Between(random, -100, 8000));
    case 'b':
      return std::to_string(Between(random, 0, 1));
    default:
      return std::string(word);
  }
}

std::vector<std::string> Drawn(std::span<const std::string_view> lines, SimulationRandom& random) {
  const auto row = static_cast<size_t>(Between(random, 0, static_cast<int64_t>(lines.size()) - 1));
  std::istringstream words{std::string(lines[row])};
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) arguments.push_back(Filled(word, random));
  return arguments;
}

}  // namespace

int64_t Between(SimulationRandom& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

std::vector<std::string> RandomCommand(SimulationRandom& random) {
  return Drawn(kCommands, random);
}

std::vector<std::string> RandomMischief(SimulationRandom& random) {
  return Drawn(kMischief, random);
}

std::vector<uint64_t> SimulationSeeds(uint64_t count) {
  if (const char* only = std::getenv("SLUICE_SEED")) return {std::strtoull(only, nullptr, 10)};
  std::vector<uint64_t> seeds;
  for (uint64_t seed = 1; seed <= count; ++seed) seeds.push_back(seed);
  return seeds;
}

}  // namespace sluice
