// SLUICE.FAULT: which requests a rule hits, what happens to them, and what nothing happens to.
#include <gtest/gtest.h>

#include "server/test_double/fault_rule.h"
#include "tests/support/command_line.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class FaultsTest : public testing::Test {
 protected:
  static TestEngine::Options Double() {
    TestEngine::Options options;
    options.test_double = true;
    return options;
  }
  std::string Ask(TestClient& client, std::string_view line) { return client.Line(line).ToText(); }
  std::string Ask(std::string_view line) { return Ask(client_, line); }
  // What the connection that sets the rules is answered.
  std::string Rule(std::string_view line) {
    return Ask(tester_, "sluice.fault add " + std::string(line));
  }
  std::string Clear() { return Ask(tester_, "sluice.fault clear"); }
  void Send(std::string_view line) { client_.Send(*SplitCommandLine(line)); }

  TestEngine server_{Double()};
  TestClient& tester_ = server_.Connect();
  TestClient& client_ = server_.Connect();
  TestClient& other_ = server_.Connect();
};

// --- rules

TEST_F(FaultsTest, ARuleThatMakesNoSenseIsRefusedInWords) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"command get",
       "-ERR a rule needs an action: ERROR, DELAY, CLOSE, DROP, TRUNCATE, HANG, SPLIT, STATE, "
       "MOVED, ASK or FAILOVER"},
      {"drop close", "-ERR DROP and CLOSE exclude each other in a rule"},
      {"drop drop", "-ERR DROP is given twice"},
      {"key a key b drop", "-ERR KEY is given twice"},
      {"client 1 name a drop", "-ERR CLIENT and NAME exclude each other in a rule"},
      {"nth 1 prob 1 drop", "-ERR NTH and PROB exclude each other in a rule"},
      {"before after drop", "-ERR BEFORE and AFTER exclude each other in a rule"},
      {"before split", "-ERR SPLIT is about an answer: there is none BEFORE"},
      {"truncate 3 before", "-ERR TRUNCATE is about an answer: there is none BEFORE"},
      {"command nosuch drop", "-ERR there is no command 'nosuch' that a rule could be for"},
      {"command sluice.clock drop", "-ERR commands of the test double itself are never hit"},
      {"nth 0 drop", "-ERR NTH must be 1 to 9223372036854775807"},
      {"times -1 drop", "-ERR TIMES must be 1 to 9223372036854775807"},
      {"prob 2 drop", "-ERR PROB must be above 0 and at most 1"},
      {"prob 0 drop", "-ERR PROB must be above 0 and at most 1"},
      {"prob nan drop", "-ERR PROB must be above 0 and at most 1"},
      {"delay -1", "-ERR DELAY must be 1 to 3155760000000 ms"},
      {"delay 3155760000001", "-ERR DELAY must be 1 to 3155760000000 ms"},
      {"truncate -1", "-ERR TRUNCATE must be 0 to 1099511627776 bytes"},
      {"args 0 drop", "-ERR ARGS must be 1 to 1048576"},
      {"moved nowhere", "-ERR MOVED needs an address: host:port"},
      {"ask host:70000", "-ERR ASK needs an address: host:port"},
      {"state TIRED",
       "-ERR STATE is one of LOADING, READONLY, OOM, MISCONF, BUSY, NOREPLICAS, MASTERDOWN"},
      {"error \"a\\nb\"", "-ERR the text of ERROR is one line of 1 to 4096 bytes"},
      {"error", "-ERR ERROR needs its text"},
      {"drop often", "-ERR 'often' is no word of a rule; see SLUICE.FAULT HELP"},
  };
  for (const auto& [rule, answer] : kCases) EXPECT_EQ(Rule(rule), answer) << rule;
  EXPECT_EQ(Rule("drop key " + std::string(257, 'a')), "-ERR a pattern has at most 256 bytes");
  EXPECT_EQ(Ask(tester_, "sluice.fault list"), "[]");
}

TEST_F(FaultsTest, RulesAreListedInTheirCanonicalFormWithTheirHits) {
  EXPECT_EQ(Rule("times 2 error Busy key lock:* command set"), ":1");
  EXPECT_EQ(Rule("command client setname after drop"), ":2");
  EXPECT_EQ(Rule("split"), ":3");
  EXPECT_EQ(Ask("set lock:1 me"), "-ERR Busy");
  EXPECT_EQ(Ask(tester_, "sluice.fault list"),
            "[[:1, [\"TIMES\", \"2\", \"BEFORE\", \"ERROR\", \"ERR Busy\", \"KEY\", \"lock:*\", "
            "\"COMMAND\", \"SET\"], :1, :1], "
            "[:2, [\"COMMAND\", \"CLIENT\", \"SETNAME\", \"AFTER\", \"DROP\"], :0, :0], "
            "[:3, [\"AFTER\", \"SPLIT\"], :0, :0]]");
  EXPECT_EQ(Ask(tester_, "sluice.fault del 2"), ":1");
  EXPECT_EQ(Ask(tester_, "sluice.fault del 2"), ":0");
  EXPECT_EQ(Clear(), ":2");
  EXPECT_EQ(Ask("set lock:1 me"), "+OK");
}

TEST_F(FaultsTest, ThereAreSoManyRulesAndNotMore) {
  for (int i = 0; i < 10'000; ++i) {
    tester_.Send({"SLUICE.FAULT", "ADD", "COMMAND", "GET", "KEY", "no*such", "DROP"});
    if (i % 1000 == 0) {
      EXPECT_EQ(Ask("get key"), "(nil)");
    }
  }
  tester_.TakeBytes();
  EXPECT_EQ(Rule("drop"), "-ERR there are 10000 rules already");
  EXPECT_EQ(Ask("get key"), "(nil)");
  EXPECT_EQ(Clear(), ":10000");
}

// --- what matches

TEST_F(FaultsTest, ARuleIsForACommandOrASubcommand) {
  Rule("command get error A");
  Rule("command client setname error B");
  Rule("command 'config|get' error C");
  Rule("command object error D");
  EXPECT_EQ(Ask("GET k"), "-A");
  EXPECT_EQ(Ask("set k v"), "+OK");
  EXPECT_EQ(Ask("client getname"), "(nil)");
  EXPECT_EQ(Ask("client setname me"), "-B");
  EXPECT_EQ(Ask("config get port"), "-C");
  EXPECT_EQ(Ask("object encoding k"), "-D");
  EXPECT_EQ(Ask("object help me"), "-D");  // a word too many: as it was sent
}

TEST_F(FaultsTest, ARuleIsForKeysOfEveryKindOfCommand) {
  Rule("key lock:* error A");
  EXPECT_EQ(Ask("get lock"), "(nil)");
  EXPECT_EQ(Ask("get lock:1"), "-A");
  EXPECT_EQ(Ask("mget a b lock:1"), "-A");
  EXPECT_EQ(Ask("mset a lock:1"), "+OK");  // a value
  EXPECT_EQ(Ask("lock.acquire lock:1 me lease 1000"), "-A");
  EXPECT_EQ(Ask("eval 'return 1' 1 lock:1"), "-A");
  EXPECT_EQ(Ask("eval \"return redis.call('get', 'lock:1')\" 0"), "(nil)");  // inside of it
  EXPECT_EQ(Ask("fenced other 1 set lock:1 v"), "-A");
  EXPECT_EQ(Ask("get lock:1 more").substr(0, 19), "-ERR wrong number o");  // no request, no keys
  EXPECT_EQ(Ask("nosuch lock:1").substr(0, 19), "-ERR unknown comman");
}

TEST_F(FaultsTest, ARuleIsForAClientItsNameOrANumberOfWords) {
  EXPECT_EQ(Rule("client 2 command get error A"), ":1");
  Rule("name worker-* command get error B");
  Rule("args 3 error C");
  EXPECT_EQ(Ask("client id"), ":2");
  EXPECT_EQ(Ask("get k"), "-A");
  EXPECT_EQ(Ask(other_, "get k"), "(nil)");
  EXPECT_EQ(Ask(other_, "client setname worker-1"), "-C");
  Ask(tester_, "sluice.fault del 3");
  EXPECT_EQ(Ask(other_, "client setname worker-1"), "+OK");
  EXPECT_EQ(Ask(other_, "get k"), "-B");
}

TEST_F(FaultsTest, NthAndTimesCountRequestsThatMatch) {
  Rule("command get nth 3 error A");
  for (const auto* answer : {"(nil)", "(nil)", "-A", "(nil)"}) EXPECT_EQ(Ask("get k"), answer);
  Clear();
  Rule("command get nth 2 times 2 error A");
  for (const auto* answer : {"(nil)", "-A", "-A", "(nil)"}) EXPECT_EQ(Ask("get k"), answer);
  Clear();
  Rule("command get times 1 error A");
  Rule("command get times 1 error B");
  for (const auto* answer : {"-A", "-B", "(nil)"}) EXPECT_EQ(Ask("get k"), answer);
}

TEST_F(FaultsTest, ChanceIsRepeatable) {
  const auto run = [this] {
    TestEngine server{Double()};
    TestClient& tester = server.Connect();
    TestClient& client = server.Connect();
    Ask(tester, "sluice.fault add command get prob 0.5 error A");
    std::string hits;
    for (int i = 0; i < 100; ++i) hits += Ask(client, "get k") == "-A" ? 'x' : '.';
    return hits;
  };
  const std::string hits = run();
  EXPECT_EQ(hits, run());
  EXPECT_GT(std::ranges::count(hits, 'x'), 25);
  EXPECT_LT(std::ranges::count(hits, 'x'), 75);
  Rule("prob 1 error A");
  EXPECT_EQ(Ask("get k"), "-A");
}

TEST_F(FaultsTest, WhoSetsRulesIsNeverHitNorAreTheDoublesOwnCommands) {
  Rule("error A");
  EXPECT_EQ(Ask(tester_, "get k"), "(nil)");
  EXPECT_EQ(Ask("get k"), "-A");
  EXPECT_EQ(Ask("sluice.clock freeze"), "+OK");
  EXPECT_EQ(Ask("sluice.fault add command set error B"), ":2");
  EXPECT_EQ(Ask("get k"), "(nil)");  // it sets rules now
  EXPECT_EQ(Ask("sluice.fault del 2"), ":1");
  EXPECT_EQ(Ask("get k"), "-A");
}

// --- errors

TEST_F(FaultsTest, AnErrorIsAnsweredAsGiven) {
  Rule("times 1 error 'OOM command not allowed'");
  EXPECT_EQ(Ask("set k v"), "-OOM command not allowed");
  Rule("times 1 error 'not now'");
  EXPECT_EQ(Ask("set k v"), "-ERR not now");
  Rule("times 1 error '-WRONGTYPE no'");
  EXPECT_EQ(Ask("set k v"), "-WRONGTYPE no");
  EXPECT_EQ(Ask("exists k"), ":0");
  Rule("times 1 after error 'OOM gone'");
  EXPECT_EQ(Ask("set k v"), "-OOM gone");
  EXPECT_EQ(Ask("exists k"), ":1");
}

TEST_F(FaultsTest, StatesAnswerInRedisWords) {
  const std::pair<std::string_view, std::string_view> kStates[] = {
      {"loading", "-LOADING Redis is loading the dataset in memory"},
      {"readonly", "-READONLY You can't write against a read only replica."},
      {"oom", "-OOM command not allowed when used memory > 'maxmemory'."},
      {"misconf",
       "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist "
       "to disk. Commands that may modify the data set are disabled, because this instance is "
       "configured to report errors during writes if RDB snapshotting fails "
       "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the "
       "RDB error."},
      {"busy",
       "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."},
      {"noreplicas", "-NOREPLICAS Not enough good replicas to write."},
      {"masterdown",
       "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."},
  };
  for (const auto& [state, answer] : kStates) {
    Rule("times 1 state " + std::string(state));
    EXPECT_EQ(Ask("set k v"), answer);
  }
}

TEST_F(FaultsTest, RedirectionsNameTheSlotOfTheFirstKey) {
  Rule("moved 10.0.0.7:6380");
  EXPECT_EQ(Ask("get 123456789"), "-MOVED 12739 10.0.0.7:6380");
  EXPECT_EQ(Ask("ping"), "+PONG");  // no key, no slot
  Clear();
  Rule("ask [::1]:7000");
  EXPECT_EQ(Ask("get 123456789"), "-ASK 12739 [::1]:7000");
}

// --- connections

TEST_F(FaultsTest, AConnectionIsClosedBeforeOrBehindItsCommand) {
  Rule("command set close");
  client_.SendBytes("PING\r\nSET k v\r\nPING\r\n");
  EXPECT_EQ(client_.TakeBytes(), "+PONG\r\n");  // what was answered before still comes
  EXPECT_TRUE(client_.closed());
  EXPECT_EQ(Ask(tester_, "exists k"), ":0");
  Clear();
  Rule("command set after close");
  other_.SendBytes("PING\r\nSET k v\r\nPING\r\n");
  EXPECT_EQ(other_.TakeBytes(), "+PONG\r\n");
  EXPECT_TRUE(other_.closed());
  EXPECT_EQ(Ask(tester_, "exists k"), ":1");
}

TEST_F(FaultsTest, ADroppedReplyNeverComes) {
  Rule("command set drop");
  client_.SendBytes("PING\r\nSET k v\r\nECHO a\r\n");
  EXPECT_EQ(client_.TakeBytes(), "+PONG\r\n$1\r\na\r\n");
  EXPECT_EQ(Ask("exists k"), ":0");
  Clear();
  Rule("command set after drop");
  client_.SendBytes("PING\r\nSET k v\r\nECHO a\r\n");
  EXPECT_EQ(client_.TakeBytes(), "+PONG\r\n$1\r\na\r\n");
  EXPECT_EQ(Ask("exists k"), ":1");
}

TEST_F(FaultsTest, AnAnswerIsTruncatedAndTheConnectionClosed) {
  Ask("set k 0123456789");
  Rule("command get truncate 7");
  client_.SendBytes("PING\r\nGET k\r\nPING\r\n");
  EXPECT_EQ(client_.TakeBytes(), "+PONG\r\n$10\r\n01");
  EXPECT_TRUE(client_.closed());
  Clear();
  Rule("command get truncate 100");
  other_.SendBytes("GET k\r\nPING\r\n");
  EXPECT_EQ(other_.TakeBytes(), "$10\r\n0123456789\r\n");
  EXPECT_TRUE(other_.closed());
}

TEST_F(FaultsTest, ALongAnswerIsTruncatedAcrossBlocks) {
  const std::string value(100'000, 'x');
  client_.Run({"set", "k", value});
  for (const size_t bytes : {1, 950, 1000, 20'000, 99'999}) {
    Clear();
    Rule("command mget truncate " + std::to_string(bytes));
    TestClient& client = server_.Connect();
    client.SendBytes("GET k\r\nMGET k k\r\n");
    const std::string all = "$100000\r\n" + value + "\r\n*2\r\n$100000\r\n" + value;
    EXPECT_EQ(client.TakeBytes(), all.substr(0, value.size() + 11 + bytes));
    EXPECT_TRUE(client.closed());
  }
}

TEST_F(FaultsTest, AnAnswerIsSplitIntoBytes) {
  Ask("set k abc");
  Rule("command get split");
  server_.engine().Receive(client_.id(), "PING\r\nGET k\r\nECHO d\r\n");
  std::string pieces;
  while (server_.Turn()) {
    pieces += client_.TakeBytes() + "|";
  }
  EXPECT_EQ(pieces, "+PONG\r\n|$|3|\r|\n|a|b|c|\r|\n|");
  server_.Settle();
  EXPECT_EQ(client_.TakeBytes(), "$1\r\nd\r\n");
}

TEST_F(FaultsTest, AClientThatDoesNotReadItsBytesHoldsNobodyUp) {
  Ask("set k abc");
  Rule("command get split");
  client_.set_reading(false);
  Send("get k");
  EXPECT_EQ(Ask(other_, "ping"), "+PONG");
  client_.set_reading(true);
  EXPECT_EQ(client_.TakeBytes(), "$3\r\nabc\r\n");
  EXPECT_EQ(Ask("ping"), "+PONG");
}

// --- waiting

TEST_F(FaultsTest, ADelayIsOneOfTheDoublesClock) {
  Ask(tester_, "sluice.clock freeze");
  Rule("command set delay 1000");
  client_.SendBytes("PING\r\nSET k v\r\nECHO a\r\n");
  EXPECT_EQ(client_.TakeBytes(), "+PONG\r\n");
  EXPECT_EQ(Ask(tester_, "sluice.clock advance 999"), "+OK");
  EXPECT_EQ(Ask(tester_, "exists k"), ":0");
  EXPECT_EQ(Ask(tester_, "sluice.clock advance 1"), "+OK");
  EXPECT_EQ(client_.TakeBytes(), "+OK\r\n$1\r\na\r\n");
  EXPECT_EQ(Ask(tester_, "sluice.fault list").substr(0, 4), "[[:1");

  Clear();
  Rule("command set delay 1000 after");
  client_.SendBytes("PING\r\nSET k w\r\nECHO a\r\n");
  EXPECT_EQ(client_.TakeBytes(), "+PONG\r\n");
  EXPECT_EQ(Ask(tester_, "get k"), "\"w\"");
  EXPECT_EQ(Ask(tester_, "sluice.clock next"), ":1000");
  EXPECT_EQ(client_.TakeBytes(), "+OK\r\n$1\r\na\r\n");
}

TEST_F(FaultsTest, ADelayOfRealTimeEndsWhileTheClockIsFrozen) {
  Ask(tester_, "sluice.clock freeze");
  Rule("command set times 1 delay 50 real");
  Rule("command set times 1 after delay 70 real");
  for (const int64_t ms : {50, 70}) {
    Send("set k v");
    EXPECT_FALSE(client_.has_received());
    TestEngine::RealCalls calls = server_.TakeRealCalls();
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].first, ms);
    calls[0].second();
    server_.Settle();
    EXPECT_EQ(client_.TakeBytes(), "+OK\r\n");
  }
}

TEST_F(FaultsTest, ADelayThatHasLostItsClientEndsInNothing) {
  Rule("command set delay 50 real");
  Rule("command get after delay 50");
  Send("set k v");
  other_.Send({"get", "k"});
  client_.Disconnect();
  other_.Disconnect();
  for (const auto& [ms, call] : server_.TakeRealCalls()) call();
  server_.AdvanceTime(100);
  EXPECT_EQ(Ask(tester_, "exists k"), ":0");
}

TEST_F(FaultsTest, WhatHangsGoesOnWhenItsRuleIsGone) {
  Rule("command set hang");
  Rule("command get hang after");
  Send("set k v");
  other_.Send({"get", "k"});
  server_.AdvanceTime(1'000'000);
  EXPECT_FALSE(client_.has_received());
  EXPECT_FALSE(other_.has_received());
  EXPECT_EQ(Ask(tester_, "exists k"), ":0");
  EXPECT_EQ(Ask(tester_, "sluice.fault del 1"), ":1");
  EXPECT_EQ(client_.TakeBytes(), "+OK\r\n");
  EXPECT_FALSE(other_.has_received());
  EXPECT_EQ(Clear(), ":1");
  EXPECT_EQ(other_.TakeBytes(), "$-1\r\n");
  EXPECT_EQ(Ask("get k"), "\"v\"");
}

TEST_F(FaultsTest, WhatHangsCanBeKilled) {
  Rule("command set hang");
  Send("set k v");
  EXPECT_EQ(Ask(tester_, "client kill id 2"), ":1");
  EXPECT_TRUE(client_.closed());
  EXPECT_EQ(Clear(), ":1");
  EXPECT_EQ(Ask(tester_, "exists k"), ":0");
}

TEST_F(FaultsTest, AHeldRequestIsCountedOnceAlsoWhereAPauseHoldsItToo) {
  Rule("command set nth 2 error A");
  Ask(tester_, "client pause 1000 all");
  Send("set k v");
  server_.AdvanceTime(1000);
  EXPECT_EQ(client_.TakeBytes(), "+OK\r\n");
  EXPECT_EQ(Ask("set k v"), "-A");
  Clear();
  Rule("command set delay 10");
  Send("set k v");
  Ask(tester_, "client pause 1000 all");
  server_.AdvanceTime(10);
  EXPECT_FALSE(client_.has_received());
  server_.AdvanceTime(990);
  EXPECT_EQ(client_.TakeBytes(), "+OK\r\n");
}

// --- in transactions, scripts, waits

TEST_F(FaultsTest, InMultiACommandIsMatchedWhenItIsSent) {
  Rule("command set state oom times 1");
  EXPECT_EQ(Ask("multi"), "+OK");
  EXPECT_EQ(Ask("set k v"), "-OOM command not allowed when used memory > 'maxmemory'.");
  EXPECT_EQ(Ask("set k v"), "+QUEUED");
  EXPECT_EQ(Ask("exec"), "-EXECABORT Transaction discarded because of previous errors.");
  Clear();
  Rule("command exec state loading times 1");
  Rule("command exec error 'NOW no' times 1");
  for (const auto* answer :
       {"-EXECABORT Transaction discarded because of: LOADING Redis is loading the dataset in "
        "memory",
        "-NOW no", "[+OK]"}) {
    EXPECT_EQ(Ask("multi"), "+OK");
    EXPECT_EQ(Ask("set k v"), "+QUEUED");
    EXPECT_EQ(Ask("exec"), answer);
  }
}

TEST_F(FaultsTest, AConnectionIsCutBetweenExecAndItsAnswer) {
  Rule("command exec after close");
  client_.SendBytes("MULTI\r\nINCR n\r\nINCR n\r\nEXEC\r\n");
  EXPECT_EQ(client_.TakeBytes(), "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
  EXPECT_TRUE(client_.closed());
  EXPECT_EQ(Ask(tester_, "get n"), "\"2\"");
}

TEST_F(FaultsTest, ABlockingCommandIsMatchedOnceAndItsAnswerSuffers) {
  Rule("command blpop times 1 after drop");
  Send("blpop list 0");
  Ask(tester_, "rpush list a");
  EXPECT_FALSE(client_.has_received());
  EXPECT_EQ(Ask(tester_, "llen list"), ":0");
  Send("blpop list 0");
  Ask(tester_, "rpush list b");
  EXPECT_EQ(client_.Next()->ToText(), "[\"list\", \"b\"]");

  Rule("command lock.acquire client 2 after delay 100");
  Ask(other_, "lock.acquire door bob lease 1000");
  Send("lock.acquire door ann lease 1000 wait 5000");
  server_.AdvanceTime(1000);
  EXPECT_FALSE(client_.has_received());
  server_.AdvanceTime(100);
  EXPECT_TRUE(client_.has_received());
  client_.TakeBytes();

  Rule("command blpop after close");
  Send("blpop list 1");
  EXPECT_FALSE(client_.closed());
  server_.AdvanceTime(1000);
  EXPECT_TRUE(client_.closed());
}

TEST_F(FaultsTest, TheAnswerOfAWaitIsLeftAloneWhenItsRuleIsGoneBefore) {
  for (const auto* action : {"hang", "delay 10", "close", "failover", "error A", "drop", "split"}) {
    Rule("command blpop after " + std::string(action));
    Send("blpop list 0");
    EXPECT_EQ(Clear(), ":1");
    Ask(tester_, "rpush list a");
    EXPECT_EQ(client_.Next()->ToText(), "[\"list\", \"a\"]");
    EXPECT_EQ(Ask("ping"), "+PONG");
  }
}

TEST_F(FaultsTest, InResp3PushesWaitBehindAHeldAnswer) {
  client_.Run({"hello", "3"});
  EXPECT_EQ(Ask("subscribe news"), ">[\"subscribe\", \"news\", :1]");
  Rule("command get after hang");
  Send("get k");
  Ask(tester_, "publish news a");
  EXPECT_FALSE(client_.has_received());
  Clear();
  EXPECT_EQ(client_.Next()->ToText(), "(nil)");
  EXPECT_EQ(client_.Next()->ToText(), ">[\"message\", \"news\", \"a\"]");
}

TEST_F(FaultsTest, WhoWantsNoRepliesGetsNone) {
  client_.Send({"client", "reply", "off"});
  Rule("command set error A times 1");
  Rule("command set after split");
  Send("set k v");
  Send("set k v");
  EXPECT_FALSE(client_.has_received());
  EXPECT_EQ(Ask("client reply on"), "+OK");
  EXPECT_EQ(Ask(tester_, "exists k"), ":1");
}

TEST_F(FaultsTest, AnAnswerIsHeldBackAlsoWhileOthersAreServedInTheMidst) {
  Ask("set k 1");
  Rule("command eval after close");
  client_.SendBytes("PING\r\n");
  EXPECT_EQ(client_.TakeBytes(), "+PONG\r\n");
  client_.Send({"eval", "for i = 1, 10 do redis.call('incr', 'k') end return 'x'", "0"});
  EXPECT_EQ(client_.TakeBytes(), "");
  EXPECT_TRUE(client_.closed());
  EXPECT_EQ(Ask(tester_, "get k"), "\"11\"");
}

// --- a failover

TEST_F(FaultsTest, AFailoverClosesAllAndTokensJump) {
  const int64_t before = client_.Line("lock.acquire door ann lease 1000000").elements[0].integer;
  Rule("command set failover");
  Send("set k v");
  EXPECT_TRUE(client_.closed());
  EXPECT_TRUE(other_.closed());
  EXPECT_FALSE(tester_.closed());
  EXPECT_EQ(Ask(tester_, "exists k"), ":0");
  TestClient& again = server_.Connect();
  EXPECT_EQ(Ask(again, "lock.release door ann"), ":0");
  const int64_t after = again.Line("lock.acquire door ann lease 1000").elements[0].integer;
  EXPECT_GE(after, before + 1'000'000);
  Clear();
  Rule("command set after failover");
  again.Send({"set", "k", "v"});
  EXPECT_TRUE(again.closed());
  EXPECT_EQ(Ask(tester_, "exists k"), ":1");
}

// --- with a log

TEST(FaultsLogTest, WhatAFaultLetsGoTheLogMayStillHold) {
  TestEngine::Options options;
  options.test_double = true;
  options.config = {{"appendonly", "yes"}, {"appendfsync", "always"}};
  TestEngine server(options);
  TestClient& tester = server.Connect();
  TestClient& client = server.Connect();
  tester.Line("sluice.fault add command set after hang");
  server.set_aside_waits(true);
  client.Send({"set", "k", "v"});
  tester.Send({"sluice.fault", "clear"});
  EXPECT_FALSE(client.has_received());
  server.set_aside_waits(false);
  while (server.RunBackgroundNow()) {
  }
  server.Settle();
  EXPECT_EQ(client.TakeBytes(), "+OK\r\n");
}

}  // namespace
}  // namespace sluice
