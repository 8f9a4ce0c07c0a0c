// maxmemory: who is refused, who goes, and what never does.
#include "server/dispatch/memory_limit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/notify/pubsub.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr std::string_view kOom = "-OOM command not allowed when used memory > 'maxmemory'.";

// The last command may have gone beyond the limit: by a key, for which the table may have grown.
constexpr size_t kOneKey = 100 + 2048;

class MemoryLimitTest : public EngineFixture {
 protected:
  std::string Ask(std::string_view line) { return Line(line).ToText(); }
  // As much as is used now, and so many bytes more.
  void Limit(std::string_view policy, size_t more) {
    Ask(Concat("config set maxmemory-policy ", policy));
    const size_t limit = engine().UsedMemory() + more;
    ASSERT_EQ(Ask(Concat("config set maxmemory ", limit)), "+OK");
  }
  size_t Used() { return engine().UsedMemory(); }
  size_t Max() { return static_cast<size_t>(engine().settings().maxmemory); }
  uint64_t Evicted() { return engine().part<MemoryLimit>().counts().keys; }
  void Fill(std::string_view prefix, int keys, std::string_view more = "") {
    for (int i = 0; i < keys; ++i) {
      const std::string text = Ask(Concat("set ", prefix, i, " 0123456789 ", more));
      ASSERT_TRUE(text == "+OK") << text;
    }
  }
  int Left(std::string_view prefix, int keys) {
    int left = 0;
    for (int i = 0; i < keys; ++i) left += Ask(Concat("object encoding ", prefix, i)) != "(nil)";
    return left;
  }
};

// --- who is told

// As Redis: else it would take what it reads now for what it was told of.
TEST_F(MemoryLimitTest, WhoCachesHearsOfAnEvictionBeforeTheReply) {
  Line("hello 3");
  Ask("client tracking on noloop");
  Ask("set small v ex 1000");
  Ask("get small");
  Limit("volatile-random", 100'000);
  Ask("setbit large 1600000 1");
  client().Send({"GETBIT", "large", "1600000"});
  const std::optional<Reply> told = client().Next();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->kind, Reply::Kind::kPush) << told->ToText();
  EXPECT_EQ(client().Next()->ToText(), ":1");
  EXPECT_EQ(Ask("exists small"), ":0");
}

// --- without eviction

TEST_F(MemoryLimitTest, OnlyWhatMayTakeMemoryIsRefused) {
  Ask("set k v");
  Ask("rpush list a b");
  Ask("config set maxmemory 1");
  EXPECT_EQ(Ask("set other v"), kOom);
  EXPECT_EQ(Ask("append k v"), kOom);
  EXPECT_EQ(Ask("get k"), "\"v\"");
  EXPECT_EQ(Ask("lpop list"), "\"a\"");
  EXPECT_EQ(Ask("expire k 100"), ":1");
  EXPECT_EQ(Ask("del k"), ":1");
  Ask("config set maxmemory 0");
  EXPECT_EQ(Ask("set other v"), "+OK");
}

TEST_F(MemoryLimitTest, ATransactionIsRefusedWhenItIsQueuedOrRun) {
  Ask("multi");
  Ask("set k v");
  TestClient& other = Connect();
  other.Line("config set maxmemory 1");
  EXPECT_EQ(Ask("exec"),
            "-EXECABORT Transaction discarded because of: OOM command not allowed when used memory "
            "> 'maxmemory'.");
  EXPECT_EQ(Ask("multi"), "+OK");
  EXPECT_EQ(Ask("get k"), kOom);
  EXPECT_EQ(Ask("exec"), "-EXECABORT Transaction discarded because of previous errors.");
}

TEST_F(MemoryLimitTest, ScriptsAreStoppedAtTheirFirstWrite) {
  Ask("config set maxmemory 1");
  EXPECT_EQ(Ask("eval \"return redis.call('get', 'k')\" 0"), "(nil)");
  EXPECT_NE(Ask("eval \"return redis.call('set', 'k', 'v')\" 0").find("OOM command not allowed"),
            std::string::npos);
  EXPECT_EQ(Ask("eval \"redis.call('del', 'x'); return redis.call('set', 'k', 'v')\" 0"), "+OK");
  EXPECT_EQ(Ask("eval \"#!lua\nreturn 1\" 0"), kOom);
  EXPECT_EQ(Ask("eval \"#!lua flags=no-writes\nreturn 1\" 0"), ":1");
  EXPECT_EQ(Ask("eval \"#!lua flags=allow-oom\nreturn redis.call('set', 'k', 'v')\" 0"), "+OK");
}

TEST_F(MemoryLimitTest, LocksHaveAReserveAndComeBackAlways) {
  Ask("lock.acquire held me lease 60000");
  Ask("limit.take l window 10 60000");
  Limit("noeviction", 0);
  Ask("set k v");  // one beyond it
  EXPECT_EQ(Ask("set k2 v"), kOom);
  EXPECT_NE(Ask("lock.acquire other me lease 60000")[0], '-');
  EXPECT_NE(Ask("limit.take l2 window 10 60000")[0], '-');
  Ask("config set maxmemory-reserved-for-locks 0");
  EXPECT_EQ(Ask("lock.acquire third me lease 60000"), kOom);
  EXPECT_NE(Ask("lock.renew held me lease 60000")[0], '-');
  EXPECT_EQ(Ask("lock.release held me"), ":0");
  EXPECT_EQ(Ask("exists held"), ":0");
  EXPECT_EQ(Ask("limit.refund l 1"), ":10");
}

TEST_F(MemoryLimitTest, FencedNeedsWhatItsCommandNeeds) {
  const std::string token = Ask("lock.acquire held me lease 60000");
  const std::string number = token.substr(token.find_first_of("0123456789"), 13);
  Limit("noeviction", 0);
  Ask("set k v");
  EXPECT_EQ(Ask(Concat("fenced held ", number, " set k v")), kOom);
  EXPECT_EQ(Ask(Concat("fenced held ", number, " del k")), ":1");
}

// --- evictions

TEST_F(MemoryLimitTest, TheLongestUnusedGoFirst) {
  Fill("old", 100);
  AdvanceTime(10'000);
  Fill("new", 100);
  Limit("allkeys-lru", 0);
  Fill("more", 50);
  EXPECT_LE(Used(), Max() + kOneKey);
  // Where the table grows meanwhile, old keys may be in a part of it that is looked at later.
  const int64_t old = 100 - Left("old", 100);
  const int64_t fresh = 150 - Left("new", 100) - Left("more", 50);
  EXPECT_GT(old, 40);
  EXPECT_GT(old, 2 * fresh) << fresh;
}

TEST_F(MemoryLimitTest, AUsedKeyStays) {
  Fill("k", 100);
  AdvanceTime(10'000);
  Ask("get k7");
  Limit("allkeys-lru", 0);
  Fill("more", 50);
  EXPECT_EQ(Ask("exists k7"), ":1");
}

TEST_F(MemoryLimitTest, VolatilePoliciesTakeNoOtherKey) {
  for (const std::string_view policy :
       {"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"}) {
    Ask("config set maxmemory 0");
    Ask("flushall");
    Fill("keep", 50);
    Fill("go", 50, "ex 1000");
    Limit(policy, 0);
    Fill("more", 20);
    EXPECT_EQ(Left("keep", 50), 50) << policy;
    EXPECT_LT(Left("go", 50), 50) << policy;
    EXPECT_LE(Used(), Max() + kOneKey) << policy;
    std::string text;
    for (int i = 0; i < 200 && text != kOom; ++i) text = Ask(Concat("set fill", i, " 0123456789"));
    EXPECT_EQ(text, kOom) << policy;
    EXPECT_EQ(Left("keep", 50), 50) << policy;
  }
}

TEST_F(MemoryLimitTest, WhatEndsSoonestGoesFirst) {
  Fill("late", 50, "ex 100000");
  Fill("soon", 50, "ex 100");
  Limit("volatile-ttl", 0);
  Fill("more", 20);
  EXPECT_EQ(Left("late", 50), 50);
}

TEST_F(MemoryLimitTest, WhatIsUsedOftenStays) {
  Ask("config set maxmemory-policy allkeys-lfu");
  Fill("often", 20);
  Fill("once", 50);
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 20; ++i) Ask(Concat("get often", i));
  }
  EXPECT_EQ(Ask("object freq once1"), ":5");
  EXPECT_EQ(Ask("object idletime once1").substr(0, 30), "-ERR An LFU maxmemory policy i");
  Limit("allkeys-lfu", 0);
  Fill("more", 30);
  EXPECT_EQ(Left("often", 20), 20);
}

TEST_F(MemoryLimitTest, LocksAndNamedKeysAreNeverEvicted) {
  Ask("config set evict-never \"keep:* count:?\"");
  Fill("keep:", 20);
  Ask("incr count:1");
  Ask("lock.acquire held me lease 600000");
  Ask("limit.take l window 10 600000");
  Ask("lbucket.count b 600");
  Fill("go", 20);
  Limit("allkeys-random", 0);
  std::string text;
  for (int i = 0; i < 400 && text != kOom; ++i) {
    text = Ask(Concat("set keep:more", i, " ", std::string(100, 'x')));
  }
  EXPECT_EQ(text, kOom);
  EXPECT_EQ(Left("go", 20), 0);
  EXPECT_EQ(Left("keep:", 20), 20);
  EXPECT_EQ(Ask("exists count:1 held l b"), ":4");
  EXPECT_EQ(Ask("config get evict-never"), "[\"evict-never\", \"keep:* count:?\"]");
}

TEST_F(MemoryLimitTest, AnEvictionIsAnEventAndTouchesWatchers) {
  Ask("config set notify-keyspace-events Ee");
  TestClient& listener = Connect();
  listener.Line("subscribe __keyevent@0__:evicted");
  TestClient& watcher = Connect();
  Ask("set k v");
  watcher.Line("watch k");
  watcher.Line("multi");
  watcher.Line("set seen 1");
  Ask("config set maxmemory-policy allkeys-random");
  Ask("config set maxmemory 1");
  EXPECT_EQ(Ask("exists k"), ":0");
  EXPECT_EQ(listener.Next()->ToText(), "[\"message\", \"__keyevent@0__:evicted\", \"k\"]");
  Ask("config set maxmemory 0");
  EXPECT_EQ(watcher.Line("exec").ToText(), "(nil-array)");
}

TEST_F(MemoryLimitTest, ALargeValueThatIsStillFreedCostsNoOtherKey) {
  for (int i = 0; i < 20'000; i += 100) {
    std::vector<std::string> words = {"rpush", "large"};
    for (int j = 0; j < 100; ++j) words.push_back(Concat("element-", i + j));
    Run(words);
  }
  Fill("k", 100);
  Limit("allkeys-lru", 0);
  Ask("del large");
  Fill("more", 100);
  EXPECT_EQ(Evicted(), 0U);
}

TEST_F(MemoryLimitTest, TheLargestClientsAreClosed) {
  Ask("config set maxmemory-clients 1mb");
  Ask(Concat("set big ", std::string(200'000, 'x')));
  TestClient& greedy = Connect();
  TestClient& kept = Connect();
  kept.Line("client no-evict on");
  for (TestClient* client : {&kept, &greedy}) client->set_reading(false);
  for (int i = 0; i < 3; ++i) kept.Send({"get", "big"});
  for (int i = 0; i < 3; ++i) greedy.Send({"get", "big"});
  server().Settle();
  EXPECT_TRUE(greedy.closed());
  EXPECT_FALSE(kept.closed());
  EXPECT_NE(Ask("info stats").find("evicted_clients:"), std::string::npos);
}

TEST_F(MemoryLimitTest, WhoHoldsLocksByItsConnectionIsClosedLast) {
  Ask("config set maxmemory-clients 1mb");
  Ask(Concat("set big ", std::string(200'000, 'x')));
  TestClient& holder = Connect();
  TestClient& idler = Connect();
  holder.Line("lock.acquire door me session");
  for (TestClient* client : {&holder, &idler}) client->set_reading(false);
  for (int i = 0; i < 3; ++i) idler.Send({"get", "big"});
  for (int i = 0; i < 4; ++i) holder.Send({"get", "big"});
  server().Settle();
  EXPECT_TRUE(idler.closed());
  EXPECT_FALSE(holder.closed());
  // What others take would not be enough.
  for (int i = 0; i < 4; ++i) holder.Send({"get", "big"});
  server().Settle();
  EXPECT_TRUE(holder.closed());
  EXPECT_EQ(Ask("exists door"), ":0");
}

TEST_F(MemoryLimitTest, OptionsAreCheckedAsInRedis) {
  EXPECT_EQ(Ask("config set maxmemory 10%"),
            "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be "
            "a memory value");
  EXPECT_EQ(Ask("config set maxmemory-clients 50%"), "+OK");
  EXPECT_EQ(Ask("config get maxmemory-clients"), "[\"maxmemory-clients\", \"50%\"]");
  EXPECT_EQ(Ask("config set maxmemory 100mb"), "+OK");
  EXPECT_EQ(Ask("config get maxmemory"), "[\"maxmemory\", \"104857600\"]");
  EXPECT_EQ(Ask("config set maxmemory-samples 0").substr(0, 4), "-ERR");
}

}  // namespace
}  // namespace sluice
