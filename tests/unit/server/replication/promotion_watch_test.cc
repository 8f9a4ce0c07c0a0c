// Which replicas would lose locks and limits as the master, and how often the log says so.
#include "server/replication/promotion_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/replication/replicas_fixture.h"

namespace sluice {
namespace {

class PromotionWatchTest : public ReplicasFixture {
 protected:
  std::string Promotable() { return Field("redis_replicas_promotable"); }
  // As Sluice introduces itself.
  TestClient& OnlineSluice() {
    TestClient& replica = NewReplica("sluice");
    Sync(replica);
    Acknowledge(replica, end());
    return replica;
  }
  size_t Warnings() {
    size_t count = 0;
    for (const auto& line : server().log())
      count += line.find("Set replica-priority 0") != std::string::npos;
    return count;
  }
};

TEST_F(PromotionWatchTest, ARedisServerCountsFromTheFirstLockOn) {
  TestClient& redis = OnlineReplica();
  OnlineSluice();
  Run({"SET", "key", "value"});
  EXPECT_EQ(Promotable(), "0");
  Run({"LOCK.ACQUIRE", "door", "me", "LEASE", "60000"});
  server().Settle();
  EXPECT_EQ(Promotable(), "1");
  redis.Disconnect();
  EXPECT_EQ(Promotable(), "0");
}

TEST_F(PromotionWatchTest, ALimiterThatAnImageLeavesOutCounts) {
  Run({"LIMIT.TAKE", "user", "WINDOW", "5", "100000"});
  OnlineReplica();
  EXPECT_EQ(Promotable(), "1");
}

TEST_F(PromotionWatchTest, WhoListensNowhereIsNoServer) {
  Run({"LIMIT.TAKE", "user", "WINDOW", "5", "100000"});
  TestClient& reader = Connect();
  reader.Run({"REPLCONF", "capa", "eof", "capa", "psync2"});
  Sync(reader);
  Acknowledge(reader, end());
  EXPECT_EQ(Promotable(), "0");
}

TEST_F(PromotionWatchTest, TheLogWarnsOnceAMinute) {
  Run({"LIMIT.TAKE", "user", "WINDOW", "5", "1000000"});
  AdvanceTime(3000);
  EXPECT_EQ(Warnings(), 0u);
  TestClient& redis = OnlineReplica();
  for (int second = 0; second < 59; ++second) {
    AdvanceTime(1000);
    Acknowledge(redis, end());
  }
  EXPECT_EQ(Warnings(), 1u);
  for (int second = 0; second < 60; ++second) {
    AdvanceTime(1000);
    Acknowledge(redis, end());
  }
  EXPECT_EQ(Warnings(), 2u);
}

}  // namespace
}  // namespace sluice
