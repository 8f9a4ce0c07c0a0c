// The latency monitor's series, and which event what takes long is noted under.
#include "server/observe/latency_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/observe/command_counts.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kNanosPerMs = 1'000'000;

std::vector<int64_t> Milliseconds(const LatencySeries& series) {
  std::vector<int64_t> ms;
  for (const LatencySample& sample : series.samples()) ms.push_back(sample.ms);
  return ms;
}

TEST(LatencySeries, KeepsTheWorstOfASecond) {
  LatencySeries series;
  EXPECT_TRUE(series.empty());
  series.Add(100, 5);
  series.Add(100, 9);
  series.Add(100, 7);
  series.Add(101, 1);
  EXPECT_THAT(Milliseconds(series), ElementsAre(9, 1));
  EXPECT_EQ(series.samples().front().unix_s, 100);
  EXPECT_EQ(series.worst_ms(), 9);
}

TEST(LatencySeries, ForgetsTheOldestButNotTheWorst) {
  LatencySeries series;
  series.Add(1, 1000);
  for (int64_t s = 2; s <= 200; ++s) series.Add(s, s);
  EXPECT_EQ(series.samples().size(), LatencySeries::kSamplesMax);
  EXPECT_EQ(series.samples().front().unix_s, 41);
  EXPECT_EQ(series.samples().back().unix_s, 200);
  EXPECT_EQ(series.worst_ms(), 1000);
}

class LatencyMonitorTest : public EngineFixture {
 protected:
  void Threshold(const std::string& ms) { Run({"CONFIG", "SET", "latency-monitor-threshold", ms}); }
  const LatencySeries& Of(LatencyEvent event) { return engine().part<LatencyMonitor>().Of(event); }
};

TEST_F(LatencyMonitorTest, IsOffAtFirst) {
  server().set_tick_step(100 * kNanosPerMs);
  Run({"GET", "a"});
  Run({"SET", "a", "1"});
  EXPECT_EQ(engine().part<LatencyMonitor>().threshold_ns(), INT64_MAX);
  EXPECT_TRUE(Of(LatencyEvent::kCommand).empty());
  EXPECT_TRUE(Of(LatencyEvent::kFastCommand).empty());
}

TEST_F(LatencyMonitorTest, NotesFromTheThresholdOn) {
  Threshold("3");
  server().set_tick_step(3 * kNanosPerMs - 1);
  Run({"SET", "a", "1"});
  EXPECT_TRUE(Of(LatencyEvent::kCommand).empty());
  server().set_tick_step(3 * kNanosPerMs);
  Run({"SET", "a", "1"});
  EXPECT_THAT(Milliseconds(Of(LatencyEvent::kCommand)), ElementsAre(3));
}

// A run of fast commands that takes long as a whole says nothing of any of them.
TEST_F(LatencyMonitorTest, TimesFastCommandsSingly) {
  Threshold("3");
  server().set_tick_step(4 * kNanosPerMs);
  client().SendBytes("GET a\r\nGET a\r\nGET a\r\n");
  client().TakeBytes();
  EXPECT_THAT(Milliseconds(Of(LatencyEvent::kFastCommand)), ElementsAre(4));
  EXPECT_EQ(engine()
                .part<CommandCounts>()
                .Of(engine().part<const CommandTable>().Find("GET")->number)
                .nanos,
            3u * 4 * kNanosPerMs);
}

TEST_F(LatencyMonitorTest, NotesWhatAWaitingClientsCommandTakes) {
  Threshold("3");
  TestClient& waiter = Connect();
  waiter.Send({"BLPOP", "list", "0"});
  AdvanceTime(60'000);
  server().set_tick_step(5 * kNanosPerMs);
  Run({"RPUSH", "list", "a"});
  EXPECT_THAT(Milliseconds(Of(LatencyEvent::kUnblocking)), ElementsAre(5));
  EXPECT_TRUE(Of(LatencyEvent::kCommand).empty());
}

TEST_F(LatencyMonitorTest, NotesTimersThatTakeLong) {
  AdvanceTime(100);  // past the server's own one, for the first mark of tokens
  Threshold("3");
  Run({"SET", "a", "1", "PX", "100"});
  server().set_tick_step(3 * kNanosPerMs);
  AdvanceTime(99);
  EXPECT_TRUE(Of(LatencyEvent::kExpireCycle).empty());
  AdvanceTime(1);
  // A key's end is timed by itself, between two readings of its own.
  EXPECT_THAT(Milliseconds(Of(LatencyEvent::kExpireDel)), ElementsAre(3));
  EXPECT_THAT(Milliseconds(Of(LatencyEvent::kExpireCycle)), ElementsAre(9));
}

TEST_F(LatencyMonitorTest, IsResetByEvent) {
  Threshold("3");
  server().set_tick_step(3 * kNanosPerMs);
  Run({"GET", "a"});
  Run({"SET", "a", "1"});
  EXPECT_EQ(Run({"LATENCY", "RESET", "FAST-COMMAND"}).integer, 1);
  EXPECT_TRUE(Of(LatencyEvent::kFastCommand).empty());
  EXPECT_FALSE(Of(LatencyEvent::kCommand).empty());
}

}  // namespace
}  // namespace sluice
