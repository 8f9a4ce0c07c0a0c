// BlockTerms and waking, with a small family of commands of the test's own:
//   BLOCK.TAKE ms key [key ...]   pops a character of the first key that has one, else waits (0:
//   for
//                                ever); woken, it looks at the woken key alone
//   BLOCK.LOOK key                waits until the key is touched; null once it is gone
//   BLOCK.MOVE from to            takes a character of `from`, waits for it, appends it to `to`
//   BLOCK.FOR n                   waits for BLOCK.ANSWER n text
//   BLOCK.ANSWER n text           -> whether a client waited for n
// Keys are strings here, one that has no characters is deleted.

#include "server/waiting/waiters.h"

#include <gtest/gtest.h>

#include <map>

#include "protocol/text/number_text.h"
#include "server/clients/clients.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/dispatcher.h"
#include "server/engine/engine.h"
#include "server/locks/lock_waits.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

bool PopCharacter(CommandCall& call, std::string_view key, std::string& taken) {
  const HashedKey hashed = call.keyspace.Hash(key);
  Entry* entry = call.db.Modify(hashed, call.now);
  if (!entry) return false;
  char scratch[Entry::kTextScratch];
  const std::string text(entry->Text(scratch));
  taken = text.substr(0, 1);
  call.ChangedUnannounced(key);
  if (text.size() == 1) return call.db.Delete(hashed, call.now);
  call.db.SetText(*entry, text.substr(1));
  return true;
}

void AppendText(CommandCall& call, std::string_view key, const std::string& more) {
  const HashedKey hashed = call.keyspace.Hash(key);
  char scratch[Entry::kTextScratch];
  const Entry* entry = call.db.Find(hashed, call.now);
  const std::string text = entry ? std::string(entry->Text(scratch)) + more : more;
  call.db.PutTextAsIs(hashed, text, Deadline::None(), call.now);
  call.ChangedUnannounced(key);
}

void Take(CommandCall& call) {
  const Args keys = call.args.subspan(2);
  std::string taken;
  for (const std::string_view key : keys) {
    if (call.woken && key != call.woken_key) continue;
    const HashedKey hashed = call.keyspace.Hash(key);
    if (!call.db.Find(hashed, call.now)) continue;
    PopCharacter(call, key, taken);
    call.reply.Array(2);
    call.reply.Bulk(key);
    return call.reply.Bulk(taken);
  }
  const int64_t ms = *ParseInt64(call.args[1]);
  Block(call, keys, {.deadline_ms = ms == 0 ? 0 : call.now.ms() + ms});
}

void Look(CommandCall& call) {
  if (!call.woken) {
    return Block(call, call.args.subspan(1), {.type = ValueType::kList, .when_gone = true});
  }
  const bool there = call.db.Find(call.Key(1), call.now) != nullptr;
  there ? call.reply.Status("there") : call.reply.Null();
}

void TooLate(CommandCall& call) { call.reply.Bulk(call.args[2]); }

void Move(CommandCall& call) {
  if (!call.db.Find(call.Key(1), call.now)) {
    return Block(call, call.args.subspan(1, 1), {.on_timeout = TooLate});
  }
  std::string taken;
  PopCharacter(call, call.args[1], taken);
  AppendText(call, call.args[2], taken);
  call.reply.Bulk(taken);
}

// A part whose clients wait for numbers: what a lock or a limiter would be.
struct Numbers : WaitOwner {
  void WaitCancelled(uint64_t wait_id, WaitEnd) override { waits.erase(wait_id); }
  std::map<uint64_t, SessionId> waits;
};
Numbers numbers;

void WaitFor(CommandCall& call) {
  const auto number = static_cast<uint64_t>(*ParseInt64(call.args[1]));
  if (call.may_block()) numbers.waits[number] = call.client.id;
  Block(call, {}, {.deadline_ms = call.now.ms() + 1000, .owner = &numbers, .wait_id = number});
}

void Answer(CommandCall& call) {
  const auto found = numbers.waits.find(static_cast<uint64_t>(*ParseInt64(call.args[1])));
  call.reply.Integer(found != numbers.waits.end());
  if (found == numbers.waits.end()) return;
  Session* session = call.part<Clients>().Find(found->second);
  numbers.waits.erase(found);
  call.part<Waiters>().blocked_clients().Finish(*session,
                                                [&](ReplySink& sink) { sink.Bulk(call.args[2]); });
}

// Runs what follows, as FENCED does, unless its key says "no".
void Guard(CommandCall& call) {
  const Entry* gate = call.db.Find(call.Key(1), call.now);
  if (gate) return call.reply.Error("ERR no");
  const Args inner = call.args.subspan(2);
  const std::optional<Request> request = call.part<const CommandTable>().Check(inner);
  call.part<Dispatcher>().Run(call.client, *request, call.reply);
  call.part<Waiters>().blocked_clients().Wrap(call, 2);
}

constexpr CommandRow Row(std::string_view name, int arity, Handler run) {
  return {.name = name,
          .arity = arity,
          .flags = kWrite | kBlocking,
          .categories = kCatDangerous,  // which keys it looks for is no concern here
          .run = run,
          .group = "test",
          .summary = "For this test."};
}
constexpr CommandRow kRows[] = {
    Row("BLOCK.TAKE", -3, Take),  Row("BLOCK.LOOK", 2, Look),     Row("BLOCK.MOVE", 3, Move),
    Row("BLOCK.FOR", 2, WaitFor), Row("BLOCK.ANSWER", 3, Answer), Row("BLOCK.GUARD", -3, Guard),
};

class WaitersTest : public testing::Test {
 protected:
  WaitersTest() { numbers.waits.clear(); }
  ~WaitersTest() override {
    EXPECT_EQ(waiters().keys() > 0, waiters().blocked_clients().size() > 0 && !without_keys_);
  }

  TestClient& Connect() { return server_.Connect(); }
  Waiters& waiters() { return server_.engine().part<Waiters>(); }
  // Without quotes; a null array is the time-out's answer.
  std::string Text(TestClient& client) {
    const std::optional<Reply> reply = client.Next();
    return reply ? Plain(*reply) : "waits";
  }
  static std::string Plain(const Reply& reply) {
    std::string text = reply.ToText();
    std::erase(text, '"');
    return text;
  }
  uint64_t IdOf(TestClient& client) { return server_.engine().Find(client.id())->client_id; }

  TestEngine server_{{.families = {{"block", kSpecsOf<kRows>}}}};
  bool without_keys_ = false;
  TestClient& a_ = Connect();
  TestClient& b_ = Connect();
  TestClient& c_ = Connect();
};

TEST_F(WaitersTest, ServedInOrderOfArrival) {
  a_.Send({"block.take", "0", "k"});
  b_.Send({"block.take", "0", "k"});
  EXPECT_EQ(waiters().blocked_clients().size(), 2u);
  EXPECT_EQ(c_.Run({"append", "k", "x"}).ToText(), ":1");
  EXPECT_EQ(Text(a_), "[k, x]");
  EXPECT_EQ(Text(b_), "waits");
  EXPECT_EQ(c_.Run({"exists", "k"}).ToText(), ":0");
  c_.Run({"append", "k", "yz"});
  EXPECT_EQ(Text(b_), "[k, y]");
  EXPECT_EQ(c_.Run({"get", "k"}).ToText(), "\"z\"");
  EXPECT_EQ(waiters().blocked_clients().size(), 0u);
}

TEST_F(WaitersTest, KeysInTheOrderInWhichTheyBecameReady) {
  a_.Send({"block.take", "0", "k1", "k2", "k1"});
  b_.Send({"block.take", "0", "k1"});
  EXPECT_EQ(waiters().keys(), 2u);
  c_.Run({"multi"});
  c_.Run({"set", "k2", "two"});
  c_.Run({"set", "k1", "one"});
  c_.Run({"exec"});
  EXPECT_EQ(Text(a_), "[k2, t]");
  EXPECT_EQ(Text(b_), "[k1, o]");
  EXPECT_EQ(waiters().keys(), 0u);
}

TEST_F(WaitersTest, ScriptsAndTransactionsAreServedAfterTheirEnd) {
  a_.Send({"block.take", "0", "k"});
  c_.Run({"eval", "redis.call('set', 'k', 'v') redis.call('del', 'k')", "0"});
  EXPECT_EQ(Text(a_), "waits");
  c_.Run({"eval", "redis.call('set', 'k', 'v') redis.call('set', 'k', 'w')", "0"});
  EXPECT_EQ(Text(a_), "[k, w]");
}

TEST_F(WaitersTest, NothingWaitsInsideMultiAndScripts) {
  c_.Run({"multi"});
  c_.Run({"block.take", "0", "k"});
  c_.Run({"block.move", "k", "l"});
  c_.Run({"block.for", "1"});
  EXPECT_EQ(c_.Run({"exec"}).ToText(), "[(nil-array), \"l\", (nil-array)]");
  EXPECT_EQ(c_.Run({"eval", "return redis.call('block.move', 'k', 'l')", "0"}).ToText(), "\"l\"");
  EXPECT_EQ(waiters().blocked_clients().size(), 0u);
  EXPECT_TRUE(numbers.waits.empty());
}

TEST_F(WaitersTest, AChainIsServedToItsEnd) {
  a_.Send({"block.move", "k3", "k4"});
  b_.Send({"block.move", "k2", "k3"});
  c_.Send({"block.move", "k1", "k2"});
  TestClient& d = Connect();
  EXPECT_EQ(d.Run({"append", "k1", "x"}).ToText(), ":1");
  EXPECT_EQ(Text(c_) + Text(b_) + Text(a_), "xxx");
  EXPECT_EQ(d.Run({"get", "k4"}).ToText(), "\"x\"");
}

TEST_F(WaitersTest, DeadlineAnswersAndLeavesNothing) {
  a_.Send({"block.take", "50", "k"});
  b_.Send({"block.take", "0", "k"});
  EXPECT_EQ(waiters().blocked_clients().with_deadline(), 1u);
  server_.AdvanceTime(49);
  EXPECT_EQ(Text(a_), "waits");
  server_.AdvanceTime(1);
  EXPECT_EQ(Text(a_), "(nil-array)");
  EXPECT_EQ(waiters().blocked_clients().size(), 1u);
  EXPECT_EQ(waiters().blocked_clients().with_deadline(), 0u);
  c_.Run({"set", "k", "x"});
  EXPECT_EQ(Text(b_), "[k, x]");
  EXPECT_EQ(a_.Run({"ping"}).ToText(), "+PONG");
}

// It begins within a millisecond, and ends behind the whole ones that it was told.
TEST_F(WaitersTest, NoWaitIsShorterThanItWasToBe) {
  server_.clock().AdvanceMicros(900);
  a_.Send({"blpop", "none", "0.002"});
  server_.clock().AdvanceMicros(100);
  server_.AdvanceTime(1);
  EXPECT_EQ(Text(a_), "waits");
  server_.AdvanceTime(1);
  EXPECT_EQ(Text(a_), "(nil-array)");
}

TEST_F(WaitersTest, RequestsBehindItWait) {
  a_.SendBytes("BLOCK.TAKE 0 k\r\nECHO one\r\nBLOCK.TAKE 0 k\r\nECHO two\r\n");
  EXPECT_EQ(Text(a_), "waits");
  a_.SendBytes("ECHO three\r\n");
  c_.Run({"set", "k", "x"});
  EXPECT_EQ(Text(a_), "[k, x]");
  EXPECT_EQ(Text(a_), "one");
  EXPECT_EQ(Text(a_), "waits");
  c_.Run({"set", "k", "y"});
  EXPECT_EQ(Text(a_), "[k, y]");
  EXPECT_EQ(Text(a_), "two");
  EXPECT_EQ(Text(a_), "three");
}

TEST_F(WaitersTest, ClosedClientsLeaveTheirPlace) {
  a_.Send({"block.take", "1000", "k"});
  b_.Send({"block.take", "0", "k"});
  a_.Disconnect();
  EXPECT_EQ(waiters().blocked_clients().size(), 1u);
  EXPECT_EQ(waiters().blocked_clients().with_deadline(), 0u);
  // Killed and passed over in the same turn.
  TestClient& d = Connect();
  d.Send({"block.take", "0", "k"});
  const std::string id = std::to_string(IdOf(b_));
  c_.SendBytes("CLIENT KILL ID " + id + "\r\nSET k x\r\n");
  EXPECT_EQ(Text(c_), ":1");
  EXPECT_EQ(Text(c_), "+OK");
  EXPECT_TRUE(b_.closed());
  EXPECT_EQ(Text(d), "[k, x]");
}

TEST_F(WaitersTest, Unblock) {
  const auto unblock = [&](TestClient& whom, const std::string& how) {
    return c_.Run({"client", "unblock", std::to_string(IdOf(whom)), how}).ToText();
  };
  EXPECT_EQ(unblock(a_, "timeout"), ":0");
  a_.Send({"block.take", "0", "k"});
  EXPECT_EQ(c_.Run({"client", "list"}).ToText().find("flags=b") != std::string::npos, true);
  EXPECT_EQ(unblock(a_, "timeout"), ":1");
  EXPECT_EQ(Text(a_), "(nil-array)");
  a_.Send({"block.move", "k", "l"});
  EXPECT_EQ(unblock(a_, "timeout"), ":1");
  EXPECT_EQ(Text(a_), "l");
  a_.Send({"block.take", "0", "k"});
  EXPECT_EQ(unblock(a_, "error"), ":1");
  EXPECT_EQ(Text(a_), "-UNBLOCKED client unblocked via CLIENT UNBLOCK");
  EXPECT_EQ(unblock(a_, "error"), ":0");

  // Each has failed, as far as statistics go.
  const std::string counted = c_.Run({"info", "commandstats"}).ToText();
  const std::string take = counted.substr(counted.find("cmdstat_block.take:"));
  EXPECT_EQ(take.find("failed_calls=2\\r"), take.find("failed_calls="));
}

TEST_F(WaitersTest, TypesAndMissingKeys) {
  a_.Send({"block.look", "k"});  // wants a list, or to know that there is none
  EXPECT_EQ(Text(a_), "waits");
  c_.Run({"del", "k"});  // was not there: nothing is touched
  EXPECT_EQ(Text(a_), "waits");
  c_.Run({"set", "k", "x"});
  EXPECT_EQ(Text(a_), "+there");
  a_.Send({"block.look", "k"});
  c_.Run({"del", "k"});
  EXPECT_EQ(Text(a_), "(nil)");
  c_.Run({"set", "k", "x", "px", "10"});
  a_.Send({"block.look", "k"});
  server_.AdvanceTime(10);
  EXPECT_EQ(Text(a_), "(nil)");
  c_.Run({"set", "k", "x"});
  a_.Send({"block.look", "k"});
  c_.Run({"flushall"});
  EXPECT_EQ(Text(a_), "(nil)");
}

// A stream that changes and gets no entry is no reason to look; whatever way one comes, it is.
TEST_F(WaitersTest, ReadersOfAStreamMissNoEntry) {
  const std::vector<std::vector<std::string>> kWays = {
      {"XADD s 6-1 f v"},
      {"PEXPIRE s 100000", "XADD s 6-1 f v"},
      {"XDEL s 5-1", "XADD s 6-1 f v"},
      {"DEL s", "XADD s 6-1 f v"},
      {"DEL s", "SET s text", "DEL s", "XADD s 6-1 f v"},
      {"XTRIM s MAXLEN 0", "XSETID s 9-1", "XADD s 9-2 f v"},
      {"MULTI", "DEL s", "XADD s 6-1 f v", "EXEC"},
      {"SELECT 1", "XADD s 7-1 f v", "SWAPDB 0 1"},
      {"COPY other s REPLACE"},
      {"RENAME other s"},
  };
  for (const std::vector<std::string>& way : kWays) {
    TestClient& writer = Connect();
    writer.Line("FLUSHALL");
    writer.Line("XADD s 1-1 f v");
    writer.Line("XADD s 5-1 f v");
    writer.Line("XADD other 8-1 f v");
    TestClient& newest = Connect();
    TestClient& second = Connect();
    newest.Send({"XREAD", "BLOCK", "0", "STREAMS", "s", "$"});
    writer.Line("PEXPIRE s 200000");  // all have been looked at
    second.Send({"XREAD", "BLOCK", "0", "STREAMS", "s", "5-5"});
    for (const std::string& line : way) writer.Line(line);
    EXPECT_TRUE(newest.Next().has_value()) << way.front() << ", " << way.back();
    EXPECT_TRUE(second.Next().has_value()) << way.front() << ", " << way.back();
  }
  // One that came while there was no stream is content with less than one that came before.
  TestClient& writer = Connect();
  writer.Line("FLUSHALL");
  writer.Line("XADD s 5-1 f v");
  TestClient& early = Connect();
  TestClient& late = Connect();
  early.Send({"XREAD", "BLOCK", "0", "STREAMS", "s", "$"});
  writer.Line("DEL s");
  late.Send({"XREAD", "BLOCK", "0", "STREAMS", "s", "0"});
  writer.Line("XADD s 3-1 f v");
  EXPECT_FALSE(early.Next().has_value());
  EXPECT_TRUE(late.Next().has_value());
  writer.Line("XADD s 6-1 f v");
  EXPECT_TRUE(early.Next().has_value());
}

TEST_F(WaitersTest, SwapBringsAKey) {
  c_.Run({"select", "1"});
  c_.Run({"set", "k", "x"});
  a_.Send({"block.take", "0", "k"});
  b_.Send({"block.take", "0", "k"});
  c_.Run({"swapdb", "0", "1"});
  EXPECT_EQ(Text(a_), "[k, x]");
  EXPECT_EQ(Text(b_), "waits");
  c_.Run({"set", "k", "y"});  // in the other database
  EXPECT_EQ(Text(b_), "waits");
  c_.Run({"move", "k", "0"});
  EXPECT_EQ(Text(b_), "[k, y]");
}

TEST_F(WaitersTest, WithoutKeysTheOwnerAnswersOrIsTold) {
  without_keys_ = true;
  a_.Send({"block.for", "1"});
  b_.Send({"block.for", "2"});
  EXPECT_EQ(c_.Run({"block.answer", "1", "hello"}).ToText(), ":1");
  EXPECT_EQ(Text(a_), "hello");
  server_.AdvanceTime(1000);
  EXPECT_EQ(Text(b_), "(nil-array)");
  EXPECT_TRUE(numbers.waits.empty());
  a_.Send({"block.for", "3"});
  b_.Send({"block.for", "4"});
  a_.Disconnect();
  EXPECT_EQ(numbers.waits.size(), 1u);
  c_.Run({"client", "unblock", std::to_string(IdOf(b_)), "error"});
  EXPECT_TRUE(numbers.waits.empty());
  EXPECT_EQ(waiters().blocked_clients().size(), 0u);
}

TEST_F(WaitersTest, AWrappedCommandIsRunFromItsOutside) {
  a_.Send({"block.guard", "gate", "block.take", "0", "k"});
  b_.Send({"block.guard", "gate", "block.take", "0", "k"});
  c_.Run({"set", "k", "x"});
  EXPECT_EQ(Text(a_), "[k, x]");
  c_.Run({"set", "gate", "shut"});
  EXPECT_EQ(Text(b_), "waits");
  c_.Run({"set", "k", "y"});
  EXPECT_EQ(Text(b_), "-ERR no");
  EXPECT_EQ(c_.Run({"get", "k"}).ToText(), "\"y\"");
}

TEST_F(WaitersTest, CountedOnceAndSilentWhenRepliesAreOff) {
  a_.SendBytes("CLIENT REPLY SKIP\r\nBLOCK.TAKE 0 k\r\nECHO after\r\n");
  EXPECT_NE(c_.Run({"info", "clients"}).ToText().find("blocked_clients:1"), std::string::npos);
  c_.Run({"set", "k", "x"});
  EXPECT_EQ(Text(a_), "after");
  const std::string counted = c_.Run({"info", "commandstats"}).ToText();
  EXPECT_NE(counted.find("block.take:calls=1,"), std::string::npos);
}

TEST_F(WaitersTest, PauseHoldsRequestsNotWaits) {
  a_.Send({"block.take", "100", "k"});
  c_.Run({"client", "pause", "1000", "all"});
  server_.AdvanceTime(100);
  EXPECT_EQ(Text(a_), "(nil-array)");
  a_.Send({"block.take", "100", "k"});
  EXPECT_EQ(waiters().blocked_clients().size(), 0u);  // held back, not blocked
  server_.AdvanceTime(900);
  EXPECT_EQ(waiters().blocked_clients().size(), 1u);
  server_.AdvanceTime(100);
  EXPECT_EQ(Text(a_), "(nil-array)");
}

}  // namespace
}  // namespace sluice
