// How long commands take: runs of fast commands, what of it the slow log is told, and waiting
// clients.
#include "server/dispatch/command_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/dispatch/command_table.h"
#include "server/dispatch/effects/effects.h"
#include "server/observe/slow_log.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Arguments = std::vector<std::string>;

constexpr int64_t kMicro = 1000;
constexpr int64_t kMilli = 1000 * kMicro;

class CommandTimerTest : public EngineFixture {
 protected:
  // Each reading of the tick finds so much time gone: every call takes that long.
  void EachReadingTakes(int64_t nanos) { server().set_tick_step(nanos); }
  void Pipeline(const std::string& lines) {
    client().SendBytes(lines);
    client().TakeBytes();
  }
  static std::string Times(int count, const std::string& line) {
    std::string lines;
    for (int i = 0; i < count; ++i) lines += line;
    return lines;
  }
  const auto& log() { return engine().part<SlowLog>().entries(); }
  std::vector<Arguments> Logged() {
    std::vector<Arguments> logged;
    for (const SlowEntry& entry : log()) logged.push_back(entry.args);
    return logged;
  }
  const CommandStatistics& Of(std::string_view command) {
    const size_t number = engine().part<const CommandTable>().Find(command)->number;
    return engine().part<CommandCounts>().Of(number);
  }
  // As every test but the first begins: no command has run yet.
  void SlowerThan(const std::string& micros) {
    Run({"CONFIG", "SET", "slowlog-log-slower-than", micros});
    engine().part<SlowLog>().Clear();
  }
};

// Calls `slow_changes` with each change of the key `slow`.
class SlowKey final : public EffectSink {
 public:
  explicit SlowKey(std::function<void()> slow_changes) : slow_changes_(std::move(slow_changes)) {}
  void Effect(int, Args command, EffectTime) override {
    if (command[1] == "slow") slow_changes_();
  }
  void GroupBegin() override {}
  void GroupEnd() override {}

 private:
  const std::function<void()> slow_changes_;
};

// One reading of the tick a call; the histogram gets the mean of the run.
TEST_F(CommandTimerTest, ARunIsCountedWithItsMean) {
  EachReadingTakes(9 * kMilli);
  Pipeline(Times(10, "GET a\r\n"));
  EXPECT_THAT(log(), IsEmpty());
  EXPECT_EQ(Of("GET").nanos, 90 * kMilli);
  EXPECT_EQ(Of("GET").latency_ns.count(), 10u);
  EXPECT_EQ(Of("GET").latency_ns.max(), 9 * kMilli);
}

TEST_F(CommandTimerTest, WhatIsNoRunIsExact) {
  EachReadingTakes(10 * kMilli);
  Pipeline("GET a\r\nINCR a\r\nGET a\r\nSET a 1\r\nSET a 2\r\n");
  EXPECT_THAT(Logged(),
              ElementsAre(Arguments{"SET", "a", "2"}, Arguments{"SET", "a", "1"},
                          Arguments{"GET", "a"}, Arguments{"INCR", "a"}, Arguments{"GET", "a"}));
  for (const SlowEntry& entry : log()) EXPECT_EQ(entry.micros, 10'000);
  EXPECT_EQ(log().front().id, 4);
  EXPECT_EQ(log().front().address, "127.0.0.1:50000");
}

TEST_F(CommandTimerTest, EachSlowCallOfARunIsLogged) {
  EachReadingTakes(10 * kMilli);
  Pipeline("GET a\r\nGET b\r\nGET c\r\n");
  EXPECT_THAT(Logged(),
              ElementsAre(Arguments{"GET", "c"}, Arguments{"GET", "b"}, Arguments{"GET", "a"}));
  for (const SlowEntry& entry : log()) {
    EXPECT_EQ(entry.micros, 10'000);
    EXPECT_EQ(entry.address, "127.0.0.1:50000");
  }
  EXPECT_EQ(Of("GET").latency_ns.count(), 3u);
}

// The run goes on around it.
TEST_F(CommandTimerTest, TheOneSlowCallAmongManyIsKnown) {
  SlowKey slow([this] { server().clock().AdvanceMicros(50'000); });
  engine().part<Effects>().set_sink(kToLog, &slow);
  Pipeline(Times(20, "INCR a\r\n") + "INCR slow\r\n" + Times(20, "INCR a\r\n"));
  engine().part<Effects>().set_sink(kToLog, nullptr);
  EXPECT_THAT(Logged(), ElementsAre(Arguments{"INCR", "slow"}));
  EXPECT_EQ(log().front().micros, 50'000);
  EXPECT_EQ(Of("INCR").calls, 41u);
  EXPECT_EQ(Of("INCR").nanos, 50 * kMilli);
}

// Counted with their mean; each script is timed by itself.
TEST_F(CommandTimerTest, ARunGoesOnFromScriptToScript) {
  const std::string increment = "EVAL \"return redis.call('INCR', KEYS[1])\" 1 ";
  const std::string get = "EVAL \"return redis.call('GET', 'a')\" 0\r\n";
  Pipeline(increment + "a\r\n" + get + "CONFIG RESETSTAT\r\n");  // compiling takes time, too
  EachReadingTakes(9 * kMilli);
  Pipeline("INCR a\r\n" + increment + "a\r\n" + get + increment + "b\r\n" + increment +
           "a\r\nINCR a\r\n");
  EXPECT_EQ(Of("INCR").nanos, 5 * 9 * kMilli);
  EXPECT_EQ(Of("INCR").latency_ns.count(), 5u);
  EXPECT_EQ(Of("INCR").latency_ns.max(), 9 * kMilli);
  EXPECT_EQ(Of("GET").nanos, 9 * kMilli);
  EXPECT_EQ(Of("EVAL").nanos, 4 * 2 * 9 * kMilli);
  EXPECT_EQ(Of("EVAL").latency_ns.count(), 4u);
  EXPECT_EQ(Of("EVAL").latency_ns.max(), 2 * 9 * kMilli);
}

// The effects of a script are told when it is over: the second and the third are slow.
TEST_F(CommandTimerTest, TheMeanOfARunIsThatOfSeveralScripts) {
  const std::string increment = "EVAL \"return redis.call('INCR', KEYS[1])\" 1 ";
  Pipeline(increment + "a\r\nCONFIG RESETSTAT\r\n");  // compiling reads the tick, too
  SlowKey slow([this] { EachReadingTakes(50 * kMilli); });
  engine().part<Effects>().set_sink(kToLog, &slow);
  Pipeline(increment + "slow\r\n" + increment + "a\r\n" + increment + "a\r\n");
  engine().part<Effects>().set_sink(kToLog, nullptr);
  EXPECT_EQ(Of("INCR").nanos, 100 * kMilli);
  EXPECT_EQ(Of("INCR").latency_ns.count(), 3u);
  EXPECT_EQ(Of("INCR").latency_ns.max(), 100 * kMilli / 3);
  EXPECT_EQ(Of("EVAL").latency_ns.max(), 100 * kMilli);
}

TEST_F(CommandTimerTest, WhoAsksForFiguresEndsTheRunOfScripts) {
  EachReadingTakes(9 * kMilli);
  const std::string script = "EVAL \"return redis.call('INCR', 'a')\" 0\r\n";
  Pipeline(script + script + "CONFIG RESETSTAT\r\n" + script);
  EXPECT_EQ(Of("INCR").nanos, 9 * kMilli);
  EXPECT_EQ(Of("INCR").latency_ns.count(), 1u);
  client().SendBytes(script + "EVAL \"return redis.call('INFO', 'latencystats')\" 0\r\n");
  EXPECT_THAT(client().TakeBytes(), testing::HasSubstr("latency_percentiles_usec_incr"));
  EXPECT_EQ(Of("INCR").latency_ns.count(), 2u);
}

TEST_F(CommandTimerTest, ALowThresholdTimesEveryCall) {
  SlowerThan("500");
  EachReadingTakes(500 * kMicro);
  Pipeline(Times(3, "GET a\r\n"));
  EXPECT_THAT(log(), SizeIs(3));
  EachReadingTakes(499 * kMicro);
  Pipeline(Times(3, "GET a\r\n"));
  EXPECT_THAT(log(), SizeIs(3));
  EXPECT_EQ(Of("GET").nanos, 3 * 500 * kMicro + 3 * 499 * kMicro);
}

TEST_F(CommandTimerTest, ALongRequestIsTimedSingly) {
  EachReadingTakes(10 * kMilli);
  Pipeline("TOUCH a\r\nTOUCH 1 2 3 4 5 6 7 8\r\nTOUCH b\r\n");
  EXPECT_THAT(Logged(), ElementsAre(Arguments{"TOUCH", "b"},
                                    Arguments{"TOUCH", "1", "2", "3", "4", "5", "6", "7", "8"},
                                    Arguments{"TOUCH", "a"}));
}

TEST_F(CommandTimerTest, RunsEndInTransactionsAndScripts) {
  EachReadingTakes(10 * kMilli);
  Pipeline("MULTI\r\nINCR a\r\nEXEC\r\n");
  EXPECT_THAT(Logged(), ElementsAre(Arguments{"INCR", "a"}, Arguments{"MULTI"}));
  engine().part<SlowLog>().Clear();

  const std::string script = "for i = 1, 100 do redis.call('incr', 'a') end";
  Run({"EVAL", script, "0"});
  ASSERT_EQ(log().size(), 100u + 1);
  EXPECT_EQ(Logged().front(), (Arguments{"EVAL", script, "0"}));
  EXPECT_EQ(Logged()[1], (Arguments{"incr", "a"}));
  EXPECT_EQ(log()[1].address, "?:0");
}

TEST_F(CommandTimerTest, AnEntryHasTheTimeAtItsEnd) {
  const int64_t begun_s = server().clock().Sample().unix_s();
  Run({"DEBUG", "SLEEP", "2"});
  ASSERT_THAT(log(), SizeIs(1));
  EXPECT_EQ(log().front().unix_s, begun_s + 2);
  EXPECT_EQ(log().front().micros, 2'000'000);
}

TEST_F(CommandTimerTest, WaitingIsNoTimeOfACommand) {
  SlowerThan("0");
  TestClient& waiter = Connect();
  waiter.Send({"BLPOP", "list", "0"});
  EXPECT_THAT(log(), IsEmpty());
  EXPECT_EQ(Of("BLPOP").latency_ns.count(), 0u);
  AdvanceTime(5000);
  EachReadingTakes(kMilli);
  Run({"RPUSH", "list", "a"});
  EachReadingTakes(0);
  EXPECT_THAT(Logged(),
              ElementsAre(Arguments{"BLPOP", "list", "0"}, Arguments{"RPUSH", "list", "a"}));
  EXPECT_EQ(log().front().micros, 1000);
  EXPECT_EQ(log().front().address, "127.0.0.1:50001");
  EXPECT_EQ(Of("BLPOP").latency_ns.count(), 1u);
  EXPECT_EQ(Of("BLPOP").calls, 1u);
}

// By time, or because the client is gone, a wait ends without one.
TEST_F(CommandTimerTest, OnlyTheAnsweredAreLogged) {
  SlowerThan("0");
  TestClient& waiter = Connect();
  waiter.Send({"BZPOPMIN", "zset", "1"});
  AdvanceTime(1000);
  EXPECT_THAT(log(), IsEmpty());
  Run({"LOCK.ACQUIRE", "lock", "me", "LEASE", "1000"});
  engine().part<SlowLog>().Clear();
  waiter.TakeBytes();
  waiter.Send({"LOCK.ACQUIRE", "lock", "you", "LEASE", "1000", "WAIT", "9000"});
  EXPECT_THAT(log(), IsEmpty());
  Run({"LOCK.RELEASE", "lock", "me"});
  EXPECT_EQ(Logged().back()[0], "LOCK.ACQUIRE");
  EXPECT_THAT(log(), SizeIs(2));
  engine().part<SlowLog>().Clear();
  waiter.TakeBytes();
  waiter.Send({"BLPOP", "list", "0"});
  waiter.Disconnect();
  EXPECT_THAT(log(), IsEmpty());
}

// One that blocks among others of its kind is no part of their run.
TEST_F(CommandTimerTest, ParkingEndsARun) {
  Run({"ZADD", "zset", "1", "a", "2", "b"});
  TestClient& waiter = Connect();
  waiter.SendBytes("BZPOPMIN zset 0\r\nBZPOPMIN zset 0\r\nBZPOPMIN zset 0\r\n");
  EXPECT_EQ(Of("BZPOPMIN").latency_ns.count(), 2u);
  Run({"ZADD", "zset", "1", "a"});
  EXPECT_EQ(Of("BZPOPMIN").latency_ns.count(), 3u);
  EXPECT_EQ(Of("BZPOPMIN").calls, 3u);
}

TEST_F(CommandTimerTest, WhatWaitsInsideFencedIsLoggedAsFenced) {
  SlowerThan("0");
  const std::string token =
      std::to_string(Run({"LOCK.ACQUIRE", "lock", "me", "LEASE", "1000000"}).elements[0].integer);
  engine().part<SlowLog>().Clear();
  TestClient& waiter = Connect();
  waiter.Send({"FENCED", "lock", token, "BLPOP", "list", "0"});
  EXPECT_THAT(log(), IsEmpty());
  Run({"RPUSH", "list", "a"});
  EXPECT_THAT(Logged(), ElementsAre(Arguments{"FENCED", "lock", token, "BLPOP", "list", "0"},
                                    Arguments{"RPUSH", "list", "a"}));
}

}  // namespace
}  // namespace sluice
