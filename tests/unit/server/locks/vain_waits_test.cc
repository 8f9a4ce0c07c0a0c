// What is counted of waits in vain, by lock: to the minute, for an hour, for so many locks.
#include "server/locks/vain_waits.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/manual_clock.h"

namespace sluice {
namespace {

constexpr LockNameView kDoor{0, "door"};

TEST(VainWaits, AreCountedForAnHour) {
  ManualClock clock;
  VainWaits waits(SipKey{1});
  EXPECT_EQ(waits.LastHour(kDoor, clock.Sample()), 0);
  waits.Count(kDoor, clock.Sample());
  clock.Advance(30 * 60'000);
  waits.Count(kDoor, clock.Sample());
  waits.Count(kDoor, clock.Sample());
  waits.Count({1, "door"}, clock.Sample());
  EXPECT_EQ(waits.LastHour(kDoor, clock.Sample()), 3);
  EXPECT_EQ(waits.LastHour({1, "door"}, clock.Sample()), 1);
  clock.Advance(30 * 60'000);
  EXPECT_EQ(waits.LastHour(kDoor, clock.Sample()), 2);
  clock.Advance(29 * 60'000);
  EXPECT_EQ(waits.LastHour(kDoor, clock.Sample()), 2);
  clock.Advance(60'000);
  EXPECT_EQ(waits.LastHour(kDoor, clock.Sample()), 0);
  waits.Count(kDoor, clock.Sample());
  EXPECT_EQ(waits.LastHour(kDoor, clock.Sample()), 1);
}

TEST(VainWaits, OfTooManyLocksThoseWhoseWaitsEndedLastStay) {
  ManualClock clock;
  VainWaits waits(SipKey{1});
  waits.Count(kDoor, clock.Sample());
  waits.Count({0, "old"}, clock.Sample());
  for (size_t i = 0; i < kVainLocksMax - 2; ++i)
    waits.Count({0, "lock" + std::to_string(i)}, clock.Sample());
  waits.Count(kDoor, clock.Sample());
  waits.Count({0, "new"}, clock.Sample());
  EXPECT_EQ(waits.size(), kVainLocksMax);
  EXPECT_EQ(waits.LastHour(kDoor, clock.Sample()), 2);
  EXPECT_EQ(waits.LastHour({0, "old"}, clock.Sample()), 0);
  EXPECT_EQ(waits.LastHour({0, "new"}, clock.Sample()), 1);
}

}  // namespace
}  // namespace sluice
