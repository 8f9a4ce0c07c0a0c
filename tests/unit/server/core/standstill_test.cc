// Reasons for which nothing ends, each begun and ended by itself.
#include "server/core/standstill.h"

#include <gtest/gtest.h>

#include "storage/keyspace/keyspace.h"
#include "tests/support/manual_clock.h"
#include "tests/support/null_observer.h"

namespace sluice {
namespace {

using enum Standstill::Reason;

class StandstillTest : public testing::Test {
 protected:
  Now now() { return clock_.Sample(); }
  // Whether a key whose time is over goes when it is met.
  bool KeysGo() {
    Database& db = keyspace_.db(0);
    const HashedKey key = keyspace_.Hash("k");
    db.PutInteger(key, 1, Deadline::Steady(now().ms() - 1), now());
    EXPECT_EQ(db.Find(key, now()), nullptr);
    return db.size() == 0;
  }

  ManualClock clock_;
  TimerWheel wheel_{0};
  NullObserver observer_;
  Keyspace keyspace_{16, SipKey{1}, wheel_, observer_};
  SlowPathFlags flags_;
  Standstill standstill_{keyspace_, flags_};
};

TEST_F(StandstillTest, LastsUntilTheLastReasonEnds) {
  EXPECT_FALSE(standstill_.is_on());
  EXPECT_TRUE(KeysGo());
  standstill_.Begin(kFollowing, now());
  standstill_.Begin(kPause, now());
  standstill_.Begin(kPause, now());
  EXPECT_TRUE(standstill_.is_on());
  EXPECT_FALSE(KeysGo());
  standstill_.End(kPause);
  standstill_.End(kPause);
  EXPECT_TRUE(standstill_.is_on());
  EXPECT_FALSE(KeysGo());
  EXPECT_FALSE(flags_.Raised(SlowPathFlags::kServe));
  standstill_.End(kFollowing);
  EXPECT_FALSE(standstill_.is_on());
  EXPECT_TRUE(KeysGo());
  EXPECT_TRUE(flags_.Raised(SlowPathFlags::kServe)) << "those that waited for it";
}

TEST_F(StandstillTest, AReasonThatIsNotThereEndsNothing) {
  standstill_.Begin(kLoading, now());
  standstill_.End(kPause);
  EXPECT_FALSE(KeysGo());
  standstill_.End(kLoading);
  standstill_.End(kLoading);
  EXPECT_TRUE(KeysGo());
}

// Its requests run, and change what they change; leases wait for them.
TEST_F(StandstillTest, WhatAPauseHasHeldBackKeepsLeasesAlone) {
  standstill_.Begin(kPause, now());
  clock_.Advance(100);
  standstill_.Begin(kResuming, now());
  standstill_.End(kPause);
  EXPECT_FALSE(standstill_.is_on());
  EXPECT_TRUE(KeysGo());
  EXPECT_TRUE(standstill_.keeps_leases());
  EXPECT_EQ(standstill_.began_ms(), now().ms() - 100);
  standstill_.End(kResuming);
  EXPECT_FALSE(standstill_.keeps_leases());
}

TEST_F(StandstillTest, BeganWithItsFirstReason) {
  clock_.Advance(50);
  standstill_.Begin(kFollowing, now());
  clock_.Advance(100);
  standstill_.Begin(kPause, now());
  standstill_.End(kFollowing);
  EXPECT_EQ(standstill_.began_ms(), 50);
  standstill_.TimeShifted(1000);
  EXPECT_EQ(standstill_.began_ms(), 1050);
  standstill_.End(kPause);
  standstill_.Begin(kPause, now());
  EXPECT_EQ(standstill_.began_ms(), 150);
}

}  // namespace
}  // namespace sluice
