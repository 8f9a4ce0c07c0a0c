// SCAN's promise: what stays from the first to the last call is given exactly once, whatever the
// table does in between; and a call's work is bounded.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "storage/keyspace/keyspace.h"
#include "storage/keyspace/scan_order.h"
#include "tests/support/null_observer.h"

namespace sluice {
namespace {

struct World {
  explicit World(uint64_t seed) : keyspace(4, SipKey{seed}, wheel, observer) {}

  void Put(int db, const std::string& key) {
    keyspace.db(db).PutInteger(keyspace.Hash(key), 1, Deadline::None(), Now{});
  }
  void Delete(int db, const std::string& key) { keyspace.db(db).Delete(keyspace.Hash(key), Now{}); }

  NullObserver observer;
  TimerWheel wheel{0};
  Keyspace keyspace;
};

std::string Stable(int i) { return "stable:" + std::to_string(i); }
std::string Passing(int i) { return "passing:" + std::to_string(i); }

TEST(Scan, GivesEveryKeyOnceAtAnyCount) {
  World world(3);
  EXPECT_EQ(world.keyspace.db(0).Scan(0, 10, [](const Entry&) { FAIL(); }), 0u);
  for (const int keys : {1, 10, 447, 448, 5000}) {
    for (int i = 0; i < keys; ++i) world.Put(0, Stable(i));
    for (const size_t count : {size_t{0}, size_t{1}, size_t{10}, size_t{1000}, SIZE_MAX}) {
      std::set<std::string> given;
      uint64_t cursor = 0;
      do {
        size_t in_call = 0;
        cursor = world.keyspace.db(0).Scan(cursor, count, [&](const Entry& entry) {
          ++in_call;
          EXPECT_TRUE(given.emplace(entry.key()).second);
        });
        EXPECT_LT(cursor, 4u * keys);
        if (count > 5000) continue;
        const size_t wanted = std::max<size_t>(count, 1);
        EXPECT_LE(in_call, wanted + PageSlack(wanted));
        if (cursor != 0 && count < 1000) {
          EXPECT_GE(in_call, wanted);
        }
      } while (cursor != 0);
      EXPECT_EQ(given.size(), static_cast<size_t>(keys));
    }
  }
}

TEST(Scan, TheOrderIsThatOfTheSeed) {
  std::vector<std::string> orders[2];
  for (auto& order : orders) {
    World world(11);
    const bool reversed = &order == &orders[1];
    for (int i = 0; i < 2000; ++i) world.Put(0, Stable(reversed ? 1999 - i : i));
    world.keyspace.db(0).Scan(0, SIZE_MAX,
                              [&](const Entry& entry) { order.emplace_back(entry.key()); });
  }
  EXPECT_EQ(orders[0], orders[1]);
}

TEST(Scan, ForeignCursorsDoNoHarm) {
  World world(5);
  for (int i = 0; i < 3000; ++i) world.Put(0, Stable(i));
  Random random(9);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t next = world.keyspace.db(0).Scan(random() >> (i % 64), 10, [](const Entry&) {});
    EXPECT_LT(next, 4u * 3000);
  }
  EXPECT_EQ(world.keyspace.db(0).Scan(UINT64_MAX, 10, [](const Entry&) { FAIL(); }), 0u);
}

// From any number on the walk comes to its end, and gives what its place leaves.
TEST(Scan, EveryCursorLeadsToTheEnd) {
  World world(6);
  constexpr size_t kKeys = 2000;
  for (size_t i = 0; i < kKeys; ++i) world.Put(0, Stable(static_cast<int>(i)));
  Random random(10);
  for (int i = 0; i < 300; ++i) {
    uint64_t cursor = random() >> (i % 64);
    std::set<std::string> given;
    size_t calls = 0;
    do {
      cursor = world.keyspace.db(0).Scan(
          cursor, 50, [&](const Entry& entry) { EXPECT_TRUE(given.emplace(entry.key()).second); });
      ASSERT_LE(++calls, kKeys / 50 + 1);
    } while (cursor != 0);
  }
}

// Keys deleted in SCAN's order leave a corner of the table: it is come to without many calls.
TEST(Scan, EmptyStretchesCostFewCalls) {
  World world(7);
  constexpr int kKeys = 200'000;
  for (int i = 0; i < kKeys; ++i) world.Put(0, Stable(i));
  std::vector<std::string> order;
  world.keyspace.db(0).Scan(0, SIZE_MAX,
                            [&](const Entry& entry) { order.emplace_back(entry.key()); });
  constexpr size_t kLeft = 500;
  const size_t middle = order.size() / 3;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i < middle || i >= middle + kLeft) world.Delete(0, order[i]);
  }
  uint64_t cursor = 0;
  size_t calls = 0, given = 0;
  do {
    cursor = world.keyspace.db(0).Scan(cursor, 10, [&](const Entry&) { ++given; });
    ++calls;
    EXPECT_LT(cursor, uint64_t{kKeys});
  } while (cursor != 0);
  EXPECT_EQ(given, kLeft);
  EXPECT_LE(calls, kLeft / 10 + 10);
  EXPECT_EQ(world.keyspace.Audit(Now{}), "");
}

// Sparse segments, far more than a page looks into: who asks for all gets all.
TEST(Scan, AllAreGivenFromSparseSegmentsToo) {
  World world(9);
  constexpr int kKeys = 100'000;
  for (int i = 0; i < kKeys; ++i) world.Put(0, Stable(i));
  for (int i = 0; i < kKeys; ++i) {
    if (i % 4 != 0) world.Delete(0, Stable(i));
    if (i % 10'000 != 0) continue;
    size_t given = 0;
    const size_t size = world.keyspace.db(0).size();
    EXPECT_EQ(world.keyspace.db(0).Scan(0, SIZE_MAX, [&](const Entry&) { ++given; }), 0u);
    EXPECT_EQ(given, size);
  }
}

// Keys put in the order of hashes (MOVE of all that SCAN gives): segments split late, no more.
TEST(Scan, KeysMayComeInItsOrder) {
  World world(8);
  constexpr int kKeys = 100'000;
  for (int i = 0; i < kKeys; ++i) world.Put(0, Stable(i));
  std::vector<std::string> order;
  world.keyspace.db(0).Scan(0, SIZE_MAX,
                            [&](const Entry& entry) { order.emplace_back(entry.key()); });
  const size_t before = world.keyspace.memory_bytes();
  for (const std::string& key : order) world.Put(1, key);
  EXPECT_LT(world.keyspace.memory_bytes(), before * 21 / 10);
  EXPECT_EQ(world.keyspace.Audit(Now{}), "");
}

class ScanWhileChanging : public testing::TestWithParam<int> {};

// Two databases with the same stable keys, so that the promise holds across SWAPDB as well.
TEST_P(ScanWhileChanging, GivesWhatStaysExactlyOnce) {
  const auto seed = static_cast<uint64_t>(GetParam());
  Random random(seed);
  World world(seed);
  const int stable = 1 + static_cast<int>(random() % 3000);
  constexpr int kPassing = 12'000;
  for (int db = 0; db < 2; ++db)
    for (int i = 0; i < stable; ++i) world.Put(db, Stable(i));

  for (int round = 0; round < 6; ++round) {
    std::map<std::string, int> given;
    uint64_t cursor = 0;
    do {
      cursor = world.keyspace.db(0).Scan(cursor, 1 + random() % 60, [&](const Entry& entry) {
        if (entry.key().starts_with("stable:")) ++given[std::string(entry.key())];
      });
      const int db = static_cast<int>(random() % 2);
      switch (random() % 24) {
        case 0:
          for (int i = 0; i < kPassing; ++i) world.Put(db, Passing(i));
          break;
        case 1:
          for (int i = 0; i < kPassing; ++i) world.Delete(db, Passing(i));
          break;
        case 2:
          world.keyspace.Swap(0, 1);
          break;
        case 3:  // gone and back between two calls
          world.keyspace.Flush(db, random() % 2 == 0);
          for (int i = 0; i < stable; ++i) world.Put(db, Stable(i));
          break;
        default:
          for (int i = 0; i < 50; ++i) {
            const std::string key = Passing(static_cast<int>(random() % kPassing));
            random() % 2 == 0 ? world.Put(db, key) : world.Delete(db, key);
          }
      }
      world.keyspace.FreeSlice(100);
    } while (cursor != 0);
    EXPECT_EQ(given.size(), static_cast<size_t>(stable));
    for (const auto& [key, times] : given) EXPECT_EQ(times, 1) << key;
    ASSERT_EQ(world.keyspace.Audit(Now{}), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ScanWhileChanging, testing::Range(1, 9));

}  // namespace
}  // namespace sluice
