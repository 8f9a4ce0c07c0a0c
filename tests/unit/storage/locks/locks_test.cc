// The rules of locks, one example each. The properties over many histories are in
// lock_properties_test.cc.
#include "storage/locks/locks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/support/manual_clock.h"
#include "tests/unit/storage/locks/lock_world.h"

namespace sluice {
namespace {

using enum AcquireOutcome;

constexpr LockShape kReader{LockMode::kShared};
LockShape Permits(int64_t n, int64_t of) { return {LockMode::kPermits, n, of}; }
LockTerms Leased(LockShape shape) { return {.shape = shape, .lease_ms = 1000}; }

TEST(Locks, GrantsOneHolderAndIsReentrant) {
  LockWorld world;
  const AcquireResult first = world.Acquire(world.Request("a", {"k"}));
  ASSERT_EQ(first.outcome, kGranted);
  EXPECT_EQ(first.grants[0].token, world.now().unix_ms());
  EXPECT_EQ(first.grants[0].lease_ms, 1000);
  EXPECT_EQ(world.Acquire(world.Request("b", {"k"})).outcome, kRefused);
  world.clock.Advance(400);
  const AcquireResult again = world.Acquire(world.Request("a", {"k"}, {.lease_ms = 100}));
  EXPECT_EQ(again.grants[0].token, first.grants[0].token);
  EXPECT_EQ(again.grants[0].holds, 2);
  EXPECT_EQ(again.grants[0].lease_ms, 600);  // the longer
  EXPECT_EQ(world.Release("k", "b"), -1);
  EXPECT_EQ(world.Release("k", "a"), 1);
  EXPECT_EQ(world.locks.Release(world.Name("k"), "a", false, 5, world.now()), -1);
  EXPECT_EQ(world.Release("k", "a"), 0);
  EXPECT_EQ(world.Release("k", "a"), -1);
  EXPECT_TRUE(world.store.empty());
  EXPECT_EQ(world.locks.queue().FindOwner("a"), nullptr);
}

TEST(Locks, TellsOfEachChangeOfAHoldOnce) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}));
  EXPECT_EQ(world.holds_changed, 0);
  world.Acquire(world.Request("a", {"k", "other"}));  // re-entrant in the first
  EXPECT_EQ(world.holds_changed, 1);
  EXPECT_EQ(world.Release("k", "a"), 1);
  EXPECT_EQ(world.holds_changed, 2);
  EXPECT_EQ(world.locks.Renew(world.Name("k"), "a", 80, 0, world.now()), 80);
  EXPECT_EQ(world.holds_changed, 3);
  EXPECT_EQ(world.locks.Renew(world.Name("k"), "b", 80, 0, world.now()), -1);
  EXPECT_EQ(world.Release("k", "a"), 0);  // LockEnded tells of that
  EXPECT_EQ(world.holds_changed, 3);
}

// Never a µs before it has lasted as long as was asked.
TEST(Locks, ALeaseLastsAsLongAsWasAsked) {
  LockWorld world;
  world.clock.AdvanceMicros(900);
  EXPECT_EQ(world.Acquire(world.Request("a", {"k"}, {.lease_ms = 10})).grants[0].lease_ms, 10);
  world.clock.AdvanceMicros(9'999);
  EXPECT_EQ(world.Acquire(world.Request("b", {"k"})).outcome, kRefused);
  EXPECT_EQ(world.locks.Renew(world.Name("k"), "a", 10, 0, world.now()), 10);
  world.clock.AdvanceMicros(10'101);
  EXPECT_EQ(world.Acquire(world.Request("b", {"k"})).outcome, kGranted);
}

TEST(Locks, EndsWithTheLastOfItsBindings) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}, {.lease_ms = 50, .session = 7}));
  EXPECT_EQ(world.Acquire(world.Request("b", {"s"}, {.session = 7})).grants[0].lease_ms, -1);
  EXPECT_EQ(world.locks.Renew(world.Name("k"), "a", 80, 0, world.now()), 80);
  EXPECT_EQ(world.locks.Renew(world.Name("k"), "b", 80, 0, world.now()), -1);
  world.Advance(80);  // the lease is over, the session is not
  EXPECT_TRUE(world.ended.empty());
  EXPECT_EQ(world.At("k")->FindOwner("a")->LeaseLeftMs(world.now()), -1);
  world.Advance(1'000'000);
  world.locks.SessionEnded(7, world.now());
  EXPECT_EQ(world.ended.size(), 2u);
  EXPECT_EQ(world.ended[0].end, LockEnd::kReleased);
  EXPECT_TRUE(world.store.empty());

  world.Acquire(world.Request("a", {"k"}, {.lease_ms = 50, .session = 7}));
  world.locks.SessionEnded(7, world.now());
  EXPECT_NE(world.At("k"), nullptr);  // until the lease is over
  world.Advance(50);
  EXPECT_EQ(world.ended.back().end, LockEnd::kExpired);
  EXPECT_TRUE(world.store.empty());
}

TEST(Locks, AnotherSessionOrLeaseOfTheOwnerKeepsTheLock) {
  LockWorld world;
  const LockTerms by_7{.session = 7};
  const LockTerms by_8{.session = 8};
  world.Acquire(world.Request("a", {"k"}, by_7));
  EXPECT_EQ(world.Acquire(world.Request("a", {"k"}, by_8)).grants[0].holds, 2);
  EXPECT_EQ(world.Acquire(world.Request("a", {"k"}, {.lease_ms = 100})).grants[0].lease_ms, 100);
  world.locks.SessionEnded(8, world.now());
  world.Advance(100);
  EXPECT_TRUE(world.ended.empty());
  EXPECT_EQ(world.At("k")->FindOwner("a")->holds, 3);
  world.locks.SessionEnded(7, world.now());
  EXPECT_TRUE(world.store.empty());
}

TEST(Locks, WhatAReentrantRequestAsksTakesEffect) {
  LockWorld world;
  world.gone = {10};
  world.Acquire(world.Request("a", {"k"}, {.lease_ms = 100, .minhold_ms = 10, .label = "one"}));
  for (uint64_t connection = 1; connection <= 17; ++connection)
    world.Acquire(world.Request("a", {"k"}, {.lease_ms = 5, .notify = connection}));
  world.Acquire(world.Request("a", {"k"}, {.lease_ms = 5, .minhold_ms = 300, .label = "two"}));
  world.Acquire(world.Request("a", {"k"}, {.lease_ms = 5, .minhold_ms = 200}));
  const LockHolder& holder = *world.At("k")->FindOwner("a");
  EXPECT_EQ(holder.label(), "two");
  EXPECT_EQ(holder.minhold_until_ms(), world.now().ms() + 300);
  EXPECT_EQ(holder.notify().size(), 16u);  // 10 is gone
  EXPECT_EQ(holder.lease_until_ms, world.now().ms() + 100);
}

TEST(Locks, ALaterRequestOfTheOwnerTakesThePlaceOfTheEarlier) {
  LockWorld world;
  world.Acquire(world.Request("h", {"k"}));
  const uint64_t former = world.Acquire(world.Request("a", {"k"}), 500).wait_id;
  const uint64_t b = world.Acquire(world.Request("b", {"k"}), 500).wait_id;
  const AcquireResult again = world.Acquire(world.Request("a", {"k"}), 500, 9);
  ASSERT_EQ(again.outcome, kQueued);
  EXPECT_EQ(world.replaced, (std::vector<uint64_t>{former}));
  world.TookPlaceOf(again.wait_id, former);
  EXPECT_EQ(world.locks.queue().size(), 2u);
  EXPECT_EQ(world.Acquire(world.Request("a", {"k"})).outcome, kRefused);  // it does not wait
  world.Release("k", "h");
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{again.wait_id}));
  world.Release("k", "a");
  EXPECT_EQ(world.granted.back(), b);
}

// As a reader it may go where the writer that it was could not.
TEST(Locks, ARequestInAnotherModeMayGoFromTheSamePlace) {
  LockWorld world;
  world.Acquire(world.Request("r", {"k"}, Leased(kReader)));
  world.Acquire(world.Request("a", {"k"}), 500);
  const uint64_t behind = world.Acquire(world.Request("b", {"k"}, Leased(kReader)), 500).wait_id;
  EXPECT_EQ(world.Acquire(world.Request("a", {"k"}, Leased(kReader)), 500).outcome, kGranted);
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{behind}));
}

TEST(Locks, HandsOverInTheOrderOfArrival) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}));
  std::vector<uint64_t> ids;
  for (const char* owner : {"b", "c", "d"})
    ids.push_back(world.Acquire(world.Request(owner, {"k"}), 500).wait_id);
  EXPECT_TRUE(world.locks.Cancel(ids[1], world.now()));
  EXPECT_FALSE(world.locks.Cancel(ids[1], world.now()));
  world.Release("k", "a");
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{ids[0]}));
  world.Advance(1000);  // its lease ends
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{ids[0], ids[2]}));
}

// By a release, by the end of a lease, by a break: as a lock of another mode, too.
TEST(Locks, AHandOverCreatesAndRemovesNoKey) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}, {.lease_ms = 1000, .session = 1}));
  for (const char* owner : {"b", "c"}) world.Acquire(world.Request(owner, {"k"}), 5000);
  for (const char* owner : {"d", "e"})
    world.Acquire(world.Request(owner, {"k"}, Leased(kReader)), 5000);
  world.Release("k", "a");
  EXPECT_NE(world.At("k")->FindOwner("b"), nullptr);
  EXPECT_FALSE(world.locks.HoldsAny(1));
  world.Advance(1000);  // its lease ends
  EXPECT_NE(world.At("k")->FindOwner("c"), nullptr);
  world.locks.Break(world.Name("k"), 0, world.now());
  EXPECT_EQ(world.At("k")->holders().size(), 2u);
  EXPECT_EQ(world.created, 1);
  EXPECT_EQ(world.removed, 0);
  for (const char* owner : {"d", "e"}) world.Release("k", owner);
  EXPECT_EQ(world.removed, 1);
}

TEST(Locks, ReadersDoNotOvertakeAWaitingWriter) {
  LockWorld world;
  ASSERT_EQ(world.Acquire(world.Request("r1", {"k"}, Leased(kReader))).outcome, kGranted);
  ASSERT_EQ(world.Acquire(world.Request("r2", {"k"}, Leased(kReader))).outcome, kGranted);
  const uint64_t writer = world.Acquire(world.Request("w", {"k"}), 500).wait_id;
  EXPECT_EQ(world.Acquire(world.Request("r3", {"k"}, Leased(kReader))).outcome, kRefused);
  const uint64_t r4 = world.Acquire(world.Request("r4", {"k"}, Leased(kReader)), 500).wait_id;
  const uint64_t r5 = world.Acquire(world.Request("r5", {"k"}, Leased(kReader)), 500).wait_id;
  EXPECT_EQ(world.Acquire(world.Request("r1", {"k"})).outcome, kLockMode);
  EXPECT_EQ(world.Acquire(world.Request("r1", {"k"}, Leased(kReader))).grants[0].holds, 2);
  world.Release("k", "r2");
  EXPECT_TRUE(world.granted.empty());
  // The writer gives up: the readers behind it are free to go at once.
  world.locks.Cancel(writer, world.now());
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{r4, r5}));
}

TEST(Locks, CountsPermits) {
  LockWorld world;
  ASSERT_EQ(world.Acquire(world.Request("a", {"k"}, Leased(Permits(2, 3)))).outcome, kGranted);
  EXPECT_EQ(world.Acquire(world.Request("b", {"k"}, Leased(Permits(1, 4)))).outcome, kOtherPermits);
  EXPECT_EQ(world.Acquire(world.Request("a", {"k"}, Leased(Permits(1, 3)))).outcome, kLockMode);
  const uint64_t large = world.Acquire(world.Request("b", {"k"}, Leased(Permits(2, 3))), 9).wait_id;
  const uint64_t small = world.Acquire(world.Request("c", {"k"}, Leased(Permits(1, 3))), 9).wait_id;
  EXPECT_NE(small, 0u);  // there is one, but it came later
  world.Release("k", "a");
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{large, small}));
}

TEST(Locks, KeepsThePlaceForMinhold) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}, {.lease_ms = 100, .minhold_ms = 300}));
  EXPECT_EQ(world.Release("k", "a"), 0);
  EXPECT_EQ(world.Release("k", "a"), -1);
  EXPECT_EQ(world.Acquire(world.Request("a", {"k"})).outcome, kRefused);
  const uint64_t next = world.Acquire(world.Request("b", {"k"}), 1000).wait_id;
  world.Advance(299);
  EXPECT_TRUE(world.granted.empty());
  world.Advance(1);
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{next}));
  EXPECT_EQ(world.ended.size(), 1u);
}

TEST(Locks, TakesManyOrNone) {
  LockWorld world;
  world.Acquire(world.Request("a", {"y"}));
  const uint64_t both = world.Acquire(world.Request("b", {"x", "y"}), 900).wait_id;
  EXPECT_EQ(world.At("x"), nullptr);                                      // holds nothing meanwhile
  EXPECT_EQ(world.Acquire(world.Request("c", {"x"})).outcome, kRefused);  // but has its place
  const uint64_t later = world.Acquire(world.Request("c", {"x"}), 900).wait_id;
  world.Release("y", "a");
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{both}));
  EXPECT_LT(world.At("x")->newest_token(), world.At("y")->newest_token());
  world.Release("x", "b");
  EXPECT_EQ(world.granted.back(), later);
}

TEST(Locks, RefusesToCloseACircle) {
  LockWorld world;
  for (const char* name : {"a", "b", "c"}) world.Acquire(world.Request(name, {name}));
  EXPECT_EQ(world.Acquire(world.Request("a", {"b"}), 500).outcome, kQueued);
  EXPECT_EQ(world.Acquire(world.Request("b", {"c"}), 500).outcome, kQueued);
  EXPECT_EQ(world.Acquire(world.Request("c", {"a"}), 500).outcome, kDeadlock);
  EXPECT_EQ(world.Acquire(world.Request("c", {"a"})).outcome, kRefused);  // does not wait
  EXPECT_EQ(world.Acquire(world.Request("x", {"a"}), 500).outcome, kQueued);
}

TEST(Locks, LetsPassWhomTheQueueWaitsFor) {
  LockWorld world;
  world.Acquire(world.Request("o", {"b"}));
  const uint64_t both = world.Acquire(world.Request("m", {"a", "b"}), 500).wait_id;
  EXPECT_EQ(world.Acquire(world.Request("p", {"a"})).outcome, kRefused);
  EXPECT_EQ(world.Acquire(world.Request("o", {"a"})).outcome, kGranted);
  world.Release("b", "o");
  EXPECT_TRUE(world.granted.empty());
  world.Release("a", "o");
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{both}));
}

TEST(Locks, ASemaphoreIsNoDeadlockWhileAnotherCanGiveBack) {
  LockWorld world;
  const LockTerms one = Leased(Permits(1, 2));
  world.Acquire(world.Request("a", {"s"}, one));
  world.Acquire(world.Request("b", {"s"}, one));
  world.Acquire(world.Request("c", {"k"}));
  EXPECT_EQ(world.Acquire(world.Request("c", {"s"}, one), 500).outcome, kQueued);
  EXPECT_EQ(world.Acquire(world.Request("a", {"k"}), 500).outcome, kQueued);  // b may give back
  EXPECT_EQ(world.Acquire(world.Request("b", {"k"}), 500).outcome, kDeadlock);
}

TEST(Locks, BreaksHolders) {
  LockWorld world;
  const auto first = world.Acquire(world.Request("r1", {"k"}, Leased(kReader)));
  world.Acquire(world.Request("r2", {"k"}, Leased(kReader)));
  const uint64_t writer = world.Acquire(world.Request("w", {"k"}), 500).wait_id;
  EXPECT_EQ(world.locks.Break(world.Name("k"), first.grants[0].token, world.now()), 1);
  EXPECT_EQ(world.locks.Break(world.Name("k"), 12345, world.now()), 0);
  EXPECT_EQ(world.locks.Break(world.Name("k"), 0, world.now()), 1);
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{writer}));
  EXPECT_EQ(world.locks.Break(world.Name("none"), 0, world.now()), 0);
}

TEST(Locks, DroppingALockMakesItsTokensStale) {
  LockWorld world;
  const int64_t token = world.Acquire(world.Request("a", {"k"})).grants[0].token;
  EXPECT_EQ(world.locks.CheckToken(world.Name("k"), token, world.now()), TokenCheck::kValid);
  EXPECT_EQ(world.locks.CheckToken(world.Name("j"), token, world.now()), TokenCheck::kForgotten);
  const uint64_t next = world.Acquire(world.Request("b", {"k"}), 500).wait_id;
  world.Drop("k");
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{next}));
  EXPECT_EQ(world.locks.CheckToken(world.Name("k"), token, world.now()), TokenCheck::kSuperseded);
  EXPECT_EQ(world.locks.queue().FindOwner("a"), nullptr);
}

TEST(Locks, HandsOverAThousandWaitersOneByOne) {
  LockWorld world;
  world.Acquire(world.Request("first", {"k"}));
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(world.Acquire(world.Request(std::to_string(i), {"k"}), 500).outcome, kQueued);
  world.Release("k", "first");
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(world.granted.size(), static_cast<size_t>(i) + 1);
    ASSERT_EQ(world.Release("k", std::to_string(i)), 0);
  }
  EXPECT_EQ(world.locks.queue().size(), 0u);
}

// Beyond a few holders they are found by index: the same rules, every step audited.
TEST(Locks, KeepsHundredsOfReaders) {
  LockWorld world;
  std::mt19937_64 random(3);
  std::map<std::string, int64_t> until;  // of who holds
  for (int step = 0; step < 4'000; ++step) {
    const std::string owner = "reader" + std::to_string(random() % 300);
    const int64_t now_ms = world.now().ms();
    std::erase_if(until, [&](const auto& lease) { return lease.second <= now_ms; });
    if (random() % 3 != 0) {
      LockTerms terms = Leased(kReader);
      terms.lease_ms = 1 + static_cast<int64_t>(random() % 500);
      ASSERT_EQ(world.Acquire(world.Request(owner, {"k"}, terms)).outcome, kGranted);
      until[owner] = std::max(until[owner], now_ms + terms.lease_ms);
    } else {
      const bool held = world.locks.Release(world.Name("k"), owner, true, 0, world.now()) == 0;
      ASSERT_EQ(held, until.erase(owner) == 1);
    }
    if (random() % 4 == 0) world.Advance(static_cast<int64_t>(random() % 5));
  }
  EXPECT_GT(until.size(), 20u);
  world.Advance(1'000);
  EXPECT_TRUE(world.store.empty());
}

TEST(FenceTokens, GrowOverClocksAndRestarts) {
  ManualClock clock;
  FenceTokens tokens;
  EXPECT_FALSE(tokens.CanIssue(1));
  tokens.set_mark(tokens.MarkFor(clock.Sample(), 3));
  const int64_t first = tokens.Issue(clock.Sample());
  EXPECT_EQ(first, clock.Sample().unix_ms());
  EXPECT_EQ(tokens.Issue(clock.Sample()), first + 1);
  clock.StepWall(-3'600'000);
  EXPECT_EQ(tokens.Issue(clock.Sample()), first + 2);
  FenceTokens restarted(tokens.mark());
  EXPECT_GT(restarted.Next(clock.Sample()), tokens.mark());
  restarted.JumpPast(kTokenMax - 1);
  restarted.set_mark(kTokenMax);
  EXPECT_EQ(restarted.Issue(clock.Sample()), kTokenMax);
  EXPECT_EQ(restarted.Next(clock.Sample()), 0);
  EXPECT_FALSE(restarted.CanIssue(1));
  FenceTokens odd;  // a wall clock beyond the numbers, or before 1970, is not followed
  EXPECT_EQ(odd.Next({.unix_offset_ms = kTokenMax + 1}), 1);
  EXPECT_EQ(odd.Next({.unix_offset_ms = -5'000}), 1);
}

// The mark is written late: the clock has passed it, and tokens go on below it.
TEST(FenceTokens, FollowTheClockAsFarAsTheMarkLets) {
  ManualClock clock;
  FenceTokens tokens;
  tokens.JumpPast(clock.Sample().unix_ms() - 1);
  tokens.set_mark(tokens.MarkFor(clock.Sample(), kTokensAtOnce));
  const int64_t first = tokens.Issue(clock.Sample());
  EXPECT_TRUE(tokens.IsReserved(clock.Sample(), kTokensAtOnce));
  clock.Advance(kTokenMarkAhead);
  const int64_t second = tokens.Issue(clock.Sample());
  EXPECT_EQ(second, first + kTokenMarkAhead);
  clock.Advance(2 * kTokensAtOnce);
  EXPECT_FALSE(tokens.IsReserved(clock.Sample(), 1));
  EXPECT_TRUE(tokens.CanIssue(kTokensAtOnce));
  for (int64_t i = 1; i <= kTokensAtOnce; ++i) ASSERT_EQ(tokens.Issue(clock.Sample()), second + i);
  tokens.set_mark(tokens.MarkFor(clock.Sample(), kTokensAtOnce));
  EXPECT_EQ(tokens.Issue(clock.Sample()), clock.Sample().unix_ms());
}

TEST(FenceMemory, IsBoundedInTimeAndSpace) {
  ManualClock clock;
  FenceMemory memory(SipKey{1});
  memory.set_retention_ms(1000);
  memory.Remember({0, "k"}, 10, clock.Sample());
  memory.Remember({1, "k"}, 11, clock.Sample());
  clock.Advance(999);
  memory.Remember({0, "k"}, 20, clock.Sample());
  EXPECT_EQ(memory.Newest({1, "k"}, clock.Sample()), 11);
  clock.Advance(1);
  memory.Collapse(clock.Sample());
  EXPECT_EQ(memory.Newest({1, "k"}, clock.Sample()), 0);
  EXPECT_EQ(memory.Newest({0, "k"}, clock.Sample()), 20);
  EXPECT_EQ(memory.floor(), 11);
  memory.set_memory_max(100'000);
  for (int i = 0; i < 10'000; ++i) memory.Remember({0, std::to_string(i)}, 100 + i, clock.Sample());
  EXPECT_LE(memory.memory_bytes(), 100'000u);
  EXPECT_GT(memory.size(), 300u);
  memory.Remember({1, "k"}, 20'000, clock.Sample());
  memory.Remember({0, "k"}, 20'001, clock.Sample());
  memory.ForgetDatabase(0, 20'001);
  EXPECT_EQ(memory.Newest({0, "k"}, clock.Sample()), 0);
  EXPECT_EQ(memory.Newest({1, "k"}, clock.Sample()), 20'000);
  memory.Remember({0, "k"}, 20'002, clock.Sample());
  EXPECT_EQ(memory.Newest({0, "k"}, clock.Sample()), 20'002);
}

// A crowd of memories that are over together is forgotten a few at a time; none of them counts.
TEST(FenceMemory, CollapsesInSlices) {
  constexpr int kLocks = 10'000;
  ManualClock clock;
  FenceMemory memory(SipKey{1});
  memory.set_retention_ms(1000);
  for (int i = 0; i < kLocks; ++i) memory.Remember({0, std::to_string(i)}, 1 + i, clock.Sample());
  clock.Advance(1000);
  memory.Remember({0, "k"}, 20'000, clock.Sample());
  EXPECT_GT(memory.size(), kLocks - 100u);
  EXPECT_EQ(memory.Newest({0, std::to_string(kLocks - 1)}, clock.Sample()), 0);
  EXPECT_EQ(memory.Newest({0, "k"}, clock.Sample()), 20'000);
  for (int i = 0; i < kLocks / 4; ++i) memory.Collapse(clock.Sample());
  EXPECT_EQ(memory.size(), 1u);
}

TEST(FenceTokens, StartFarAheadWhereTheMarkIsMissing) {
  ManualClock clock;
  FenceTokens tokens;
  tokens.StartAhead(clock.Sample());
  const int64_t first = tokens.Next(clock.Sample());
  EXPECT_EQ(first, clock.Sample().unix_ms() + kTokenStartAhead);
  EXPECT_EQ(std::to_string(first).size(), 13u);
  EXPECT_FALSE(tokens.CanIssue(1));  // before a mark is written
  FenceTokens odd;
  odd.StartAhead({.unix_offset_ms = -5});
  EXPECT_EQ(odd.Next({.unix_offset_ms = -5}), kTokenStartAhead);
}

TEST(Locks, ABrokenTokenIsStaleAtOnce) {
  LockWorld world;
  const int64_t token = world.Acquire(world.Request("a", {"k"})).grants[0].token;
  EXPECT_EQ(world.locks.Break(world.Name("k"), 0, world.now()), 1);
  EXPECT_NE(world.locks.CheckToken(world.Name("k"), token, world.now()), TokenCheck::kValid);
  const int64_t older = world.Acquire(world.Request("r1", {"k"}, Leased(kReader))).grants[0].token;
  const int64_t newest = world.Acquire(world.Request("r2", {"k"}, Leased(kReader))).grants[0].token;
  EXPECT_EQ(world.locks.Break(world.Name("k"), newest, world.now()), 1);
  EXPECT_NE(world.locks.CheckToken(world.Name("k"), newest, world.now()), TokenCheck::kValid);
  EXPECT_EQ(world.locks.CheckToken(world.Name("k"), older, world.now()), TokenCheck::kValid);
  world.Release("k", "r1");  // another was given since
  EXPECT_NE(world.locks.CheckToken(world.Name("k"), older, world.now()), TokenCheck::kValid);
  EXPECT_NE(world.locks.CheckToken(world.Name("k"), newest, world.now()), TokenCheck::kValid);
}

// Of the tokens that were reserved one is left.
void LeaveOne(LockWorld& world) {
  world.tokens.JumpPast(world.now().unix_ms());
  world.tokens.set_mark(world.tokens.last() + 1);
}

// No mark can be written: a waiter is granted once one can be, a re-entrant request needs none.
TEST(Locks, WaitersSurviveATimeWithoutTokens) {
  LockWorld poor(0);
  EXPECT_EQ(poor.Acquire(poor.Request("a", {"k"})).outcome, kNoTokens);
  LeaveOne(poor);
  ASSERT_EQ(poor.Acquire(poor.Request("a", {"k"})).outcome, kGranted);
  EXPECT_EQ(poor.Acquire(poor.Request("a", {"k"})).outcome, kGranted);
  const uint64_t first = poor.Acquire(poor.Request("b", {"k"}), 500).wait_id;
  const uint64_t second = poor.Acquire(poor.Request("c", {"k"}), 500).wait_id;
  poor.Release("k", "a");
  poor.Release("k", "a");
  EXPECT_TRUE(poor.granted.empty());
  EXPECT_TRUE(poor.locks.wants_tokens());
  poor.locks.Continue(poor.now());
  EXPECT_TRUE(poor.granted.empty());
  EXPECT_TRUE(poor.locks.Cancel(first, poor.now()));
  EXPECT_TRUE(poor.granted.empty());
  poor.tokens.set_mark(kTokenMax);
  poor.locks.Continue(poor.now());
  EXPECT_EQ(poor.granted, (std::vector<uint64_t>{second}));
}

// A request whose answer is "queued" is not granted before its caller knows that.
TEST(Locks, ARequestIsNotGrantedBeforeItsCallerKnowsThatItWaits) {
  LockWorld world(0);
  LeaveOne(world);
  ASSERT_EQ(world.Acquire(world.Request("h", {"k"})).outcome, kGranted);
  const uint64_t one = world.Acquire(world.Request("a", {"k"}), 500).wait_id;
  world.Acquire(world.Request("a", {"k", "l"}), 500);
  world.Release("k", "h");  // no token can be had for `one`
  world.tokens.set_mark(kTokenMax);
  ASSERT_TRUE(world.granted.empty());
  const AcquireResult again = world.Acquire(world.Request("a", {"k", "l"}), 500);
  ASSERT_EQ(again.outcome, kQueued);
  EXPECT_NE(world.locks.queue().Find(again.wait_id), nullptr);
  EXPECT_TRUE(world.granted.empty());
  world.locks.Continue(world.now());
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{one, again.wait_id}));
}

// Else who waits for both would be re-entrant in a holding that is over.
TEST(Locks, LeasesThatEndTogetherEndBeforeAnythingIsHandedOver) {
  LockWorld world;
  world.Acquire(world.Request("q", {"a"}, {.lease_ms = 7}));
  const int64_t old = world.Acquire(world.Request("s", {"b"}, {.lease_ms = 7})).grants[0].token;
  const uint64_t both = world.Acquire(world.Request("s", {"a", "b"}), 500).wait_id;
  world.clock.Advance(7);
  const LockName names[] = {LockName(world.Name("a")), LockName(world.Name("b"))};
  world.locks.SettleAll(names, world.now());
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{both}));
  EXPECT_GT(world.At("b")->newest_token(), old);
  EXPECT_EQ(world.At("b")->FindOwner("s")->holds, 1);
}

TEST(Locks, AClosedSessionLosesAllBeforeAnythingIsHandedOver) {
  LockWorld world;
  world.Acquire(world.Request("s", {"b"}, {.session = 1}));
  world.Acquire(world.Request("q", {"a"}, {.session = 1}));
  const int64_t old = world.At("b")->newest_token();
  const uint64_t both = world.Acquire(world.Request("s", {"a", "b"}), 500).wait_id;
  world.locks.SessionEnded(1, world.now());
  EXPECT_EQ(world.granted, (std::vector<uint64_t>{both}));
  EXPECT_GT(world.At("b")->newest_token(), old);
  EXPECT_EQ(world.At("b")->FindOwner("s")->holds, 1);
}

TEST(Locks, ARefusedReleaseChangesNothing) {
  LockWorld world;
  const int64_t token = world.Acquire(world.Request("a", {"k"})).grants[0].token;
  const int before = world.modified;
  EXPECT_EQ(world.Release("k", "b"), -1);
  EXPECT_EQ(world.locks.Release(world.Name("k"), "a", false, token + 1, world.now()), -1);
  EXPECT_EQ(world.locks.Renew(world.Name("k"), "b", 10, 0, world.now()), -1);
  EXPECT_EQ(world.locks.Break(world.Name("k"), token + 1, world.now()), 0);
  EXPECT_EQ(world.modified, before);
}

}  // namespace
}  // namespace sluice
