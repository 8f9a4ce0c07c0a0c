// Int48: keeps what fits, the nearest of what does not, and "never".
#include "storage/memory/int48.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

int64_t Kept(int64_t value) { return Int48(value); }

TEST(Int48, KeepsWhatFits) {
  for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{1} << 31,
                              (int64_t{1} << 47) + 12'345, Int48::kMin, Int48::kMax})
    EXPECT_EQ(Kept(value), value);
  EXPECT_EQ(Int48(), 0);
}

TEST(Int48, TakesTheNearestOfWhatDoesNot) {
  EXPECT_EQ(Kept(Int48::kMin - 1), Int48::kMin);
  EXPECT_EQ(Kept(INT64_MIN), Int48::kMin);
  EXPECT_EQ(Kept(Int48::kMax + 1), Int48::kMax);
  EXPECT_EQ(Kept(INT64_MAX - 1), Int48::kMax);
}

TEST(Int48, NeverStaysNever) {
  EXPECT_EQ(Kept(INT64_MAX), INT64_MAX);
  Int48 until_ms = INT64_MAX;
  EXPECT_GT(until_ms, Int48::kMax);
  until_ms = 5;
  EXPECT_EQ(until_ms, 5);
}

}  // namespace
}  // namespace sluice
