// LATENCY GRAPH's pictures and LATENCY DOCTOR's advice, from series made by hand.
#include "server/commands/admin/latency_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/commands/admin/sparkline.h"
#include "server/config/config.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kMilli = 1'000'000;

TEST(Sparkline, DrawsFourRowsOfThreeSteps) {
  std::vector<SparkPoint> points;
  for (int i = 0; i < 12; ++i) points.push_back({static_cast<double>(i), ""});
  EXPECT_EQ(DrawSparkline(points, 80),
            "         _o#\n"
            "      _o#|||\n"
            "   _o#||||||\n"
            "_o#|||||||||\n"
            "            \n");
}

TEST(Sparkline, LiesOnTheGroundWhereAllIsEqual) {
  const SparkPoint points[] = {{7, "1s"}, {7, "59m"}};
  EXPECT_EQ(DrawSparkline(points, 80), "  \n  \n  \n__\n  \n15\ns9\n m\n");
}

TEST(Sparkline, GoesOnBelow) {
  const SparkPoint points[] = {{0, "a"}, {1, "b"}, {0, "c"}};
  EXPECT_EQ(DrawSparkline(points, 2), " #\n |\n |\n_|\n  \nab\n\n \n \n \n_\n \nc\n");
  EXPECT_EQ(DrawSparkline({}, 80), "");
}

class LatencyReport : public testing::Test {
 protected:
  LatencyReport() {
    settings_.latency_monitor_threshold = 5;
    monitor_.set_threshold_ms(5);
  }
  void Note(LatencyEvent event, int64_t unix_s, int64_t ms) {
    monitor_.Note(event, unix_s, ms * kMilli);
  }
  std::string Report(int64_t unix_s) { return LatencyDoctorReport(monitor_, settings_, unix_s); }

  Settings settings_;
  LatencyMonitor monitor_;
};

TEST_F(LatencyReport, GraphNamesAgesInTheirUnits) {
  Note(LatencyEvent::kCommand, 1'000'000, 5);
  Note(LatencyEvent::kCommand, 1'000'000 + 3600 * 24 * 3, 10);
  Note(LatencyEvent::kCommand, 1'000'000 + 3600 * 24 * 3 + 7200, 7);
  Note(LatencyEvent::kCommand, 1'000'000 + 3600 * 24 * 3 + 7200 + 300, 5);
  EXPECT_EQ(DrawLatencyGraph(monitor_, LatencyEvent::kCommand, 1'000'000 + 3600 * 24 * 3 + 7507),
            "command - high 10 ms, low 5 ms (all time high 10 ms)\n" + std::string(80, '-') +
                "\n #  \n |  \n |o \n_||_\n    \n3257\ndhms\n");
}

TEST_F(LatencyReport, AveragesAndDeviatesAsRedisDoes) {
  Note(LatencyEvent::kFastCommand, 100, 5);
  Note(LatencyEvent::kFastCommand, 102, 10);
  Note(LatencyEvent::kFastCommand, 103, 20);
  EXPECT_THAT(Report(110), HasSubstr("1. fast-command: 3 latency spikes (average 11ms, mean "
                                     "deviation 5ms, period 3.33 sec). Worst all time event 20ms.\n"
                                     "\nI have a few advices for you:\n\n- The system is slow"));
}

TEST_F(LatencyReport, AdvisesOnlyWhatIsTrueHere) {
  Note(LatencyEvent::kExpireCycle, 100, 5);
  EXPECT_THAT(Report(100), HasSubstr("I'm not able to suggest any easy fix"));
  Note(LatencyEvent::kCommand, 100, 5);
  EXPECT_THAT(Report(100), HasSubstr("1. command: 1 latency spikes"));
  EXPECT_THAT(Report(100), HasSubstr("2. expire-cycle: 1 latency spikes"));
  EXPECT_THAT(Report(100), Not(HasSubstr("large objects")));
  EXPECT_THAT(Report(100), Not(HasSubstr("hz")));
}

TEST_F(LatencyReport, TalksOfThePastAfterItWasSwitchedOff) {
  Note(LatencyEvent::kCommand, 100, 5);
  settings_.latency_monitor_threshold = 0;
  EXPECT_THAT(Report(100), HasSubstr("I have observed latency spikes"));
  monitor_.Reset(LatencyEvent::kCommand);
  EXPECT_THAT(Report(100), HasSubstr("Latency monitoring is disabled"));
}

}  // namespace
}  // namespace sluice
