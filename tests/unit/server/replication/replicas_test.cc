// Replicas as a made-up one sees them: what it is answered, sent and asked, and what clients of the
// server see of it.
#include "server/replication/replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/unit/server/replication/replicas_fixture.h"

namespace sluice {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class ReplicasTest : public ReplicasFixture {};

TEST_F(ReplicasTest, AFullSyncIsALineAnImageAndTheStreamBehindAnAck) {
  Run({"SET", "before", "image"});
  TestClient& replica = NewReplica();
  const std::string sent = Sync(replica);
  EXPECT_THAT(sent, StartsWith("+FULLRESYNC " + id() + " " + std::to_string(end()) + "\r\n$EOF:"));
  const std::string mark = sent.substr(sent.find("$EOF:") + 5, 40);
  EXPECT_THAT(sent, HasSubstr("\r\nREDIS0010"));
  EXPECT_THAT(sent, EndsWith(mark));
  EXPECT_THAT(Field("slave0"), HasSubstr("port=6380,state=wait_bgsave,offset=0"));
  Run({"SET", "behind", "1"});
  EXPECT_EQ(Sent(replica), "");
  Acknowledge(replica, 0);
  EXPECT_THAT(Sent(replica), EndsWith(Request({"SELECT", "0"}) + Request({"SET", "behind", "1"})));
  EXPECT_THAT(Field("slave0"), HasSubstr("state=online,offset=0,lag=0"));
  EXPECT_EQ(Field("sync_full"), "1");
}

TEST_F(ReplicasTest, WithoutEofTheLengthStandsInFront) {
  TestClient& replica = NewReplica("something-new");
  Run({"SET", "k", "v"});
  const std::string sent = Sync(replica);
  const size_t begin = sent.find("\r\n$") + 3;
  const size_t end = sent.find("\r\n", begin);
  EXPECT_EQ(std::stoul(sent.substr(begin, end - begin)), sent.size() - end - 2);
  Run({"SET", "k", "w"});
  EXPECT_THAT(Sent(replica), EndsWith(Request({"SET", "k", "w"})));
}

TEST_F(ReplicasTest, ReplicasOfOneKindShareAnImage) {
  Set("repl-diskless-sync-delay", "5");
  TestClient& first = NewReplica();
  TestClient& second = NewReplica();
  EXPECT_EQ(Sync(first), "");
  AdvanceTime(2000);
  EXPECT_EQ(Sync(second), "");
  AdvanceTime(4000);
  const std::string one = Sent(first);
  EXPECT_THAT(one, HasSubstr("+FULLRESYNC"));
  EXPECT_THAT(Sent(second), HasSubstr("+FULLRESYNC"));
  EXPECT_EQ(one[0], '\n') << "it was kept awake meanwhile";
}

TEST_F(ReplicasTest, OneThatComesBackGoesOnWhereItWas) {
  TestClient& replica = OnlineReplica();
  Run({"SET", "k", "1"});
  const std::string seen = Sent(replica);
  const int64_t had = end();
  replica.Disconnect();
  Run({"SET", "k", "2"});
  TestClient& back = NewReplica();
  EXPECT_EQ(Sync(back, id(), std::to_string(had + 1)),
            "+CONTINUE " + id() + "\r\n" + Request({"SET", "k", "2"}));
  EXPECT_EQ(Field("sync_partial_ok"), "1");
  TestClient& stranger = NewReplica();
  EXPECT_THAT(Sync(stranger, std::string(40, 'f'), std::to_string(had + 1)),
              StartsWith("+FULLRESYNC"));
  EXPECT_EQ(Field("sync_partial_err"), "1");
}

TEST_F(ReplicasTest, OneThatComesBackLacksWhatOthersHave) {
  TestClient& first = OnlineReplica();
  Run({"SET", "k", "1"});
  const int64_t had = end();
  Run({"SET", "k", "2"});
  Acknowledge(first, end());
  TestClient& back = NewReplica();
  Sync(back, id(), std::to_string(had + 1));
  client().Send({"WAIT", "2", "1"});
  AdvanceTime(1);
  EXPECT_EQ(client().Next()->ToText(), ":1");
  Acknowledge(back, end());
  EXPECT_EQ(Run({"WAIT", "2", "1"}).ToText(), ":2");
}

TEST_F(ReplicasTest, AnswersNothingToAReplica) {
  TestClient& replica = OnlineReplica();
  replica.SendBytes(Request({"PING"}));
  server().Settle();
  EXPECT_TRUE(replica.closed());
  EXPECT_EQ(Field("connected_slaves"), "0");
}

TEST_F(ReplicasTest, OneThatSendsCommandsIsClosedAndChangesNothing) {
  TestClient& replica = OnlineReplica();
  replica.SendBytes(Request({"SET", "k", "v"}));
  server().Settle();
  EXPECT_TRUE(replica.closed());
  EXPECT_EQ(Run({"EXISTS", "k"}).ToText(), ":0");
}

TEST_F(ReplicasTest, WithoutAnImageOneIsClosedAndMayComeBack) {
  Set("repl-diskless-sync-delay", "5");
  TestClient& replica = NewReplica();
  Sync(replica);
  Set("snapshot-memory-max", "1mb");
  Set("rdbcompression", "no");
  for (int i = 0; i < 200; ++i) Run({"SET", "k" + std::to_string(i), std::string(10'000, 'x')});
  server().disk().write_fault = ENOSPC;
  replica.set_reading(false);  // so that more waits for it than may be in memory
  AdvanceTime(6'000);
  EXPECT_TRUE(replica.closed());
  EXPECT_EQ(Field("connected_slaves"), "0");
  server().disk().write_fault = 0;
  Set("repl-diskless-sync-delay", "0");
  EXPECT_THAT(Sync(NewReplica()), StartsWith("+FULLRESYNC"));
}

TEST_F(ReplicasTest, AnIdIsNoTextForTheLog) {
  OnlineReplica();
  Sync(NewReplica(), "evil\r\n" + std::string(100'000, 'x'), "1");
  for (const std::string& line : server().log()) {
    EXPECT_LT(line.size(), 300u);
    EXPECT_EQ(line.find('\n'), line.npos);
  }
}

TEST_F(ReplicasTest, LogsAWrongOffset) {
  TestClient& replica = NewReplica();
  replica.Run({"PSYNC", "?", "x"});
  EXPECT_THAT(server().log(),
              Contains(HasSubstr(" asks for synchronization but with a wrong offset")));
}

TEST_F(ReplicasTest, RefusesWordsAsRedis) {
  TestClient& replica = Connect();
  EXPECT_EQ(replica.Run({"REPLCONF", "a"}).ToText(), "-ERR syntax error");
  EXPECT_EQ(replica.Run({"REPLCONF", "foo", "bar"}).ToText(),
            "-ERR Unrecognized REPLCONF option: foo");
  EXPECT_EQ(replica.Run({"REPLCONF", "listening-port", "x"}).ToText(),
            "-ERR value is not an integer or out of range");
  EXPECT_EQ(replica.Run({"PSYNC", "?", "x"}).ToText(),
            "-ERR value is not an integer or out of range");
  EXPECT_EQ(replica.Run({"PSYNC", "?", "x", "FAILOVER"}).ToText(),
            "-ERR PSYNC FAILOVER can't be sent to a master.");
  EXPECT_EQ(replica.Run({"REPLCONF", "rdb-only", "2"}).ToText(),
            "-ERR value is out of range, value must between 0 and 1");
}

TEST_F(ReplicasTest, AcknowledgesBehindOtherWords) {
  TestClient& replica = OnlineReplica();
  Run({"SET", "k", "v"});
  const std::string offset = std::to_string(end());
  replica.SendBytes(Request({"REPLCONF", "capa", "eof", "ACK", offset, "FACK", offset}));
  server().Settle();
  EXPECT_FALSE(replica.closed());
  EXPECT_THAT(Field("slave0"), HasSubstr("offset=" + offset + ","));
}

// What it is shown would stand inside the stream.
TEST_F(ReplicasTest, AMonitorIsNoReplica) {
  TestClient& monitor = Connect();
  monitor.Run({"MONITOR"});
  EXPECT_EQ(Sync(monitor), "");
  monitor.SendBytes(Request({"SYNC"}));
  EXPECT_EQ(Sent(monitor), "");
  EXPECT_EQ(Field("connected_slaves"), "0");
  TestClient& replica = OnlineReplica();
  replica.SendBytes(Request({"MONITOR"}));
  EXPECT_EQ(Sent(replica), "");
  EXPECT_FALSE(replica.closed());
  Run({"GET", "k"});
  EXPECT_EQ(Sent(replica), "");
}

// redis-cli --rdb and --replica.
TEST_F(ReplicasTest, OneThatKnowsNoOffsetsTakesAnImageWithoutALengthToo) {
  TestClient& replica = NewReplica();
  replica.SendBytes(Request({"SYNC"}));
  EXPECT_THAT(Sent(replica), StartsWith("$EOF:"));
  Run({"SET", "k", "v"});
  EXPECT_EQ(Sent(replica), "");
  Acknowledge(replica, 0);
  EXPECT_THAT(Sent(replica), HasSubstr(Request({"SET", "k", "v"})));
}

// They keep what may be as large as all data; the one that comes behind them waits.
TEST_F(ReplicasTest, SoManyImagesAreReadAtATime) {
  Run({"SET", "k", std::string(2 << 20, 'x')});
  std::vector<TestClient*> slow;
  for (size_t i = 0; i < Replicas::kImagesMax; ++i) {
    slow.push_back(&NewReplica());
    slow.back()->set_reading(false);
    Sync(*slow.back());
  }
  TestClient& late = NewReplica();
  EXPECT_EQ(Sync(late), "");
  AdvanceTime(1'000);
  EXPECT_EQ(Sent(late), "\n");
  slow[0]->Disconnect();
  AdvanceTime(1'000);
  EXPECT_THAT(Sent(late), HasSubstr("+FULLRESYNC"));
}

TEST_F(ReplicasTest, MemoryForSlowOnesIsTheirs) {
  Set("client-output-buffer-limit", "replica 0 0 0");
  TestClient& replica = OnlineReplica();
  EXPECT_EQ(Field("mem_not_counted_for_evict"), "0");
  const int64_t before = std::stoll(Field("used_memory"));
  replica.set_reading(false);
  for (int i = 0; i < 80; ++i) Run({"SET", "k", std::string(100'000, 'x')});
  const int64_t kept = std::stoll(Field("mem_total_replication_buffers"));
  const int64_t backlog = std::stoll(Field("mem_replication_backlog"));
  EXPECT_GT(kept, 7 << 20);
  EXPECT_NEAR(backlog, 1 << 20, 384 << 10);  // with the bytes of a turn, and whole blocks
  EXPECT_EQ(std::stoll(Field("mem_not_counted_for_evict")), kept - backlog);
  EXPECT_GE(std::stoll(Field("used_memory")) - before, kept);
  // What is kept for it costs no keys, and the backlog itself counts.
  Set("maxmemory-policy", "allkeys-lru");
  Set("maxmemory", "4mb");
  EXPECT_EQ(Run({"EXISTS", "k"}).ToText(), ":1");
  Set("maxmemory", "1mb");
  AdvanceTime(10);
  EXPECT_EQ(Run({"EXISTS", "k"}).ToText(), ":0");
}

TEST_F(ReplicasTest, WithTooFewNothingIsWritten) {
  Set("min-replicas-to-write", "1");
  const std::string refused = "-NOREPLICAS Not enough good replicas to write.";
  EXPECT_EQ(Run({"SET", "k", "v"}).ToText(), refused);
  EXPECT_EQ(Run({"GET", "k"}).ToText(), "(nil)");
  EXPECT_EQ(Run({"EVAL", "return redis.call('GET', 'k')", "0"}).ToText(), "(nil)");
  // A script that declares what it does is not begun.
  EXPECT_EQ(Run({"EVAL", "#!lua\nreturn redis.call('GET', 'k')", "0"}).ToText(), refused);
  EXPECT_EQ(Run({"EVAL", "#!lua flags=no-writes\nreturn redis.call('GET', 'k')", "0"}).ToText(),
            "(nil)");
  TestClient& replica = OnlineReplica();
  EXPECT_EQ(Run({"SET", "k", "v"}).ToText(), "+OK");
  EXPECT_EQ(Field("min_slaves_good_slaves"), "1");
  AdvanceTime(12'000);  // it says nothing meanwhile
  EXPECT_EQ(Run({"SET", "k", "v"}).ToText(), refused);
  Acknowledge(replica, end());
  AdvanceTime(1'000);
  EXPECT_EQ(Run({"SET", "k", "v"}).ToText(), "+OK");
}

TEST_F(ReplicasTest, MayLagAsLongAsIsSaid) {
  Set("min-replicas-to-write", "1");
  Set("min-replicas-max-lag", "30");
  OnlineReplica();
  AdvanceTime(12'000);
  EXPECT_EQ(Run({"SET", "k", "v"}).ToText(), "+OK");
  Set("min-replicas-max-lag", "5");
  EXPECT_THAT(Run({"SET", "k", "v"}).ToText(), StartsWith("-NOREPLICAS"));
}

TEST_F(ReplicasTest, OneThatSaysNothingIsClosed) {
  Set("repl-timeout", "20");
  TestClient& replica = OnlineReplica();
  AdvanceTime(18'000);
  EXPECT_FALSE(replica.closed());
  AdvanceTime(4'000);
  EXPECT_TRUE(replica.closed());
  EXPECT_EQ(Field("connected_slaves"), "0");
}

// Its image is kept back by this server's own disk.
TEST_F(ReplicasTest, OneThatWaitsForItsImageIsNotClosed) {
  Set("repl-timeout", "20");
  Set("snapshot-memory-max", "1mb");
  Set("rdbcompression", "no");
  for (int i = 0; i < 300; ++i) Run({"SET", "k" + std::to_string(i), std::string(10'000, 'x')});
  TestClient& replica = NewReplica();
  replica.set_reading(false);  // so that more waits for it than may be in memory
  Sync(replica);
  server().set_aside_waits(true);
  replica.set_reading(true);
  const size_t taken = Sent(replica).size();
  EXPECT_LT(taken, 3'000'000u);
  AdvanceTime(60'000);
  EXPECT_FALSE(replica.closed());
  while (server().RunBackgroundNow()) server().Settle();
  EXPECT_GT(taken + Sent(replica).size(), 3'000'000u);
}

TEST_F(ReplicasTest, OneThatDoesNotReadItsImageIsClosed) {
  Set("repl-timeout", "20");
  Set("rdbcompression", "no");
  for (int i = 0; i < 300; ++i) Run({"SET", "k" + std::to_string(i), std::string(10'000, 'x')});
  TestClient& replica = NewReplica();
  replica.set_reading(false);
  Sync(replica);
  AdvanceTime(18'000);
  EXPECT_FALSE(replica.closed());
  AdvanceTime(4'000);
  EXPECT_TRUE(replica.closed());
}

// As one does that loads what it was sent, or runs a script that takes long.
TEST_F(ReplicasTest, ALineWithoutWordsSaysThatOneIsThere) {
  Set("repl-timeout", "20");
  TestClient& replica = OnlineReplica();
  for (int i = 0; i < 10; ++i) {
    AdvanceTime(10'000);
    replica.SendBytes("\n");
  }
  EXPECT_FALSE(replica.closed());
  AdvanceTime(22'000);
  EXPECT_TRUE(replica.closed());
}

TEST_F(ReplicasTest, OneThatNeverSaysThatItHasLoadedIsClosed) {
  Set("repl-timeout", "20");
  AdvanceTime(100'000);
  TestClient& replica = NewReplica();
  Sync(replica);
  AdvanceTime(15'000);
  replica.SendBytes("\n");
  AdvanceTime(15'000);
  EXPECT_FALSE(replica.closed());
  AdvanceTime(7'000);
  EXPECT_TRUE(replica.closed());
}

TEST_F(ReplicasTest, ArePingedInThePeriodThatIsSaid) {
  TestClient& replica = OnlineReplica();
  Set("repl-ping-replica-period", "3");
  AdvanceTime(9'000);
  const std::string sent = Sent(replica);
  int pings = 0;
  for (size_t at = 0; (at = sent.find(Request({"ping"}), at)) != sent.npos; ++at) ++pings;
  EXPECT_EQ(pings, 3);
}

TEST_F(ReplicasTest, WithoutDisklessSyncTheLengthStandsInFrontAndNobodyWaits) {
  Set("repl-diskless-sync", "no");
  Set("repl-diskless-sync-delay", "100");
  EXPECT_THAT(Sync(NewReplica()), testing::ContainsRegex("FULLRESYNC [^\r]*\r\n\\$[0-9]"));
}

TEST_F(ReplicasTest, SoManyWaitNoLonger) {
  Set("repl-diskless-sync-delay", "100");
  Set("repl-diskless-sync-max-replicas", "2");
  TestClient& first = NewReplica();
  EXPECT_EQ(Sync(first), "");
  EXPECT_THAT(Sync(NewReplica()), StartsWith("+FULLRESYNC"));
  EXPECT_THAT(Sent(first), StartsWith("+FULLRESYNC"));
}

TEST_F(ReplicasTest, TheBacklogKeepsWhatItsSizeSays) {
  Set("repl-backlog-size", "20000");
  TestClient& replica = OnlineReplica();
  const int64_t had = end();
  replica.Disconnect();
  for (int i = 0; i < 100; ++i) Run({"SET", "k", std::string(1000, 'x')});
  EXPECT_LT(std::stoi(Field("repl_backlog_histlen")), 60'000);
  EXPECT_THAT(Sync(NewReplica(), id(), std::to_string(had + 1)), StartsWith("+FULLRESYNC"));
  Set("repl-backlog-size", "200000");
  AdvanceTime(1'000);
  for (int i = 0; i < 150; ++i) Run({"SET", "k", std::string(1000, 'x')});
  EXPECT_GT(std::stoi(Field("repl_backlog_histlen")), 150'000);
}

TEST_F(ReplicasTest, OneThatDoesNotReadCostsAPlaceUntilItLacksTooMuch) {
  Set("client-output-buffer-limit", "replica 2mb 0 0");
  TestClient& slow = OnlineReplica();
  TestClient& other = OnlineReplica();
  slow.set_reading(false);
  const std::string text(100'000, 'x');
  for (int i = 0; i < 15; ++i) Run({"SET", "k" + std::to_string(i), text});
  EXPECT_FALSE(slow.closed());
  EXPECT_LE(engine().Find(slow.id())->output.bytes(), Replicas::kAheadBytes);
  for (int i = 0; i < 10; ++i) Run({"SET", "k" + std::to_string(i), text});
  EXPECT_TRUE(slow.closed());
  EXPECT_FALSE(other.closed());
}

// However low the limit is, an image gets through, with its length in front or behind.
TEST_F(ReplicasTest, AnImageDoesNotCountAsWhatAReplicaLacks) {
  Set("client-output-buffer-limit", "replica 32768 32768 60");
  Set("repl-backlog-size", "16384");
  Set("rdbcompression", "no");
  Run({"SET", "k", std::string(1'000'000, 'x')});
  for (const char* const diskless : {"yes", "no"}) {
    Set("repl-diskless-sync", diskless);
    TestClient& replica = NewReplica();
    replica.set_reading(false);
    Sync(replica);
    Run({"SET", "small", "1"});
    EXPECT_FALSE(replica.closed());
    replica.set_reading(true);
    AdvanceTime(10);
    EXPECT_GT(Sent(replica).size(), 1'000'000u);
    Acknowledge(replica, 0);
    EXPECT_THAT(Field("slave0"), HasSubstr("state=online"));
    replica.Disconnect();
  }
  TestClient& replica = OnlineReplica();
  replica.set_reading(false);
  Run({"SET", "k", std::string(100'000, 'x')});
  EXPECT_TRUE(replica.closed()) << "the stream counts, as ever";
}

TEST_F(ReplicasTest, ABacklogWithoutReplicasEnds) {
  Set("repl-backlog-ttl", "10");
  TestClient& replica = OnlineReplica();
  const std::string before = id();
  replica.Disconnect();
  EXPECT_EQ(Field("repl_backlog_active"), "1");
  AdvanceTime(15'000);
  EXPECT_EQ(Field("repl_backlog_active"), "0");
  EXPECT_NE(id(), before);
}

TEST_F(ReplicasTest, ASluiceIsToldTheTimeAndGetsLocks) {
  Run({"LOCK.ACQUIRE", "lock", "owner", "LEASE", "60000"});
  TestClient& redis = NewReplica();
  EXPECT_THAT(Sync(redis), testing::Not(HasSubstr("owner")));
  TestClient& sluice = NewReplica("sluice");
  EXPECT_THAT(Sync(sluice), HasSubstr("owner"));
  Acknowledge(sluice, end());
  const int64_t at_rest = end();
  AdvanceTime(5000);
  EXPECT_EQ(end(), at_rest) << "nobody has to know it";
  // With what is told, once a second; and with a PING.
  Sent(sluice);
  Run({"SET", "k", "v"});
  EXPECT_THAT(Sent(sluice), HasSubstr("SLUICE1 H "));
  Run({"SET", "k", "v"});
  EXPECT_THAT(Sent(sluice), testing::Not(HasSubstr("SLUICE1 H ")));
  AdvanceTime(11'000);
  EXPECT_THAT(Sent(sluice), AllOf(HasSubstr("ping"), HasSubstr("SLUICE1 H ")));
}

TEST_F(ReplicasTest, SyncsAreCountedAnewBehindResetStat) {
  OnlineReplica();
  EXPECT_EQ(Field("sync_full"), "1");
  Run({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(Field("sync_full"), "0");
}

TEST_F(ReplicasTest, RoleNamesThoseThatAreOnline) {
  NewReplica();
  OnlineReplica();
  const Reply role = Run({"ROLE"});
  ASSERT_EQ(role.elements.size(), 3u);
  EXPECT_EQ(role.elements[1].integer, end());
  ASSERT_EQ(role.elements[2].elements.size(), 1u);
  EXPECT_EQ(role.elements[2].elements[0].elements[1].text, "6380");
}

// What no server has to know, either.
TEST_F(ReplicasTest, DebugReplicateTellsAnyWords) {
  EXPECT_EQ(Run({"DEBUG", "REPLICATE", "nobody", "hears"}).ToText(), "+OK");
  TestClient& replica = OnlineReplica();
  EXPECT_EQ(Run({"DEBUG", "REPLICATE", "no-command", "a\r\nb"}).ToText(), "+OK");
  EXPECT_EQ(Sent(replica), Request({"no-command", "a\r\nb"}));
  EXPECT_THAT(Run({"DEBUG", "REPLICATE"}).ToText(), StartsWith("-ERR unknown subcommand"));
}

TEST_F(ReplicasTest, PacketsAreGatheredWhereThatIsSaid) {
  TestClient& before = OnlineReplica();
  Set("repl-disable-tcp-nodelay", "yes");
  TestClient& behind = OnlineReplica();
  EXPECT_FALSE(before.gathers_packets());
  EXPECT_TRUE(behind.gathers_packets());
}

TEST_F(ReplicasTest, InfoSaysWhatRedisCouldNotHold) {
  EXPECT_EQ(Field("replication_left_out_keys"), "0");
  Run({"LOCK.ACQUIRE", "lock", "owner", "LEASE", "60000"});
  Run({"LIMIT.TAKE", "limiter", "GCRA", "5", "1000"});
  Run({"SET", "k", "v"});
  Sync(NewReplica());
  EXPECT_EQ(Field("replication_left_out_keys"), "2");
  EXPECT_TRUE(std::ranges::any_of(server().log(), [](const std::string& line) {
    return line.ends_with("It leaves out what Redis cannot hold: 1 lock, 1 limiter");
  }));
}

// redis-cli --functions-rdb.
TEST_F(ReplicasTest, APartOfTheDataIsSentAlone) {
  const std::string library = "#!lua name=mine\nredis.register_function('f', function() end)";
  Run({"FUNCTION", "LOAD", library});
  Run({"SET", "key", "value"});
  TestClient& functions = NewReplica();
  EXPECT_EQ(functions.Run({"REPLCONF", "rdb-filter-only", "functions"}).ToText(), "+OK");
  const std::string alone = Sync(functions);
  EXPECT_THAT(alone, HasSubstr("mine"));
  EXPECT_THAT(alone, testing::Not(HasSubstr("value")));
  TestClient& nothing = NewReplica();
  EXPECT_EQ(nothing.Run({"REPLCONF", "rdb-filter-only", ""}).ToText(), "+OK");
  const std::string empty = Sync(nothing);
  EXPECT_THAT(empty, HasSubstr("REDIS0010"));
  EXPECT_THAT(empty, testing::Not(HasSubstr("mine")));
  TestClient& whole = NewReplica();
  EXPECT_THAT(Sync(whole), testing::AllOf(HasSubstr("mine"), HasSubstr("value")));
}

TEST_F(ReplicasTest, RefusesPartsAsRedis) {
  TestClient& replica = Connect();
  EXPECT_EQ(replica.Run({"REPLCONF", "rdb-filter-only", "'open"}).ToText(),
            "-ERR Missing rdb-filter-only values");
  EXPECT_EQ(replica.Run({"REPLCONF", "rdb-filter-only", "functions keys"}).ToText(),
            "-ERR Unsupported rdb-filter-only option: keys");
  EXPECT_EQ(replica.Run({"REPLCONF", "rdb-filter-only", std::string(256, ' ')}).ToText(),
            "-ERR REPLCONF rdb-filter-only provided by replica instance is too long: 256 bytes");
  EXPECT_EQ(replica.Run({"REPLCONF", "rdb-filter-only", "functions"}).ToText(), "+OK");
  EXPECT_EQ(replica.Run({"PSYNC", "?", "-1"}).ToText(),
            "-ERR Filtered replica requires EOF capability");
}

TEST_F(ReplicasTest, OneThatAcknowledgesMoreThanItWasSentIsClosed) {
  TestClient& replica = OnlineReplica();
  TestClient& other = OnlineReplica();
  Run({"SET", "k", "v"});
  Acknowledge(replica, end() + 1);
  EXPECT_TRUE(replica.closed());
  EXPECT_FALSE(other.closed());
  other.set_reading(false);
  Run({"SET", "k", std::string(2 * Replicas::kAheadBytes, 'x')});
  Acknowledge(other, end());
  EXPECT_TRUE(other.closed()) << "the end of the stream is not on its way yet";
}

TEST_F(ReplicasTest, SluicesCountForGrantsFromTheirFirstAckOn) {
  const Replicas& replicas = engine().part<Replicas>();
  OnlineReplica();
  TestClient& sluice = NewReplica("sluice");
  Sync(sluice);
  EXPECT_EQ(replicas.Sluices(), 0U) << "a redis-server, and one that has said nothing";
  const int64_t begin = end();
  Acknowledge(sluice, begin);
  EXPECT_EQ(replicas.Sluices(), 1U);
  const uint64_t turn = replicas.NextTurn();
  Run({"SET", "k", "v"});
  EXPECT_LT(replicas.TurnsAtSluices(1), turn);
  EXPECT_EQ(replicas.SluicesWith(turn), 0U);
  Acknowledge(sluice, end());
  EXPECT_GE(replicas.TurnsAtSluices(1), turn);
  EXPECT_EQ(replicas.SluicesWith(turn), 1U);
  Acknowledge(sluice, begin);
  EXPECT_EQ(replicas.SluicesWith(turn), 1U) << "what it has had it has";
  EXPECT_EQ(replicas.TurnsAtSluices(2), TurnGate::kNoTurn);
}

// Whatever the time since its machine has started.
TEST(ReplicasPings, BeginAPeriodBehindTheStartOfTheServer) {
  TestEngine server({.config = {{"repl-diskless-sync-delay", "0"}}, .uptime_ms = 100'000'000});
  TestClient& replica = server.Connect();
  replica.Run({"REPLCONF", "capa", "eof", "capa", "psync2"});
  replica.Send({"PSYNC", "?", "-1"});
  server.AdvanceTime(1000);
  replica.Send({"REPLCONF", "ACK", "0"});
  server.AdvanceTime(7000);
  const Replicas& replicas = server.engine().part<Replicas>();
  EXPECT_EQ(replicas.good(), 1U);
  EXPECT_EQ(replicas.stream().end(), 0);
  server.AdvanceTime(4000);
  EXPECT_GT(replicas.stream().end(), 0);
}

}  // namespace
}  // namespace sluice
