// A figure as text and as a number.
#include "server/figures/figure_value.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice {
namespace {

TEST(FigureValue, NumbersAreTheirDigits) {
  EXPECT_EQ(FigureValue(17).text(), "17");
  EXPECT_EQ(FigureValue(17).number(), 17);
  EXPECT_EQ(FigureValue(int64_t{-1}).text(), "-1");
  EXPECT_EQ(FigureValue(std::numeric_limits<uint64_t>::max()).text(), "18446744073709551615");
  EXPECT_EQ(FigureValue(true).text(), "1");
  EXPECT_EQ(FigureValue(false).number(), 0);
}

TEST(FigureValue, TextsAreNoNumbers) {
  EXPECT_EQ(FigureValue("epoll").text(), "epoll");
  EXPECT_EQ(FigureValue("17").number(), 0);
  EXPECT_EQ(FigureValue(std::string("a")).text(), "a");
}

TEST(FigureValue, FractionsHaveTheirDigits) {
  EXPECT_EQ(FigureValue::Fixed(1.5, 2).text(), "1.50");
  EXPECT_EQ(FigureValue::Fixed(1.5, 2).number(), 1.5);
  EXPECT_EQ(RatioText(1, 3), "0.33");
  EXPECT_EQ(RatioText(1, 0), "0.00");
}

TEST(FigureValue, WhatWentWellIsAWordOrAFlag) {
  EXPECT_EQ(FigureValue::WentWell(true).text(), "ok");
  EXPECT_EQ(FigureValue::WentWell(true).number(), 1);
  EXPECT_EQ(FigureValue::WentWell(false).text(), "err");
  EXPECT_EQ(FigureValue::WentWell(false).number(), 0);
}

TEST(FigureValue, BytesForPeople) {
  EXPECT_EQ(HumanText(0), "0B");
  EXPECT_EQ(HumanText(1023), "1023B");
  EXPECT_EQ(HumanText(1024), "1.00K");
  EXPECT_EQ(HumanText(1'562'378), "1.49M");
}

}  // namespace
}  // namespace sluice
