// The text of metrics: names of counters in both forms, values, labels of any bytes, buckets.
#include "server/figures/metric_text.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using Form = MetricText::Form;
using Kind = MetricText::Kind;

TEST(MetricText, CountersHaveTheirEndingWhereTheFormWantsIt) {
  const auto text_in = [](Form form) {
    MetricText text(form);
    text.Begin("a", Kind::kCounter, "Of a.");
    text.Value(3);
    return text.Finish();
  };
  EXPECT_EQ(text_in(Form::kPrometheus),
            "# HELP a_total Of a.\n# TYPE a_total counter\na_total 3\n");
  EXPECT_EQ(text_in(Form::kOpenMetrics), "# HELP a Of a.\n# TYPE a counter\na_total 3\n# EOF\n");
}

std::string LabelOf(std::string_view value) {
  MetricText text(Form::kPrometheus);
  text.Begin("g", Kind::kGauge, "");
  text.Value({{"l", value}}, 1);
  const std::string all = text.Finish();
  const size_t begin = all.find("{l=\"") + 4;
  return all.substr(begin, all.rfind("\"} 1\n") - begin);
}

TEST(MetricText, LabelsAreEscaped) {
  EXPECT_EQ(LabelOf(""), "");
  EXPECT_EQ(LabelOf("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
  EXPECT_EQ(LabelOf("\"} 1\n# EOF\n"), "\\\"} 1\\n# EOF\\n");
  EXPECT_EQ(LabelOf("\r\t\x01"), "\r\t\x01");
}

TEST(MetricText, LabelsAreUtf8) {
  const std::string same[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x94\x92", "\xef\xbf\xbf",
                              "\xf4\x8f\xbf\xbf"};
  for (const std::string& text : same) EXPECT_EQ(LabelOf(text), text);
  const std::string kBad = "\xef\xbf\xbd";
  EXPECT_EQ(LabelOf("a\xff"
                    "b"),
            "a" + kBad + "b");
  EXPECT_EQ(LabelOf("\xc3"), kBad);
  EXPECT_EQ(LabelOf("\xc0\xaf"), kBad + kBad);                        // longer than it has to be
  EXPECT_EQ(LabelOf("\xed\xa0\x80"), kBad + kBad + kBad);             // a surrogate
  EXPECT_EQ(LabelOf("\xf4\x90\x80\x80"), kBad + kBad + kBad + kBad);  // beyond all characters
  EXPECT_EQ(LabelOf("\xe2\x82\""), kBad + kBad + "\\\"");
}

TEST(MetricText, Numbers) {
  MetricText text(Form::kPrometheus);
  text.Begin("g", Kind::kGauge, "");
  for (const double value : {0.0, 1.5, 1e15, 9007199254740991.0, -1.0, 0.000001}) text.Value(value);
  EXPECT_EQ(text.Finish(),
            "# HELP g \n# TYPE g gauge\ng 0\ng 1.5\ng 1e+15\ng 9007199254740991\ng -1\ng 1e-06\n");
}

TEST(MetricText, BucketsAreCumulativeAndScaled) {
  Histogram histogram;
  histogram.Record(1);
  histogram.Record(10, 2);
  histogram.Record(5000);
  MetricText text(Form::kPrometheus);
  constexpr int64_t kBounds[] = {1, 10, 1000};
  text.Begin("t_seconds", Kind::kHistogram, "T.");
  text.Value(histogram, kBounds, 1e-3);
  EXPECT_EQ(text.Finish(),
            "# HELP t_seconds T.\n# TYPE t_seconds histogram\n"
            "t_seconds_bucket{le=\"0.001\"} 1\nt_seconds_bucket{le=\"0.01\"} 3\n"
            "t_seconds_bucket{le=\"1\"} 3\nt_seconds_bucket{le=\"+Inf\"} 4\n"
            "t_seconds_sum 5.021\nt_seconds_count 4\n");
}

TEST(MetricText, AFamilyMayHaveSeveralHistograms) {
  Histogram one;
  one.Record(20);
  MetricText text(Form::kOpenMetrics);
  constexpr int64_t kBounds[] = {10};
  text.Begin("t_seconds", Kind::kHistogram, "T.");
  text.Value({{"l", "a\""}}, one, {kBounds, 1e-3});
  text.Value({{"l", "b"}, {"m", "c"}}, Histogram(), {kBounds, 1e-3});
  EXPECT_EQ(text.Finish(),
            "# HELP t_seconds T.\n# TYPE t_seconds histogram\n"
            "t_seconds_bucket{l=\"a\\\"\",le=\"0.01\"} 0\n"
            "t_seconds_bucket{l=\"a\\\"\",le=\"+Inf\"} 1\n"
            "t_seconds_sum{l=\"a\\\"\"} 0.02\nt_seconds_count{l=\"a\\\"\"} 1\n"
            "t_seconds_bucket{l=\"b\",m=\"c\",le=\"0.01\"} 0\n"
            "t_seconds_bucket{l=\"b\",m=\"c\",le=\"+Inf\"} 0\n"
            "t_seconds_sum{l=\"b\",m=\"c\"} 0\nt_seconds_count{l=\"b\",m=\"c\"} 0\n"
            "# EOF\n");
}

}  // namespace
}  // namespace sluice
