// What a redis-server says in its stream, and at which moment it is meant; a server that follows
// one decides nothing by time, and passes on what it was told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/replication/envelope.h"
#include "tests/support/rdb_samples.h"
#include "tests/unit/server/following/played_master.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

class StreamOfRedis : public PlayedMaster {
 protected:
  StreamOfRedis() { Ask("CONFIG SET repl-diskless-sync-delay 0"); }
  // One that follows this server, and has all that it has.
  TestClient& OwnReplica() {
    TestClient& replica = server().Connect();
    replica.Run({"REPLCONF", "capa", "eof", "capa", "psync2"});
    replica.Send({"PSYNC", "?", "-1"});
    server().Settle();
    replica.TakeBytes();
    replica.Send({"REPLCONF", "ACK", std::to_string(end())});
    return replica;
  }
};

// As redis-server 7.0.15 plays the same requests of its master.
TEST_F(StreamOfRedis, AKeyStaysPastItsTimeUntilItSaysThatItIsOver) {
  FollowRedis();
  Say({"SET", "k", "v", "PXAT", "1"});
  EXPECT_EQ(Ask("GET k"), "(nil)");
  EXPECT_EQ(Ask("DBSIZE"), ":1");
  Say({"PERSIST", "k"});
  EXPECT_EQ(Ask("GET k"), "\"v\"");
  Say({"INCR", "n"});
  Say({"PEXPIREAT", "n", "1"});
  EXPECT_EQ(Ask("GET n"), "(nil)");
  AdvanceTime(5000);
  Say({"INCR", "n"});
  Say({"PERSIST", "n"});
  EXPECT_EQ(Ask("GET n"), "\"2\"");
  Say({"DEL", "n"});
  EXPECT_EQ(Ask("DBSIZE"), ":1");
}

TEST_F(StreamOfRedis, IsAcknowledgedOnceASecondAndWhenItAsks) {
  FollowRedis();
  Say({"SET", "k", "v"});
  EXPECT_EQ(Heard(), "");
  const int64_t behind_set = end();
  AdvanceTime(1000);
  EXPECT_EQ(Heard(), Concat("REPLCONF ACK ", behind_set));
  Say({"REPLCONF", "GETACK", "*"});
  EXPECT_GT(end(), behind_set);
  EXPECT_EQ(Heard(), Concat("REPLCONF ACK ", end()));
}

// It is run past the gates, and others hear of it as of any client's.
TEST_F(StreamOfRedis, ItsCommandsAreThoseOfAClient) {
  FollowRedis();
  Ask("CONFIG SET notify-keyspace-events KEA");
  Ask("CONFIG RESETSTAT");
  TestClient& waits = server().Connect();
  waits.Send({"XREAD", "BLOCK", "0", "STREAMS", "x", "$"});
  TestClient& watches = server().Connect();
  watches.Run({"WATCH", "k"});
  TestClient& tracks = server().Connect();
  tracks.Run({"HELLO", "3"});
  tracks.Run({"CLIENT", "TRACKING", "ON"});
  tracks.Run({"GET", "k"});
  TestClient& listens = server().Connect();
  listens.Run({"SUBSCRIBE", "__keyevent@0__:set"});
  TestClient& monitor = server().Connect();
  monitor.Run({"MONITOR"});

  Say({"SET", "k", "v"});
  Say({"XADD", "x", "1-1", "f", "v"});
  EXPECT_THAT(waits.TakeBytes(), HasSubstr("1-1"));
  watches.Run({"MULTI"});
  watches.Run({"GET", "k"});
  EXPECT_EQ(watches.Run({"EXEC"}).ToText(), "(nil-array)");
  EXPECT_EQ(tracks.Next()->ToText(), ">[\"invalidate\", [\"k\"]]");
  EXPECT_EQ(listens.Next()->ToText(), "[\"message\", \"__keyevent@0__:set\", \"k\"]");
  EXPECT_THAT(monitor.TakeBytes(), HasSubstr("\"SET\" \"k\" \"v\""));
  EXPECT_THAT(Ask("INFO commandstats"), HasSubstr("cmdstat_set:calls=1"));
  EXPECT_EQ(Heard(), "") << "nothing is answered";
}

// What is refused to clients, or waits, is done for the master.
TEST_F(StreamOfRedis, NoGateOfClientsStandsBeforeIt) {
  FollowRedis();
  Ask("CONFIG SET min-replicas-to-write 3 replica-ignore-maxmemory no maxmemory-policy noeviction");
  Ask("CONFIG SET maxmemory 1");
  Ask("ACL SETUSER default -set");
  EXPECT_THAT(Ask("SET k v"), testing::StartsWith("-NOPERM"));
  Say({"SET", "k", "v"});
  EXPECT_EQ(Ask("GET k"), "\"v\"");
  EXPECT_THAT(Ask("INFO stats"), HasSubstr("unexpected_error_replies:0"));
}

// As redis-server 6 sends it: scripts come with the data, and go by their digests.
TEST_F(StreamOfRedis, ScriptsOfAnOldServerArePlayed) {
  const std::string script = "return redis.call('SET', KEYS[1], ARGV[1])";
  std::string file("REDIS0009\xfa\3lua");
  file.push_back(static_cast<char>(script.size()));
  const std::string digest =
      server().Connect().Run({"EVAL", "return redis.sha1hex(ARGV[1])", "0", script}).text;
  EXPECT_EQ(Ask("REPLICAOF master 6379"), "+OK");
  Open();
  IntroduceRedis(kRedisMaster);
  SyncFully(0, SealedRdb(file + script));
  Say({"EVALSHA", digest, "1", "k", "v"});
  Say({"EVAL", "return redis.call('SET', 'other', 'w')", "0"});
  EXPECT_EQ(Ask("MGET k other"), "[\"v\", \"w\"]");
  EXPECT_THAT(Ask("INFO stats"), HasSubstr("unexpected_error_replies:0"));
}

TEST_F(StreamOfRedis, ATransactionIsOneAndIsSaidAgainIfItsEndIsMissing) {
  FollowRedis();
  Say({"SET", "before", "v"});
  const int64_t whole = end();
  Say({"MULTI"});
  Say({"INCR", "n"});
  Say({"INCR", "n"});
  EXPECT_EQ(Ask("GET n"), "(nil)");
  EXPECT_EQ(end(), whole);
  link().Disconnect();
  Open();
  EXPECT_EQ(IntroduceRedis(kRedisMaster), Concat("PSYNC ", kId, " ", whole + 1));
  SayBytes(Concat("+CONTINUE ", kId, "\r\n"));
  Say({"MULTI"});
  Say({"INCR", "n"});
  Say({"EXEC"});
  EXPECT_EQ(Ask("GET n"), "\"1\"");
}

// What is applied is passed on, as it came.
TEST_F(StreamOfRedis, IsRelayedByteForByte) {
  FollowRedis();
  TestClient& replica = OwnReplica();
  const std::string odd = "*3\r\n$3\r\nsEt\r\n$1\r\nk\r\n$1\r\nv\r\n";
  SayBytes(odd.substr(0, odd.size() - 3));
  EXPECT_EQ(replica.TakeBytes(), "") << "it is not whole";
  SayBytes(odd.substr(odd.size() - 3));
  EXPECT_EQ(replica.TakeBytes(), odd);
  const std::string transaction = EncodeRequest({"MULTI"}) + EncodeRequest({"INCR", "n"});
  SayBytes(transaction);
  EXPECT_EQ(replica.TakeBytes(), "");
  Say({"EXEC"});
  EXPECT_EQ(replica.TakeBytes(), transaction + EncodeRequest({"EXEC"}));
  Say({"PING"});
  EXPECT_EQ(replica.TakeBytes(), EncodeRequest({"PING"}));
  Ask("CONFIG SET replica-read-only no");
  Ask("SET own v");
  EXPECT_EQ(replica.TakeBytes(), "") << "what clients write here is in no stream";
  EXPECT_EQ(Ask("GET k"), "\"v\"");
}

// Its data have come without locks and limiters, so what is said of them has nothing to act on.
TEST_F(StreamOfRedis, WhatASluiceBehindItSaysOfLocksIsPassedOver) {
  FollowRedis(kRedisReplica);
  const auto say = [this](std::vector<std::string_view> words) {
    std::string bytes;
    AppendEffectEnvelope(bytes, words);
    SayBytes(bytes);
  };
  std::string clock;
  AppendClockEnvelope(clock, {.unix_offset_ms = 1'700'000'000'000});
  SayBytes(clock);
  say({"LOCK.RESTORE", "lock", "7", "me", "exclusive", "1", "1", "1", "1800000000000", "-1", "0",
       "", "1", "500"});
  say({"LOCK.BREAK", "other"});
  say({"LIMIT.TAKE", "limit", "WINDOW", "5", "100000"});
  say({"HPERSIST", "not:here", "FIELDS", "1", "f"});
  Say({"SET", "k", "v"});
  EXPECT_EQ(Ask("KEYS *"), "[\"k\"]");
  EXPECT_EQ(Ask("LOCK.INFO lock"), "[]");
  EXPECT_THAT(Ask("INFO stats"), HasSubstr("unexpected_error_replies:0"));
}

// Tokens above all bounds leave no room for others; and what is no lock's is told with its peer.
TEST_F(StreamOfRedis, ATokenBeyondAllBoundsIsRefused) {
  EXPECT_EQ(Ask("REPLICAOF master 6379"), "+OK");
  Open();
  EXPECT_THAT(IntroduceSluice(), testing::StartsWith("PSYNC "));
  SyncFully();
  std::string bytes;
  const std::string_view words[] = {"LOCK.RESTORE",
                                    "lock",
                                    "4503599627370497",
                                    "me",
                                    "exclusive",
                                    "1",
                                    "1",
                                    "1",
                                    "1800000000000",
                                    "-1",
                                    "0",
                                    "",
                                    "1",
                                    "500"};
  AppendEffectEnvelope(bytes, words);
  SayBytes(bytes);
  EXPECT_EQ(Ask("EXISTS lock"), ":0");
  EXPECT_THAT(Ask("INFO stats"), HasSubstr("unexpected_error_replies:1"));
  EXPECT_TRUE(HasLogged("sending an error to its master: 'ERR token"));
}

}  // namespace
}  // namespace sluice
