// A Sluice follows a Sluice, without sockets: roles, clients, cuts, restarts.
#include "server/following/following.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/text/concat.h"
#include "server/replication/replicas.h"
#include "tests/unit/server/following/followed_pair.h"

namespace sluice {
namespace {

TEST_F(FollowedPair, TheDataOfTheMasterTakeThePlaceOfItsOwn) {
  b_client().Line("SET own 1");
  a_client().Line("SET before 1");
  a_client().Line("LOCK.ACQUIRE lock me LEASE 100000");
  Follow();
  a_client().Line("SET behind 2 PX 50000");
  a_client().Line("SELECT 3");
  a_client().Line("SET there 3");
  Settle();
  EXPECT_EQ(b_client().Line("MGET own before behind").ToText(), "[(nil), \"1\", \"2\"]");
  EXPECT_NE(b_client().Line("LOCK.INFO lock").ToText().find("me"), std::string::npos);
  b_client().Line("SELECT 3");
  EXPECT_EQ(b_client().Line("GET there").ToText(), "\"3\"");
  EXPECT_EQ(OffsetOf(a_), OffsetOf(b_));
  EXPECT_EQ(FullSyncsOf(a_), 1u);
  EXPECT_NE(RoleOf(b_client()).find("connected"), std::string::npos) << RoleOf(b_client());
}

TEST_F(FollowedPair, ACutCostsNoFullSync) {
  Follow();
  for (int i = 0; i < 20; ++i) {
    a_client().Run({"SET", "key" + std::to_string(i), "value"});
    a_client().Line("MULTI");
    a_client().Line("INCR counter");
    a_client().Line("INCR counter");
    a_client().Line("EXEC");
    // Some of it arrives, and the rest is lost with the link.
    link().Carry(Way::kIn, static_cast<size_t>(17 * i));
    link().Cut();
    Settle();
    EXPECT_EQ(OffsetOf(a_), OffsetOf(b_));
  }
  EXPECT_EQ(b_client().Line("GET counter").ToText(), "\"40\"");
  EXPECT_EQ(FullSyncsOf(a_), 1u);
}

// While it waits a second, the backlog may be written over.
TEST_F(FollowedPair, ALinkThatIsCutIsOpenedAtOnceIfNotForEver) {
  Follow();
  const auto opened_when_cut = [&] {
    link().Cut();
    b_.Settle();
    const bool is_opened = network_.opening() > 0;
    network_.Settle();
    return is_opened;
  };
  int at_once = 0;
  while (at_once < 100 && opened_when_cut()) ++at_once;
  EXPECT_EQ(at_once, 9);
  b_.AdvanceTime(1000);
  Settle();
  a_client().Line("SET key value");
  Settle();
  EXPECT_EQ(b_client().Line("GET key").ToText(), "\"value\"");
  for (int second = 0; second < 3; ++second) b_.AdvanceTime(1000);
  EXPECT_TRUE(opened_when_cut());
}

// Its master may not have heard of the end.
TEST_F(FollowedPair, ItsFormerLinkEndsWhereItComesAgain) {
  Follow();
  TestLink& former = link();
  b_client().Line("REPLICAOF nowhere 1");
  b_client().Line("REPLICAOF a 1");
  ASSERT_EQ(network_.opening(), 1u);
  network_.OpenNext();
  for (int i = 0; i < 10; ++i) {
    link().Carry(Way::kOut);
    a_.Settle();
    link().Carry(Way::kIn);
    b_.Settle();
  }
  EXPECT_TRUE(former.far().closed());
  EXPECT_TRUE(link().is_open());
  EXPECT_EQ(a_.engine().part<Replicas>().count(), 1u);
}

// It would have to know what the replica tells its masters alone: the run id is for all to see.
TEST_F(FollowedPair, NoOtherReplicaEndsItsLink) {
  Follow();
  const std::string info = b_client().Line("INFO server").text;
  const std::string run_id = info.substr(info.find("run_id:") + 7, 40);
  TestClient& stranger = a_.Connect();
  stranger.Run({"REPLCONF", "capa", "eof", "capa", "psync2", "capa", "sluice"});
  stranger.Run({"REPLCONF", "sluice-stream", run_id});
  stranger.Send({"PSYNC", "?", "-1"});
  a_.Settle();
  EXPECT_TRUE(stranger.has_received());
  EXPECT_TRUE(link().is_open());
  EXPECT_EQ(a_.engine().part<Replicas>().count(), 2u);
}

TEST_F(FollowedPair, AnswersMayComeInPieces) {
  a_client().Line("SET key value");
  b_client().Line("REPLICAOF a 1");
  network_.OpenNext();
  for (int i = 0; i < 20 && b_client().Line("GET key").ToText() != "\"value\""; ++i) {
    link().Carry(Way::kOut, SIZE_MAX, 1);
    for (size_t left = link().waiting(Way::kIn); left > 0; --left) link().Carry(Way::kIn, 1);
    a_.Settle();
    b_.Settle();
  }
  EXPECT_EQ(b_client().Line("GET key").ToText(), "\"value\"");
}

TEST_F(FollowedPair, AKeyThatLooksMissingGoesWhenItsMasterSaysSo) {
  Follow();
  a_client().Line("SET key text PXAT 1000");
  a_client().Line("INCR key");
  a_client().Line("SET other text PXAT 1700000060000");
  Settle();
  EXPECT_EQ(b_client().Line("GET key").ToText(), "\"1\"");
  EXPECT_EQ(b_client().Line("DBSIZE").ToText(), ":2");
  a_.clock().StepWall(120'000);
  Settle();
  EXPECT_EQ(b_client().Line("DBSIZE").ToText(), ":1");
  a_.clock().StepWall(-120'000);
  Settle();
  EXPECT_EQ(b_client().Line("KEYS *").ToText(), a_client().Line("KEYS *").ToText());
}

TEST_F(FollowedPair, TheLogOfAReplicaSaysThatAKeyIsOver) {
  b_client().Line("CONFIG SET appendonly yes");
  Settle();
  Follow();
  a_client().Line("SET key text PXAT 1000");
  a_client().Line("INCR key");
  Settle();
  std::string log;
  for (const auto& [name, bytes] : b_.disk().files) {
    if (name.ends_with(".incr.aof")) log += bytes;
  }
  const size_t set = log.find("PXAT"), over = log.find("DEL"), incr = log.find("INCR");
  EXPECT_LT(set, over) << log;
  EXPECT_LT(over, incr) << log;
  EXPECT_NE(incr, log.npos) << log;
}

// A bucket that has run empty by the replica's clock is there until the master has told its end.
TEST_F(FollowedPair, ALogThatIsWrittenAnewHasWhatIsNotToldToBeOver) {
  b_client().Line("CONFIG SET appendonly yes");
  Settle();
  Follow();
  a_client().Line("LIMIT.TAKE bucket LEAKY 5 100");
  a_client().Line("LIMIT.TAKE window WINDOW 5 100");
  a_client().Line("LOCK.ACQUIRE lock me LEASE 100");
  network_.Settle();
  b_.AdvanceTime(5000);
  EXPECT_EQ(b_client().Line("BGREWRITEAOF").kind, Reply::Kind::kStatus);
  b_.AdvanceTime(2000);
  for (const char* const name : {"bucket", "window", "lock"})
    EXPECT_EQ(a_client().Run({"RENAME", name, std::string("new:") + name}).ToText(), "+OK");
  network_.Settle();
  b_.AdvanceTime(2000);
  MemoryDisk disk = b_.disk();
  TestEngine again({.config = {{"appendonly", "yes"}, {"replicaof", "a 1"}}, .disk = &disk});
  again.Settle();
  EXPECT_FALSE(again.shutdown_code()) << again.log().back();
}

TEST_F(FollowedPair, ACircleIsFoundByItsHistory) {
  a_client().Line("SET key value");
  Follow();
  EXPECT_EQ(a_client().Line("REPLICAOF b 2").ToText(), "+OK");
  for (int second = 0; second < 5; ++second) Settle();
  EXPECT_EQ(RoleOf(a_client()).find("connected"), std::string::npos) << RoleOf(a_client());
  const auto& log = a_.log();
  EXPECT_TRUE(std::any_of(log.begin(), log.end(), [](const std::string& line) {
    return line.find("a circle: the MASTER b:2 has its stream from this server") != line.npos;
  }));
  EXPECT_EQ(FullSyncsOf(a_) + FullSyncsOf(b_), 1u);
  EXPECT_EQ(a_client().Line("GET key").ToText(), "\"value\"");
  // The other one is promoted: it goes on as a line, without a full sync.
  EXPECT_EQ(b_client().Line("REPLICAOF NO ONE").ToText(), "+OK");
  for (int second = 0; second < 3; ++second) Settle();
  EXPECT_NE(RoleOf(a_client()).find("connected"), std::string::npos) << RoleOf(a_client());
  b_client().Line("SET key other");
  Settle();
  EXPECT_EQ(a_client().Line("GET key").ToText(), "\"other\"");
  EXPECT_EQ(FullSyncsOf(a_) + FullSyncsOf(b_), 1u);
}

TEST_F(FollowedPair, TellsHowOldItsDataAre) {
  Follow();
  const Following& following = b_.engine().part<Following>();
  a_client().Line("SET key value");  // the time is told beside other bytes
  Settle();
  ASSERT_TRUE(following.lag_ms());
  EXPECT_LE(*following.lag_ms(), 2000);
  a_.AdvanceTime(5000);
  b_.AdvanceTime(5000);  // in which nothing comes
  EXPECT_GE(following.lag_ms().value_or(0), 5000);
  link().Cut();
  EXPECT_FALSE(following.lag_ms()) << "its link is down";
  Settle();
  Settle();
  EXPECT_LE(following.lag_ms().value_or(99999), 2000);
}

TEST_F(FollowedPair, ClientsReadAndDoNotWrite) {
  a_client().Line("SET key value");
  Follow();
  EXPECT_EQ(b_client().Line("GET key").ToText(), "\"value\"");
  EXPECT_EQ(b_client().Line("SET key other").ToText(),
            "-READONLY You can't write against a read only replica.");
  b_client().Line("CONFIG SET replica-read-only no");
  EXPECT_EQ(b_client().Line("SET key other").ToText(), "+OK");
  EXPECT_EQ(OffsetOf(a_), OffsetOf(b_)) << "what is written here is in no stream";
}

TEST_F(FollowedPair, WhoWaitsIsSentAwayWhenTheRoleChanges) {
  TestClient& waiting = b_.Connect();
  waiting.Send({"BLPOP", "list", "0"});
  TestClient& locked = b_.Connect();
  b_client().Line("LOCK.ACQUIRE lock me LEASE 100000");
  locked.Send({"LOCK.ACQUIRE", "lock", "other", "LEASE", "1000", "WAIT", "100000"});
  TestClient& limited = b_.Connect();
  b_client().Line("LIMIT.TAKE limit WINDOW 1 100000");
  limited.Send({"LIMIT.TAKE", "limit", "WINDOW", "1", "100000", "WAIT", "200000"});
  b_.Settle();
  Follow();
  for (TestClient* const client : {&waiting, &locked, &limited}) {
    const std::optional<Reply> reply = client->Next();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->ToText().substr(0, 10), "-UNBLOCKED");
    EXPECT_TRUE(client->closed());
  }
}

TEST_F(FollowedPair, APromotedServerIsAMasterWhoseReplicasGoOn) {
  a_client().Line("SET key 1 PX 5000");
  Follow();
  const ReplicationId old_id = a_.engine().part<Replicas>().ids().id();
  EXPECT_EQ(b_client().Line("REPLICAOF NO ONE").ToText(), "+OK");
  EXPECT_EQ(b_.engine().part<Replicas>().ids().second(), old_id);
  EXPECT_EQ(b_client().Line("SET key2 2").ToText(), "+OK");
  EXPECT_EQ(a_client().Line("REPLICAOF b 2").ToText(), "+OK");
  Settle();
  EXPECT_EQ(a_client().Line("GET key2").ToText(), "\"2\"");
  EXPECT_EQ(FullSyncsOf(b_), 0u);
  EXPECT_EQ(OffsetOf(a_), OffsetOf(b_));
  b_.AdvanceTime(10'000);
  EXPECT_EQ(b_client().Line("EXISTS key").ToText(), ":0") << "its end is its own to decide";
  Settle();
  EXPECT_EQ(a_client().Line("EXISTS key").ToText(), ":0");
}

// The data are no longer the master's, which an operator may want to have ended at once.
TEST_F(FollowedPair, ACommandOfTheStreamThatFailsIsCountedAndMayEndTheServer) {
  a_client().Line("SET key text");
  Follow();
  const int64_t before = OffsetOf(a_);
  a_client().Line("DEBUG REPLICATE INCR key");
  Settle();
  EXPECT_NE(b_client().Line("INFO stats").text.find("unexpected_error_replies:1"),
            std::string::npos);
  const auto& log = b_.log();
  EXPECT_TRUE(std::any_of(log.begin(), log.end(), [before](const std::string& line) {
    return line.find("sending an error to its master: 'ERR value is not an integer") != line.npos &&
           line.find(Concat("command 'incr' of a:1, behind offset ", before)) != line.npos;
  }));
  EXPECT_EQ(OffsetOf(a_), OffsetOf(b_)) << "the stream goes on";
  b_client().Line("CONFIG SET propagation-error-behavior panic");
  a_client().Line("DEBUG REPLICATE INCR key");
  EXPECT_DEATH(Settle(), "");
}

// What clients ask for, an end and a failover hold writes back each for itself.
TEST_F(FollowedPair, WritesAreHeldBackUntilTheFailoverIsOver) {
  Follow();
  a_client().Line("SET key 1");
  EXPECT_EQ(a_client().Line("FAILOVER").ToText(), "+OK");  // of it nothing has arrived
  TestClient& writer = a_.Connect();
  writer.Send({"SET", "key", "2"});
  a_.Settle();
  for (const char* const words : {"CLIENT PAUSE 100000 WRITE", "CLIENT UNPAUSE"}) {
    EXPECT_EQ(a_client().Line(words).ToText(), "+OK");
    EXPECT_FALSE(writer.Next()) << words;
  }
  TestClient& ending = a_.Connect();
  ending.Send({"SHUTDOWN"});
  a_.Settle();
  EXPECT_EQ(a_client().Line("SHUTDOWN ABORT").ToText(), "+OK");
  EXPECT_FALSE(writer.Next());
  EXPECT_EQ(a_client().Line("FAILOVER ABORT").ToText(), "+OK");
  a_.Settle();
  const std::optional<Reply> reply = writer.Next();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->ToText(), "+OK");
}

TEST_F(FollowedPair, AThirdIsRelayedTheStream) {
  TestEngine c{Options(3)};
  network_.Add("c:3", c);
  TakeEntropy(c, 2);
  TestClient& c_client = c.Connect();
  Follow();
  EXPECT_EQ(c_client.Line("REPLICAOF b 2").ToText(), "+OK");
  Settle();
  for (int i = 0; i < 10; ++i) {
    a_client().Run({"LIMIT.TAKE", "limit", "WINDOW", "100", "60000"});
    a_client().Run({"RPUSH", "list", std::to_string(i)});
    Settle();
    c.AdvanceTime(1000);
    network_.Settle();
  }
  EXPECT_EQ(c_client.Line("LLEN list").ToText(), ":10");
  EXPECT_EQ(OffsetOf(a_), OffsetOf(c));
  b_client().Line("REPLICAOF NO ONE");
  b_client().Line("SET of b");
  Settle();
  c.AdvanceTime(1000);
  network_.Settle();
  EXPECT_EQ(c_client.Line("GET of").ToText(), "\"b\"");
  EXPECT_EQ(FullSyncsOf(b_), 1u) << "the promotion has cost none";
}

// It takes no offsets of its own: whoever is promoted has all that the others have.
TEST_F(FollowedPair, AtRestTheStreamGetsLongerOnlyWithEachPing) {
  Follow();
  const int64_t before = OffsetOf(a_);
  a_client().Line("CONFIG SET repl-ping-replica-period 60");
  a_client().Line("SET key 1");
  Settle();
  const int64_t behind_set = OffsetOf(a_);
  EXPECT_GT(behind_set, before);
  for (int i = 0; i < 20; ++i) Settle();
  EXPECT_EQ(OffsetOf(a_), behind_set);
  for (int i = 0; i < 60; ++i) Settle();
  EXPECT_GT(OffsetOf(a_), behind_set);
  EXPECT_EQ(OffsetOf(a_), OffsetOf(b_));
}

// Nobody asks a master for all its data each second, where they cannot be kept.
TEST_F(FollowedPair, AFullDiskIsSaidOnceAndAskedAgainLessOften) {
  const auto told = [this](std::string_view words) {
    return std::ranges::count_if(b_.log(), [words](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
  };
  a_client().Run({"SET", "key", std::string(2000, 'x')});
  b_client().Line("SET own 1");
  b_.disk().room = 100;
  b_client().Line("REPLICAOF a 1");
  for (int i = 0; i < 20; ++i) Settle();
  EXPECT_EQ(told("No space left on device"), 1);
  EXPECT_GE(FullSyncsOf(a_), 3u);
  EXPECT_LE(FullSyncsOf(a_), 5u);
  EXPECT_EQ(b_client().Line("GET own").ToText(), "\"1\"");
  EXPECT_FALSE(std::ranges::any_of(b_.disk().files, [](const auto& file) {
    return file.first.starts_with("/temp-");
  })) << "what has come of the image is gone";
  b_.disk().room = SIZE_MAX;
  for (int i = 0; i < 40; ++i) Settle();
  EXPECT_EQ(b_client().Line("STRLEN key").ToText(), ":2000");
}

TEST_F(FollowedPair, AnImageThatIsTooLongIsRefusedBeforeItComes) {
  std::string appended;
  b_.disk().trouble = [&appended](MemoryDisk::Call call, const std::string& path) {
    if (call == MemoryDisk::Call::kOpen && path.starts_with("/temp-")) appended = path;
    return 0;
  };
  a_client().Line("CONFIG SET repl-diskless-sync no");  // then it says how long it is
  for (int i = 0; i < 100; ++i) a_client().Run({"SET", "key:" + std::to_string(i), "value"});
  b_.disk().room = 1000;
  b_client().Line("REPLICAOF a 1");
  for (int i = 0; i < 5; ++i) Settle();
  EXPECT_GE(FullSyncsOf(a_), 1u);
  EXPECT_EQ(appended, "");
}

TEST_F(FollowedPair, ARefusedMasterLeavesTheDataAsTheyWere) {
  b_client().Line("SET own 1");
  EXPECT_EQ(b_client().Line("REPLICAOF nowhere 9").ToText(), "+OK");
  Settle();
  EXPECT_EQ(b_client().Line("GET own").ToText(), "\"1\"");
  EXPECT_NE(b_client().Line("INFO replication").ToText().find("master_link_status:down"),
            std::string::npos);
  EXPECT_EQ(b_client().Line("REPLICAOF NO ONE").ToText(), "+OK");
  EXPECT_EQ(b_client().Line("SET own 2").ToText(), "+OK");
}

}  // namespace
}  // namespace sluice
