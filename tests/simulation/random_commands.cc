// See random_commands.h.
#include "tests/simulation/random_commands.h"

#include <cstdlib>
#include <span>
#include <sstream>
#include <string_view>

#include "tests/support/seed.h"

namespace sluice {
namespace {

// k: a key, v: a value, n: a small number, t: milliseconds, s: seconds, u / U: a Unix time in s /
// ms around the start of the manual clock, b: a bit, a: a limiter's algorithm, p: a policy; h, S,
// l, L: a key with a hash, a set, a HyperLogLog, a list; f: a field; X, Y: a stream with small ids,
// with ids of the clock; i: a small id, g: a group, c: a consumer.
constexpr std::string_view kRandomCommands[] = {
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
    "LBUCKET.COUNT k s",
    "LBUCKET.COUNT k s",
    "LBUCKET.COUNT k 0",
    "LBUCKET.GET k",
    "LIMIT.TAKE k a n t",
    "LIMIT.TAKE k a n t",
    "LIMIT.TAKE k a n t COST n",
    "LIMIT.TAKE k a n t BAN t",
    "LIMIT.TAKE k a n t SHADOW COST n",
    "LIMIT.TAKE k a n t PEEK",
    "LIMIT.TAKE k GCRA n t BURST n COST n",
    "LIMIT.TAKE k ROLLING n t BURST n",
    "LIMIT.TAKE k POLICY p COST n",
    "LIMIT.ALL 2 k k a n t 0 n a n t 0 n",
    "LIMIT.ALL 2 k k POLICY p n a n t 0 n",
    "LIMIT.REFUND k n",
    "LIMIT.INFO k",
    "LIMIT.PEEK k a n t COST n",
    "LIMIT.PEEK k POLICY p",
    "LIMIT.POLICY SET p a n t",
    "LIMIT.POLICY DEL p",
    "CL.THROTTLE k n n s",
    "CL.THROTTLE k n n s n",
    "GCRA k n n s TOKENS n",
    "HSET h f n f v",
    "HSET h f n",
    "HSETNX h f v",
    "HDEL h f f",
    "HINCRBY h f n",
    "HINCRBYFLOAT h f 0.5",
    "HGETALL h",
    "HRANDFIELD h 3 WITHVALUES",
    "HPEXPIRE h t FIELDS 2 f f",
    "HPEXPIRE h t NX FIELDS 1 f",
    "HPEXPIREAT h U GT FIELDS 2 f f",
    "HPERSIST h FIELDS 2 f f",
    "HGETDEL h FIELDS 2 f f",
    "HGETEX h PX t FIELDS 2 f f",
    "HSETEX h FNX PX t FIELDS 2 f n f v",
    "HSETEX h KEEPTTL FIELDS 1 f n",
    "SADD S n n v",
    "SADD S n",
    "SREM S n n",
    "SPOP S",
    "SPOP S 3",
    "SMOVE S S n",
    "SRANDMEMBER S 3",
    "SUNIONSTORE S S S",
    "SINTERSTORE S S S",
    "SDIFFSTORE S S S",
    "PFADD l v v",
    "PFCOUNT l",
    "PFMERGE l l l",
    "RPUSH L v v n",
    "RPUSH L n n",
    "LPUSH L n v",
    "LPUSHX L v",
    "LPOP L",
    "RPOP L 3",
    "LMPOP 2 L L LEFT COUNT n",
    "LMOVE L L LEFT RIGHT",
    "LMOVEM L L LEFT LEFT COUNT n OBO",
    "LMOVEM L L RIGHT RIGHT COUNT n OBO",
    "LMOVEM L L LEFT RIGHT EXACTLY n BULK",
    "RPOPLPUSH L L",
    "LINSERT L BEFORE n v",
    "LSET L 0 v",
    "LREM L 0 n",
    "LTRIM L b n",
    "LRANGE L 0 -1",
    "SORT S STORE L",
    "SORT L ALPHA DESC STORE L",
    "XADD X i f v",
    "XADD X i f v",
    "XADD X MAXLEN ~ n i f v f n",
    "XADD Y * f v",
    "XADD Y MAXLEN n * f v f v",
    "XADD Y NOMKSTREAM MINID ~ U * f v",
    "XTRIM X MAXLEN n",
    "XTRIM Y MAXLEN ~ n LIMIT 0",
    "XDEL X i i",
    "XREADGROUP GROUP g me CLAIM 20 COUNT n STREAMS X >",
    "XREADGROUP GROUP g you CLAIM 0 STREAMS Y X > >",
    "XNACK X g FAIL IDS 2 i i",
    "XNACK X g SILENT IDS 1 i RETRYCOUNT 7 FORCE",
    "XDELEX X DELREF IDS 2 i i",
    "XDELEX X ACKED IDS 2 i i",
    "XACKDEL X g ACKED IDS 2 i i",
    "XACKDEL X g DELREF IDS 1 i",
    "XADD X DELREF MAXLEN n * f v",
    "XTRIM X MAXLEN n ACKED",
    "XSETID X i",
    "XGROUP CREATE X g 0 MKSTREAM",
    "XGROUP CREATE Y g $ MKSTREAM",
    "XGROUP CREATECONSUMER X g c",
    "XGROUP DELCONSUMER X g c",
    "XGROUP SETID X g i",
    "XGROUP DESTROY X g",
    "XREADGROUP GROUP g c COUNT 3 STREAMS X >",
    "XREADGROUP GROUP g c COUNT 2 STREAMS X Y > >",
    "XREADGROUP GROUP g c NOACK STREAMS Y >",
    "XREADGROUP GROUP g c STREAMS X 0",
    "XACK X g i i i",
    "XCLAIM X g c 0 i i i",
    "XCLAIM X g c t i i JUSTID",
    "XCLAIM X g c 0 i FORCE RETRYCOUNT n IDLE t",
    "XCLAIM X g c 0 i TIME U LASTID i",
    "XAUTOCLAIM X g c 0 0 COUNT 5",
    "XAUTOCLAIM Y g c t 0 JUSTID",
    "XPENDING X g - + 10",
    "XRANGE X - +",
    "COPY X X REPLACE",
    "RENAME X X",
    "COPY L L REPLACE",
    "COPY h h REPLACE",
    "RENAME h h",
    "MOVE h 1",
    "PEXPIRE h t",
    "DEL S l",
};
constexpr std::string_view kWaits[] = {
    "BLPOP L L 0.02",
    "BRPOP L 0.02",
    "BLMOVE L L LEFT LEFT 0.05",
    "BLMOVEM L L LEFT RIGHT 0.05 EXACTLY n BULK",
    "XREADGROUP GROUP g me BLOCK 50 CLAIM 20 STREAMS X >",
    "BRPOPLPUSH L L 0.05",
    "BLMPOP 0.03 2 L L RIGHT COUNT 2",
    "BZPOPMIN k k 0.02",
    "BZPOPMAX k 0.04",
    "BZMPOP 0.02 2 k k MAX COUNT 2",
    "XREADGROUP GROUP g c BLOCK 20 COUNT 2 STREAMS X >",
    "XREADGROUP GROUP g c BLOCK 20 NOACK STREAMS X Y > >",
    "XREAD BLOCK 20 STREAMS Y $",
    "LIMIT.TAKE k a n t COST n WAIT t",
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

constexpr std::string_view kAlgorithms[] = {"WINDOW", "ROLLING", "SLIDING", "LOG", "GCRA", "LEAKY"};
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
    case 'a':
      return std::string(kAlgorithms[Between(random, 0, std::size(kAlgorithms) - 1)]);
    case 'p':
      return "policy:" + std::to_string(Between(random, 0, 2));
    case 'h':
      return "hash:" + std::to_string(Between(random, 0, 4));
    case 'S':
      return "set:" + std::to_string(Between(random, 0, 4));
    case 'l':
      return "hll:" + std::to_string(Between(random, 0, 2));
    case 'f':
      return "field:" + std::to_string(Between(random, 0, 9));
    case 'L':
      return "list:" + std::to_string(Between(random, 0, 3));
    case 'X':
      return "stream:" + std::to_string(Between(random, 0, 2));
    case 'Y':
      return "log:" + std::to_string(Between(random, 0, 1));
    case 'i':
      return std::to_string(Between(random, 1, 90)) + "-" + std::to_string(Between(random, 0, 1));
    case 'g':
      return "group:" + std::to_string(Between(random, 0, 1));
    case 'c':
      return "consumer:" + std::to_string(Between(random, 0, 2));
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
  return Drawn(kRandomCommands, random);
}

std::vector<std::string> RandomWait(SimulationRandom& random) { return Drawn(kWaits, random); }

std::vector<std::string> RandomMischief(SimulationRandom& random) {
  return Drawn(kMischief, random);
}

RandomClients::RandomClients(TestEngine& server)
    : server_(server), clients_{&server.Connect(), &server.Connect()}, waiting_(server.Connect()) {
  clients_[1]->Run({"SELECT", "1"});
}

TestClient& RandomClients::Step(SimulationRandom& random) {
  TestClient& client = *clients_[Between(random, 0, 1)];
  if (Between(random, 0, 9) == 0) {
    Say(client, {"MULTI"});
    for (int64_t left = Between(random, 0, 4); left > 0; --left) Say(client, RandomCommand(random));
    Say(client, {"EXEC"});
  } else {
    Say(client, RandomCommand(random));
  }
  while (waiting_.Next()) {
  }
  if (!server_.engine().Find(waiting_.id())->blocked) waiting_.Send(RandomWait(random));
  if (Between(random, 0, 30) == 0) Say(client, {"SWAPDB", "0", "1"});
  if (Between(random, 0, 80) == 0) Say(client, {"FLUSHDB"});
  return client;
}

void RandomClients::Say(TestClient& client, const std::vector<std::string>& command) {
  constexpr int kWaitMsMax = 10'000;
  client.Send(command);
  for (int waited_ms = 0; waited_ms < kWaitMsMax; ++waited_ms) {
    if (client.Next()) return;
    server_.AdvanceTime(1);
  }
  ADD_FAILURE() << command[0] << " is not answered";
}

std::vector<uint64_t> SimulationSeeds(uint64_t count) {
  if (const char* only = std::getenv("SLUICE_SEED")) return {std::strtoull(only, nullptr, 10)};
  if (const char* wanted = std::getenv("SLUICE_SEEDS")) count = std::strtoull(wanted, nullptr, 10);
  if (const char* part = std::getenv("SLUICE_SEEDS_PART"))
    count = std::max<uint64_t>(1, count / std::max<uint64_t>(1, std::strtoull(part, nullptr, 10)));
  std::vector<uint64_t> seeds;
  for (uint64_t number = 0; number < count; ++number) seeds.push_back(TestSeed(number));
  return seeds;
}

}  // namespace sluice
