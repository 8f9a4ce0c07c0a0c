// What stays and what goes when a server begins to follow another one, or ends it; and what it says
// of what it has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "server/replication/replicas.h"
#include "tests/unit/server/following/followed_pair.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class RoleChanges : public FollowedPair {
 protected:
  // What the one that follows `a` has said of itself.
  int64_t Acked() { return Said(&Replica::acked); }
  int64_t Synced() { return Said(&Replica::synced); }

 private:
  int64_t Said(int64_t Replica::*what) {
    int64_t said = -1;
    a_.engine().part<Replicas>().VisitAll(
        [&](const Session&, const Replica& replica) { said = replica.*what; });
    return said;
  }
};

TEST_F(RoleChanges, WhoWatchesOrListensStays) {
  b_client().Line("SET key value");
  TestClient& watches = b_.Connect();
  TestClient& listens = b_.Connect();
  listens.Line("SUBSCRIBE channel");
  TestClient& monitors = b_.Connect();
  monitors.Line("MONITOR");
  for (const char* const role : {"REPLICAOF nowhere 1", "REPLICAOF NO ONE"}) {
    SCOPED_TRACE(role);
    watches.Line("WATCH key");
    EXPECT_EQ(b_client().Line(role).ToText(), "+OK");
    network_.Settle();
    watches.Line("MULTI");
    watches.Line("GET key");
    EXPECT_EQ(watches.Line("EXEC").ToText(), "[\"value\"]");
    b_client().Line("PUBLISH channel message");
    EXPECT_EQ(listens.Next()->ToText(), "[\"message\", \"channel\", \"message\"]");
    EXPECT_THAT(monitors.TakeBytes(), HasSubstr("\"GET\" \"key\""));
  }
}

// As of redis-server: whoever is promoted is of another history, who is only told to follow is not
// yet.
TEST_F(RoleChanges, ReplicasGoWhereTheHistoryIsAnotherOne) {
  b_client().Line("SET key value");
  TestEngine c{Options(3)};
  network_.Add("c:3", c);
  TakeEntropy(c, 2);
  EXPECT_EQ(c.Connect().Line("REPLICAOF b 2").ToText(), "+OK");
  Settle();
  const TestLink* standing = &link();
  ASSERT_EQ(FullSyncsOf(b_), 1u);
  EXPECT_EQ(b_client().Line("REPLICAOF nowhere 1").ToText(), "+OK");
  network_.Settle();
  EXPECT_TRUE(standing->is_open());
  EXPECT_EQ(b_client().Line("REPLICAOF NO ONE").ToText(), "+OK");
  EXPECT_FALSE(standing->is_open());
  for (int second = 0; second < 3; ++second) {
    Settle();
    c.AdvanceTime(1000);
  }
  network_.Settle();
  standing = &link();
  EXPECT_TRUE(standing->is_open());
  EXPECT_EQ(FullSyncsOf(b_), 1u) << "it comes back for what it lacks";
  EXPECT_EQ(b_client().Line("REPLICAOF a 1").ToText(), "+OK");
  for (int second = 0; second < 3; ++second) Settle();
  EXPECT_FALSE(standing->is_open()) << "the data are those of a";
  network_.Crash(c);
}

TEST_F(RoleChanges, ToASluiceEachTurnIsAcknowledged) {
  Follow();
  for (int i = 0; i < 5; ++i) {
    a_client().Line("INCR counter");
    network_.Settle();
    EXPECT_EQ(Acked(), OffsetOf(a_));
  }
  EXPECT_EQ(Synced(), 0) << "it has no log";
}

// Where a log is on, it says how much of the stream is on its disk, too.
TEST_F(RoleChanges, WhatIsOnDiskIsSaidOnceItIs) {
  b_client().Line("CONFIG SET appendonly yes");
  Settle();
  Follow();
  Settle();
  a_client().Line("SET key 1");
  for (int second = 0; second < 3; ++second) Settle();
  EXPECT_EQ(Synced(), OffsetOf(a_));
  b_.set_aside_waits(true);
  TestClient& waits = a_.Connect();
  waits.Line("SET key 2");
  waits.Send({"WAITAOF", "0", "1", "0"});
  for (int second = 0; second < 3; ++second) Settle();
  EXPECT_EQ(Acked(), OffsetOf(a_));
  EXPECT_LT(Synced(), OffsetOf(a_));
  EXPECT_FALSE(waits.has_received());
  b_.set_aside_waits(false);
  while (b_.RunBackgroundNow()) continue;
  for (int second = 0; second < 3; ++second) Settle();
  EXPECT_EQ(Synced(), OffsetOf(a_));
  EXPECT_EQ(waits.TakeBytes(), "*2\r\n:0\r\n:1\r\n");
}

}  // namespace
}  // namespace sluice
