// What the line costs where crowds wait: every arrival, leaving and release costs what it changes,
// not the length of the line. Counted in waits looked at.
#include "storage/locks/wait_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/storage/locks/lock_world.h"

namespace sluice {
namespace {

using enum AcquireOutcome;

const LockTerms kShared{.shape = {LockMode::kShared}, .lease_ms = 1'000'000};
std::string Name(int i) { return "o" + std::to_string(i); }

// Goes on with what calls have left; how many slices it took.
int Finish(LockWorld& world) {
  int slices = 0;
  while (world.locks.has_left_over()) {
    world.locks.Continue(world.now());
    ++slices;
  }
  return slices;
}

// 4,000 readers of two locks and one writer, whose waits end one after the other.
TEST(WaitQueueCosts, ACrowdOfReadersThatGivesUp) {
  constexpr int kReaders = 4'000;
  LockWorld world;
  world.audits = false;
  world.Acquire(world.Request("h", {"b"}));
  std::vector<uint64_t> ids;
  ids.push_back(world.Acquire(world.Request("writer", {"a", "b"}), 6'000).wait_id);
  for (int i = 0; i < kReaders; ++i)
    ids.push_back(world.Acquire(world.Request(Name(i), {"a", "b"}, kShared), 6'000).wait_id);
  EXPECT_LT(world.locks.queue().steps(), 3u * kReaders);
  const uint64_t before = world.locks.queue().steps();
  for (const uint64_t id : ids) EXPECT_TRUE(world.locks.Cancel(id, world.now()));
  Finish(world);
  EXPECT_LT(world.locks.queue().steps() - before, 8u * kReaders);
  EXPECT_EQ(world.locks.queue().size(), 0u);
}

TEST(WaitQueueCosts, ACrowdOfReadersIsLetInInSlices) {
  constexpr int kReaders = 100'000;
  LockWorld world;
  world.audits = false;
  world.Acquire(world.Request("h", {"a"}));
  for (int i = 0; i < kReaders; ++i)
    ASSERT_EQ(world.Acquire(world.Request(Name(i), {"a"}, kShared), 6'000).outcome, kQueued);
  world.Release("a", "h");
  EXPECT_LE(world.granted.size(), static_cast<size_t>(kWorkPerCall / kHandOverWork));
  EXPECT_GE(Finish(world), 100);
  EXPECT_EQ(world.granted.size(), static_cast<size_t>(kReaders));
  EXPECT_TRUE(std::ranges::is_sorted(world.granted));
}

// Arrivals and releases in a line of 100,000.
TEST(WaitQueueCosts, ALongLine) {
  constexpr int kWaiters = 100'000;
  LockWorld world;
  world.audits = false;
  world.Acquire(world.Request("h", {"a"}));
  for (int i = 0; i < kWaiters; ++i)
    ASSERT_EQ(world.Acquire(world.Request(Name(i), {"a"}), 6'000).outcome, kQueued);
  EXPECT_LE(world.locks.queue().steps(), 2u * kWaiters);
  const uint64_t before = world.locks.queue().steps();
  world.Release("a", "h");
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(world.Release("a", Name(i)), 0);
  EXPECT_LE(world.locks.queue().steps() - before, 6u * 1'000);
}

// Every lock that is released goes to the one owner, which waits for 2,000 others besides.
TEST(WaitQueueCosts, AnOwnerThatWaitsForManyLocks) {
  constexpr int kLocks = 2'000;
  LockWorld world;
  world.audits = false;
  for (int i = 0; i < kLocks; ++i) world.Acquire(world.Request("h", {Name(i)}, {.session = 1}));
  for (int i = 0; i < kLocks; ++i)
    ASSERT_EQ(world.Acquire(world.Request("same", {Name(i)}), 6'000).outcome, kQueued);
  const uint64_t before = world.locks.queue().steps();
  world.locks.SessionEnded(1, world.now());
  EXPECT_GE(Finish(world), 5);
  EXPECT_EQ(world.granted.size(), static_cast<size_t>(kLocks));
  EXPECT_LT(world.locks.queue().steps() - before, 8u * kLocks);
}

// A closed session gives back in slices, and a call never does more than its share.
TEST(WaitQueueCosts, ASessionOfManyLocksEndsInSlices) {
  constexpr int kLocks = 100'000;
  LockWorld world;
  for (int i = 0; i < kLocks; ++i) world.Acquire(world.Request("h", {Name(i)}, {.session = 1}));
  world.locks.SessionEnded(1, world.now());
  EXPECT_GE(world.store.size(), static_cast<size_t>(kLocks - kWorkPerCall / kHandOverWork - 1));
  EXPECT_GE(Finish(world), 100);
  EXPECT_TRUE(world.store.empty());
}

// A line of 100,000 with priorities costs what one without does; and it is in the order of who
// would have come first, as plain sorting says.
TEST(WaitQueueCosts, ALongLineWithPriorities) {
  constexpr int kWaiters = 100'000;
  LockWorld world;
  world.audits = false;
  std::mt19937_64 random(7);
  std::vector<std::pair<int64_t, uint64_t>> came;
  world.Acquire(world.Request("h", {"a"}, {.lease_ms = 1'000'000}));
  for (int i = 0; i < kWaiters; ++i) {
    LockRequest request = world.Request(Name(i), {"a"}, {.lease_ms = 1'000'000});
    request.ahead_ms = (static_cast<int64_t>(random() % 201) - 100) * 10;
    const AcquireResult result = world.Acquire(request, 1'000'000);
    ASSERT_EQ(result.outcome, kQueued);
    came.emplace_back(world.now().ms() - request.ahead_ms, result.wait_id);
    if (i % 16 == 0) world.clock.Advance(1);
  }
  EXPECT_LE(world.locks.queue().steps(), 2u * kWaiters);
  EXPECT_LE(world.locks.search_steps(), 8u * kWaiters);
  std::ranges::sort(came);
  std::vector<uint64_t> order;
  for (const auto& [spot, queued] : world.locks.queue().LineOf(world.Name("a"))->all)
    order.push_back(queued->wait.id);
  ASSERT_EQ(order.size(), came.size());
  for (size_t i = 0; i < came.size(); ++i) ASSERT_EQ(order[i], came[i].second) << i;
  world.Release("a", "h");
  EXPECT_EQ(world.granted, std::vector{came.front().second});
}

// An owner that holds a lock in this line stays ahead, whatever comes.
TEST(WaitQueue, AWaitPaysForItsLabelAndItsId) {
  LockWorld world;
  world.Acquire(world.Request("h", {"a"}));
  const auto bytes_of = [&world](LockRequest request) {
    return world.locks.queue().BytesOf(world.Acquire(std::move(request), 6'000).wait_id);
  };
  const size_t plain = bytes_of(world.Request("x", {"a"}));
  LockRequest named = world.Request("y", {"a"});
  named.id = std::string(64, 'i');
  EXPECT_GE(bytes_of(std::move(named)), plain + 64);
  LockTerms labelled{.lease_ms = 1'000'000};
  labelled.label = std::string(128, 'l');
  EXPECT_GE(bytes_of(world.Request("z", {"a"}, labelled)), plain + 128);
}

TEST(WaitQueue, AHolderIsAheadOfAnyPriority) {
  LockWorld world;
  world.Acquire(world.Request("h", {"a"}));
  world.Acquire(world.Request("other", {"b"}));
  const uint64_t both = world.Acquire(world.Request("h", {"a", "b"}), 900).wait_id;
  LockRequest urgent = world.Request("x", {"a"});
  urgent.ahead_ms = kAheadMsMax;
  ASSERT_EQ(world.Acquire(urgent, 900).outcome, kQueued);
  EXPECT_EQ(world.locks.queue().LineOf(world.Name("a"))->all.begin()->second->wait.id, both);
}

}  // namespace
}  // namespace sluice
