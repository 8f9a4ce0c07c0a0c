// A turn seen from outside: what is parsed ahead, prefetched and batched must not show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

#include "protocol/text/concat.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class Turn : public EngineFixture {
 protected:
  std::span<char> RoomFor(TestClient& client) {
    return engine().RoomFor(*engine().Find(client.id()));
  }
  void Filled(TestClient& client, size_t bytes) {
    engine().ReceiveInPlace(*engine().Find(client.id()), bytes);
    server().Settle();
  }
};

std::string Pings(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += "PING\r\n";
  return bytes;
}

std::string Pongs(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += "+PONG\r\n";
  return bytes;
}

TEST_F(Turn, AnswersALongPipelineInOrder) {
  TestClient& client = Connect();
  client.SendBytes(Pings(1000) + "ECHO last\r\n");
  EXPECT_EQ(client.TakeBytes(), Pongs(1000) + "$4\r\nlast\r\n");
}

TEST_F(Turn, AnswersWhatCameBeforeAProtocolError) {
  TestClient& client = Connect();
  client.SendBytes("PING\r\n*1\r\n+broken\r\nPING\r\n");
  EXPECT_EQ(client.TakeBytes(), "+PONG\r\n-ERR Protocol error: expected '$', got '+'\r\n");
  EXPECT_TRUE(client.closed());
}

TEST_F(Turn, IgnoresWhatComesBehindQuit) {
  TestClient& client = Connect();
  client.SendBytes("SET a 1\r\nQUIT\r\nSET a 2\r\n");
  EXPECT_EQ(client.TakeBytes(), "+OK\r\n+OK\r\n");
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(Run({"GET", "a"}).text, "1");
}

TEST_F(Turn, LetsAClientBeKilledByAnotherInTheSameTurn) {
  TestClient& victim = Connect();
  TestClient& killer = Connect();
  engine().Receive(killer.id(), "CLIENT KILL ID 1\r\n");
  engine().Receive(victim.id(), "SET a 1\r\n");
  server().Settle();
  EXPECT_TRUE(victim.closed());
  EXPECT_EQ(Run({"EXISTS", "a"}).integer, 0);
}

// A value of megabytes stays in the buffer that it came in. Nothing of that may show.
TEST_F(Turn, TakesALongValueOverAsItCame) {
  const std::string value = std::string(5 << 20, 'v') + "end";
  const auto request = [](const std::vector<std::string>& words) {
    std::string bytes = Concat("*", std::to_string(words.size()), "\r\n");
    for (const auto& word : words) {
      bytes += Concat("$", std::to_string(word.size()), "\r\n", word, "\r\n");
    }
    return bytes;
  };
  const auto in_pieces = [](TestClient& client, const std::string& bytes) {
    for (size_t at = 0; at < bytes.size(); at += 1 << 20)
      client.SendBytes(bytes.substr(at, 1 << 20));
    return client.TakeBytes();
  };
  TestClient& client = Connect();
  EXPECT_EQ(in_pieces(client, request({"SET", "plain", value})), "+OK\r\n");
  EXPECT_EQ(in_pieces(client, request({"SET", "plain", value, "KEEPTTL"})), "+OK\r\n");
  EXPECT_EQ(in_pieces(client, request({"SETEX", "timed", "100", value})), "+OK\r\n");
  EXPECT_EQ(in_pieces(client, request({"SET", "over", value, "PXAT", "1"})), "+OK\r\n");
  EXPECT_EQ(in_pieces(client, request({"APPEND", "appended", value})), ":5242883\r\n");
  EXPECT_EQ(in_pieces(client, request({"SET", "first", value}) + request({"APPEND", "first", "x"})),
            "+OK\r\n:5242884\r\n");
  EXPECT_EQ(in_pieces(client, request({"SET", "half", value}) + "*2\r\n$3\r\nGET\r\n$3\r\nx"),
            "+OK\r\n");
  EXPECT_EQ(in_pieces(client, "yz\r\n"), "$-1\r\n");
  EXPECT_EQ(in_pieces(client, "MULTI\r\n" + request({"SET", "queued", value}) + "EXEC\r\n"),
            "+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n");
  EXPECT_EQ(in_pieces(client, "PING\r\n"), "+PONG\r\n");
  for (const char* key : {"plain", "timed", "appended", "half", "queued"}) {
    EXPECT_TRUE(Run({"GET", key}).text == value) << key;
  }
  EXPECT_TRUE(Run({"GET", "first"}).text == value + "x");
  EXPECT_EQ(Run({"EXISTS", "over"}).integer, 0);
  EXPECT_EQ(Run({"SETRANGE", "plain", "5242885", "!"}).integer, 5242886);
  EXPECT_EQ(Run({"GETRANGE", "plain", "5242880", "-1"}).text, std::string_view("end\0\0!", 6));
}

// As a host reads the rest of a long request: no further than it goes.
TEST_F(Turn, GivesRoomForTheRestOfALongRequest) {
  TestClient& client = Connect();
  EXPECT_TRUE(RoomFor(client).empty());
  client.SendBytes("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5000000\r\n");
  size_t read = 0;
  for (auto room = RoomFor(client); !room.empty(); room = RoomFor(client)) {
    const size_t bytes = std::min<size_t>(room.size(), 60'000);
    for (size_t i = 0; i < bytes; ++i, ++read)
      room[i] = read < 5'000'000 ? 'v' : "\r\n"[read - 5'000'000];
    Filled(client, bytes);
  }
  EXPECT_EQ(read, 5'000'002u);
  EXPECT_EQ(client.TakeBytes(), "+OK\r\n");
  EXPECT_TRUE(Run({"GET", "k"}).text == std::string(5'000'000, 'v'));
  client.SendBytes("*2\r\n$4\r\nECHO\r\n$30000\r\nx");
  EXPECT_TRUE(RoomFor(client).empty()) << "a short one";
  client.SendBytes(std::string(29'999, 'x') + "\r\n*2\r\n$4\r\nECHO\r\n$50000\r\nx");
  EXPECT_FALSE(RoomFor(client).empty()) << "a long one";
}

// A client that says much and sends little is believed as far as has come; one that sends costs few
// pieces.
TEST_F(Turn, ReadsALongRequestInGrowingPieces) {
  TestClient& client = Connect();
  client.SendBytes("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5000000\r\n");
  size_t read = 0;
  int pieces = 0;
  for (auto room = RoomFor(client); !room.empty(); room = RoomFor(client), ++pieces) {
    ASSERT_LE(room.size(), std::max<size_t>(read + 100, 64 << 10));
    ASSERT_LE(room.size(), size_t{512} << 10);
    std::ranges::fill(room, 'v');
    read += room.size();
    if (read == 5'000'002) std::ranges::copy(std::string_view("\r\n"), room.end() - 2);
    Filled(client, room.size());
  }
  EXPECT_LE(pieces, 14);
  EXPECT_EQ(client.TakeBytes(), "+OK\r\n");
  EXPECT_TRUE(Run({"GET", "k"}).text == std::string(5'000'000, 'v'));
}

// With what is written down of it, as shown to a monitor, and though another key's value goes.
TEST_F(Turn, TellsOfALongValueThatItHasTakenOver) {
  TestClient& monitor = Connect();
  monitor.Run({"MONITOR"});
  const std::string value(5 << 20, 'v');
  TestClient& client = Connect();
  for (int i = 0; i < 3; ++i) {
    const std::string bytes =
        Concat("*3\r\n$6\r\nGETSET\r\n$1\r\nk\r\n$5242880\r\n", value, "\r\n");
    client.SendBytes(bytes.substr(0, 4 << 20));
    client.SendBytes(bytes.substr(4 << 20));
    EXPECT_EQ(client.TakeBytes().size(), i == 0 ? 5u : value.size() + 12);
    EXPECT_GT(monitor.TakeBytes().size(), value.size());
  }
  EXPECT_EQ(engine().Audit(), "");
}

TEST_F(Turn, SurvivesAConnectionThatBreaksBetweenReceiveAndRun) {
  TestClient& client = Connect();
  engine().Receive(client.id(), "SET a 1\r\n");
  client.Disconnect();
  server().Settle();
  EXPECT_EQ(Run({"EXISTS", "a"}).integer, 0);
}

TEST_F(Turn, RunsUnderTheLimitsThatAuthChanges) {
  Run({"CONFIG", "SET", "requirepass", "secret"});
  TestClient& client = Connect();
  // One pipeline: the large request is within the limits only because AUTH stands before it.
  const std::string large(20'000, 'x');
  client.SendBytes("AUTH secret\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$20000\r\n" + large + "\r\n");
  EXPECT_EQ(client.TakeBytes(), "+OK\r\n+OK\r\n");

  TestClient& stranger = Connect();
  stranger.SendBytes("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$20000\r\n");
  EXPECT_EQ(stranger.TakeBytes(), "-ERR Protocol error: unauthenticated bulk length\r\n");
  EXPECT_TRUE(stranger.closed());
}

TEST_F(Turn, PauseKeepsEveryRequestAndItsOrder) {
  TestClient& writer = Connect();
  Run({"CLIENT", "PAUSE", "1000", "WRITE"});
  writer.SendBytes("PING\r\nSET a 1\r\nAPPEND a 2\r\n");
  EXPECT_EQ(writer.TakeBytes(), "+PONG\r\n");
  writer.SendBytes("APPEND a 3\r\n");
  AdvanceTime(999);
  EXPECT_EQ(writer.TakeBytes(), "");
  AdvanceTime(1);
  EXPECT_EQ(writer.TakeBytes(), "+OK\r\n:2\r\n:3\r\n");
}

// What was parsed ahead of a held request, half a request or a fault, is forgotten with it.
// As Redis: of what is not queued, EXEC alone runs what the transaction would write.
TEST_F(Turn, APauseOfWritesHoldsExecAndNotTheEndOfATransaction) {
  TestClient& admin = Connect();
  for (const std::string_view line : {"discard", "reset", "watch k", "multi"}) {
    TestClient& writer = Connect();
    writer.Line("multi");
    writer.Line("set k v");
    admin.Line("client pause 1000 write");
    writer.SendBytes(std::string(line) + "\r\n");
    EXPECT_TRUE(writer.Next().has_value()) << line;
    admin.Line("client unpause");
  }
  TestClient& writer = Connect();
  writer.Line("multi");
  writer.Line("set k v");
  admin.Line("client pause 1000 write");
  writer.Send({"exec"});
  EXPECT_FALSE(writer.Next().has_value());
}

TEST_F(Turn, PauseKeepsHalfARequestAndAFaultBehindTheHeldOne) {
  TestClient& half = Connect();
  TestClient& broken = Connect();
  Run({"CLIENT", "PAUSE", "1000", "WRITE"});
  half.SendBytes("SET a 1\r\n*2\r\n$3\r\nGET\r\n$1\r\n");
  broken.SendBytes("SET b 1\r\n*1\r\n+broken\r\n");
  half.SendBytes("a\r\n");
  AdvanceTime(1000);
  EXPECT_EQ(half.TakeBytes(), "+OK\r\n$1\r\n1\r\n");
  EXPECT_EQ(broken.TakeBytes(), "+OK\r\n-ERR Protocol error: expected '$', got '+'\r\n");
}

TEST_F(Turn, PauseDoesNotUseUpAReplyToBeSkipped) {
  TestClient& writer = Connect();
  Run({"CLIENT", "PAUSE", "1000", "WRITE"});
  writer.SendBytes("CLIENT REPLY SKIP\r\nSET a 1\r\nECHO b\r\n");
  AdvanceTime(1000);
  EXPECT_EQ(writer.TakeBytes(), "$1\r\nb\r\n");
}

TEST_F(Turn, SparesWhoIsHeldByAPauseFromTheIdleTimeout) {
  Run({"CONFIG", "SET", "timeout", "5"});
  TestClient& writer = Connect();
  Run({"CLIENT", "PAUSE", "10000", "WRITE"});
  writer.SendBytes("SET a 1\r\n");
  AdvanceTime(10'000);
  EXPECT_EQ(writer.TakeBytes(), "+OK\r\n");
}

TEST_F(Turn, SparesWhoIsStillTakingALongReplyFromTheIdleTimeout) {
  Run({"CONFIG", "SET", "timeout", "5"});
  TestClient& reader = Connect();
  reader.set_reading(false);
  reader.SendBytes("PING\r\n");
  AdvanceTime(4000);
  reader.set_reading(true);
  AdvanceTime(4000);
  EXPECT_FALSE(reader.closed());
}

// It would lose the lock. Who has given it back is as idle as any.
TEST_F(Turn, SparesWhoHoldsALockBySessionFromTheIdleTimeout) {
  Run({"CONFIG", "SET", "timeout", "5"});
  TestClient& holder = Connect();
  TestClient& leaser = Connect();
  EXPECT_EQ(holder.Run({"LOCK.ACQUIRE", "k", "h", "SESSION"}).elements.size(), 4u);
  EXPECT_EQ(leaser.Run({"LOCK.ACQUIRE", "l", "l", "LEASE", "90000"}).elements.size(), 4u);
  for (int second = 0; second < 20; ++second) {
    AdvanceTime(1000);
    Run({"PING"});
  }
  EXPECT_FALSE(holder.closed());
  EXPECT_TRUE(leaser.closed()) << "a lease needs no connection";
  EXPECT_EQ(holder.Run({"LOCK.RELEASE", "k", "h"}).ToText(), ":0");
  AdvanceTime(8000);
  EXPECT_TRUE(holder.closed());
}

// One request may be handed over in pieces, in the same turn too.
TEST_F(Turn, TakesARequestInSeveralPiecesInOneTurn) {
  TestClient& client = Connect();
  for (const std::string_view piece :
       {"*2\r\n$4\r\nEC", "HO\r\n$1\r", "\na\r\nPING\r\nPI", "NG\r\n"}) {
    engine().Receive(client.id(), piece);
  }
  server().Settle();
  EXPECT_EQ(client.TakeBytes(), "$1\r\na\r\n+PONG\r\n+PONG\r\n");
}

// A turn ends after a fraction of a millisecond. A client that did not get its share in one comes
// first in the next, whatever else has come in meanwhile.
TEST_F(Turn, ServesWhoWasLeftOverFirst) {
  TestClient& busy = Connect();
  TestClient& waiting = Connect();
  TestClient& newcomer = Connect();
  const std::string slow = "DEBUG SLEEP 0.001\r\n" + Pings(70);
  engine().Receive(busy.id(), slow);
  engine().Receive(waiting.id(), "PING\r\n");
  EXPECT_TRUE(server().Turn());
  EXPECT_EQ(waiting.TakeBytes(), "");
  engine().Receive(newcomer.id(), slow);
  EXPECT_TRUE(server().Turn());
  EXPECT_EQ(waiting.TakeBytes(), Pongs(1));
  server().Settle();
}

TEST_F(Turn, ClosesAnIdleClientAfterItsTimeout) {
  Run({"CONFIG", "SET", "timeout", "10"});
  TestClient& idle = Connect();
  TestClient& busy = Connect();
  for (int second = 0; second < 12; ++second) {
    AdvanceTime(1000);
    busy.SendBytes("PING\r\n");
  }
  EXPECT_TRUE(idle.closed());
  EXPECT_FALSE(busy.closed());
}

TEST_F(Turn, ClosesWhoReadsNothingAtTheHardLimitAndAtTheSoftOneInTime) {
  Run({"CONFIG", "SET", "client-output-buffer-limit", "normal 1000000 100000 5"});
  Run({"SET", "big", std::string(60'000, 'x')});
  TestClient& hard = Connect();
  hard.set_reading(false);
  for (int i = 0; i < 20; ++i) hard.SendBytes("GET big\r\n");
  EXPECT_TRUE(hard.closed());

  TestClient& soft = Connect();
  soft.set_reading(false);
  soft.SendBytes("GET big\r\nGET big\r\n");
  AdvanceTime(4000);
  EXPECT_FALSE(soft.closed());
  AdvanceTime(3000);
  EXPECT_TRUE(soft.closed());
}

// Sixty-four replies of a megabyte from one pipeline, and as many from one EXEC, never stand in
// memory together.
TEST_F(Turn, HoldsToTheHardLimitInsideABatchAndInsideExec) {
  Run({"CONFIG", "SET", "client-output-buffer-limit", "normal 3000000 0 0"});
  Run({"SET", "big", std::string(1'000'000, 'x')});
  std::string gets;
  for (int i = 0; i < 64; ++i) gets += "GET big\r\n";
  for (const std::string& pipeline : {gets, "MULTI\r\n" + gets + "EXEC\r\n"}) {
    TestClient& client = Connect();
    engine().Receive(client.id(), pipeline);
    server().Settle();
    EXPECT_TRUE(client.closed());
    EXPECT_LT(client.TakeBytes().size(), 3'000'000u);
  }
}

TEST_F(Turn, ShowsWhatRepliesThatWaitTake) {
  Run({"SET", "big", std::string(60'000, 'x')});
  TestClient& client = Connect();
  const std::string id = client.Line("CLIENT ID").ToText().substr(1);
  const auto shown = [&] { return Run({"CLIENT", "LIST", "ID", id}).ToText(); };
  EXPECT_THAT(shown(), testing::HasSubstr(" obl=0 oll=0 omem=0 "));
  client.set_reading(false);
  client.SendBytes("GET big\r\nGET big\r\n");
  EXPECT_THAT(shown(), testing::ContainsRegex(" obl=12[0-9]{4} oll=[5-9] omem=1[2-4][0-9]{4} "));
}

// The time over the soft limit counts from when it was last passed.
TEST_F(Turn, ForgetsThatASoftLimitWasOncePassed) {
  Run({"CONFIG", "SET", "client-output-buffer-limit", "normal 0 100000 5"});
  Run({"SET", "big", std::string(60'000, 'x')});
  TestClient& client = Connect();
  for (int i = 0; i < 2; ++i) {
    client.set_reading(false);
    client.SendBytes("GET big\r\nGET big\r\n");
    AdvanceTime(3000);
    EXPECT_FALSE(client.closed());
    client.set_reading(true);
    AdvanceTime(10'000);
  }
}

TEST_F(Turn, ChangesTheHardLimitOfClientsThatAreThere) {
  TestClient& client = Connect();
  Run({"SET", "big", std::string(100'000, 'x')});
  Run({"CONFIG", "SET", "client-output-buffer-limit", "normal 150000 0 0"});
  engine().Receive(client.id(), "GET big\r\nGET big\r\n");
  server().Settle();
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(client.TakeBytes(), "");
  TestClient& next = Connect();
  Run({"CONFIG", "SET", "client-output-buffer-limit", "normal 0 0 0"});
  next.SendBytes("GET big\r\nGET big\r\n");
  EXPECT_FALSE(next.closed());
}

// What a queued command costs beside its arguments counts as well.
TEST_F(Turn, ClosesWhoQueuesTooManySmallCommands) {
  Run({"CONFIG", "SET", "client-query-buffer-limit", "1048576"});
  TestClient& client = Connect();
  client.SendBytes("MULTI\r\n");
  client.SendBytes(Pings(20'000));
  EXPECT_TRUE(client.closed());
}

TEST_F(Turn, ClosesWhoQueuesMoreThanTheQueryLimit) {
  Run({"CONFIG", "SET", "client-query-buffer-limit", "1048576"});
  TestClient& client = Connect();
  client.SendBytes("MULTI\r\n");
  const std::string large(100'000, 'x');
  for (int i = 0; i < 12 && !client.closed(); ++i) {
    client.SendBytes("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$100000\r\n" + large + "\r\n");
  }
  EXPECT_TRUE(client.closed());
}

TEST_F(Turn, ClosesWhoSendsMoreThanTheQueryLimit) {
  Run({"CONFIG", "SET", "client-query-buffer-limit", "1048576"});
  TestClient& client = Connect();
  client.SendBytes("*2\r\n$3\r\nGET\r\n$500000000\r\n");
  for (int i = 0; i < 40 && !client.closed(); ++i) client.SendBytes(std::string(65'536, 'x'));
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(Run({"PING"}).text, "PONG");
}

// What a client's end changes (its lock is free) is told in the turn in which it is closed.
TEST_F(Turn, TellsBroadcastsOfWhatAClosedClientLeft) {
  TestClient& leaving = Connect();
  leaving.Line("LOCK.ACQUIRE door me SESSION");
  client().Line("HELLO 3");
  client().Line("CLIENT TRACKING ON BCAST");
  leaving.SendBytes("QUIT\r\n");
  EXPECT_TRUE(leaving.closed());
  const std::optional<Reply> told = client().Next();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->ToText(), R"(>["invalidate", ["door"]])");
}

}  // namespace
}  // namespace sluice
