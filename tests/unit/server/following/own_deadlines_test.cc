// Keys that clients of a writable replica gave a time end there, on time; a master's stay until it
// says so.
#include "server/following/own_deadlines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/following/played_master.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class OwnDeadlinesTest : public PlayedMaster {
 protected:
  OwnDeadlinesTest() {
    EXPECT_EQ(Ask("CONFIG SET replica-read-only no"), "+OK");
    FollowRedis();
  }
  size_t count() { return server().engine().part<OwnDeadlines>().count(); }
  std::string Keys() { return Ask("DBSIZE"); }  // those that only look missing, too
};

TEST_F(OwnDeadlinesTest, EndOnTimeWhileTheMastersStay) {
  Say({"SET", "masters", "v", "PX", "500"});
  EXPECT_EQ(Ask("SET own v PX 500"), "+OK");
  EXPECT_EQ(Ask("SET left v"), "+OK");
  EXPECT_EQ(Ask("EVAL \"redis.call('SET', 's', 'v'); redis.call('PEXPIRE', 's', 700)\" 0"),
            "(nil)");
  EXPECT_EQ(count(), 2u);
  EXPECT_THAT(Ask("INFO stats"), HasSubstr("slave_expires_tracked_keys:2\\r"));
  AdvanceTime(500);
  EXPECT_EQ(Keys(), ":3");
  AdvanceTime(200);
  EXPECT_EQ(Keys(), ":2");
  EXPECT_EQ(Ask("KEYS *"), "[\"left\"]");
  EXPECT_EQ(count(), 0u);
  EXPECT_THAT(Ask("INFO stats"), HasSubstr("expired_keys:2\\r"));
}

TEST_F(OwnDeadlinesTest, ALaterDeadlineCounts) {
  Ask("SET own v PX 500");
  Ask("PEXPIRE own 2000");
  AdvanceTime(1999);
  EXPECT_EQ(Keys(), ":1");
  AdvanceTime(1);
  EXPECT_EQ(Keys(), ":0");
}

TEST_F(OwnDeadlinesTest, WithoutADeadlineAKeyStays) {
  Ask("SET own v PX 500");
  Ask("PERSIST own");
  Ask("SET other v PX 500");
  Ask("SET other v");
  EXPECT_EQ(count(), 0u);
  AdvanceTime(1000);
  EXPECT_EQ(Ask("GET own"), "\"v\"");
  EXPECT_EQ(Ask("GET other"), "\"v\"");
}

TEST_F(OwnDeadlinesTest, WhatTheMasterWritesIsItsOwn) {
  Ask("SET k own PX 500");
  Say({"SET", "k", "masters", "PX", "500"});
  EXPECT_EQ(count(), 0u);
  AdvanceTime(1000);
  EXPECT_EQ(Keys(), ":1");
  Say({"PERSIST", "k"});
  EXPECT_EQ(Ask("GET k"), "\"masters\"");
}

TEST_F(OwnDeadlinesTest, FollowTheirDatabase) {
  Ask("SET k v PX 500");
  Ask("SWAPDB 0 1");
  Say({"SET", "k", "masters", "PX", "100"});
  AdvanceTime(500);
  EXPECT_EQ(Keys(), ":1") << "the master's";
  Ask("SELECT 1");
  EXPECT_EQ(Keys(), ":0");
}

// A key of that name that comes with another full sync, or is written later, is not the client's.
TEST_F(OwnDeadlinesTest, GoWithTheirDatabase) {
  Ask("SET k v PX 500");
  Ask("FLUSHALL");
  EXPECT_EQ(count(), 0u);
  Say({"SELECT", "0"});
  Say({"SET", "k", "masters", "PX", "100"});
  AdvanceTime(1000);
  EXPECT_EQ(Keys(), ":1");
  EXPECT_EQ(count(), 0u);
}

TEST_F(OwnDeadlinesTest, WaitWhileClientsArePaused) {
  Ask("SET k v PX 500");
  Ask("CLIENT PAUSE 2000 WRITE");
  AdvanceTime(1900);
  EXPECT_EQ(Keys(), ":1");
  AdvanceTime(1100);
  EXPECT_EQ(Keys(), ":0");
}

// More than a turn frees.
TEST_F(OwnDeadlinesTest, ManyGoWithTheirDatabase) {
  const std::string many =
      "EVAL \"for i = 1, 5000 do redis.call('SET', 'k' .. i, 'v', 'PX', 100000 + i) end\" 0";
  for (int i = 0; i < 3; ++i) {
    Ask(many);
    EXPECT_EQ(count(), 5000u);
    Ask("FLUSHALL");
    EXPECT_EQ(count(), 0u);
  }
  Ask(many);
  AdvanceTime(102'000);
  EXPECT_EQ(Keys(), ":3000");
  EXPECT_EQ(count(), 3000u);
  AdvanceTime(10'000);
  EXPECT_EQ(Keys(), ":0");
}

TEST_F(OwnDeadlinesTest, APromotedServerEndsAllByItself) {
  Ask("SET k v PX 500");
  Say({"SET", "masters", "v", "PX", "500"});
  Ask("REPLICAOF NO ONE");
  EXPECT_EQ(count(), 0u);
  AdvanceTime(500);
  EXPECT_EQ(Keys(), ":0");
  EXPECT_EQ(count(), 0u);
}

TEST_F(OwnDeadlinesTest, CountFromTheMomentThatClientsMayWrite) {
  Ask("CONFIG SET replica-read-only yes");
  Say({"SET", "masters", "v"});
  Ask("CONFIG SET replica-read-only no");
  Ask("PEXPIRE masters 500");
  EXPECT_EQ(count(), 1u);
  AdvanceTime(500);
  EXPECT_EQ(Keys(), ":0") << "as in Redis";
}

}  // namespace
}  // namespace sluice
