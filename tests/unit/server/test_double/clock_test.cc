// SLUICE.CLOCK: what happens on the way of an ADVANCE happens at its own time and in order.
#include <gtest/gtest.h>

#include "server/observe/statistics.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class ClockTest : public testing::Test {
 protected:
  static TestEngine::Options Double() {
    TestEngine::Options options;
    options.test_double = true;
    options.config = {
        {"fence-mark-file", "\"\""}};  // as ServerCore has it: all timers are clients'
    return options;
  }
  std::string Ask(TestClient& client, std::string_view line) { return client.Line(line).ToText(); }

  TestEngine server_{Double()};
  TestClient& client_ = server_.Connect();
  TestClient& other_ = server_.Connect();
};

TEST(TestDoubleTest, WithoutTheOptionItsCommandsAreUnknown) {
  TestEngine server;
  EXPECT_EQ(server.Connect().Line("sluice.clock now").ToText(),
            "-ERR unknown command 'sluice.clock', with args beginning with: 'now' ");
}

TEST_F(ClockTest, AFrozenClockHoldsTimeAndDeadlines) {
  EXPECT_EQ(Ask(client_, "sluice.clock freeze"), "+OK");
  const std::string time = Ask(client_, "time");
  EXPECT_EQ(Ask(client_, "set k v px 1000"), "+OK");
  server_.AdvanceTime(5000);
  EXPECT_EQ(Ask(client_, "time"), time);
  EXPECT_EQ(Ask(client_, "pttl k"), ":1000");
  EXPECT_EQ(Ask(client_, "sluice.clock advance 999"), "+OK");
  EXPECT_EQ(Ask(client_, "pttl k"), ":1");
  EXPECT_EQ(Ask(client_, "sluice.clock advance 1"), "+OK");
  EXPECT_EQ(Ask(client_, "exists k"), ":0");
}

TEST_F(ClockTest, RunGoesOnFromWhereItStands) {
  Ask(client_, "sluice.clock freeze");
  const int64_t before = client_.Line("sluice.clock now").integer;
  server_.AdvanceTime(5000);
  Ask(client_, "sluice.clock run");
  EXPECT_EQ(client_.Line("sluice.clock now").integer, before);
  server_.AdvanceTime(10);
  EXPECT_EQ(client_.Line("sluice.clock now").integer, before + 10);
}

TEST_F(ClockTest, EveryTimerFiresAtItsOwnTimeAndInOrder) {
  Ask(client_, "sluice.clock freeze");
  Ask(client_, "config set notify-keyspace-events Ex");
  Ask(other_, "subscribe __keyevent@0__:expired");
  Ask(client_, "set b v px 2000");
  Ask(client_, "set a v px 1000");
  Ask(client_, "set c v px 86400000");
  EXPECT_EQ(Ask(client_, "sluice.clock advance 31536000000"), "+OK");
  std::string events;
  while (const std::optional<Reply> push = other_.Next()) events += push->elements[2].text;
  EXPECT_EQ(events, "abc");
}

TEST_F(ClockTest, ALeaseThatEndsHandsTheLockOnAndTheNextLeaseBeginsThere) {
  Ask(client_, "sluice.clock freeze");
  Ask(client_, "lock.acquire door one lease 1000");
  other_.Send({"lock.acquire", "door", "two", "lease", "1500", "wait", "100000"});
  TestClient& third = server_.Connect();
  third.Send({"lock.acquire", "door", "three", "lease", "5000", "wait", "100000"});
  server_.Settle();
  EXPECT_EQ(Ask(client_, "sluice.clock advance 3000"), "+OK");
  EXPECT_TRUE(other_.Next().has_value());
  EXPECT_TRUE(third.Next().has_value());
  // Its lease began at 2500.
  EXPECT_EQ(Ask(client_, "sluice.clock next"), ":4500");
}

TEST_F(ClockTest, ABlockedClientTimesOutOnTheWay) {
  Ask(client_, "sluice.clock freeze");
  other_.Send({"blpop", "queue", "5"});
  EXPECT_FALSE(other_.Next().has_value());
  Ask(client_, "sluice.clock advance 4999");
  EXPECT_FALSE(other_.Next().has_value());
  Ask(client_, "sluice.clock advance 1");
  EXPECT_EQ(other_.Next()->ToText(), "(nil-array)");
}

TEST_F(ClockTest, NextGoesToTheNextTimerAndTellsHowFar) {
  Ask(client_, "sluice.clock freeze");
  EXPECT_EQ(Ask(client_, "sluice.clock next"), ":-1");
  const int64_t before = client_.Line("sluice.clock now").integer;
  Ask(client_, "set far v px 7200000");
  Ask(client_, "set near v px 1500");
  EXPECT_EQ(Ask(client_, "sluice.clock next"), ":1500");
  EXPECT_EQ(Ask(client_, "exists near far"), ":1");
  EXPECT_EQ(Ask(client_, "sluice.clock next"), ":7198500");
  EXPECT_EQ(client_.Line("sluice.clock now").integer, before + 7'200'000);
}

TEST_F(ClockTest, SetMovesAbsoluteDeadlinesAlone) {
  Ask(client_, "sluice.clock freeze");
  Ask(client_, "sluice.clock set 1000000000000");
  EXPECT_EQ(Ask(client_, "sluice.clock now"), ":1000000000000");
  Ask(client_, "set relative v px 5000");
  Ask(client_, "set absolute v pxat 1000000005000");
  EXPECT_EQ(Ask(client_, "sluice.clock set 1000000004000"), "+OK");
  EXPECT_EQ(Ask(client_, "pttl relative"), ":5000");
  EXPECT_EQ(Ask(client_, "pttl absolute"), ":1000");
  EXPECT_EQ(Ask(client_, "sluice.clock set 1000000005000"), "+OK");
  EXPECT_EQ(Ask(client_, "exists relative absolute"), ":1");
}

TEST_F(ClockTest, AJourneyIsMadeInSlices) {
  Ask(client_, "sluice.clock freeze");
  std::string requests;
  for (int i = 0; i < 20'000; ++i) {
    requests += "SET k" + std::to_string(i) + " v PX " + std::to_string(1 + i % 1000) + "\r\n";
  }
  client_.SendBytes(requests);
  client_.TakeBytes();
  server_.set_tick_step(50'000);
  const uint64_t turns = server_.engine().statistics().turns;
  EXPECT_EQ(Ask(client_, "sluice.clock advance 1000"), "+OK");
  EXPECT_GT(server_.engine().statistics().turns, turns + 10);
  EXPECT_EQ(Ask(other_, "dbsize"), ":0");
}

TEST_F(ClockTest, JourneysOfTwoClientsAreMadeOneAfterTheOther) {
  Ask(client_, "sluice.clock freeze");
  const int64_t before = client_.Line("sluice.clock now").integer;
  client_.Send({"sluice.clock", "advance", "100"});
  other_.Send({"sluice.clock", "advance", "50"});
  server_.Settle();
  EXPECT_EQ(client_.Next()->ToText(), "+OK");
  EXPECT_EQ(other_.Next()->ToText(), "+OK");
  EXPECT_EQ(client_.Line("sluice.clock now").integer, before + 150);
}

TEST_F(ClockTest, WrongWordsAreErrors) {
  for (const std::string_view line :
       {"sluice.clock advance -1", "sluice.clock advance x", "sluice.clock advance 1 2",
        "sluice.clock advance 9223372036854775807", "sluice.clock advance 18446744073709551616",
        "sluice.clock set -1", "sluice.clock set 9223372036854775807", "sluice.clock sideways",
        "sluice.clock", "eval \"return redis.call('sluice.clock', 'freeze')\" 0"}) {
    EXPECT_EQ(Ask(client_, line).substr(0, 1), "-") << line;
  }
  Ask(client_, "multi");
  EXPECT_EQ(Ask(client_, "sluice.clock advance 1").substr(0, 1), "-");
  EXPECT_EQ(Ask(client_, "exec").substr(0, 1), "-");
  EXPECT_EQ(Ask(client_, "sluice.clock help").substr(0, 14), "[+SLUICE.CLOCK");
}

TEST_F(ClockTest, TheClockEndsSomewhere) {
  Ask(client_, "sluice.clock freeze");
  std::string answer;
  for (int i = 0; i < 100 && answer.empty(); ++i) {
    const std::string text = Ask(client_, "sluice.clock advance 3155760000000");
    if (text != "+OK") answer = text;
  }
  EXPECT_EQ(answer, "-ERR the clock cannot go on for so long");
  EXPECT_EQ(Ask(client_, "set k v px 1000"), "+OK");
  EXPECT_EQ(Ask(client_, "pttl k"), ":1000");
}

// The machine's clock may step back behind a SET to the first moment of all.
TEST_F(ClockTest, AWaitMayBeginBefore1970) {
  Ask(client_, "sluice.clock set 0");
  server_.clock().StepWall(-60'000);
  ASSERT_LT(client_.Line("sluice.clock now").integer, 0);
  other_.Send({"xread", "block", "9223372036854775807", "streams", "s", "$"});
  EXPECT_EQ(Ask(client_, "xadd s 1-1 f v"), "\"1-1\"");
  EXPECT_EQ(other_.Next()->ToText(), R"([["s", [["1-1", ["f", "v"]]]]])");
  EXPECT_EQ(Ask(client_, "xread block 9223372036854775808 streams s $").substr(0, 1), "-");
  EXPECT_EQ(Ask(client_, "set k v px 1000"), "+OK");
  EXPECT_EQ(Ask(client_, "pttl k"), ":1000");
}

TEST_F(ClockTest, ACallerThatLeavesStopsTheClock) {
  Ask(client_, "sluice.clock freeze");
  const int64_t before = client_.Line("sluice.clock now").integer;
  other_.Send({"sluice.clock", "advance", "1000"});
  other_.Disconnect();
  EXPECT_LE(client_.Line("sluice.clock now").integer, before + 1000);
  EXPECT_EQ(Ask(client_, "sluice.clock advance 1"), "+OK");
}

}  // namespace
}  // namespace sluice
