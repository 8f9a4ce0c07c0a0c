// Grants that replicas must have before they are answered (lock-min-replicas, REPLICAS), as clients
// and made-up replicas see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/commit/grant_promise.h"
#include "server/locks/lock_service.h"
#include "tests/unit/server/locks/grants_fixture.h"

namespace sluice {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using GrantsKeptTest = GrantsFixture;

TEST_F(GrantsKeptTest, OptionsAreCheckedAndOffUnlessSaidOtherwise) {
  EXPECT_EQ(Text("CONFIG GET lock-min-replicas"), R"(["lock-min-replicas", "0"])");
  EXPECT_EQ(Text("CONFIG GET lock-replicas-timeout"), R"(["lock-replicas-timeout", "1000"])");
  EXPECT_EQ(Text("CONFIG GET replicas-required"), R"(["replicas-required", "grants"])");
  EXPECT_THAT(Text("CONFIG SET lock-min-replicas -1"), HasSubstr("must be between 0 and"));
  EXPECT_THAT(Text("CONFIG SET lock-replicas-timeout 0"), HasSubstr("must be between 1 and"));
  EXPECT_THAT(Text("CONFIG SET replicas-required some"), HasSubstr("grants, all"));
}

TEST_F(GrantsKeptTest, AGrantIsAnsweredWhenAReplicaHasIt) {
  TestClient& replica = Sluice();
  Set("lock-min-replicas", "1");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000"), "");
  EXPECT_EQ(locks().replica_waits().size(), 1U);
  EXPECT_EQ(Ask(bob_, "LOCK.ACQUIRE job bob LEASE 30000"), "") << "it shows what may be lost";
  AdvanceTime(200);
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :29800, :1, :0]")) << "the lease has begun";
  EXPECT_EQ(Answer(bob_), "(nil-array)");
  EXPECT_EQ(locks().replica_waits().size(), 0U);
  EXPECT_EQ(Text("GET k"), "(nil)") << "nothing waits any more";
}

TEST_F(GrantsKeptTest, ReplicasThatWereAskedForAreWaitedForWhateverTheOptionBecomes) {
  TestClient& replica = Sluice();
  Line("CONFIG SET lock-min-replicas 1");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000 REPLICAS 1 1000"), "");
  EXPECT_EQ(Ask(bob_, "LOCK.ACQUIRE other bob LEASE 30000"), "");
  Line("CONFIG SET lock-min-replicas 0");
  EXPECT_NE(Answer(bob_), "");
  EXPECT_EQ(Answer(alice_), "");
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :30000, :1, :0]"));
}

TEST_F(GrantsKeptTest, AGrantThatNoReplicaHasInTimeIsTakenBack) {
  TestClient& replica = Sluice();
  Set("lock-min-replicas", "1");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000 MINHOLD 9000"), "");
  const std::string token = std::to_string(last_token());
  AdvanceTime(999);
  EXPECT_EQ(Answer(alice_), "");
  AdvanceTime(1);
  EXPECT_EQ(Answer(alice_),
            "-NOREPLICAS 0 of 1 replicas have the grant in time, so it is taken back");
  EXPECT_EQ(locks().counts().taken_back, 1U);
  EXPECT_EQ(Text("LOCK.INFO job"), "[]");
  EXPECT_THAT(Sent(replica), HasSubstr("LOCK.BREAK"));
  EXPECT_THAT(Text("LOCK.ACQUIRE job bob LEASE 1000"),
              StartsWith("-NOREPLICAS the replicas are behind: 0 of 1"));
  AcknowledgeAll(replica);
  EXPECT_THAT(Text("FENCED job " + token + " GET k"), StartsWith("-STALE"));
  EXPECT_EQ(Ask(bob_, "LOCK.ACQUIRE job bob LEASE 1000"), "");
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(bob_), HasSubstr(", :1000, :1, :0]"));
}

TEST_F(GrantsKeptTest, OneHoldMoreIsTakenBackAloneAndTheTokenStaysGood) {
  TestClient& replica = Sluice();
  EXPECT_THAT(Text("LOCK.ACQUIRE job alice LEASE 30000"), HasSubstr(", :1, :0]"));
  AcknowledgeAll(replica);
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000 REPLICAS 1 50"), "");
  AdvanceTime(50);
  EXPECT_THAT(Answer(alice_), StartsWith("-NOREPLICAS"));
  EXPECT_EQ(Text("LOCK.RELEASE job alice"), ":0");
}

TEST_F(GrantsKeptTest, AHandedOverGrantWaitsAndGoesToTheNextWhenItIsTakenBack) {
  TestClient& replica = Sluice();
  TestClient& carol = Connect();
  EXPECT_THAT(Text("LOCK.ACQUIRE job alice LEASE 30000"), HasSubstr(", :1, :0]"));
  AcknowledgeAll(replica);
  EXPECT_EQ(Ask(bob_, "LOCK.ACQUIRE job bob LEASE 30000 WAIT 60000 REPLICAS 1 100"), "");
  EXPECT_EQ(Ask(carol, "LOCK.ACQUIRE job carol LEASE 30000 WAIT 60000 REPLICAS 1 5000"), "");
  AdvanceTime(40);
  EXPECT_EQ(Text("LOCK.RELEASE job alice"), ":0");
  EXPECT_EQ(locks().replica_waits().size(), 1U);
  AdvanceTime(100);
  EXPECT_THAT(Answer(bob_), StartsWith("-NOREPLICAS 0 of 1"));
  EXPECT_EQ(Answer(carol), "");
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(carol), HasSubstr(", :30000, :1, :140]"));
}

TEST_F(GrantsKeptTest, SeveralLocksAreTakenBackAsOne) {
  Sluice();
  EXPECT_EQ(Ask(alice_, "LOCK.MACQUIRE 2 a b alice LEASE 30000 REPLICAS 1 50"), "");
  EXPECT_EQ(Ask(bob_, "LOCK.MACQUIRE 2 b a bob LEASE 30000 WAIT 1000"), "");
  AdvanceTime(50);
  EXPECT_THAT(Answer(alice_), StartsWith("-NOREPLICAS"));
  EXPECT_THAT(Answer(bob_), StartsWith("["));
}

TEST_F(GrantsKeptTest, WhatChangesAGrantWaitsAtTheGateAndIsClosedWhenItsTimeIsOver) {
  TestClient& replica = Sluice();
  TestClient& reader = Connect();
  EXPECT_THAT(Text("LOCK.ACQUIRE job alice LEASE 30000"), HasSubstr(", :1, :0]"));
  const std::string token = std::to_string(last_token());
  AcknowledgeAll(replica);
  Set("lock-min-replicas", "1");
  for (const std::string& line :
       {std::string("LOCK.RENEW job alice LEASE 30000"), "FENCED job " + token + " SET k v",
        std::string("LIMIT.TAKE l WINDOW 9 1000"), std::string("LIMIT.REFUND l 1"),
        std::string("LIMIT.ALL 2 m n WINDOW 9 1000 0 1 WINDOW 9 1000 0 1"),
        std::string("LOCK.DOWNGRADE job alice"), std::string("LOCK.UPGRADE job alice"),
        std::string("LOCK.BREAK job")}) {
    EXPECT_EQ(Ask(alice_, line), "") << line;
    EXPECT_EQ(Ask(reader, "EXISTS nothing"), "") << "it may show what waits: " << line;
    AcknowledgeAll(replica);
    EXPECT_THAT(Answer(alice_), Not(StartsWith("-"))) << line;
    EXPECT_EQ(Answer(reader), ":0") << line;
  }
  EXPECT_EQ(Ask(alice_, "LIMIT.TAKE l WINDOW 9 1000"), "");
  EXPECT_EQ(Ask(bob_, "SET k w"), "") << "a plain write waits for nothing of its own";
  AdvanceTime(1000);
  EXPECT_TRUE(alice_.closed());
  EXPECT_EQ(alice_.TakeBytes(), "");
  EXPECT_EQ(Answer(bob_), "+OK");
  EXPECT_TRUE(engine().part<GrantPromise>().is_behind());
  EXPECT_EQ(Text("GET k"), "\"w\"") << "nobody waits for the slow one again";
  EXPECT_THAT(Text("LIMIT.TAKE l WINDOW 9 1000"),
              StartsWith("-NOREPLICAS the replicas are behind"));
  EXPECT_EQ(Text("SET k x"), "+OK");
  AcknowledgeAll(replica);
  EXPECT_EQ(Ask(bob_, "LIMIT.TAKE l WINDOW 9 1000"), "");
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(bob_), StartsWith("[:1, "));
}

TEST_F(GrantsKeptTest, TransactionsAndScriptsWaitAtTheGate) {
  TestClient& replica = Sluice();
  Set("lock-min-replicas", "1");
  const std::string script = "return redis.call('LOCK.ACQUIRE','s','me','LEASE','9000')";
  alice_.Run({"MULTI"});
  alice_.Run({"LOCK.ACQUIRE", "t", "me", "LEASE", "9000"});
  EXPECT_EQ(Ask(alice_, "EXEC"), "");
  bob_.Send({"EVAL", script, "1", "s"});
  EXPECT_EQ(Answer(bob_), "");
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :9000, :1, :0]"));
  EXPECT_THAT(Answer(bob_), HasSubstr(", :9000, :1, :0]"));
  bob_.Send({"EVAL", script, "1", "s"});
  AdvanceTime(1000);
  EXPECT_TRUE(bob_.closed());
  EXPECT_EQ(bob_.TakeBytes(), "");
  EXPECT_THAT(Run({"EVAL", script, "1", "s"}).ToText(), HasSubstr("NOREPLICAS"));
}

TEST_F(GrantsKeptTest, WithAllEveryChangeWaits) {
  TestClient& replica = Sluice();
  Set("replicas-required", "all");
  Set("lock-min-replicas", "1");
  EXPECT_EQ(Ask(alice_, "SET k v NX PX 1000"), "");
  AcknowledgeAll(replica);
  EXPECT_EQ(Answer(alice_), "+OK");
  EXPECT_EQ(Ask(alice_, "SET k w"), "");
  AdvanceTime(1000);
  EXPECT_TRUE(alice_.closed());
  EXPECT_EQ(Text("EXISTS k"), ":1") << "reads go on";
  EXPECT_THAT(Text("SET k x"), StartsWith("-NOREPLICAS"));
  EXPECT_THAT(Run({"EVAL", "return redis.call('SET','k','x')", "1", "k"}).ToText(),
              HasSubstr("NOREPLICAS"));
}

TEST_F(GrantsKeptTest, WithTooFewNothingIsGranted) {
  OnlineReplica();  // a redis-server, which knows no locks
  Set("lock-min-replicas", "1");
  const std::string refused = "-NOREPLICAS lock-min-replicas is 1, and 0 Sluices follow";
  EXPECT_EQ(Text("LOCK.ACQUIRE job alice LEASE 1000"), refused);
  EXPECT_EQ(Text("LIMIT.TAKE l WINDOW 1 1000"), refused);
  EXPECT_EQ(Text("SET k v"), "+OK");
  EXPECT_EQ(Text("LOCK.RELEASE job alice"), "-NOTHELD this owner does not hold the lock");
  TestClient& replica = Sluice();
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 1000"), "");
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]"));
  replica.Disconnect();
  EXPECT_EQ(Text("LOCK.RENEW job alice LEASE 1000"), refused);
  EXPECT_EQ(Text("LOCK.RELEASE job alice"), ":0");
}

TEST_F(GrantsKeptTest, ReplicasIsForRequestsThatMayWait) {
  EXPECT_EQ(Text("LOCK.ACQUIRE job a LEASE 1000 REPLICAS 1 100"),
            "-NOREPLICAS REPLICAS asks for 1, and 0 Sluices follow");
  Sluice();
  EXPECT_EQ(Text("LOCK.ACQUIRE job a LEASE 1000 REPLICAS 2 100"),
            "-NOREPLICAS REPLICAS asks for 2, and 1 Sluice follows");
  EXPECT_EQ(Text("LOCK.INFO job"), "[]");
  EXPECT_EQ(
      Run({"EVAL", "return redis.pcall('LOCK.ACQUIRE','j','a','LEASE','9','REPLICAS','1','9')", "1",
           "j"})
          .ToText(),
      "-ERR REPLICAS cannot wait inside MULTI, a script or FENCED");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job a LEASE 1000 REPLICAS 1 100"), "");
  EXPECT_THAT(Text("LOCK.INFO job"), EndsWith(", :0, :0, :0, :1, :0]"))
      << "one wanted, none has it";
  EXPECT_EQ(Text("EXISTS job"), ":1") << "others do not wait because one has asked for more";
}

TEST_F(GrantsKeptTest, AChangedOptionActsOnThoseThatWait) {
  TestClient& one = Sluice();
  Sluice();
  Set("lock-min-replicas", "2");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE a alice LEASE 30000"), "");
  EXPECT_EQ(Ask(bob_, "LIMIT.TAKE l WINDOW 9 1000"), "");
  AcknowledgeAll(one);
  EXPECT_EQ(Answer(alice_), "");
  Set("lock-min-replicas", "1");
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]"));
  EXPECT_THAT(Answer(bob_), StartsWith("[:1, "));
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE b alice LEASE 30000"), "");
  EXPECT_EQ(Ask(bob_, "LIMIT.TAKE l WINDOW 9 1000"), "");
  Set("lock-min-replicas", "0");
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]"));
  EXPECT_THAT(Answer(bob_), StartsWith("[:1, "));
}

// The answer to CONFIG SET waits behind the grants, as any other does.
TEST_F(GrantsKeptTest, ALargerOptionActsOnThoseThatWait) {
  TestClient& one = Sluice();
  TestClient& other = Sluice();
  TestClient& admin = Connect();
  Set("lock-min-replicas", "1");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE a alice LEASE 30000"), "");
  EXPECT_EQ(Ask(bob_, "LIMIT.TAKE l WINDOW 9 1000"), "");
  EXPECT_EQ(Ask(admin, "CONFIG SET lock-min-replicas 2"), "");
  AcknowledgeAll(one);
  EXPECT_EQ(Answer(alice_), "");
  EXPECT_EQ(Answer(bob_), "");
  AcknowledgeAll(other);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]"));
  EXPECT_THAT(Answer(bob_), StartsWith("[:1, "));
  EXPECT_EQ(Answer(admin), "+OK");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE b alice LEASE 30000"), "");
  EXPECT_EQ(Ask(admin, "CONFIG SET lock-min-replicas 3"), "");
  AcknowledgeAll(one);
  AcknowledgeAll(other);
  AdvanceTime(1000);
  EXPECT_EQ(Answer(alice_),
            "-NOREPLICAS 2 of 3 replicas have the grant in time, so it is taken back");
  EXPECT_EQ(Answer(admin), "+OK");
}

TEST_F(GrantsKeptTest, ReplicasMayComeAndGoWhileAGrantWaits) {
  TestClient& first = Sluice();
  Set("lock-min-replicas", "1");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE a alice LEASE 30000"), "");
  first.Disconnect();
  TestClient& second = Sluice();
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]")) << "its image has the grant";
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE b alice LEASE 30000"), "");
  Acknowledge(second, 1);
  Acknowledge(second, end() + 1);
  EXPECT_TRUE(second.closed());
  EXPECT_EQ(Answer(alice_), "") << "a lie is no acknowledgement";
  AdvanceTime(1000);
  EXPECT_THAT(Answer(alice_), StartsWith("-NOREPLICAS 0 of 1"));
}

// Its connection may be lost, and nobody have heard of that.
TEST_F(GrantsKeptTest, AReplicaThatComesAgainIsNotCountedTwice) {
  const auto come = [this]() -> TestClient& {
    TestClient& replica = NewReplica("sluice");
    replica.Run({"REPLCONF", "sluice-stream", std::string(40, 'a')});
    return replica;
  };
  TestClient& other = Sluice();
  TestClient& before = come();
  Sync(before);
  Acknowledge(before, end());
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000 REPLICAS 2 900"), "");
  Acknowledge(before, end());
  TestClient& again = come();
  Sync(again, id(), std::to_string(end() + 1));
  EXPECT_TRUE(before.closed());
  Acknowledge(again, end());
  Acknowledge(again, end());
  EXPECT_EQ(locks().replica_waits().size(), 1U);
  EXPECT_EQ(Answer(alice_), "") << "the other one does not have it";
  AcknowledgeAll(other);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]"));
}

// Its machine may have lost its power, and be back before anybody has heard of that. Where a grant
// waits for all, it counts once, as it joins them when the others know of one more.
TEST_F(GrantsKeptTest, AReplicaWhoseMachineWasBootedIsNotCountedTwiceWhereAllAreWaitedFor) {
  TestClient& other = Sluice();
  TestClient& before = Sluice();
  Set("lock-min-replicas", "2");
  for (int i = 0; i < 3; ++i) {
    AcknowledgeAll(other);
    AcknowledgeAll(before);
  }
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000"), "");
  AcknowledgeAll(before);
  TestClient& again = NewReplica("sluice");
  again.Run({"REPLCONF", "sluice-stream", std::string(40, 'b')});
  Sync(again, id(), std::to_string(end() + 1));
  for (int i = 0; i < 3; ++i) AcknowledgeAll(again);
  EXPECT_FALSE(before.closed());
  EXPECT_EQ(locks().replica_waits().size(), 1U);
  EXPECT_EQ(Answer(alice_), "");
  AcknowledgeAll(other);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]"));
}

TEST_F(GrantsKeptTest, WhatEndsTheGrantMeanwhileIsTold) {
  TestClient& replica = Sluice();
  const std::string lost = "-NOREPLICAS the lock was lost before enough replicas had the grant";
  for (const std::string_view end : {"FLUSHALL", "DEL job", "LOCK.BREAK job", "SET job v"}) {
    EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000 REPLICAS 1 900"), "");
    EXPECT_THAT(Text(end), Not(StartsWith("-"))) << end;
    AcknowledgeAll(replica);
    EXPECT_EQ(Answer(alice_), lost) << end;
    Text("DEL job");
  }
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 20 REPLICAS 1 900"), "");
  AdvanceTime(20);
  AcknowledgeAll(replica);
  EXPECT_EQ(Answer(alice_), lost);
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000 REPLICAS 1 900"), "");
  EXPECT_EQ(Text("DEL job"), ":1");
  EXPECT_THAT(Text("LOCK.ACQUIRE job bob LEASE 30000"), HasSubstr(", :1, :0]"));
  AdvanceTime(900);
  EXPECT_THAT(Answer(alice_), StartsWith("-NOREPLICAS"));
  EXPECT_THAT(Text("LOCK.INFO job"), HasSubstr("bob")) << "another's grant stays";
}

TEST_F(GrantsKeptTest, WhereOneOfSeveralLocksIsLostTheOthersAreTakenBack) {
  TestClient& replica = Sluice();
  EXPECT_EQ(Ask(alice_, "LOCK.MACQUIRE 2 a b alice LEASE 30000 REPLICAS 1 900"), "");
  EXPECT_EQ(Ask(bob_, "LOCK.ACQUIRE b bob LEASE 30000 WAIT 60000"), "");
  EXPECT_EQ(Text("LOCK.BREAK a"), ":1");
  AcknowledgeAll(replica);
  EXPECT_EQ(Answer(alice_), "-NOREPLICAS the lock was lost before enough replicas had the grant");
  EXPECT_THAT(Answer(bob_), HasSubstr(", :1, "));
  EXPECT_EQ(Text("LOCK.INFO a"), "[]");
}

TEST_F(GrantsKeptTest, WhoHasWaitedInVainIsGrantedNothingAsAPauseEnds) {
  Sluice();
  for (const std::string words : {"", " REPLICAS 1 500"}) {
    EXPECT_THAT(Text("LOCK.ACQUIRE job alice LEASE 60"), HasSubstr(", :1, :0]"));
    EXPECT_EQ(Ask(bob_, "LOCK.ACQUIRE job bob LEASE 30000 WAIT 200" + words), "");
    AdvanceTime(20);
    EXPECT_EQ(Text("CLIENT PAUSE 100 WRITE"), "+OK");
    server().clock().Advance(180);  // in one turn the pause ends, and then the wait
    EXPECT_EQ(Answer(bob_), "(nil-array)") << words;
    EXPECT_EQ(Text("LOCK.INFO job"), "[]") << words;
  }
}

TEST_F(GrantsKeptTest, AClientThatGoesLeavesNoGrantBehind) {
  TestClient& replica = Sluice();
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000 REPLICAS 1 900"), "");
  alice_.Disconnect();
  EXPECT_EQ(Text("LOCK.INFO job"), "[]");
  // One that asks again by its ID has the hold of the first, which may go.
  TestClient& again = Connect();
  EXPECT_EQ(Ask(bob_, "LOCK.ACQUIRE job bob LEASE 30000 ID x REPLICAS 1 900"), "");
  EXPECT_EQ(Ask(again, "LOCK.ACQUIRE job bob LEASE 30000 ID x REPLICAS 1 900"), "");
  bob_.Disconnect();
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(again), HasSubstr(", :1, :0]"));
  EXPECT_EQ(Text("LOCK.RELEASE job bob"), ":0");
}

// However often it was asked for, it is taken back with the last one who waits for it.
TEST_F(GrantsKeptTest, OfSeveralWhoAskAgainAnyMayGo) {
  TestClient& replica = Sluice();
  for (const auto& [first, second] : {std::pair{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}) {
    SCOPED_TRACE(testing::Message() << first << ' ' << second);
    const std::string request =
        Concat("LOCK.ACQUIRE job bob LEASE 30000 ID ", first, second, " REPLICAS 1 900");
    std::array<TestClient*, 3> clients{};
    for (TestClient*& client : clients) {
      client = &Connect();
      EXPECT_EQ(Ask(*client, request), "");
    }
    clients[first]->Disconnect();
    clients[second]->Disconnect();
    EXPECT_THAT(Text("LOCK.INFO job"), EndsWith(", :1, :0]")) << "one that is left waits";
    AcknowledgeAll(replica);
    EXPECT_THAT(Answer(*clients[3 - first - second]), HasSubstr(", :1, :0]"));
    EXPECT_EQ(Text("LOCK.RELEASE job bob"), ":0");
  }
}

TEST_F(GrantsKeptTest, AServerThatIsMadeAReplicaAnswersNoGrant) {
  Sluice();
  Set("lock-min-replicas", "1");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000"), "");
  EXPECT_EQ(Ask(bob_, "LIMIT.TAKE l WINDOW 9 1000"), "");
  TestClient& other = Connect();
  other.Run({"REPLICAOF", "127.0.0.1", "1"});
  server().Settle();
  EXPECT_THAT(alice_.TakeBytes(), StartsWith("-UNBLOCKED"));
  EXPECT_TRUE(bob_.closed());
  EXPECT_EQ(bob_.TakeBytes(), "");
  EXPECT_EQ(locks().replica_waits().size(), 0U);
}

// --- with more Sluices than grants wait for

using GrantsOfSomeTest = GrantsFixture;

TEST_F(GrantsOfSomeTest, TheMasterGoesOnWhereItsKAreOnItsSide) {
  TestClient& near = Sluice();
  TestClient& far = Sluice();
  Set("lock-min-replicas", "1");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000"), "");
  AcknowledgeAll(near);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]")) << "the far one has heard of nothing";
  far.Disconnect();
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE other alice LEASE 30000"), "");
  AcknowledgeAll(near);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]")) << "one that is down changes nothing";
}

// A replica is told whether it has every grant: only one that has takes over without a grace.
TEST_F(GrantsOfSomeTest, EachReplicaIsToldWhetherItHasEveryGrant) {
  const std::string run_id = Field("run_id");
  Set("lock-min-replicas", "1");
  TestClient& one = Sluice();
  EXPECT_THAT(Sent(one), HasSubstr(run_id));
  TestClient& other = NewReplica("sluice");
  Sync(other);
  Acknowledge(other, end());
  const std::string told = Sent(one);
  ASSERT_THAT(told, HasSubstr("SLUICE1 M "));
  EXPECT_THAT(told.substr(told.rfind("SLUICE1 M ")), Not(HasSubstr(run_id)));
}

TEST_F(GrantsOfSomeTest, TheMasterStopsAtItsMarkWhenItsKAreGone) {
  TestClient& near = Sluice();
  Set("lock-min-replicas", "1");
  AcknowledgeAll(near);
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000"), "");
  AcknowledgeAll(near);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]"));
  near.Disconnect();
  EXPECT_EQ(Text("LOCK.ACQUIRE other alice LEASE 1000"),
            "-NOREPLICAS lock-min-replicas is 1, and 0 Sluices follow");
}

}  // namespace
}  // namespace sluice
