// Crowds of holders and of waiters: what one call does for them is bounded, whatever their number,
// and every caller that looks sees the end of it. Counted in what is done, not in time.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "protocol/text/concat.h"
#include "tests/unit/storage/locks/lock_world.h"

namespace sluice {
namespace {

constexpr int kCrowd = 500;

class LockCrowd : public testing::Test {
 protected:
  LockCrowd() { world_.audits = false; }
  static LockTerms Reader(int64_t lease_ms, uint64_t session = 0) {
    return {.shape = {.mode = LockMode::kShared}, .lease_ms = lease_ms, .session = session};
  }
  static LockTerms Permits(int64_t permits, int64_t of, int64_t lease_ms) {
    return {.shape = {LockMode::kPermits, permits, of}, .lease_ms = lease_ms};
  }
  AcquireResult Ask(const std::string& owner, const LockTerms& terms, int64_t wait_ms = 0) {
    return world_.Acquire(LockWorld::Request(owner, {"k"}, terms), wait_ms);
  }
  int64_t Take(const std::string& owner, const LockTerms& terms) {
    const AcquireResult result = Ask(owner, terms);
    return result.outcome == AcquireOutcome::kGranted ? result.grants.front().token : 0;
  }
  void TakeAll(const LockTerms& terms) {
    for (int i = 0; i < kCrowd; ++i) ASSERT_GT(Take(Concat("h", i), terms), 0);
  }
  // As DEL of a crowd does, which is freed later.
  std::unique_ptr<Lock> TakeOut() {
    std::unique_ptr<Lock> lock = std::move(world_.store["k"]);
    world_.store.erase("k");
    ++world_.changed;
    lock->Retire();
    world_.locks.Dropped(name_, world_.now());
    return lock;
  }
  bool IsValid(int64_t token) {
    return world_.locks.CheckToken(name_, token, world_.now()) == TokenCheck::kValid;
  }
  const LockCounts& counts() { return world_.locks.counts(); }
  uint64_t Waits() { return world_.locks.queue().size(); }

  LockWorld world_;
  const LockNameView name_ = LockWorld::Name("k");
};

TEST_F(LockCrowd, IsBrokenAtTheCostOfOne) {
  TakeAll(Reader(1000));
  const int64_t newest = world_.newest_token;
  Ask("next", {.lease_ms = 1000}, 100);
  EXPECT_EQ(world_.locks.Break(name_, 0, world_.now()), kCrowd);
  EXPECT_EQ(world_.crowds_ended, 1);
  EXPECT_EQ(counts().broken, static_cast<uint64_t>(kCrowd));
  EXPECT_FALSE(IsValid(newest));
  EXPECT_EQ(Waits(), 0u);
  EXPECT_TRUE(world_.At("k")->IsHeldBy("next", 0));
}

TEST_F(LockCrowd, OfWhichOneIsBrokenKeepsTheOthers) {
  TakeAll(Reader(1000));
  const int64_t newest = world_.newest_token;
  EXPECT_EQ(world_.locks.Break(name_, newest, world_.now()), 1);
  EXPECT_EQ(world_.crowds_ended, 0);
  EXPECT_FALSE(IsValid(newest));
  EXPECT_TRUE(IsValid(newest - 1));
  EXPECT_EQ(world_.At("k")->holders().size(), kCrowd - 1u);
}

// MINHOLD keeps places that belong to no owner: they go too, and are not counted.
TEST_F(LockCrowd, IsCountedWithoutThoseThatLinger) {
  LockTerms terms = Reader(1000);
  terms.minhold_ms = 5000;
  TakeAll(terms);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(world_.Release("k", Concat("h", i)), 0);
  EXPECT_EQ(world_.locks.Break(name_, 0, world_.now()), kCrowd - 100);
  EXPECT_EQ(world_.At("k"), nullptr);
}

// More leases are over than one turn ends. They were lost by time, and not by the BREAK.
TEST_F(LockCrowd, IsBrokenWithoutThoseWhoseLeasesAreOver) {
  TakeAll(Reader(1000));
  LockTerms kept = Reader(2000);
  kept.minhold_ms = 1000;
  ASSERT_GT(Take("gone", kept), 0);
  EXPECT_EQ(world_.Release("k", "gone"), 0);
  ASSERT_GT(Take("renewed", Reader(1000)), 0);
  EXPECT_GT(world_.locks.Renew(name_, "renewed", 2000, 0, world_.now()), 0);
  ASSERT_GT(Take("bound", Reader(1000, 7)), 0);
  ASSERT_GT(Take("bound later", Reader(1000)), 0);
  ASSERT_GT(Take("bound later", Reader(1000, 7)), 0);
  ASSERT_GT(Take("session", Reader(0, 8)), 0);
  world_.clock.Advance(1001);
  world_.locks.BeginTurn();
  EXPECT_EQ(world_.locks.Break(name_, 0, world_.now()), 4);
  EXPECT_EQ(counts().broken, 4u);
  EXPECT_EQ(counts().expired, static_cast<uint64_t>(kCrowd));
  EXPECT_EQ(world_.At("k"), nullptr);
}

// Once a session has gone, the lease alone says when its holding ends.
TEST_F(LockCrowd, IsBrokenWithoutThoseThatOnlyALeaseThatIsOverHeld) {
  TakeAll(Reader(1000, 7));
  for (int i = 0; i < kCrowd; ++i) Take(Concat("h", i), Reader(1000, 8));
  world_.locks.SessionEnded(7, world_.now());
  while (world_.locks.Continue(world_.now())) {
  }
  ASSERT_GT(Take("stays", Reader(5000)), 0);
  world_.locks.SessionEnded(8, world_.now());
  while (world_.locks.Continue(world_.now())) {
  }
  world_.clock.Advance(1001);
  world_.locks.BeginTurn();
  EXPECT_EQ(world_.locks.Break(name_, 0, world_.now()), 1);
  EXPECT_EQ(counts().expired, static_cast<uint64_t>(kCrowd));
}

TEST_F(LockCrowd, ThatIsOutOfTheStoreIsFreedInSlices) {
  TakeAll(Reader(1000, 7));
  Ask("next", {.lease_ms = 1000}, 100);  // so the search for circles knows the holders
  const std::unique_ptr<Lock> lock = TakeOut();
  const size_t pieces = lock->Elements();
  EXPECT_GE(pieces, 2u * kCrowd);  // with their sessions
  EXPECT_EQ(lock->FreeSome(10), 10u);
  EXPECT_EQ(lock->Elements(), pieces - 10);
  EXPECT_TRUE(world_.locks.HoldsAny(7));
  EXPECT_EQ(lock->FreeSome(SIZE_MAX), pieces - 11);  // itself is the last
  EXPECT_EQ(lock->FreeSome(1), 0u);
  EXPECT_FALSE(world_.locks.HoldsAny(7));
  EXPECT_EQ(world_.locks.queue().FindOwner("h0"), nullptr);
}

TEST_F(LockCrowd, ThatIsStillToBeFreedHoldsNothingForItsSessions) {
  TakeAll(Reader(0, 7));
  const int64_t released = static_cast<int64_t>(counts().released);
  const std::unique_ptr<Lock> lock = TakeOut();
  EXPECT_GT(Take("h0", {.session = 7}), 0);  // a new lock of that name
  world_.locks.SessionEnded(7, world_.now());
  while (world_.locks.Continue(world_.now())) {
  }
  EXPECT_EQ(counts().released, released + 1u);
  EXPECT_FALSE(world_.locks.HoldsAny(7));
  EXPECT_EQ(world_.At("k"), nullptr);
  lock->FreeSome(SIZE_MAX);
}

// An owner of something that is gone closes no circle with it.
TEST_F(LockCrowd, ThatIsStillToBeFreedIsInNoCircle) {
  TakeAll(Reader(1000));
  world_.Acquire(LockWorld::Request("w", {"l"}));
  Ask("w", {.lease_ms = 1000}, 100);
  const std::unique_ptr<Lock> lock = TakeOut();  // w has the new one
  EXPECT_EQ(world_.Acquire(LockWorld::Request("h0", {"l"}), 100).outcome, AcquireOutcome::kQueued);
  lock->FreeSome(SIZE_MAX);
}

TEST_F(LockCrowd, WhoseLeasesAreOverIsGoneForWhoAsks) {
  TakeAll(Reader(1000));
  const int64_t newest = world_.newest_token;
  world_.clock.Advance(1001);
  world_.locks.BeginTurn();
  EXPECT_TRUE(IsValid(newest));  // it was given back, and is the newest
  EXPECT_EQ(world_.crowds_ended, 1);
  EXPECT_EQ(counts().expired, static_cast<uint64_t>(kCrowd));
  EXPECT_GT(Take("next", {.lease_ms = 1000}), 0);
  EXPECT_FALSE(IsValid(newest));
}

TEST_F(LockCrowd, WhoseLeasesAreOverButOneEndsInSlices) {
  TakeAll(Reader(1000));
  ASSERT_GT(Take("stays", Reader(0, 7)), 0);
  world_.clock.Advance(1001);
  world_.locks.BeginTurn();
  // The caller is looked at first: its own lease is over.
  const AcquireResult again = Ask("h499", Reader(1000));
  ASSERT_EQ(again.outcome, AcquireOutcome::kGranted);
  EXPECT_EQ(again.grants.front().holds, 1);
  EXPECT_LE(counts().expired, kExpiredPerTurn + 1u);
  EXPECT_EQ(world_.locks.Renew(name_, "h498", 1000, 0, world_.now()), -1);
  EXPECT_EQ(world_.locks.Release(name_, "h497", false, 0, world_.now()), -1);
  EXPECT_EQ(Ask("w", {.lease_ms = 1}).outcome, AcquireOutcome::kRefused);
  EXPECT_LE(counts().expired, kExpiredPerTurn + 4u);
  world_.locks.Settle(name_, world_.now());
  EXPECT_LE(counts().expired, kExpiredPerTurn + 4u);
  for (int turn = 0; turn < 5; ++turn) {
    world_.locks.BeginTurn();
    world_.locks.Settle(name_, world_.now());
  }
  EXPECT_EQ(counts().expired, static_cast<uint64_t>(kCrowd));
  EXPECT_TRUE(world_.At("k")->IsHeldBy("stays", 0));
}

// Of two owners that seem to wait for each other one has lost its lease, which is still to be
// ended.
TEST_F(LockCrowd, ALeaseThatIsOverClosesNoCircle) {
  TakeAll(Reader(1000));
  ASSERT_GT(Take("stays", Reader(0, 7)), 0);
  world_.Acquire(LockWorld::Request("w", {"l"}, {.lease_ms = 100'000}));
  world_.Acquire(LockWorld::Request("h499", {"l"}), 100'000);
  world_.clock.Advance(1001);
  world_.locks.BeginTurn();
  EXPECT_EQ(Ask("w", {.lease_ms = 1000}, 100).outcome, AcquireOutcome::kQueued);
  EXPECT_LT(counts().expired, static_cast<uint64_t>(kCrowd));
}

TEST_F(LockCrowd, OfPermitsGivesTheRoomThatIsAskedFor) {
  TakeAll(Permits(1, kCrowd + 1, 1000));
  ASSERT_GT(Take("stays", Permits(1, kCrowd + 1, 100'000)), 0);
  world_.clock.Advance(1001);
  world_.locks.BeginTurn();
  world_.locks.Settle(name_, world_.now());
  const uint64_t ended = counts().expired;
  EXPECT_LT(ended, static_cast<uint64_t>(kCrowd));
  for (int i = 0; i < kCrowd; ++i)
    ASSERT_GT(Take(Concat("w", i), Permits(1, kCrowd + 1, 100'000)), 0) << i;
  EXPECT_EQ(counts().expired, static_cast<uint64_t>(kCrowd));
  EXPECT_EQ(Take("late", Permits(1, kCrowd + 1, 1)), 0);
}

// A turn that has taken long enough does a little, and all is done in the end.
TEST_F(LockCrowd, OfReadersIsLetInALittleATurnWhenTimeIsUp) {
  Take("writer", {.lease_ms = 1000});
  for (int i = 0; i < kCrowd; ++i) Ask(Concat("r", i), Reader(100'000), 100'000);
  world_.spent = true;
  world_.locks.BeginTurn();
  world_.Release("k", "writer");
  const uint64_t at_once = counts().hand_overs;
  EXPECT_GT(at_once, 0u);
  constexpr auto kLittle = static_cast<uint64_t>(kWorkPerLook / kHandOverWork + 1);
  EXPECT_LE(at_once, kLittle);
  for (bool more = true; more;) {
    const uint64_t before = counts().hand_overs;
    more = world_.locks.Continue(world_.now());
    EXPECT_LE(counts().hand_overs - before, kLittle);
    if (more) {
      ASSERT_GT(counts().hand_overs, before);
    }
  }
  EXPECT_EQ(counts().hand_overs, static_cast<uint64_t>(kCrowd));
}

}  // namespace
}  // namespace sluice
