// Locks as commands, where a transcript cannot show it: closed connections, files, scripts, queues.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "server/engine/engine.h"
#include "server/locks/lock_service.h"
#include "server/waiting/waiters.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class LocksTest : public testing::Test {
 protected:
  TestClient& Connect() { return server_.Connect(); }
  static int64_t Token(const Reply& reply) { return reply.elements.at(0).integer; }
  LockService& service() { return server_.engine().part<LockService>(); }
  size_t Waiting() { return server_.engine().part<Waiters>().blocked_clients().size(); }
  // Granted: the token; 0: not (yet) answered, or not granted.
  int64_t Granted(TestClient& client) {
    const std::optional<Reply> reply = client.Next();
    return reply && reply->kind == Reply::Kind::kArray ? Token(*reply) : 0;
  }

  static constexpr std::string_view kNoToken = "-ERR no fencing token can be given, see the log";
  // Of what was reserved; in a turn without a client.
  void Spend(int64_t tokens) {
    FenceTokens& issued = service().tokens();
    issued.JumpPast(issued.last() + tokens);
    server_.Settle();
  }
  // How often the server logs that no locks can be taken, or that soon none can.
  static int64_t LogLines(const TestEngine& server) {
    return std::ranges::count_if(server.log(), [](const std::string& line) {
      return line.find("no locks can be taken") != std::string::npos;
    });
  }

  // In one piece: after every step all keys are audited.
  void TakeMany(int locks, const std::string& terms) {
    std::string requests;
    for (int i = 0; i < locks; ++i)
      requests += "LOCK.ACQUIRE k" + std::to_string(i) + " a " + terms + "\r\n";
    a_.SendBytes(requests);
    a_.TakeBytes();
  }

  TestEngine server_;
  TestClient& a_ = Connect();
  TestClient& b_ = Connect();
  TestClient& c_ = Connect();
};

TEST_F(LocksTest, HolderOfASessionDiesAndTheNextHasItInThatTurn) {
  const int64_t first = Token(a_.Run({"lock.acquire", "k", "a", "session"}));
  b_.Send({"lock.acquire", "k", "b", "lease", "100", "wait", "1000"});
  a_.Disconnect();
  EXPECT_GT(Granted(b_), first);
  EXPECT_EQ(Waiting(), 0u);
}

TEST_F(LocksTest, TimePassesWhileNobodyCalls) {
  // The lease of a waiter that a disconnection serves begins then, not at the last turn.
  a_.Run({"lock.acquire", "k", "a", "session"});
  b_.Send({"lock.acquire", "k", "b", "lease", "100", "wait", "100000"});
  server_.clock().Advance(5000);
  a_.Disconnect();
  EXPECT_GT(Granted(b_), 0);
  EXPECT_EQ(c_.Run({"lock.acquire", "k", "c", "lease", "1"}).ToText(), "(nil-array)");
}

TEST_F(LocksTest, WaitersThatGoLeaveNothing) {
  a_.Run({"lock.acquire", "k", "a", "lease", "1000"});
  b_.Send({"lock.acquire", "k", "b", "lease", "100", "wait", "1000"});
  c_.Send({"lock.acquire", "k", "c", "lease", "100", "wait", "1000"});
  EXPECT_EQ(service().Enter().queue().size(), 2u);
  b_.Disconnect();
  EXPECT_EQ(service().Enter().queue().size(), 1u);
  TestClient& d = Connect();
  const uint64_t id = server_.engine().Find(c_.id())->client_id;
  // Killed and the lock released in the same turn: no owner gets it.
  d.SendBytes("CLIENT KILL ID " + std::to_string(id) + "\r\nLOCK.RELEASE k a\r\nEXISTS k\r\n");
  EXPECT_EQ(d.Next()->ToText(), ":1");
  EXPECT_EQ(d.Next()->ToText(), ":0");
  EXPECT_EQ(d.Next()->ToText(), ":0");
  EXPECT_TRUE(c_.closed());
  EXPECT_EQ(Waiting(), 0u);
}

TEST_F(LocksTest, UnblockLeavesTheQueue) {
  a_.Run({"lock.acquire", "k", "a", "lease", "1000"});
  b_.Send({"lock.acquire", "k", "b", "lease", "100", "wait", "1000"});
  const std::string id = std::to_string(server_.engine().Find(b_.id())->client_id);
  EXPECT_EQ(a_.Run({"client", "unblock", id, "error"}).ToText(), ":1");
  EXPECT_EQ(b_.Next()->ToText(), "-UNBLOCKED client unblocked via CLIENT UNBLOCK");
  EXPECT_EQ(a_.Run({"lock.release", "k", "a"}).ToText(), ":0");
  EXPECT_EQ(a_.Run({"exists", "k"}).ToText(), ":0");
}

TEST_F(LocksTest, TokensGrowOverARestart) {
  // What the next start reads is what this one wrote, ahead of what it gave.
  std::string mark;
  const int64_t token = Token(a_.Run({"lock.acquire", "k", "a", "lease", "1000"}));
  ASSERT_EQ(server_.config().disk().Read("fence.mark", mark), 0);
  EXPECT_GT(std::stoll(mark), token);
  TestEngine next;
  ASSERT_EQ(next.config().disk().Replace("fence.mark", mark), 0);
  TestClient& later = next.Connect();
  EXPECT_EQ(later.Run({"fenced", "k", std::to_string(token), "ping"}).text.substr(0, 5), "STALE");
  EXPECT_GT(Token(later.Run({"lock.acquire", "k", "b", "lease", "1000"})), std::stoll(mark));
}

TEST_F(LocksTest, WhoTakesNoLocksNeedsNoMark) {
  TestEngine poor;
  poor.disk().write_fault = EROFS;
  TestClient& client = poor.Connect();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(client.Run({"set", "k", "v"}).ToText(), "+OK");
    poor.AdvanceTime(1000);
  }
  EXPECT_EQ(poor.disk().replaced, 1);
  EXPECT_EQ(LogLines(poor), 1);
}

TEST_F(LocksTest, ADamagedMarkGivesNoLocks) {
  TestEngine next;
  next.disk().files["/fence.mark"] = "12x\n";
  TestClient& client = next.Connect();
  EXPECT_EQ(client.Run({"lock.acquire", "k", "a", "lease", "1000"}).ToText(), kNoToken);
  EXPECT_EQ(client.Run({"exists", "k"}).ToText(), ":0");
  EXPECT_EQ(LogLines(next), 1);
  EXPECT_EQ(next.disk().files["/fence.mark"], "12x\n");
}

// --- tokens are reserved ahead, and the disk may be late

// The start does not wait for the disk, and neither does a command that needs no token; nor does a
// worker begin before the first clients were served.
TEST_F(LocksTest, OnlyACallerWhoWantsALockWaitsForTheFirstTokens) {
  TestEngine next;
  next.set_aside_waits(true);
  TestClient& client = next.Connect();
  EXPECT_EQ(client.Run({"ping"}).ToText(), "+PONG");
  EXPECT_EQ(next.background_tasks(), 0u);
  EXPECT_GT(Token(client.Run({"lock.acquire", "k", "a", "lease", "1000"})), 0);
  EXPECT_EQ(next.disk().replaced, 1);
  next.AdvanceTime(1000);
  EXPECT_EQ(next.background_tasks(), 0u) << "it was written already";
}

TEST_F(LocksTest, TheFirstTokensAreReservedSoonBehindTheStart) {
  TestEngine next;
  next.set_aside_waits(true);
  TestClient& client = next.Connect();
  EXPECT_EQ(client.Run({"ping"}).ToText(), "+PONG");
  next.AdvanceTime(100);
  EXPECT_EQ(next.background_tasks(), 1u);
  EXPECT_EQ(next.disk().replaced, 0);
  next.RunBackgroundNow();
  next.Settle();
  EXPECT_EQ(next.disk().replaced, 1);
  EXPECT_GT(Token(client.Run({"lock.acquire", "k", "a", "lease", "1000"})), 0);
  EXPECT_EQ(next.disk().replaced, 1) << "nobody waits for it now";
}

TEST_F(LocksTest, MoreTokensAreReservedBeforeTheyAreSpent) {
  server_.AdvanceTime(100);  // the first mark is written
  MemoryDisk& disk = server_.disk();
  const std::string before = disk.files["/fence.mark"];
  server_.set_aside_waits(true);
  Spend(kTokenMarkAhead / 2 + kTokensAtOnce);
  EXPECT_EQ(server_.background_tasks(), 1u);
  for (int i = 0; i < 3; ++i) {  // none of them waits, or asks again
    server_.AdvanceTime(1000);
    EXPECT_GT(Token(a_.Run({"lock.acquire", Concat("k", i), "a", "lease", "1000"})), 0);
    EXPECT_EQ(disk.files["/fence.mark"], before);
  }
  EXPECT_EQ(server_.background_tasks(), 1u);
  const int64_t mark = service().tokens().mark();
  server_.RunBackgroundNow();
  EXPECT_EQ(service().tokens().mark(), std::stoll(disk.files["/fence.mark"]));
  EXPECT_GT(service().tokens().mark(), mark);
  EXPECT_EQ(server_.background_tasks(), 0u);
}

// All that was reserved is spent and the disk hangs: what needs no token goes on.
TEST_F(LocksTest, ADiskThatHangsStopsNoOtherCommand) {
  a_.Run({"lock.acquire", "k", "a", "lease", "100000"});
  server_.set_aside_waits(true);
  Spend(service().tokens().mark() - service().tokens().last());
  EXPECT_EQ(b_.Run({"lock.acquire", "l", "b", "lease", "1000"}).ToText(), kNoToken);
  EXPECT_EQ(b_.Run({"lock.acquire", "l", "b", "lease", "1000", "wait", "9"}).ToText(), kNoToken);
  EXPECT_EQ(a_.Run({"lock.acquire", "k", "a", "lease", "100000"}).elements.at(2).integer, 2);
  EXPECT_EQ(a_.Run({"lock.release", "k", "a"}).ToText(), ":1");
  EXPECT_EQ(a_.Run({"set", "x", "y"}).ToText(), "+OK");
  b_.Send({"lock.acquire", "k", "b", "lease", "1000", "wait", "60000"});
  EXPECT_EQ(a_.Run({"lock.release", "k", "a"}).ToText(), ":0");
  server_.AdvanceTime(1000);
  EXPECT_EQ(Granted(b_), 0);
  EXPECT_EQ(server_.background_tasks(), 1u);
  server_.RunBackgroundNow();
  server_.Settle();  // the waiter has it in the turn that finds the disk done
  EXPECT_GT(Granted(b_), 0);
  EXPECT_GT(Token(c_.Run({"lock.acquire", "l", "c", "lease", "1000"})), 0);
}

TEST_F(LocksTest, AWriteThatFailedIsTriedAgain) {
  server_.AdvanceTime(100);  // the first mark is written
  server_.disk().write_fault = EIO;
  Spend(kTokenMarkAhead / 2 + kTokensAtOnce);
  EXPECT_GT(Token(a_.Run({"lock.acquire", "k", "a", "lease", "1000"})), 0);
  server_.AdvanceTime(10'000);
  EXPECT_EQ(LogLines(server_), 1);  // that it will be felt
  Spend(service().tokens().mark() - service().tokens().last());
  EXPECT_EQ(a_.Run({"lock.acquire", "l", "a", "lease", "1000"}).ToText(), kNoToken);
  server_.AdvanceTime(10'000);
  EXPECT_EQ(a_.Run({"lock.acquire", "l", "a", "lease", "1000"}).ToText(), kNoToken);
  EXPECT_EQ(LogLines(server_), 2);  // that it is
  server_.disk().write_fault = 0;
  server_.AdvanceTime(1000);
  a_.Run({"ping"});
  EXPECT_GT(Token(a_.Run({"lock.acquire", "l", "a", "lease", "1000"})), 0);
  EXPECT_EQ(std::stoll(server_.disk().files["/fence.mark"]), service().tokens().mark());
}

TEST_F(LocksTest, AMarkIsBelievedOnlyWhole) {
  a_.Run({"lock.acquire", "k", "a", "lease", "1000"});
  std::string mark;
  ASSERT_EQ(server_.config().disk().Read("fence.mark", mark), 0);
  for (size_t size = 0; size < mark.size(); ++size) {
    TestEngine next;
    ASSERT_EQ(next.config().disk().Replace("fence.mark", mark.substr(0, size)), 0);
    EXPECT_EQ(next.Connect().Run({"lock.acquire", "k", "a", "lease", "1000"}).ToText(),
              "-ERR no fencing token can be given, see the log");
  }
  mark[0] = '9';
  TestEngine next;
  ASSERT_EQ(next.config().disk().Replace("fence.mark", mark), 0);
  EXPECT_EQ(next.Connect().Run({"lock.acquire", "k", "a", "lease", "1000"}).ToText(),
            "-ERR no fencing token can be given, see the log");
}

// Tokens were microseconds once: they only grow.
TEST_F(LocksTest, AMarkOfSixteenDigitsIsKept) {
  TestEngine next;
  next.disk().files["/fence.mark"] = "1700000000000000\n";
  EXPECT_EQ(Token(next.Connect().Run({"lock.acquire", "k", "a", "lease", "1000"})),
            1'700'000'000'000'001);
}

TEST_F(LocksTest, WithoutAMarkTokensStartFarAhead) {
  EXPECT_EQ(Token(a_.Run({"lock.acquire", "k", "a", "lease", "1000"})),
            server_.clock().Sample().unix_ms() + kTokenStartAhead);
}

// The disk is full when the lock is released: its next waiter has it once writing works again.
TEST_F(LocksTest, AWaiterIsGrantedOnceTokensCanBeHadAgain) {
  a_.Run({"lock.acquire", "k", "a", "lease", "100000000"});
  service().tokens().JumpPast(service().tokens().mark());  // all that was reserved is spent
  MemoryDisk& disk = server_.disk();
  disk.write_fault = ENOSPC;
  b_.Send({"lock.acquire", "k", "b", "lease", "1000", "wait", "60000"});
  EXPECT_EQ(a_.Run({"lock.acquire", "k", "a", "lease", "1000"}).elements.at(2).integer, 2);
  EXPECT_EQ(a_.Run({"lock.release", "k", "a", "all"}).ToText(), ":0");
  server_.AdvanceTime(1000);
  EXPECT_EQ(Granted(b_), 0);
  disk.write_fault = 0;
  server_.AdvanceTime(1000);
  EXPECT_GT(Granted(b_), 0);
}

// What waited in the sockets is run before leases are ended.
TEST_F(LocksTest, ARenewalThatWasSentInTimeIsInTime) {
  a_.Run({"lock.acquire", "k", "a", "lease", "100"});
  b_.Send({"lock.acquire", "k", "b", "lease", "100", "wait", "1000"});
  server_.engine().Receive(c_.id(), "DEBUG SLEEP 0.2\r\n");
  server_.Turn();  // meanwhile a renews
  server_.engine().Receive(a_.id(), "LOCK.RENEW k a LEASE 100\r\n");
  server_.Turn();
  EXPECT_EQ(a_.Next().value_or(Reply()).ToText(), ":100");
  EXPECT_EQ(Granted(b_), 0);
  server_.AdvanceTime(100);
  EXPECT_GT(Granted(b_), 0);
}

// --- crowds: a turn does its share and no more, counted in what it has done

TEST_F(LocksTest, AFlushOfManyLocksIsDoneInSlices) {
  constexpr int kLocks = 5'000;
  TakeMany(kLocks, "LEASE 1000000");
  EXPECT_EQ(service().held(), static_cast<size_t>(kLocks));
  server_.set_tick_step(50'000);  // time passes, so a turn ends
  server_.engine().Receive(b_.id(), "FLUSHALL\r\nDBSIZE\r\nLOCK.LIST 0\r\n");
  server_.Turn();
  server_.set_tick_step(0);
  EXPECT_EQ(service().held(), 0u);
  EXPECT_TRUE(service().has_left_over());
  EXPECT_EQ(b_.Next().value_or(Reply()).ToText(), "+OK");
  EXPECT_EQ(b_.Next().value_or(Reply()).ToText(), ":0");
  EXPECT_EQ(b_.Next().value_or(Reply()).ToText(), "[\"0\", []]");
  EXPECT_EQ(b_.Run({"lock.release", "k7", "a"}).text.substr(0, 7), "NOTHELD");
  EXPECT_GT(Token(b_.Run({"lock.acquire", "k8", "b", "lease", "1000"})), 0);
  server_.Settle();
  EXPECT_FALSE(service().has_left_over());
  EXPECT_EQ(service().held(), 1u);
}

TEST_F(LocksTest, ASwapOfManyLocksIsDoneInSlices) {
  constexpr int kLocks = 5'000;
  TakeMany(kLocks, "SESSION");
  server_.engine().Receive(b_.id(), "SWAPDB 0 1\r\nSELECT 1\r\nDUMP k9\r\n");
  server_.Turn();
  EXPECT_TRUE(service().has_left_over());
  b_.TakeBytes();
  EXPECT_EQ(b_.Run({"lock.info", "k4999"}).ToText(), "[]");
  EXPECT_EQ(b_.Run({"lock.info", "k1"}).ToText(), "[]");
  a_.Disconnect();  // its bonds are those of locks that are loose
  server_.Settle();
  EXPECT_FALSE(service().has_left_over());
  b_.TakeBytes();
  EXPECT_EQ(b_.Run({"dbsize"}).ToText(), ":0");
}

TEST_F(LocksTest, TheListOfLocksIsWalkedPastAllOtherKeys) {
  a_.Run({"debug", "populate", "5000"});
  for (int i = 0; i < 25; ++i) a_.Run({"lock.acquire", "k" + std::to_string(i), "a", "session"});
  std::vector<std::string> found;
  std::string cursor = "0";
  int calls = 0;
  do {
    const Reply reply = a_.Run({"lock.list", cursor});
    for (const Reply& key : reply.elements.at(1).elements) found.push_back(key.text);
    cursor = reply.elements.at(0).text;
    ++calls;
    a_.Run({"lock.acquire", "more" + std::to_string(calls), "a", "session"});
  } while (cursor != "0" && calls < 100);
  EXPECT_LE(calls, 4);
  for (int i = 0; i < 25; ++i) EXPECT_EQ(std::ranges::count(found, "k" + std::to_string(i)), 1);
}

TEST_F(LocksTest, TheMarkStaysAhead) {
  for (int i = 0; i < 50; ++i) {
    std::string mark;
    const int64_t token = Token(a_.Run({"lock.acquire", "k", "a", "lease", "1"}));
    ASSERT_EQ(server_.config().disk().Read("fence.mark", mark), 0);
    ASSERT_GT(std::stoll(mark), token);
    server_.AdvanceTime(1500);
  }
}

TEST_F(LocksTest, SwapAndFlushEndEveryHolding) {
  a_.Run({"lock.acquire", "k", "a", "session"});
  b_.Send({"lock.acquire", "k", "b", "session", "wait", "1000"});
  c_.Run({"swapdb", "0", "1"});
  EXPECT_GT(Granted(b_), 0);  // in database 0, where it asked
  EXPECT_EQ(c_.Run({"lock.release", "k", "a"}).text.substr(0, 7), "NOTHELD");
  c_.Run({"select", "1"});
  EXPECT_EQ(c_.Run({"exists", "k"}).ToText(), ":0");
  EXPECT_GT(Token(c_.Run({"lock.acquire", "k", "c", "session"})), 0);
  c_.Run({"select", "0"});
  a_.Send({"lock.acquire", "k", "a", "lease", "10", "wait", "1000"});
  c_.Run({"flushall"});
  EXPECT_GT(Granted(a_), 0);
}

TEST_F(LocksTest, DeletedInAScriptIsSeenByItsNextCall) {
  a_.Run({"lock.acquire", "k", "a", "session"});
  const Reply reply = c_.Run(
      {"eval", "redis.call('del', 'k') return redis.call('lock.acquire', 'k', 'c', 'lease', '100')",
       "0"});
  EXPECT_EQ(reply.elements.size(), 4u);
  EXPECT_EQ(a_.Run({"lock.release", "k", "a"}).text.substr(0, 7), "NOTHELD");
}

TEST_F(LocksTest, ASessionInAScriptIsTheCallers) {
  a_.Run({"eval", "return redis.call('lock.acquire', 'k', 'a', 'session')", "0"});
  EXPECT_EQ(b_.Run({"exists", "k"}).ToText(), ":1");
  a_.Disconnect();
  EXPECT_EQ(b_.Run({"exists", "k"}).ToText(), ":0");
}

TEST_F(LocksTest, ARenameOntoAFreeLocksNameMakesItsTokenStale) {
  for (const bool is_waited_for : {false, true}) {
    const int64_t token = Token(a_.Run({"lock.acquire", "k", "a", "lease", "60000"}));
    a_.Run({"lock.release", "k", "a"});
    ASSERT_EQ(a_.Run({"fenced", "k", std::to_string(token), "incr", "n"}).kind,
              Reply::Kind::kInteger);
    b_.Run({"lock.acquire", "l", "b", "lease", "60000"});
    if (is_waited_for)
      c_.Send({"lock.macquire", "2", "k", "l", "c", "lease", "1000", "wait", "60000"});
    b_.Run({"rename", "l", "k"});
    EXPECT_EQ(a_.Run({"fenced", "k", std::to_string(token), "incr", "n"}).kind,
              Reply::Kind::kError);
    b_.Run({"flushall"});
  }
}

TEST_F(LocksTest, MovedByACommandOfItsOwnOwner) {
  a_.Run({"lock.acquire", "k", "a", "session"});
  EXPECT_EQ(a_.Run({"move", "k", "1"}).ToText(), ":1");
  a_.Run({"select", "1"});
  EXPECT_EQ(a_.Run({"exists", "k"}).ToText(), ":0");
}

TEST_F(LocksTest, AThousandWaitersAreServedInOrder) {
  a_.Run({"lock.acquire", "k", "a", "lease", "1000000"});
  std::vector<TestClient*> waiters;
  for (int i = 0; i < 1000; ++i) {
    waiters.push_back(&Connect());
    const std::string owner = "w" + std::to_string(i);
    waiters.back()->Send({"lock.acquire", "k", owner, "lease", "1000000", "wait", "1000000"});
  }
  a_.Run({"lock.release", "k", "a"});
  int64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const int64_t token = Granted(*waiters[static_cast<size_t>(i)]);
    ASSERT_GT(token, last);
    last = token;
    ASSERT_EQ(a_.Run({"lock.release", "k", "w" + std::to_string(i)}).ToText(), ":0");
  }
}

TEST_F(LocksTest, FencedStopsAnOldHolderAlsoAfterAllIsForgotten) {
  const std::string old = std::to_string(Token(a_.Run({"lock.acquire", "k", "a", "lease", "10"})));
  EXPECT_EQ(a_.Run({"fenced", "k", old, "set", "x", "1"}).ToText(), "+OK");
  server_.AdvanceTime(10);
  // Expired, and no owner came since: it is still the newest.
  EXPECT_EQ(a_.Run({"fenced", "k", old, "set", "x", "2"}).ToText(), "+OK");
  const std::string newer =
      std::to_string(Token(b_.Run({"lock.acquire", "k", "b", "lease", "10"})));
  EXPECT_EQ(a_.Run({"fenced", "k", old, "set", "x", "3"}).text.substr(0, 5), "STALE");
  server_.AdvanceTime(10);
  EXPECT_EQ(b_.Run({"config", "set", "fence-retention", "0"}).ToText(), "+OK");
  EXPECT_EQ(b_.Run({"fenced", "k", newer, "set", "x", "4"}).text.substr(0, 5), "STALE");
  EXPECT_EQ(a_.Run({"fenced", "k", old, "set", "x", "5"}).text.substr(0, 5), "STALE");
  EXPECT_EQ(a_.Run({"get", "x"}).ToText(), "\"2\"");
}

TEST_F(LocksTest, FencedPassesTheGates) {
  const std::string token =
      std::to_string(Token(a_.Run({"lock.acquire", "k", "a", "lease", "1000"})));
  // Inside FENCED only a wait for keys may wait.
  b_.Run({"lock.acquire", "other", "b", "lease", "1000"});
  EXPECT_EQ(
      a_.Run({"fenced", "k", token, "lock.acquire", "other", "a", "lease", "10", "wait", "1000"})
          .ToText(),
      "(nil-array)");
  EXPECT_EQ(
      a_.Run({"eval", "return redis.pcall('fenced', 'k', ARGV[1], 'multi')", "0", token}).text,
      "ERR this command is not allowed inside FENCED");
  EXPECT_EQ(
      a_.Run({"eval", "return redis.pcall('fenced', 'k', ARGV[1], 'client', 'list')", "0", token})
          .text,
      "ERR This Redis command is not allowed from script");
}

// What a gate says inside FENCED is what it says outside, to the last byte: none may be a view of a
// sentence that is gone by the time it is sent.
TEST_F(LocksTest, FencedAnswersWhatTheGatesSay) {
  TestEngine server({.config = {{"enable-debug-command", "no"}}});
  TestClient& client = server.Connect();
  const std::string alone = client.Run({"debug", "object", "k"}).ToText();
  EXPECT_TRUE(alone.starts_with("-ERR DEBUG command not allowed. If the")) << alone;
  EXPECT_EQ(client.Run({"fenced", "k", "1", "debug", "object", "k"}).ToText(), alone);
}

// A client that waits inside FENCED may have lost the lock by the time there is something.
TEST_F(LocksTest, FencedLooksAtTheTokenAgainWhenItWakes) {
  const std::string token =
      std::to_string(Token(a_.Run({"lock.acquire", "k", "a", "lease", "1000"})));
  a_.Send({"fenced", "k", token, "blpop", "list", "0"});
  EXPECT_FALSE(a_.Next());
  b_.Run({"rpush", "list", "1"});
  EXPECT_EQ(a_.Next().value_or(Reply()).ToText(), "[\"list\", \"1\"]");

  a_.Send({"fenced", "k", token, "blpop", "list", "0"});
  EXPECT_FALSE(a_.Next());
  b_.Run({"lock.break", "k"});
  EXPECT_GT(Token(b_.Run({"lock.acquire", "k", "b", "lease", "1000"})), 0);
  EXPECT_FALSE(a_.Next());
  b_.Run({"rpush", "list", "2"});
  EXPECT_EQ(a_.Next().value_or(Reply()).text.substr(0, 5), "STALE");
  EXPECT_EQ(b_.Run({"lrange", "list", "0", "-1"}).ToText(), "[\"2\"]");
}

// What a crowd gets at the same moment is dealt out in slices: here by the answers of one turn.
class LockCrowd : public testing::Test {
 protected:
  static constexpr int kClients = 1000;
  static constexpr int kAnswersMax = 300;  // in one turn
  std::vector<TestClient*> Crowd(const std::function<void(TestClient&, int)>& ask) {
    std::vector<TestClient*> clients;
    for (int i = 0; i < kClients; ++i) ask(*clients.emplace_back(&server_.Connect()), i);
    return clients;
  }
  // Runs one turn after a request, then all others.
  void CheckSlices(const std::vector<TestClient*>& clients, const std::string& request,
                   const std::string& answer) {
    server_.engine().Receive(a_.id(), request);
    server_.Turn();
    const auto answered = [&] {
      return std::ranges::count_if(clients, [](TestClient* each) { return each->has_received(); });
    };
    EXPECT_GT(answered(), 0);
    EXPECT_LT(answered(), kAnswersMax);
    EXPECT_EQ(server_.Audit(), "");
    server_.Settle();
    for (TestClient* client : clients) EXPECT_THAT(client->TakeBytes(), testing::HasSubstr(answer));
  }
  TestEngine server_{{.audits = false}};
  TestClient& a_ = server_.Connect();
};

TEST_F(LockCrowd, IsRefusedInSlicesWhenTheKeyIsOverwritten) {
  a_.Run({"lock.acquire", "k", "a", "lease", "100000"});
  const auto clients = Crowd([](TestClient& client, int i) {
    client.Send({"lock.acquire", "k", std::to_string(i), "lease", "1", "wait", "100000"});
  });
  CheckSlices(clients, "SET k x\r\n", "-WRONGTYPE");
  EXPECT_EQ(server_.engine().part<LockService>().waiting(), 0u);
}

TEST_F(LockCrowd, GoesOnWaitingWhenTheKeyIsFreeBeforeItsTurn) {
  a_.Run({"lock.acquire", "k", "a", "lease", "100000"});
  const auto clients = Crowd([](TestClient& client, int i) {
    client.Send({"lock.acquire", "k", std::to_string(i), "lease", "100000", "shared", "wait", "9"});
  });
  a_.SendBytes("SET k x\r\nDEL k\r\n");
  int granted = 0;
  for (TestClient* client : clients) granted += client->TakeBytes()[0] == '*';
  EXPECT_GT(granted, kClients / 2);
  EXPECT_EQ(server_.engine().part<LockService>().waiting(), 0u);
}

TEST_F(LockCrowd, IsToldOfALossInSlices) {
  const auto clients = Crowd([](TestClient& client, int i) {
    client.Run({"hello", "3"});
    client.Run({"lock.acquire", "k", std::to_string(i), "shared", "lease", "100000", "notify"});
  });
  CheckSlices(clients, "DEL k\r\n", "lock-lost");
}

// One holder stays, so they do not end as a whole.
TEST_F(LockCrowd, LosesItsLeasesInSlices) {
  a_.Run({"lock.acquire", "k", "stays", "shared", "session"});
  for (int i = 0; i < 2 * kClients; ++i)
    a_.Run({"lock.acquire", "k", std::to_string(i), "shared", "lease", "100"});
  server_.clock().Advance(101);
  server_.Turn();
  const uint64_t ended = server_.engine().part<LockService>().counts().expired;
  EXPECT_GT(ended, 0u);
  EXPECT_LT(ended, kClients);
  server_.engine().Receive(a_.id(), "LOCK.ACQUIRE k 1999 SHARED LEASE 100\r\n");
  server_.Turn();
  EXPECT_LT(server_.engine().part<LockService>().counts().expired, 2u * kClients);
  EXPECT_EQ(a_.Next().value_or(Reply()).elements.at(2).integer, 1);  // a new hold
  server_.AdvanceTime(1000);
  EXPECT_EQ(server_.engine().part<LockService>().counts().expired, 2u * kClients + 1);
  EXPECT_EQ(server_.engine().part<LockService>().held(), 1u);
}

TEST_F(LocksTest, SizesHaveBounds) {
  const std::string long_key(1 << 20, 'k');
  EXPECT_GT(Token(a_.Run({"lock.acquire", long_key, "a", "lease", "10"})), 0);
  EXPECT_EQ(a_.Run({"lock.release", long_key, "a"}).ToText(), ":0");
  EXPECT_GT(Token(a_.Run({"lock.acquire", "k", std::string(1024, 'o'), "lease", "10"})), 0);
  EXPECT_EQ(a_.Run({"lock.acquire", "l", std::string(1025, 'o'), "lease", "10"}).ToText(),
            "-ERR owner is longer than 1024 bytes");
  EXPECT_EQ(
      a_.Run({"lock.acquire", "l", "o", "lease", "10", "label", std::string(1025, 'o')}).ToText(),
      "-ERR label is longer than 1024 bytes");
  std::vector<std::string> many{"lock.macquire", "1025"};
  for (int i = 0; i < 1025; ++i) many.push_back("k" + std::to_string(i));
  many.insert(many.end(), {"o", "lease", "10"});
  EXPECT_EQ(a_.Run(many).ToText(), "-ERR more than 1024 locks at once");
}

TEST_F(LocksTest, OnePauseHoldsHandOversBack) {
  a_.Run({"lock.acquire", "k", "a", "lease", "100"});
  b_.Send({"lock.acquire", "k", "b", "lease", "100", "wait", "10000"});
  c_.Run({"client", "pause", "500", "write"});
  server_.AdvanceTime(400);
  EXPECT_EQ(Granted(b_), 0);
  server_.AdvanceTime(110);
  EXPECT_GT(Granted(b_), 0);
}

// Sent in time, it is in time, however long it was held back.
TEST_F(LocksTest, ARenewalThatAPauseHeldBackComesBeforeTheLeaseEnds) {
  for (const char* const mode : {"write", "all"}) {
    a_.Run({"lock.acquire", "k", "a", "lease", "100"});
    b_.Send({"lock.acquire", "k", "b", "lease", "1000", "wait", "100000"});
    c_.Run({"client", "pause", "60000", mode});
    a_.Send({"lock.renew", "k", "a", "lease", "5000"});
    if (mode == std::string_view("write")) {
      server_.AdvanceTime(30'000);
      EXPECT_EQ(c_.Run({"lock.info", "k"}).elements.at(3).elements.at(0).elements.at(4).integer, 0)
          << "over, and still there";
    }
    server_.AdvanceTime(mode == std::string_view("write") ? 30'000 : 60'000);
    EXPECT_EQ(a_.Next()->ToText(), ":5000") << mode;
    EXPECT_EQ(Granted(b_), 0) << mode;
    server_.AdvanceTime(5001);
    EXPECT_GT(Granted(b_), 0) << mode;
    b_.Run({"lock.release", "k", "b"});
  }
}

TEST_F(LocksTest, TheEndOfAPauseIsTheEndOfLeasesWhoeverEndsIt) {
  a_.Run({"lock.acquire", "k", "a", "lease", "100"});
  b_.Send({"lock.acquire", "k", "b", "lease", "100", "wait", "100000"});
  c_.Run({"client", "pause", "60000", "write"});
  server_.AdvanceTime(1000);
  c_.Run({"client", "unpause"});
  server_.AdvanceTime(0);
  EXPECT_GT(Granted(b_), 0) << "not only when the pause was to end";
}

// Whatever frees a lock: in a pause it goes to nobody, for nothing is to change.
TEST_F(LocksTest, NothingIsHandedOverInAPause) {
  a_.Run({"lock.acquire", "k", "a", "session"});
  TestClient& impatient = server_.Connect();
  impatient.Send({"lock.acquire", "k", "i", "lease", "100", "wait", "200"});
  b_.Send({"lock.acquire", "k", "b", "lease", "100", "wait", "100000"});
  c_.Run({"client", "pause", "1000", "write"});
  a_.Disconnect();
  server_.AdvanceTime(300);
  EXPECT_EQ(impatient.Next()->ToText(), "(nil-array)") << "a wait ends on time";
  EXPECT_EQ(Granted(b_), 0);
  server_.AdvanceTime(700);
  EXPECT_GT(Granted(b_), 0);
}

TEST_F(LocksTest, NoLimitIsTakenFromInAPause) {
  a_.Run({"limit.take", "l", "window", "1", "100"});
  b_.Send({"limit.take", "l", "window", "1", "100", "wait", "5000"});
  c_.Run({"client", "pause", "1000", "write"});
  server_.AdvanceTime(500);
  EXPECT_FALSE(b_.has_received());
  server_.AdvanceTime(500);
  EXPECT_TRUE(b_.has_received());
}

}  // namespace
}  // namespace sluice
