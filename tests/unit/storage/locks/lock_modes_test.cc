// Readers that become the writer, and back: one example each of what may be, and what it does to
// tokens, to those that wait, and to what else belongs to the hold.
#include <gtest/gtest.h>

#include "tests/unit/storage/locks/lock_world.h"

namespace sluice {
namespace {

using enum AcquireOutcome;

const LockTerms kAsReader{.shape = {LockMode::kShared}, .lease_ms = 1000};

TEST(LockModes, AReaderThatIsAloneBecomesTheWriterAtOnce) {
  LockWorld world;
  const int64_t read = world.Acquire(world.Request("a", {"k"}, kAsReader)).grants[0].token;
  world.Acquire(world.Request("a", {"k"}, kAsReader));
  const AcquireResult written = world.Upgrade("k", "a");
  ASSERT_EQ(written.outcome, kGranted);
  EXPECT_GT(written.grants[0].token, read);
  EXPECT_EQ(written.grants[0].holds, 2);
  EXPECT_EQ(world.At("k")->mode(), LockMode::kExclusive);
  EXPECT_EQ(world.locks.CheckToken(world.Name("k"), read, world.now()), TokenCheck::kSuperseded);
  EXPECT_EQ(world.Acquire(world.Request("b", {"k"}, kAsReader)).outcome, kRefused);
  // Asked again it is the writer already; and a stranger holds nothing.
  EXPECT_EQ(world.Upgrade("k", "a").grants[0].token, written.grants[0].token);
  EXPECT_EQ(world.Upgrade("k", "b").outcome, kNotHeld);
  EXPECT_EQ(world.Upgrade("nothing", "b").outcome, kNotHeld);
  const AcquireResult back = world.Downgrade("k", "a");
  ASSERT_EQ(back.outcome, kGranted);
  EXPECT_GT(back.grants[0].token, written.grants[0].token);
  EXPECT_EQ(world.locks.CheckToken(world.Name("k"), written.grants[0].token, world.now()),
            TokenCheck::kSuperseded);
  EXPECT_EQ(world.Downgrade("k", "a").grants[0].token, back.grants[0].token);
  EXPECT_EQ(world.Release("k", "a"), 1);
  EXPECT_EQ(world.Release("k", "a"), 0);
  EXPECT_EQ(world.Downgrade("k", "a").outcome, kNotHeld);
}

TEST(LockModes, PermitsHaveNoOtherMode) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}, {.shape = {LockMode::kPermits, 1, 2}, .lease_ms = 9}));
  EXPECT_EQ(world.Upgrade("k", "a").outcome, kLockMode);
  EXPECT_EQ(world.Downgrade("k", "a").outcome, kLockMode);
}

// Ahead of a writer that came before; and readers that come wait behind both.
TEST(LockModes, AReaderWaitsToWriteAheadOfAllOthers) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}, kAsReader));
  world.Acquire(world.Request("b", {"k"}, kAsReader));
  const uint64_t writer = world.Acquire(world.Request("w", {"k"}), 500).wait_id;
  EXPECT_EQ(world.Upgrade("k", "a").outcome, kRefused);
  const AcquireResult waits = world.Upgrade("k", "a", 500);
  ASSERT_EQ(waits.outcome, kQueued);
  EXPECT_EQ(world.Acquire(world.Request("r", {"k"}, kAsReader)).outcome, kRefused);
  EXPECT_EQ(world.Release("k", "b"), 0);
  EXPECT_EQ(world.granted, std::vector{waits.wait_id});
  EXPECT_EQ(world.Release("k", "a"), 0);
  EXPECT_EQ(world.granted.back(), writer);
}

TEST(LockModes, OfTwoThatWaitForEachOtherTheSecondIsRefused) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}, kAsReader));
  world.Acquire(world.Request("b", {"k"}, kAsReader));
  const AcquireResult first = world.Upgrade("k", "a", 500);
  ASSERT_EQ(first.outcome, kQueued);
  EXPECT_EQ(world.Upgrade("k", "b", 500).outcome, kDeadlock);
  EXPECT_EQ(world.locks.counts().deadlocks, 1u);
  // Asked again it takes its own place, which is no circle.
  EXPECT_EQ(world.Upgrade("k", "a", 500).outcome, kQueued);
  EXPECT_EQ(world.replaced, std::vector{first.wait_id});
  EXPECT_EQ(world.Release("k", "b"), 0);
  EXPECT_EQ(world.At("k")->mode(), LockMode::kExclusive);
}

// The other reader waits for what this one holds elsewhere: a circle through two locks.
TEST(LockModes, ACircleMayGoThroughOtherLocks) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}, kAsReader));
  world.Acquire(world.Request("b", {"k"}, kAsReader));
  world.Acquire(world.Request("a", {"other"}));
  ASSERT_EQ(world.Acquire(world.Request("b", {"other"}), 500).outcome, kQueued);
  EXPECT_EQ(world.Upgrade("k", "a", 500).outcome, kDeadlock);

  LockWorld reverse;
  reverse.Acquire(reverse.Request("a", {"k"}, kAsReader));
  reverse.Acquire(reverse.Request("b", {"k"}, kAsReader));
  reverse.Acquire(reverse.Request("a", {"other"}));
  ASSERT_EQ(reverse.Upgrade("k", "a", 500).outcome, kQueued);
  EXPECT_EQ(reverse.Acquire(reverse.Request("b", {"other"}), 500).outcome, kDeadlock);
}

// A reader that is alone is in nobody's way; as the writer it would be, of one that it waits for.
TEST(LockModes, NorIsAReaderThatIsAloneGrantedACircle) {
  LockWorld world;
  world.Acquire(world.Request("h", {"a"}, kAsReader));
  world.Acquire(world.Request("z", {"b"}));
  world.Acquire(world.Request("r", {"c"}));
  ASSERT_EQ(world.Acquire(world.Request("r", {"a", "b"}, kAsReader), 900).outcome, kQueued);
  ASSERT_EQ(world.Acquire(world.Request("h", {"c"}), 900).outcome, kQueued);
  EXPECT_EQ(world.Upgrade("a", "h").outcome, kDeadlock);
  EXPECT_EQ(world.At("a")->mode(), LockMode::kShared);
  EXPECT_EQ(world.locks.queue().size(), 2u);
  world.Release("b", "z");
  EXPECT_EQ(world.granted.size(), 1u);  // r reads beside h
}

TEST(LockModes, AReaderWhoseLeaseEndsWhileItWaitsIsTold) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}, {.shape = {LockMode::kShared}, .lease_ms = 100}));
  world.Acquire(world.Request("b", {"k"}, kAsReader));
  const AcquireResult waits = world.Upgrade("k", "a", 5'000);
  world.waiting[waits.wait_id] = world.now().ms() + 5'000;
  world.Advance(100);
  EXPECT_EQ(world.lost, std::vector{waits.wait_id});
  EXPECT_EQ(world.locks.queue().size(), 0u);
  // A lock that is gone is no reader's any more either.
  world.Acquire(world.Request("a", {"k"}, kAsReader));
  const AcquireResult again = world.Upgrade("k", "a", 5'000);
  world.Drop("k");
  EXPECT_EQ(world.lost.back(), again.wait_id);
  EXPECT_TRUE(world.store.empty());
}

TEST(LockModes, ReadersThatWaitAreGrantedBesideAFormerWriter) {
  LockWorld world;
  world.Acquire(world.Request("w", {"k"}, {.session = 7, .minhold_ms = 50}));
  const uint64_t reader = world.Acquire(world.Request("r", {"k"}, kAsReader), 500).wait_id;
  const uint64_t writer = world.Acquire(world.Request("x", {"k"}), 500).wait_id;
  world.Acquire(world.Request("s", {"k"}, kAsReader), 500);
  ASSERT_EQ(world.Downgrade("k", "w").outcome, kGranted);
  EXPECT_EQ(world.granted, std::vector{reader});  // the other one came after a writer
  // The session binds the reader as it did the writer.
  world.clock.Advance(50);
  world.locks.SessionEnded(7, world.now());
  EXPECT_EQ(world.At("k")->FindOwner("w"), nullptr);
  EXPECT_EQ(world.Release("k", "r"), 0);
  EXPECT_EQ(world.granted.back(), writer);
}

// Whose place MINHOLD keeps reads no more, but takes room.
TEST(LockModes, APlaceThatIsKeptIsWaitedFor) {
  LockWorld world;
  world.Acquire(world.Request("a", {"k"}, kAsReader));
  world.Acquire(world.Request("b", {"k"},
                              {.shape = {LockMode::kShared}, .lease_ms = 1000, .minhold_ms = 300}));
  world.Release("k", "b");
  ASSERT_EQ(world.Upgrade("k", "a", 500).outcome, kQueued);
  world.Advance(300);
  EXPECT_EQ(world.granted.size(), 1u);
}

TEST(LockModes, WithoutTokensNothingChanges) {
  LockWorld world(1);  // one token
  ASSERT_EQ(world.Acquire(world.Request("a", {"k"}, kAsReader)).outcome, kGranted);
  EXPECT_EQ(world.Upgrade("k", "a").outcome, kNoTokens);
  EXPECT_EQ(world.At("k")->mode(), LockMode::kShared);
  world.tokens.set_mark(2);
  ASSERT_EQ(world.Upgrade("k", "a").outcome, kGranted);
  EXPECT_EQ(world.Downgrade("k", "a").outcome, kNoTokens);
  EXPECT_EQ(world.At("k")->mode(), LockMode::kExclusive);
}

TEST(LockModes, ACrowdOfReadersKeepsItsIndex) {
  LockWorld world;
  for (int i = 0; i < 200; ++i)
    world.Acquire(world.Request("r" + std::to_string(i), {"k"}, kAsReader));
  ASSERT_EQ(world.Upgrade("k", "r7", 900).outcome, kQueued);
  for (int i = 0; i < 200; ++i) {
    if (i != 7) {
      ASSERT_EQ(world.Release("k", "r" + std::to_string(i)), 0);
    }
  }
  EXPECT_EQ(world.At("k")->mode(), LockMode::kExclusive);
  EXPECT_EQ(world.At("k")->Audit(), "");
  EXPECT_EQ(world.Release("k", "r7"), 0);
}

}  // namespace
}  // namespace sluice
