// Answers wait for promises: for the later of two, for none that has failed, and for nothing that
// is not of their turn. Here are promises that are kept by hand; that of the log has tests of its
// own (tests/unit/server/log).
#include "server/commit/turn_gate.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/log/log_service.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"
#include "tests/unit/server/commit/promise_by_hand.h"

namespace sluice {
namespace {

class TurnGateTest : public EngineFixture {
 protected:
  TurnGate& gate() { return engine().part<TurnGate>(); }
  // Clients that have written in a turn each; the turn of the first.
  uint64_t WriteInTurn(const std::vector<TestClient*>& writers) {
    const uint64_t first = gate().last() + 1;
    for (TestClient* const writer : writers) writer->Send({"INCR", "n"});
    EXPECT_EQ(gate().last(), first + writers.size() - 1);
    return first;
  }

  TestClient& a_ = Connect();
  TestClient& b_ = Connect();
  TestClient& c_ = Connect();
};

TEST_F(TurnGateTest, WithoutAPromiseNothingIsNumberedOrHeld) {
  const uint64_t before = gate().last();
  EXPECT_EQ(Run({"SET", "k", "v"}).ToText(), "+OK");
  EXPECT_EQ(gate().last(), before);
  EXPECT_FALSE(gate().is_on());
}

TEST_F(TurnGateTest, TheLaterOfTwoPromisesDecides) {
  PromiseByHand one(server(), kToLog);
  PromiseByHand other(server(), kToStream);
  const uint64_t first = WriteInTurn({&a_, &b_, &c_});
  EXPECT_EQ(gate().held(), 3U);
  one.Keep(first + 2);
  EXPECT_FALSE(a_.has_received());
  other.Keep(first);
  EXPECT_EQ(a_.TakeBytes(), ":1\r\n");
  EXPECT_FALSE(b_.has_received());
  other.Keep(first + 1);
  EXPECT_EQ(b_.TakeBytes(), ":2\r\n");
  EXPECT_FALSE(c_.has_received());
  WriteInTurn({&a_});
  other.Keep(first + 3);
  EXPECT_EQ(c_.TakeBytes(), ":3\r\n");
  EXPECT_FALSE(a_.has_received()) << "now the first one is behind";
  one.Keep(first + 3);
  EXPECT_EQ(a_.TakeBytes(), ":4\r\n");
  EXPECT_EQ(gate().held(), 0U);
}

// Whichever it is, those that wait for the other alone go on waiting.
TEST_F(TurnGateTest, AFailureClosesThoseThatWaitedForIt) {
  for (const bool is_first : {true, false}) {
    TestEngine server;
    TestClient* const clients[] = {&server.Connect(), &server.Connect(), &server.Connect(),
                                   &server.Connect()};
    PromiseByHand one(server, kToLog);
    PromiseByHand other(server, kToStream);
    PromiseByHand& fails = is_first ? one : other;
    PromiseByHand& holds = is_first ? other : one;
    const uint64_t first = server.engine().part<TurnGate>().last() + 1;
    for (TestClient* const client : clients) client->Send({"INCR", "n"});
    fails.Keep(first + 1);
    holds.Keep(first);
    EXPECT_EQ(clients[0]->TakeBytes(), ":1\r\n");
    fails.Fail();
    EXPECT_FALSE(clients[0]->closed());
    EXPECT_FALSE(clients[1]->closed()) << "it waits for the other promise";
    EXPECT_TRUE(clients[2]->closed());
    EXPECT_TRUE(clients[3]->closed());
    EXPECT_FALSE(clients[2]->has_received());
    holds.Keep(first + 1);
    EXPECT_EQ(clients[1]->TakeBytes(), ":2\r\n");
    EXPECT_EQ(server.engine().part<TurnGate>().held(), 0U);
  }
}

TEST_F(TurnGateTest, ReadsGoOnWhileAPromiseHasFailedAndWaitForTheOther) {
  PromiseByHand one(server(), kToLog);
  PromiseByHand other(server(), kToStream);
  one.Fail();
  EXPECT_EQ(a_.Run({"GET", "n"}).ToText(), "(nil)");
  b_.Send({"INCR", "n"});
  EXPECT_TRUE(b_.closed()) << "nobody knows when that will be kept";
  a_.Send({"GET", "n"});
  EXPECT_FALSE(a_.has_received()) << "it shows what the other promise has not kept yet";
  other.KeepAll();
  EXPECT_EQ(a_.TakeBytes(), "$1\r\n1\r\n");
  one.Recover();
  c_.Send({"INCR", "n"});
  one.KeepAll();
  EXPECT_FALSE(c_.has_received());
  other.KeepAll();
  EXPECT_EQ(c_.TakeBytes(), ":2\r\n");
}

// A message is for the stream: it needs no log.
TEST_F(TurnGateTest, ATurnThatAFailedPromiseHasNothingOfIsNotLost) {
  PromiseByHand log(server(), kToLog);
  PromiseByHand stream(server(), kToStream);
  log.Fail();
  a_.Send({"PUBLISH", "c", "m"});
  EXPECT_FALSE(a_.closed());
  EXPECT_FALSE(a_.has_received());
  stream.KeepAll();
  EXPECT_EQ(a_.TakeBytes(), ":0\r\n");
  EXPECT_EQ(log.turns, stream.turns) << "every promise hears of every turn";
}

TEST_F(TurnGateTest, APromiseCountsFromTheTurnInWhichItCame) {
  PromiseByHand one(server(), kToLog);
  const uint64_t first = WriteInTurn({&a_});
  PromiseByHand late(server(), kToStream);
  one.Keep(first);
  EXPECT_EQ(a_.TakeBytes(), ":1\r\n") << "the turn was over before";
  WriteInTurn({&b_});
  one.KeepAll();
  EXPECT_FALSE(b_.has_received());
  late.Leave();
  EXPECT_EQ(b_.TakeBytes(), ":2\r\n") << "nobody is waited for any more";
  WriteInTurn({&c_});
  EXPECT_FALSE(c_.has_received());
  one.Leave();
  EXPECT_EQ(c_.TakeBytes(), ":3\r\n");
  EXPECT_FALSE(gate().is_on());
  EXPECT_EQ(a_.Run({"INCR", "n"}).ToText(), ":4");
}

TEST_F(TurnGateTest, WhatATurnNeedsIsToldWithIt) {
  PromiseByHand promise(server(), kToLog);
  gate().needs().disk = true;
  a_.Send({"GET", "n"});
  EXPECT_TRUE(promise.turns.empty()) << "nothing has changed";
  const uint64_t first = WriteInTurn({&a_, &b_});
  EXPECT_EQ(promise.turns, (std::vector<uint64_t>{first, first + 1}));
  EXPECT_EQ(promise.for_the_disk, std::vector<uint64_t>{first}) << "the next one does not";
  EXPECT_EQ(gate().so_far(), first + 1);
}

TEST_F(TurnGateTest, PushesAndLaterAnswersWaitInTheirOrder) {
  PromiseByHand promise(server(), kToStream);
  a_.Send({"SUBSCRIBE", "c"});
  EXPECT_NE(a_.TakeBytes(), "") << "it changes nothing";
  b_.Send({"PUBLISH", "c", "m"});
  EXPECT_FALSE(a_.has_received());
  EXPECT_FALSE(b_.has_received());
  b_.Send({"PING"});
  promise.KeepAll();
  EXPECT_EQ(a_.TakeBytes(), "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n");
  EXPECT_EQ(b_.TakeBytes(), ":1\r\n+PONG\r\n");
}

// --- beside a log

TestEngine::Options Logging(MemoryDisk& disk) {
  TestEngine::Options options;
  options.disk = &disk;
  options.config = {{"appendonly", "yes"}, {"appendfsync", "always"}};
  return options;
}

TEST(TurnGateWithALog, AnswersWaitForTheDiskAndForTheOther) {
  MemoryDisk disk;
  TestEngine server(Logging(disk));
  TestClient& client = server.Connect();
  PromiseByHand stream(server, kToStream);
  server.set_aside_waits(true);
  client.Send({"INCR", "n"});
  stream.KeepAll();
  EXPECT_FALSE(client.has_received()) << "it is not on disk";
  ASSERT_TRUE(server.RunBackgroundNow());
  server.Settle();
  EXPECT_EQ(client.TakeBytes(), ":1\r\n");
  client.Send({"INCR", "n"});
  ASSERT_TRUE(server.RunBackgroundNow());
  server.Settle();
  EXPECT_FALSE(client.has_received()) << "the other promise is not kept";
  stream.KeepAll();
  EXPECT_EQ(client.TakeBytes(), ":2\r\n");
}

// A turn of the stream alone comes while the disk has another, and one before it.
TEST(TurnGateWithALog, ATurnThatIsNotInTheLogIsKeptWithThoseBefore) {
  MemoryDisk disk;
  TestEngine server(Logging(disk));
  TestClient& writer = server.Connect();
  TestClient& speaker = server.Connect();
  PromiseByHand stream(server, kToStream);
  server.set_aside_waits(true);
  writer.Send({"INCR", "n"});
  speaker.Send({"PUBLISH", "c", "m"});
  stream.KeepAll();
  EXPECT_FALSE(speaker.has_received()) << "a subscriber may have seen n";
  ASSERT_TRUE(server.RunBackgroundNow());
  server.Settle();
  EXPECT_EQ(writer.TakeBytes(), ":1\r\n");
  EXPECT_EQ(speaker.TakeBytes(), ":0\r\n") << "and no byte of the log will come for it";
  speaker.Send({"PUBLISH", "c", "m"});
  stream.KeepAll();
  EXPECT_EQ(speaker.TakeBytes(), ":0\r\n");
}

TEST(TurnGateWithALog, AFailedWriteClosesThoseThatWaitedForTheDisk) {
  MemoryDisk disk;
  TestEngine server(Logging(disk));
  TestClient& before = server.Connect();
  TestClient& after = server.Connect();
  PromiseByHand stream(server, kToStream);
  before.Send({"INCR", "n"});
  EXPECT_FALSE(before.has_received());
  disk.full_appends = 1;
  after.Send({"INCR", "n"});
  EXPECT_TRUE(after.closed());
  EXPECT_FALSE(before.closed());
  stream.KeepAll();
  EXPECT_EQ(before.TakeBytes(), ":1\r\n") << "that was on disk";
}

// The log is turned off and on again beside another promise, whose turns have gone on.
TEST(TurnGateWithALog, TheLogMayComeAndGo) {
  MemoryDisk disk;
  TestEngine server(Logging(disk));
  TestClient& client = server.Connect();
  TestClient& admin = server.Connect();
  PromiseByHand stream(server, kToStream);
  const auto set = [&](const std::string& value) {
    admin.Send({"CONFIG", "SET", "appendonly", value});
    EXPECT_EQ(admin.TakeBytes(), "+OK\r\n");
  };
  set("no");
  client.Send({"INCR", "n"});
  stream.KeepAll();
  EXPECT_EQ(client.TakeBytes(), ":1\r\n");
  set("yes");
  EXPECT_TRUE(server.engine().part<LogService>().is_on());
  server.set_aside_waits(true);
  client.Send({"INCR", "n"});
  stream.KeepAll();
  EXPECT_FALSE(client.has_received());
  while (server.RunBackgroundNow()) server.Settle();
  server.Settle();
  EXPECT_EQ(client.TakeBytes(), ":2\r\n");
}

// What a command in the midst of the turn has written, and could not, was this turn's too.
TEST(TurnGateWithALog, WhatFailsBeforeTheEndOfTheTurnIsNotAnswered) {
  MemoryDisk disk;
  TestEngine::Options options = Logging(disk);
  options.config[1].second = "everysec";
  TestEngine server(options);
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Run({"SET", "k", "1"}).ToText(), "+OK");
  disk.full_appends = 2;  // it is tried once more, to load it
  client.SendBytes("SET k 2\r\nDEBUG LOADAOF\r\n");
  EXPECT_TRUE(client.closed());
  EXPECT_FALSE(client.has_received());
}

// Turns inside of a reload send what this turn has answered so far.
TEST(TurnGateWithALog, NoAnswerLeavesFromInsideBeforeItIsOnDisk) {
  MemoryDisk disk;
  TestEngine server(Logging(disk));
  TestClient& writer = server.Connect();
  TestClient& client = server.Connect();
  for (int i = 0; i < 300; ++i) writer.Run({"SET", "k" + std::to_string(i), "v"});
  writer.Run({"SAVE"});
  server.set_aside_waits(true);
  int turns = 0;
  server.OnPoll([&] {
    if (++turns > 1) return;
    server.Turn();
    EXPECT_FALSE(writer.has_received());
  });
  server.set_tick_step(1'000'000);
  server.engine().Receive(writer.id(), "SET k1 w\r\n");
  client.SendBytes("DEBUG RELOAD NOSAVE\r\n");
  server.set_tick_step(0);
  server.OnPoll({});
  EXPECT_GE(turns, 1);
  while (server.RunBackgroundNow()) server.Settle();
  server.Settle();
  EXPECT_EQ(writer.TakeBytes(), "+OK\r\n");
}

}  // namespace
}  // namespace sluice
