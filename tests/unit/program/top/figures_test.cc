// Numbers as `sluice top` shows them, and INFO as it reads it.
#include "server/program/top/figures.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "server/program/top/info_fields.h"

namespace sluice {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

struct Row {
  int64_t number;
  std::string count, bytes, duration, micros;
};
const Row kRows[] = {
    {0, "0", "0B", "0ms", "0us"},
    {7, "7", "7B", "7ms", "7us"},
    {999, "999", "999B", "999ms", "999us"},
    {1'000, "1000", "1000B", "1.0s", "1.0ms"},
    {9'999, "9999", "9.8K", "9.9s", "10.0ms"},
    {15'234, "15.2k", "14.9K", "15.2s", "15.2ms"},
    {59'999, "60.0k", "58.6K", "59.9s", "60.0ms"},
    {245'000, "245.0k", "239.3K", "4m05s", "245.0ms"},
    {12'000'000, "12.0M", "11.4M", "3h20m", "12.0s"},
    {187'200'000, "187.2M", "178.5M", "2d04h", "187.2s"},
    {kMost, "9.2E", "8.0E", "106751991167d07h", "9223372036854.8s"},
};

TEST(Figures, FitAGlance) {
  for (const Row& row : kRows) {
    EXPECT_EQ(CountText(row.number), row.count);
    EXPECT_EQ(BytesText(row.number), row.bytes);
    EXPECT_EQ(DurationText(row.number), row.duration);
    EXPECT_EQ(MicrosText(row.number), row.micros);
  }
  EXPECT_EQ(RateText(0), "0");
  EXPECT_EQ(RateText(0.44), "0.4");
  EXPECT_EQ(RateText(12.6), "13");
  EXPECT_EQ(RateText(15'234.0), "15.2k");
}

TEST(InfoFields, ReadsNamesAndNumbers) {
  InfoFields info;
  EXPECT_TRUE(info.empty());
  info.Add(
      "# "
      "Server\r\nredis_version:7.0.15\r\nrss:12\r\nperc:35.50\r\n\r\nlimits_log:taken=5,refused="
      "2\r\n");
  EXPECT_EQ(info.Text("redis_version"), "7.0.15");
  EXPECT_EQ(info.Number("rss"), 12);
  EXPECT_EQ(info.Number("perc"), 35);
  EXPECT_EQ(info.Part("limits_log", "taken"), 5);
  EXPECT_EQ(info.Part("limits_log", "refused"), 2);
  EXPECT_FALSE(info.Part("limits_log", "other"));
  EXPECT_FALSE(info.Number("redis_mode"));
  EXPECT_EQ(info.NumberOr0("redis_mode"), 0);
  // The later one counts, lines may end in any way, and what is no field is left out.
  info.Add("rss:13\nno field\n:\n#x:1\nlast:1");
  EXPECT_EQ(info.Number("rss"), 13);
  EXPECT_EQ(info.Number("last"), 1);
  EXPECT_FALSE(info.Has("#x"));
}

TEST(InfoFields, AreBounded) {
  std::string answer;
  for (int i = 0; i < 10'000; ++i) answer += "field" + std::to_string(i) + ":1\r\n";
  InfoFields info;
  info.Add(answer);
  EXPECT_TRUE(info.Has("field4095"));
  EXPECT_FALSE(info.Has("field4096"));
}

}  // namespace
}  // namespace sluice
