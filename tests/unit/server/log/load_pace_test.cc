// How long a slice of loading is, and how long a load waits that is made to be slow.
#include "server/log/load_pace.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(LoadPace, WithoutADelayASliceEndsByItsBytes) {
  Settings settings;
  settings.loading_process_events_interval_bytes = 1024;
  LoadPace pace(settings);
  pace.BeginSlice(5000);
  EXPECT_FALSE(pace.IsSliceOver(6023, 1'000'000));
  EXPECT_TRUE(pace.IsSliceOver(6024, 1'000'000));
  pace.EndSlice(1'000'000, 77);
  EXPECT_EQ(pace.next_ms(), 0) << "the next one begins at once";
}

TEST(LoadPace, EachKeyIsWaitedForOnce) {
  Settings settings;
  settings.key_load_delay = 300;
  LoadPace pace(settings);
  pace.BeginSlice(0);
  EXPECT_FALSE(pace.IsSliceOver(10, 3));
  EXPECT_TRUE(pace.IsSliceOver(10, 4));
  pace.EndSlice(10, 100);
  EXPECT_EQ(pace.next_ms(), 103);
  pace.BeginSlice(10);
  EXPECT_FALSE(pace.IsSliceOver(20, 13));
  pace.EndSlice(13, 103);  // 900 µs are no ms yet
  EXPECT_EQ(pace.next_ms(), 103);
  pace.BeginSlice(20);
  EXPECT_TRUE(pace.IsSliceOver(20, 14));
  pace.EndSlice(14, 200);
  EXPECT_EQ(pace.next_ms(), 201);
}

TEST(LoadPace, LessThanAMicrosecondIsForSeveralKeys) {
  Settings settings;
  settings.key_load_delay = -10;
  LoadPace pace(settings);
  pace.BeginSlice(0);
  EXPECT_FALSE(pace.IsSliceOver(10, 9'999));
  EXPECT_TRUE(pace.IsSliceOver(10, 10'000));
  pace.EndSlice(25'000, 100);
  EXPECT_EQ(pace.next_ms(), 102);
}

}  // namespace
}  // namespace sluice
