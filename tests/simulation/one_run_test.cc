// One seed is one run, to the last byte: two servers that are started with the same seed, and are
// told the same under clocks that are moved alike, answer the same, write the same files, and go on
// alike after that. It is played twice in this process, where addresses differ, and once in another
// one, where the seeds that libraries take from where they are loaded differ as well.
//
// Nothing is left out but ACL GENPASS, whose passwords come from the system, and how much memory
// Lua takes: when it makes a table larger whose keys are objects depends on their addresses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/command_line.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr uint64_t kOneRunSeeds = 6;
constexpr int kOneRunSteps = 1200;
constexpr char kHistoryFile[] = "SLUICE_HISTORY_FILE";
constexpr char kHistorySeed[] = "SLUICE_HISTORY_SEED";

// In redis-cli's quoting. # is a small number.
constexpr std::string_view kOneRunCommands[] = {
    // large collections
    "HGETALL big:hash",
    "HKEYS big:hash",
    "HVALS big:hash",
    "HSCAN big:hash # COUNT 40",
    "HSCAN big:hash 0 MATCH *7* COUNT 900",
    "HRANDFIELD big:hash #",
    "HRANDFIELD big:hash 300 WITHVALUES",
    "HRANDFIELD big:hash -30 WITHVALUES",
    "HPEXPIRE big:hash 50 FIELDS 3 name:1 name:2 name:3",
    "SMEMBERS big:set",
    "SMEMBERS big:numbers",
    "SPOP big:set #",
    "SPOP big:numbers",
    "SPOP big:set 300",
    "SRANDMEMBER big:set",
    "SRANDMEMBER big:set #",
    "SRANDMEMBER big:set -40",
    "SRANDMEMBER big:numbers 200",
    "SSCAN big:set # COUNT 30",
    "SUNION big:set big:numbers set:1",
    "SINTER big:set big:other",
    "SDIFF big:set big:other",
    "SDIFFSTORE big:left big:set big:other",
    "SMEMBERS big:left",
    "SORT big:set BY nosort LIMIT 0 50",
    "SORT big:set BY nosort GET # STORE list:1",
    "ZRANDMEMBER big:board #",
    "ZRANDMEMBER big:board -40 WITHSCORES",
    "ZRANDMEMBER big:board 500 WITHSCORES",
    "ZSCAN big:board # COUNT 30",
    "ZUNION 2 big:board big:set WITHSCORES",
    "ZINTER 2 big:board big:set",
    "ZDIFF 2 big:board big:set",
    "ZRANGE big:board 0 -1",
    "COPY big:hash big:copy REPLACE",
    "HGETALL big:copy",
    "RENAME big:copy big:hash",
    "DUMP big:hash",
    "DUMP big:set",
    "DUMP big:board",
    "KEYS *",
    "KEYS key:*",
    "SCAN 0 COUNT 1000",
    "SCAN # COUNT 40 TYPE string",
    "RANDOMKEY",
    "FLUSHDB",
    "OBJECT IDLETIME key:1",
    "MEMORY USAGE big:hash",
    "DEBUG OBJECT key:1",
    "DEBUG OBJECT big:hash",
    "DEBUG DIGEST",
    "DEBUG DIGEST-VALUE big:hash",
    "XINFO STREAM stream:1 FULL",
    "XINFO GROUPS stream:1",
    "XINFO CONSUMERS stream:1 group:0",
    "XPENDING stream:1 group:0",
    // locks
    "LOCK.ACQUIRE lock:1 me LEASE 40 WAIT 30",
    "LOCK.ACQUIRE lock:2 you SESSION LEASE 90",
    "LOCK.ACQUIRE lock:3 me LEASE 400 SHARED",
    "LOCK.ACQUIRE lock:3 you LEASE 40 SHARED",
    "LOCK.MACQUIRE 3 lock:1 lock:2 lock:3 all LEASE 30 WAIT 50",
    "LOCK.RELEASE lock:1 me",
    "LOCK.RELEASE lock:2 you",
    "LOCK.BREAK lock:3",
    "LOCK.INFO lock:3",
    "LOCK.WAITERS lock:1",
    "LOCK.LIST",
    "LOCK.LIST lock:*",
    // scripts
    "EVAL 'return {tostring({}), tostring(print), tostring(math.random())}' 0",
    "EVAL 'return math.random(1000000)' 0",
    "EVAL 'math.randomseed(#) return math.random(1000000)' 0",
    "EVAL 'return error({})' 0",
    "EVAL 'return {} .. 1' 0",
    "EVAL 'local t, all = {}, {} for i = 1, 300 do t[\"k\" .. i * 7919] = i end for k in pairs(t) "
    "do "
    "all[#all + 1] = k end return all' 0",
    "EVAL 'return redis.call(\"HGETALL\", KEYS[1])' 1 big:hash",
    "EVAL 'return redis.call(\"SRANDMEMBER\", KEYS[1], 20)' 1 big:set",
    "EVAL 'return redis.call(\"LOCK.ACQUIRE\", KEYS[1], \"script\", \"LEASE\", 20)' 1 lock:4",
    "EVAL 'return cjson.encode({a = 1, b = {c = 2, d = 3}, e = math.random()})' 0",
    "EVAL 'return redis.call(\"TIME\")' 0",
    "SCRIPT LOAD 'return #'",
    "FUNCTION LOAD REPLACE '#!lua name=one\nredis.register_function(\"f#\", function() return "
    "math.random(100) end)'",
    "FUNCTION LOAD REPLACE '#!lua name=lib#\nredis.register_function(\"g#\", function() return "
    "tostring({}) end)'",
    "FUNCTION LIST",
    "FUNCTION LIST WITHCODE",
    "FUNCTION DUMP",
    "FUNCTION STATS",
    "FCALL f# 0",
    "FCALL g# 0",
    // sessions
    "SUBSCRIBE a b c d e f",
    "PSUBSCRIBE __key*__:* x* y*",
    "SSUBSCRIBE s t u",
    "UNSUBSCRIBE",
    "PUNSUBSCRIBE",
    "PUBLISH a #",
    "PUBLISH xyz #",
    "PUBSUB CHANNELS",
    "PUBSUB SHARDCHANNELS",
    "PUBSUB NUMSUB a b",
    "MONITOR",
    "CLIENT TRACKING ON BCAST PREFIX k PREFIX b",
    "CLIENT TRACKING ON",
    "CLIENT TRACKING OFF",
    "CLIENT ID",
    "CLIENT INFO",
    "CLIENT LIST",
    "HELLO",
    "CONFIG SET notify-keyspace-events KEA",
    "CONFIG SET notify-keyspace-events ''",
    // the server
    "ACL LIST",
    "ACL LOG",
    "ACL CAT",
    "CLUSTER MYID",
    "CLUSTER SHARDS",
    "COMMAND LIST",
    "COMMAND DOCS",
    "COMMAND LIST FILTERBY PATTERN *s*",
    "CONFIG GET *",
    "INFO server clients persistence stats replication cpu commandstats errorstats latencystats",
    "INFO keyspace timers turns locks limits",
    "LATENCY HISTOGRAM",
    "LATENCY LATEST",
    "LIMIT.POLICY LIST",
    "LOLWUT",
    "LOLWUT VERSION 5 20 20 20",
    "LASTSAVE",
    "MEMORY DOCTOR",
    "ROLE",
    "SAVE",
    "BGSAVE",
    "BGREWRITEAOF",
    "DEBUG RELOAD",
    "SLOWLOG GET",
    "TIME",
};

std::vector<std::string> Own(SimulationRandom& random) {
  std::string line(kOneRunCommands[Between(random, 0, std::ssize(kOneRunCommands) - 1)]);
  const std::string number = std::to_string(Between(random, 0, 9));
  for (size_t at = 0; (at = line.find('#', at)) != line.npos; at += number.size()) {
    if (line.compare(at, 2, "#!") == 0 || line.compare(at, 3, "#al") == 0) {
      ++at;
    } else {
      line.replace(at, 1, number);
    }
  }
  return *SplitCommandLine(line);
}

// What the collections consist of that are too large for their compact forms.
void Fill(TestClient& client) {
  for (int i = 0; i < 700; ++i) {
    const std::string number = std::to_string(i);
    client.Send({"HSET", "big:hash", "name:" + number, number});
    client.Send({"SADD", "big:set", "member:" + number});
    client.Send({"SADD", "big:other", "member:" + std::to_string(i / 2)});
    client.Send({"SADD", "big:numbers", number});
    client.Send({"ZADD", "big:board", std::to_string(i % 7), "member:" + number});
    client.Send({"SET", "key:of:many:" + number, number});
  }
}

class Player {
 public:
  explicit Player(uint64_t seed)
      : random_(seed), server_({.seed = seed, .config = {{"appendonly", "yes"}}, .audits = false}) {
    for (int i = 0; i < 5; ++i) clients_.push_back(&server_.Connect());
  }

  // What each step says and is answered, an entry each; at last the files.
  std::vector<std::string> Play() {
    for (int step = 0; step < kOneRunSteps; ++step) Step(step);
    for (const auto& [name, content] : server_.disk().files) {
      history_.push_back(Concat(name, ": ", content));
    }
    return std::move(history_);
  }

 private:
  void Step(int step) {
    if (step % 60 == 0) Refresh();
    TestClient*& client = clients_[static_cast<size_t>(Between(random_, 0, 4))];
    if (client->closed()) client = &server_.Connect();
    std::string said;
    if (step % 300 == 0) {
      Fill(*client);
    } else {
      const std::vector<std::string> command = Next();
      said = EncodeRequest(command);
      client->Send(command);
    }
    server_.AdvanceTime(Between(random_, 0, 20));
    std::string entry = Concat(step, " ", said);
    for (TestClient* const each : clients_) ConcatTo(entry, "\n-> ", each->TakeBytes());
    history_.push_back(std::move(entry));
  }

  // Out of subscriptions, transactions and silence.
  void Refresh() {
    for (size_t i = 0; i < clients_.size(); ++i) {
      if (clients_[i]->closed()) clients_[i] = &server_.Connect();
      clients_[i]->Send({"CLIENT", "REPLY", "ON"});
      clients_[i]->Send({"RESET"});
      if (i >= 2) clients_[i]->Send({"HELLO", "3"});
    }
  }

  std::vector<std::string> Next() {
    const int64_t roll = Between(random_, 0, 99);
    if (roll < 60) return Own(random_);
    if (roll < 90) return RandomCommand(random_);
    if (roll < 95) return RandomWait(random_);
    const std::vector<std::string> mischief = RandomMischief(random_);
    return mischief[0] == "INFO" ? Own(random_) : mischief;  // it tells of memory
  }

  SimulationRandom random_;
  TestEngine server_;
  std::vector<TestClient*> clients_;
  std::vector<std::string> history_;
};

std::vector<std::string> HistoryOf(uint64_t seed) { return Player(seed).Play(); }

void ExpectSame(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  const size_t count = std::min(one.size(), other.size());
  for (size_t i = 0; i < count; ++i) {
    if (one[i] == other[i]) continue;
    const auto [at, there] = std::ranges::mismatch(one[i], other[i]);
    const auto from = static_cast<size_t>(at - one[i].begin());
    const size_t begin = from - std::min<size_t>(from, 150);
    FAIL() << "step " << i << ": " << one[i].substr(0, 200) << "\nbyte " << from << ": ..."
           << one[i].substr(begin, 300) << "\nand ..." << other[i].substr(begin, 300);
  }
  EXPECT_EQ(one.size(), other.size());
}

TEST(OneRun, InOneProcess) {
  for (const uint64_t seed : SimulationSeeds(kOneRunSeeds)) {
    SCOPED_TRACE(Concat("SLUICE_SEED=", seed));
    const std::vector<std::string> history = HistoryOf(seed);
    ExpectSame(history, HistoryOf(seed));
    if (HasFatalFailure()) return;
    EXPECT_FALSE(history == HistoryOf(seed + 1));
  }
}

// Entries are put one behind the other, each with its length before it.
std::vector<std::string> ReadHistory(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> history;
  for (size_t length; file.read(reinterpret_cast<char*>(&length), sizeof length);) {
    history.emplace_back(length, '\0');
    file.read(history.back().data(), static_cast<std::streamsize>(length));
  }
  return history;
}

void WriteHistory(const std::string& path, const std::vector<std::string>& history) {
  std::ofstream file(path, std::ios::binary);
  for (const std::string& entry : history) {
    const size_t length = entry.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << entry;
  }
}

TEST(OneRun, InTwoProcesses) {
  if (const char* const path = std::getenv(kHistoryFile)) {  // this is the other one
    return WriteHistory(path, HistoryOf(std::strtoull(std::getenv(kHistorySeed), nullptr, 10)));
  }
  const std::string path =
      std::filesystem::temp_directory_path() / Concat("sluice-history-", getpid());
  for (const uint64_t seed : SimulationSeeds(kOneRunSeeds)) {
    SCOPED_TRACE(Concat("SLUICE_SEED=", seed));
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const std::string command = Concat(kHistoryFile, "=", path, " ", kHistorySeed, "=", seed, " ",
                                       program, " --gtest_filter=OneRun.InTwoProcesses >/dev/null");
    ASSERT_EQ(std::system(command.c_str()), 0);
    ExpectSame(HistoryOf(seed), ReadHistory(path));
    std::filesystem::remove(path);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace sluice
