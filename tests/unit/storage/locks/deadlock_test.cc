// The search for circles against a plain one over random graphs of up to 10,000 owners, and its
// cost where crowds wait.
#include "storage/locks/deadlock.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/storage/locks/lock_world.h"

namespace sluice {
namespace {

using enum AcquireOutcome;

const LockTerms kReads{.shape = {LockMode::kShared}, .lease_ms = 1'000};

// Owner i holds its own lock and waits for those of others: who waits for whom is drawn beside it,
// with those ahead in the same line, and searched from end to end for every request.
class PlainGraph {
 public:
  bool Reaches(int from, int to) {
    std::set<int> seen{from};
    std::vector<int> left{from};
    while (!left.empty()) {
      const int owner = left.back();
      left.pop_back();
      for (const int next : edges_[owner]) {
        if (next == to) return true;
        if (seen.insert(next).second) left.push_back(next);
      }
    }
    return false;
  }
  // The owner would wait for the lock of another, behind all in its line.
  void Queue(int owner, int lock) {
    edges_[owner].push_back(lock);
    for (const int ahead : lines_[lock]) edges_[owner].push_back(ahead);
    lines_[lock].push_back(owner);
  }
  void TakeBack(int owner, int lock) {
    edges_[owner].resize(edges_[owner].size() - lines_[lock].size());
    lines_[lock].pop_back();
  }

 private:
  std::map<int, std::vector<int>> edges_;
  std::map<int, std::vector<int>> lines_;
};

std::string OwnerName(int i) { return "o" + std::to_string(i); }
std::string LockOf(int i) { return "own" + std::to_string(i); }

void ComparePlain(uint64_t seed, int owners, int requests) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << owners << " owners");
  std::mt19937_64 random(seed);
  LockWorld world;
  world.audits = false;
  PlainGraph graph;
  for (int i = 0; i < owners; ++i) world.Acquire(world.Request(OwnerName(i), {LockOf(i)}));
  std::set<std::pair<int, int>> asked;
  int circles = 0;
  for (int n = 0; n < requests; ++n) {
    const int owner = static_cast<int>(random() % static_cast<uint64_t>(owners));
    // Chains are likelier than in a random graph, so that circles are long.
    const int lock = random() % 4 != 0 ? (owner + 1) % owners
                                       : static_cast<int>(random() % static_cast<uint64_t>(owners));
    if (lock == owner || !asked.insert({owner, lock}).second) continue;
    graph.Queue(owner, lock);
    const bool circle = graph.Reaches(owner, owner);
    const AcquireResult result =
        world.Acquire(world.Request(OwnerName(owner), {LockOf(lock)}), 500);
    ASSERT_EQ(result.outcome, circle ? kDeadlock : kQueued) << owner << " for " << lock;
    if (!circle) continue;
    ++circles;
    graph.TakeBack(owner, lock);
    asked.erase({owner, lock});
  }
  EXPECT_GT(circles, 0);
}

TEST(DeadlockSearch, FindsWhatAPlainSearchFinds) {
  for (uint64_t seed = 1; seed <= 300; ++seed)
    ComparePlain(seed, 2 + static_cast<int>(seed % 40), 120);
  for (uint64_t seed = 1; seed <= 6; ++seed) ComparePlain(seed, 400, 1'000);
  ComparePlain(7, 3'000, 4'000);
  ComparePlain(8, 10'000, 12'000);
}

// All but the last wait for the next: the last closes a circle of all of them.
TEST(DeadlockSearch, FindsALongCircle) {
  constexpr int kOwners = 10'000;
  LockWorld world;
  world.audits = false;
  for (int i = 0; i < kOwners; ++i) world.Acquire(world.Request(OwnerName(i), {LockOf(i)}));
  for (int i = 0; i + 1 < kOwners; ++i)
    ASSERT_EQ(world.Acquire(world.Request(OwnerName(i), {LockOf(i + 1)}), 500).outcome, kQueued);
  EXPECT_EQ(world.Acquire(world.Request(OwnerName(kOwners - 1), {LockOf(0)}), 500).outcome,
            kDeadlock);
}

TEST(DeadlockSearch, SeesACircleOfTwoAmongManyBystanders) {
  LockWorld world;
  world.audits = false;
  world.Acquire(world.Request("a", {"x"}));
  world.Acquire(world.Request("b", {"y"}));
  for (int i = 0; i < 2'000; ++i) {
    world.Acquire(world.Request(OwnerName(i), {"x"}), 500);
    world.Acquire(world.Request("y" + OwnerName(i), {"y"}), 500);
  }
  EXPECT_EQ(world.Acquire(world.Request("a", {"y"}), 500).outcome, kQueued);
  EXPECT_EQ(world.Acquire(world.Request("b", {"x"}), 500).outcome, kDeadlock);
}

TEST(DeadlockSearch, SeesACircleOfTwoAmongManyReaders) {
  LockWorld world;
  world.audits = false;
  for (int i = 0; i < 9'000; ++i) world.Acquire(world.Request(OwnerName(i), {"r"}, kReads));
  world.Acquire(world.Request("w", {"own"}));
  ASSERT_EQ(world.Acquire(world.Request("w", {"r"}), 500).outcome, kQueued);
  const uint64_t before = world.locks.search_steps();
  for (int i = 0; i < 9'000; i += 100)
    EXPECT_EQ(world.Acquire(world.Request(OwnerName(i), {"own"}), 500).outcome, kDeadlock);
  EXPECT_LT(world.locks.search_steps() - before, 90u * 200);
  EXPECT_EQ(world.Acquire(world.Request("bystander", {"own"}), 500).outcome, kQueued);
}

// A reader waits for a writer that leads nowhere else, and that for readers who hold the lock.
TEST(DeadlockSearch, SeesACircleThroughABystander) {
  LockWorld world;
  world.audits = false;
  world.Acquire(world.Request("x", {"n"}, kReads));
  world.Acquire(world.Request("a", {"own"}));
  world.Acquire(world.Request("writer", {"n"}), 500);
  EXPECT_EQ(world.Acquire(world.Request("b", {"n"}, kReads)).outcome, kRefused);
  ASSERT_EQ(world.Acquire(world.Request("x", {"own"}), 500).outcome, kQueued);
  EXPECT_EQ(world.Acquire(world.Request("a", {"n"}, kReads)).outcome, kGranted);  // so it goes past
}

// An owner with two connections waits to write, and has come to read meanwhile: when it reads no
// more it waits for the other reader.
TEST(DeadlockSearch, SeesThatAnOwnersOtherShapeGivesItNothing) {
  LockWorld world;
  world.Acquire(world.Request("c", {"n"}, kReads));
  world.Acquire(world.Request("c", {"m"}));
  world.Acquire(world.Request("b", {"own"}));
  ASSERT_EQ(world.Acquire(world.Request("b", {"n", "m"}), 500).outcome, kQueued);
  ASSERT_EQ(world.Acquire(world.Request("b", {"n"}), 500).outcome, kQueued);
  ASSERT_EQ(world.Release("m", "c"), 0);
  // It asks for the same on another connection, now to read, and gets that at once.
  ASSERT_EQ(world.Acquire(world.Request("b", {"m", "n"}, kReads), 500).outcome, kGranted);
  EXPECT_EQ(world.Acquire(world.Request("c", {"own"}), 500).outcome, kDeadlock);
  EXPECT_EQ(world.Acquire(world.Request("d", {"own"}), 500).outcome, kQueued);
}

TEST(DeadlockSearch, CountsNoPermitsOfAnOwnerAgainstItsOwnWait) {
  const auto permits = [](int64_t count) {
    return LockTerms{.shape = {LockMode::kPermits, count, 4}, .lease_ms = 1'000};
  };
  LockWorld world;
  world.Acquire(world.Request("b", {"own"}));
  world.Acquire(world.Request("c", {"n"}, permits(2)));
  world.Acquire(world.Request("z", {"n"}, permits(2)));
  ASSERT_EQ(world.Acquire(world.Request("b", {"n", "m"}, permits(2)), 500).outcome, kQueued);
  ASSERT_EQ(world.Acquire(world.Request("b", {"n"}, permits(1)), 500).outcome, kQueued);
  ASSERT_EQ(world.Release("n", "z"), 0);
  // Now b holds 2, and waits for 1: beside the 2 of c there is room for it.
  ASSERT_EQ(world.At("n")->FindOwner("b")->permits(), 2);
  EXPECT_EQ(world.Acquire(world.Request("c", {"own"}), 500).outcome, kQueued);
}

// It comes to wait for another as soon as it loses what it holds by another connection.
TEST(DeadlockSearch, SeesWhoIsAheadOfWhatIsHeld) {
  LockWorld world;
  world.Acquire(world.Request("d", {"p"}));
  world.Acquire(world.Request("z", {"r", "s"}));
  ASSERT_EQ(world.Acquire(world.Request("c", {"p", "r"}, kReads), 500).outcome, kQueued);
  ASSERT_EQ(world.Acquire(world.Request("d", {"r", "s"}, kReads), 500).outcome, kQueued);
  ASSERT_EQ(world.Release("r", "z"), 0);
  ASSERT_EQ(world.Acquire(world.Request("d", {"r"}, kReads)).outcome, kGranted);
  // It would stand with the other wait of c: ahead of that of d, which reads.
  EXPECT_EQ(world.Acquire(world.Request("c", {"r"}), 500).outcome, kDeadlock);
}

TEST(DeadlockSearch, LeavesNoTraceOfARequestThatIsRefused) {
  LockWorld world;
  world.Acquire(world.Request("y", {"p"}));
  const AcquireResult a = world.Acquire(world.Request("a", {"p", "r"}, kReads), 500);
  ASSERT_EQ(world.Acquire(world.Request("d", {"r"}), 500).outcome, kQueued);
  ASSERT_EQ(world.Acquire(world.Request("d", {"q", "r"}), 500).outcome, kQueued);
  // The first of them in another mode: that is free to go, as a reads, too.
  ASSERT_EQ(world.Acquire(world.Request("d", {"r"}, kReads), 500).outcome, kGranted);
  ASSERT_EQ(world.Acquire(world.Request("d", {"q", "r"}, kReads)).outcome, kRefused);
  world.Release("r", "d");
  world.Release("p", "y");
  EXPECT_EQ(world.granted, std::vector<uint64_t>{a.wait_id}) << "it has come before d";
}

// --- costs: steps of the searches for one more request, however many wait

TEST(DeadlockSearch, CostsNothingForWhoHoldsWhatNobodyWaitsFor) {
  constexpr int kOwners = 9'000;
  LockWorld world;
  world.audits = false;
  for (int i = 0; i < kOwners; ++i)
    world.Acquire(world.Request(OwnerName(i), {LockOf(i)}, {.session = 1}));
  for (int i = 0; i < kOwners; ++i) world.Acquire(world.Request(OwnerName(i), {"lock"}), 600'000);
  EXPECT_EQ(world.locks.queue().size(), static_cast<size_t>(kOwners - 1));
  EXPECT_LT(world.locks.search_steps(), 10u);
}

TEST(DeadlockSearch, CostsLittleForAnOwnerThatWaitsManyTimes) {
  LockWorld world;
  world.audits = false;
  for (int i = 0; i < 2'000; ++i) world.Acquire(world.Request("holder", {LockOf(i)}));
  for (int i = 0; i < 2'000; ++i)
    ASSERT_EQ(world.Acquire(world.Request("same", {LockOf(i)}), 600'000).outcome, kQueued);
  EXPECT_LT(world.locks.search_steps(), 2'000u * 200);
  const size_t waits = world.locks.queue().size();
  for (int i = 0; i < 2'000; ++i)
    ASSERT_EQ(world.Acquire(world.Request("same", {LockOf(i)}), 600'000).outcome, kQueued);
  EXPECT_EQ(world.locks.queue().size(), waits);  // each in the place of the one before
}

// One side of the search is short: the holder that is asked waits for nothing.
TEST(DeadlockSearch, CostsWhatItsShorterSideDoes) {
  LockWorld world;
  world.audits = false;
  world.Acquire(world.Request("a", {"popular"}));
  world.Acquire(world.Request("b", {"other"}));
  for (int i = 0; i < 9'000; ++i) {
    world.Acquire(world.Request(OwnerName(i), {LockOf(i)}));
    world.Acquire(world.Request(OwnerName(i), {"popular"}), 500);
    world.Acquire(world.Request("x" + OwnerName(i), {LockOf(i)}), 500);
  }
  const uint64_t before = world.locks.search_steps();
  EXPECT_EQ(world.Acquire(world.Request("a", {"other"}), 500).outcome, kQueued);
  EXPECT_LT(world.locks.search_steps() - before, 200u);
}

}  // namespace
}  // namespace sluice
