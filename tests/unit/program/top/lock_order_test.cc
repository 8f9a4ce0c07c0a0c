// The order of locks, and which of them are in view.
#include "server/program/top/lock_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/seed.h"
#include "tests/unit/program/top/made_facts.h"

namespace sluice {
namespace {

using testing::ElementsAre;

std::vector<std::string> NamesIn(const LockList& list) {
  std::vector<std::string> names;
  for (const LockFacts* const lock : list) names.push_back(lock->name);
  return names;
}

TEST(LockOrder, WaitedForFirstThenByTheEndOfTheLease) {
  const std::vector<LockFacts> locks = {
      WaitedFor(HeldBy("short", "x", 500), {{"y", 100, 900}}),
      WaitedFor(HeldBy("long", "x", 50'000), {{"y", 20'000, 900}}),
      HeldBy("a-session", "s", -1),
      HeldBy("late", "x", 60'000),
      HeldBy("soon", "x", 900),
  };
  EXPECT_THAT(NamesIn(LocksInOrder(locks, "")),
              ElementsAre("long", "short", "soon", "late", "a-session"));
  EXPECT_THAT(NamesIn(LocksInOrder(locks, "o")), ElementsAre("long", "short", "soon", "a-session"));
  EXPECT_THAT(NamesIn(LocksInOrder(locks, "*")), ElementsAre());
}

// Else a lock would move away by being looked at.
TEST(LockOrder, OfManyNotAllAreKnownSoItIsTheServersAndTheNames) {
  const std::vector<LockFacts> locks = {
      WaitedFor(HeldBy("w1", "x", 500), {{"y", 100, 900}}),
      {.name = "w2", .is_waited_for = true},
      WaitedFor(HeldBy("w3", "x", 500), {{"y", 20'000, 900}}),
      HeldBy("a", "x", 60'000),
      {.name = "b"},
      HeldBy("c", "x", 900),
  };
  EXPECT_THAT(NamesIn(LocksInOrder(locks, "")), ElementsAre("w1", "w2", "w3", "a", "b", "c"));
  // A crowd whose waiters are not asked for keeps its place among those that are waited for.
  std::vector<LockFacts> crowd = {HeldBy("crowd", "x", 500), locks[0]};
  crowd[0].is_waited_for = true;
  crowd[0].waiters = 9'000;
  EXPECT_THAT(NamesIn(LocksInOrder(crowd, "")), ElementsAre("crowd", "w1"));
}

TEST(LockOrder, TheWindowMovesNoFurtherThanItMust) {
  std::vector<LockFacts> locks;
  for (int i = 0; i < 20; ++i) locks.push_back(HeldBy("l", "x", i));
  locks[0] = WaitedFor(locks[0], {{"y", 1, 1}, {"z", 1, 1}});
  const LockList list = LocksInOrder(locks, "");
  const struct {
    size_t selected, first, rows, shown_first, shown_count;
  } rows[] = {
      {0, 0, 10, 0, 8},                            // three rows of the first
      {5, 0, 10, 0, 8},                            //
      {8, 0, 10, 1, 10},                           // one further down
      {8, 5, 10, 5, 10},                           // it is in view
      {4, 5, 10, 4, 10},                           // one further up
      {19, 0, 10, 10, 10},                         //
      {19, 19, 10, 10, 10}, {15, 15, 10, 10, 10},  // no empty rows
      {0, 7, 2, 0, 1},                             // not even the first has room for its waiters
      {99, 99, 10, 10, 10},
  };
  for (const auto& row : rows) {
    const LockWindow window = WindowOn(list, row.selected, row.first, row.rows);
    EXPECT_EQ(window.first, row.shown_first) << row.selected << ' ' << row.first;
    EXPECT_EQ(window.count, row.shown_count) << row.selected << ' ' << row.first;
  }
  EXPECT_EQ(WindowOn({}, 3, 3, 10).count, 0u);
  EXPECT_EQ(WindowOn(list, 3, 3, 0).count, 0u);
}

TEST(LockOrder, TheSelectedOneIsAlwaysInView) {
  std::mt19937_64 random(TestSeed(4));
  for (int round = 0; round < 5'000; ++round) {
    std::vector<LockFacts> locks(1 + random() % 30);
    for (LockFacts& lock : locks) lock.first_waiters.resize(random() % 4);
    const LockList list = LocksInOrder(locks, "");
    const size_t selected = random() % list.size(), rows = 1 + random() % 20;
    const LockWindow window = WindowOn(list, selected, random() % 40, rows);
    EXPECT_LE(window.first, selected);
    EXPECT_GT(window.first + window.count, selected);
    size_t above = 0, in_view = 0;
    for (size_t i = window.first; i < window.first + window.count; ++i) {
      if (i < selected) above += RowsOf(*list[i]);
      in_view += RowsOf(*list[i]);
    }
    EXPECT_TRUE(window.first == selected || above + RowsOf(*list[selected]) <= rows);
    // Rows are empty only where all that is above has no room either.
    const bool is_last = window.first + window.count == list.size();
    EXPECT_TRUE(is_last || in_view >= rows);
    EXPECT_TRUE(window.first == 0 || in_view + RowsOf(*list[window.first - 1]) > rows);
  }
}

}  // namespace
}  // namespace sluice
