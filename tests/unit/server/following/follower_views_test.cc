// What clients of a server see that follows another one: what is over looks so, and stays; nothing
// ends by itself, until the server is promoted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "protocol/text/concat.h"
#include "server/core/standstill.h"
#include "server/dispatch/memory_limit.h"
#include "server/locks/lock_service.h"
#include "server/log/log_service.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class FollowerViews : public EngineFixture {
 protected:
  void Follow() { engine().part<Standstill>().Begin(Standstill::kFollowing, engine().now()); }
  void Promote() {
    engine().part<Standstill>().End(Standstill::kFollowing);
    engine().part<LogService>().Promoted();
    server().Settle();
  }
  std::string Ask(std::string_view line) { return Line(line).ToText(); }
};

TEST_F(FollowerViews, AKeyPastItsDeadlineLooksMissingAndStays) {
  Ask("SET over v PX 100");
  Ask("SET absolute v PXAT 1700000000100");
  Ask("SET left v");
  Follow();
  AdvanceTime(1000);
  for (const std::string key : {"over", "absolute"}) {
    EXPECT_EQ(Ask("GET " + key), "(nil)");
    EXPECT_EQ(Ask("EXISTS " + key), ":0");
    EXPECT_EQ(Ask("TTL " + key), ":-2");
    EXPECT_EQ(Ask("PEXPIRETIME " + key), ":-2");
    EXPECT_EQ(Ask("TYPE " + key), "+none");
    EXPECT_EQ(Ask("STRLEN " + key), ":0");
    EXPECT_EQ(Ask("OBJECT ENCODING " + key), "(nil)");
    EXPECT_EQ(Ask("DUMP " + key), "(nil)");
    EXPECT_EQ(Ask("EVAL_RO \"return redis.call('EXISTS', KEYS[1])\" 1 " + key), ":0");
  }
  EXPECT_EQ(Ask("KEYS *"), "[\"left\"]");
  EXPECT_EQ(Ask("SCAN 0"), "[\"0\", [\"left\"]]");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Ask("RANDOMKEY"), "\"left\"");
  EXPECT_EQ(Ask("DBSIZE"), ":3") << "as a replica of Redis";
}

TEST_F(FollowerViews, SoDoesAFieldOfAHash) {
  Ask("HSET h over v left v");
  Ask("HPEXPIRE h 100 FIELDS 1 over");
  Ask("HSET whole f v");
  Ask("HPEXPIRE whole 100 FIELDS 1 f");
  Follow();
  AdvanceTime(1000);
  EXPECT_EQ(Ask("HGET h over"), "(nil)");
  EXPECT_EQ(Ask("HEXISTS h over"), ":0");
  EXPECT_EQ(Ask("HKEYS h"), "[\"left\"]");
  EXPECT_EQ(Ask("HLEN h"), ":1");
  EXPECT_EQ(Ask("HPTTL h FIELDS 1 over"), "[:-2]");
  EXPECT_EQ(Ask("EXISTS whole"), ":0");
  EXPECT_EQ(Ask("DBSIZE"), ":2");
  Promote();
  AdvanceTime(200);
  EXPECT_EQ(Ask("DBSIZE"), ":1");
  EXPECT_EQ(Ask("HKEYS h"), "[\"left\"]");
}

TEST_F(FollowerViews, ALockPastItsLeaseHasNothingLeft) {
  Ask("LOCK.ACQUIRE l me LEASE 100");
  Follow();
  AdvanceTime(1000);
  Line("HELLO 3");
  EXPECT_THAT(Ask("LOCK.INFO l"), testing::HasSubstr("\"lease_ms\" => :0"));
  EXPECT_EQ(engine().part<LockService>().held(), 1u);
  EXPECT_EQ(Ask("EXISTS l"), ":1");
  Promote();
  EXPECT_EQ(engine().part<LockService>().held(), 0u);
}

TEST_F(FollowerViews, ALimitIsWholeWhenItsTimeHasCome) {
  Ask("LIMIT.TAKE l WINDOW 2 100");
  Follow();
  EXPECT_EQ(Ask("LIMIT.PEEK l WINDOW 2 100 COST 2"), "[:0, :2, :1, :100, :100, :1700000000100]");
  AdvanceTime(1000);
  EXPECT_EQ(Ask("LIMIT.PEEK l WINDOW 2 100 COST 2"), "[:1, :2, :2, :0, :0, :1700000001000]");
  EXPECT_EQ(Ask("DBSIZE"), ":1");
}

TEST_F(FollowerViews, OthersHearOfAnEndWhenItIsPromoted) {
  TestClient& subscriber = Connect();
  Ask("CONFIG SET notify-keyspace-events Ex");
  subscriber.Run({"SUBSCRIBE", "__keyevent@0__:expired"});
  for (int i = 0; i < 2000; ++i) Run({"SET", Concat("k", i), "v", "PX", "100"});
  Follow();
  AdvanceTime(1000);
  EXPECT_FALSE(subscriber.has_received());
  Promote();
  int told = 0;
  while (subscriber.Next()) ++told;
  EXPECT_EQ(told, 2000);
  EXPECT_EQ(Ask("DBSIZE"), ":0");
}

// Sessions of the master may come to this server as they come back to one that has started.
TEST_F(FollowerViews, LocksOfTheMastersSessionsAreKeptForAWhile) {
  TestClient& link = Connect();
  link.PlayLog();
  Follow();
  const std::string soon = Concat(engine().now().unix_ms() + 1'000'000);
  EXPECT_EQ(
      link.Run({"LOCK.RESTORE", "l", "17", "me", "exclusive", "1", "1", "1", "-1", "-1", "1", ""})
          .ToText(),
      "+OK");
  AdvanceTime(1'000'000);
  EXPECT_EQ(engine().part<LockService>().held(), 1u);
  Promote();
  AdvanceTime(engine().settings().session_grace_ms - 1);
  EXPECT_EQ(engine().part<LockService>().held(), 1u);
  AdvanceTime(2);
  EXPECT_EQ(engine().part<LockService>().held(), 0u);
}

TEST_F(FollowerViews, EvictsOnlyIfItIsToldTo) {
  for (int i = 0; i < 100; ++i) Run({"SET", Concat("k", i), std::string(1000, 'v')});
  Follow();
  Ask("CONFIG SET maxmemory-policy allkeys-random");
  Run({"CONFIG", "SET", "maxmemory", Concat(engine().UsedMemory() - 5000)});
  AdvanceTime(1000);
  EXPECT_EQ(Ask("SET k v"), "+OK");
  EXPECT_EQ(engine().part<MemoryLimit>().counts().keys, 0u);
  Ask("CONFIG SET replica-ignore-maxmemory no");
  EXPECT_EQ(Ask("SET k v"), "+OK");
  EXPECT_GT(engine().part<MemoryLimit>().counts().keys, 0u);
}

}  // namespace
}  // namespace sluice
