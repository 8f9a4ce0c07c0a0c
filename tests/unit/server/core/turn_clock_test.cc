// The time of a turn, and moments that are named for a part of one.
#include "server/core/turn_clock.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "tests/support/manual_clock.h"

namespace sluice {
namespace {

// Whoever keeps it has the moment of then.
static_assert(!std::is_reference_v<decltype(std::declval<const TurnClock&>().now())>);

class TurnClockTest : public testing::Test {
 protected:
  int64_t ms() const { return turn_.now().ms(); }
  static Now At(int64_t ms, int64_t unix_offset_ms = 0) {
    return {.steady_us = ms * 1000, .unix_offset_ms = unix_offset_ms};
  }

  ManualClock clock_{/*unix_ms=*/0};
  TurnClock turn_{clock_};
};

TEST_F(TurnClockTest, StandsStillUntilItIsRefreshed) {
  clock_.Advance(5);
  EXPECT_EQ(ms(), 0);
  EXPECT_FALSE(turn_.Refresh());
  EXPECT_EQ(ms(), 5);
  clock_.StepWall(1000);
  EXPECT_TRUE(turn_.Refresh());
}

TEST_F(TurnClockTest, IsAsItWasBehindAMomentThatWasNamed) {
  clock_.Advance(5);
  turn_.Refresh();
  {
    const TurnClock::Hold hold = turn_.HoldAt(At(1000, 7));
    EXPECT_EQ(ms(), 1000);
    EXPECT_EQ(turn_.now().unix_ms(), 1007);
    clock_.Advance(20);
    EXPECT_FALSE(turn_.Refresh());
    EXPECT_EQ(ms(), 1000) << "it stands still";
    {
      const TurnClock::Hold inner = turn_.HoldAt(At(-1000));
      EXPECT_EQ(ms(), -1000);
    }
    EXPECT_EQ(ms(), 1000);
    EXPECT_FALSE(turn_.Refresh()) << "it is held still";
    EXPECT_EQ(ms(), 1000);
  }
  EXPECT_EQ(ms(), 5) << "the turn's moment, which goes on by itself";
  turn_.Refresh();
  EXPECT_EQ(ms(), 25);
}

// The moment's offset is no step, and one that was there meanwhile is found.
TEST_F(TurnClockTest, KnowsAStepOfTheWallClockFromAMomentThatWasNamed) {
  { const TurnClock::Hold hold = turn_.HoldAt(At(0, 1'000'000)); }
  EXPECT_FALSE(turn_.Refresh());
  {
    const TurnClock::Hold hold = turn_.HoldAt(At(0, 1'000'000));
    clock_.StepWall(10);
    turn_.Refresh();
  }
  EXPECT_TRUE(turn_.Refresh());
}

TEST_F(TurnClockTest, GoesOnForThoseWhoAreServedInside) {
  const TurnClock::Hold hold = turn_.HoldAt(At(-1000));
  clock_.Advance(20);
  {
    const TurnClock::Going going(turn_);
    EXPECT_EQ(ms(), 20);
    {
      const TurnClock::Hold inner = turn_.HoldAt(At(-5));
      EXPECT_EQ(ms(), -5);
    }
    clock_.Advance(1);
    turn_.Refresh();
    EXPECT_EQ(ms(), 21);
  }
  EXPECT_EQ(ms(), -1000);
}

TEST_F(TurnClockTest, WhereItIsNotHeldItHasGoneOnBehindThem) {
  {
    const TurnClock::Going going(turn_);
    EXPECT_EQ(ms(), 0) << "their turn is this one";
    clock_.Advance(20);
    turn_.Refresh();
  }
  EXPECT_EQ(ms(), 20);
}

}  // namespace
}  // namespace sluice
