// What ends by time on a server that stands still for several reasons: a pause, a master that it
// follows (which a test says here), data that load.
#include "server/core/standstill.h"

#include <gtest/gtest.h>

#include <string>

#include "protocol/text/concat.h"
#include "server/dispatch/memory_limit.h"
#include "server/locks/lock_service.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class StandstillInTurns : public EngineFixture {
 protected:
  Standstill& standstill() { return engine().part<Standstill>(); }
  void Follow() { standstill().Begin(Standstill::kFollowing, engine().now()); }
  void FollowNoMore() {
    standstill().End(Standstill::kFollowing);
    server().Settle();
  }
  int64_t Keys() { return Run({"DBSIZE"}).integer; }
  uint64_t Evicted() { return engine().part<MemoryLimit>().counts().keys; }
};

TEST_F(StandstillInTurns, APauseInsideFollowingLetsNoKeyEnd) {
  Run({"SET", "timed", "v", "PX", "100"});
  Run({"SET", "met", "v", "PXAT", "1700000000100"});
  Run({"HSET", "hash", "f", "v"});
  Run({"HPEXPIRE", "hash", "100", "FIELDS", "1", "f"});
  Follow();
  Run({"CLIENT", "PAUSE", "50", "WRITE"});
  AdvanceTime(1000);
  EXPECT_EQ(Run({"GET", "met"}).ToText(), "(nil)") << "it looks missing";
  EXPECT_EQ(Keys(), 3) << "the pause is over, and they are still there";
  Run({"CLIENT", "PAUSE", "1000", "WRITE"});
  Run({"CLIENT", "UNPAUSE"});
  EXPECT_EQ(Run({"GET", "met"}).ToText(), "(nil)");
  EXPECT_EQ(Keys(), 3);
  FollowNoMore();
  AdvanceTime(200);  // a hash's timer is tried again now and then
  EXPECT_EQ(Keys(), 0);
}

TEST_F(StandstillInTurns, APauseThatOutlastsFollowingLetsNoKeyEnd) {
  Run({"SET", "k", "v", "PX", "100"});
  Follow();
  Run({"CLIENT", "PAUSE", "1000", "WRITE"});
  AdvanceTime(500);
  FollowNoMore();
  EXPECT_EQ(Keys(), 1);
  AdvanceTime(500);
  EXPECT_EQ(Keys(), 0);
}

TEST_F(StandstillInTurns, LeasesEndWithTheLastReason) {
  TestClient& waiter = Connect();
  TestClient& closed = Connect();
  Run({"LOCK.ACQUIRE", "leased", "a", "LEASE", "100"});
  closed.Run({"LOCK.ACQUIRE", "bound", "a", "SESSION"});
  waiter.SendBytes("LOCK.ACQUIRE leased b LEASE 100 WAIT 100000\r\n");
  TestClient& second = Connect();
  second.SendBytes("LOCK.ACQUIRE bound b LEASE 100000 WAIT 100000\r\n");
  Follow();
  Run({"CLIENT", "PAUSE", "50", "WRITE"});
  closed.Disconnect();
  AdvanceTime(1000);
  EXPECT_FALSE(waiter.has_received());
  EXPECT_FALSE(second.has_received());
  EXPECT_EQ(engine().part<LockService>().held(), 2u);
  EXPECT_GT(engine().NextWork(), engine().now().ms()) << "no turn after the other meanwhile";
  FollowNoMore();
  EXPECT_TRUE(waiter.has_received());
  EXPECT_TRUE(second.has_received());
}

TEST_F(StandstillInTurns, NoLimitIsTakenFromForOneThatWaits) {
  TestClient& waiter = Connect();
  Run({"LIMIT.TAKE", "l", "WINDOW", "1", "100"});
  waiter.Send({"LIMIT.TAKE", "l", "WINDOW", "1", "100", "WAIT", "50000"});
  Follow();
  Run({"CLIENT", "PAUSE", "50", "WRITE"});
  AdvanceTime(1000);
  EXPECT_FALSE(waiter.has_received());
  FollowNoMore();
  EXPECT_TRUE(waiter.has_received());
}

TEST_F(StandstillInTurns, NothingIsEvicted) {
  for (int i = 0; i < 100; ++i) Run({"SET", Concat("k", i), std::string(1000, 'v')});
  Follow();
  Run({"CONFIG", "SET", "maxmemory-policy", "allkeys-random"});
  Run({"CONFIG", "SET", "maxmemory", Concat(engine().UsedMemory() - 5000)});
  Run({"CLIENT", "PAUSE", "50", "WRITE"});
  AdvanceTime(1000);
  EXPECT_EQ(Run({"SET", "k", "v"}).ToText(), "+OK");
  EXPECT_EQ(Evicted(), 0u);
  FollowNoMore();
  EXPECT_EQ(Run({"SET", "k", "v"}).ToText(), "+OK");
  EXPECT_GT(Evicted(), 0u);
}

// Loading ends what it has begun alone.
TEST_F(StandstillInTurns, DataThatAreLoadedAnewLetNoKeyEnd) {
  Run({"SET", "k", "v", "PX", "100"});
  Follow();
  AdvanceTime(1000);
  EXPECT_EQ(Run({"DEBUG", "RELOAD"}).ToText(), "+OK");
  EXPECT_TRUE(standstill().is_on());
  EXPECT_EQ(engine().part<Keyspace>().db(0).size(), 1u)
      << "its master has not said that it is over";
  FollowNoMore();
  EXPECT_FALSE(standstill().is_on());
  EXPECT_EQ(Run({"DEBUG", "RELOAD"}).ToText(), "+OK");
  EXPECT_FALSE(standstill().is_on()) << "it is over with the data";
}

}  // namespace
}  // namespace sluice
