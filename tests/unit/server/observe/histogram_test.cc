// Histogram against the sorted values themselves.
#include "server/observe/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sluice {
namespace {

TEST(Histogram, EmptyIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.Percentile(50), 0);
  EXPECT_EQ(histogram.CountAtMost(1'000'000), 0u);
  EXPECT_EQ(histogram.max(), 0);
}

TEST(Histogram, SmallNumbersAreExact) {
  Histogram histogram;
  for (int value = 0; value < 32; ++value) histogram.Record(value);
  for (int value = 0; value < 32; ++value) {
    EXPECT_EQ(histogram.CountAtMost(value), static_cast<uint64_t>(value) + 1);
  }
  EXPECT_EQ(histogram.Percentile(50), 15);
  EXPECT_EQ(histogram.Percentile(100), 31);
}

TEST(Histogram, PercentilesAreWithinThreePercent) {
  std::mt19937_64 random(7);
  Histogram histogram;
  std::vector<int64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<int64_t>(random() >> (1 + random() % 60)));
    histogram.Record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = static_cast<size_t>(percent / 100 * static_cast<double>(values.size()) - 0.5);
    const auto exact = static_cast<double>(values[rank]);
    const auto shown = static_cast<double>(histogram.Percentile(percent));
    EXPECT_GE(shown, exact * 0.999) << percent;
    EXPECT_LE(shown, exact * 1.0313 + 1) << percent;
  }
  EXPECT_EQ(histogram.max(), values.back());
  EXPECT_EQ(histogram.count(), values.size());
}

TEST(Histogram, WhatCameSince) {
  Histogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.Record(5000);
  const Histogram before = histogram.Copy();
  EXPECT_EQ(histogram.PercentileSince(before, 99), 0);
  for (int i = 0; i < 100; ++i) histogram.Record(i < 98 ? 10 : 900);
  EXPECT_EQ(histogram.PercentileSince(before, 50), 10);
  EXPECT_NEAR(static_cast<double>(histogram.PercentileSince(before, 99)), 900, 30);
  EXPECT_EQ(before.count(), 1000u);
  histogram.Reset();
  histogram.Record(7);
  EXPECT_EQ(histogram.PercentileSince(before, 99), 7);
}

TEST(Histogram, LimitsAndReset) {
  Histogram histogram;
  histogram.Record(INT64_MAX);
  histogram.Record(-5);  // counted as 0
  EXPECT_EQ(histogram.Percentile(100), INT64_MAX);
  EXPECT_EQ(histogram.CountAtMost(0), 1u);
  histogram.Reset();
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.max(), 0);
}

}  // namespace
}  // namespace sluice
