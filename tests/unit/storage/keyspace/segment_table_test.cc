// The table's own rules, seen from the keyspace: it grows and shrinks with what is in it, its
// memory per key hardly depends on their number, and an emptied one gives its memory back.
#include "storage/keyspace/segment_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/hashing/key_hash.h"
#include "storage/keyspace/keyspace.h"
#include "storage/keyspace/segment_table_impl.h"
#include "tests/support/null_observer.h"

namespace sluice {
// Counts how often elements are looked at.
struct Watched {
  std::string_view key() const {
    ++*looks;
    return name;
  }
  std::string name;
  size_t* looks;
};

template class SegmentTableOf<Watched>;

namespace {

struct TableWorld {
  HashedKey Key(int i) {
    key = "counter:" + std::to_string(1'000'000'000 + i);
    return keyspace.Hash(key);
  }
  NullObserver observer;
  TimerWheel wheel{0};
  Keyspace keyspace{1, SipKey{4}, wheel, observer};
  Database& db = keyspace.db(0);
  std::string key;
};

TEST(SegmentTable, MemoryAKeyIsEvenOverTheNumberOfKeys) {
  TableWorld world;
  constexpr int kFrom = 20'000;
  constexpr int kTo = 160'000;  // three doublings: were all splits at once, this would show thrice
  double least = 1000, most = 0;
  for (int i = 0; i < kTo; ++i) {
    world.db.PutInteger(world.Key(i), 1, Deadline::Steady(1'000'000), Now{});
    if (i < kFrom || i % 1000 != 0) continue;
    const double table = static_cast<double>(world.keyspace.memory_bytes()) / (i + 1) - 48;
    least = std::min(least, table);
    most = std::max(most, table);
  }
  EXPECT_GT(least, 9.0);
  EXPECT_LT(most, 14.0);
  EXPECT_EQ(world.keyspace.Audit(Now{}), "");
}

TEST(SegmentTable, ShrinksAsItEmpties) {
  TableWorld world;
  constexpr int kKeys = 50'000;
  for (int i = 0; i < kKeys; ++i) world.db.PutInteger(world.Key(i), 1, Deadline::None(), Now{});
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(world.db.Delete(world.Key(i), Now{}));
    if (i % 5000 != 0) continue;
    ASSERT_EQ(world.keyspace.Audit(Now{}), "");
    // A quarter full at worst, seen over all: no more than some 70 bytes a key and one small table.
    const size_t left = world.db.size();
    ASSERT_LE(world.keyspace.memory_bytes(), left * (32 + 70) + 5000);
  }
  EXPECT_EQ(world.db.size(), 0u);
  EXPECT_LT(world.keyspace.memory_bytes(), 600u);
  EXPECT_EQ(world.keyspace.Audit(Now{}), "");
}

// Whole ranges of hashes come and go, so that neighbours differ in depth and in fill.
TEST(SegmentTable, UnevenFillsSplitAndMergeRightly) {
  TableWorld world;
  Random random(6);
  constexpr int kKeys = 20'000;
  for (int round = 0; round < 150; ++round) {
    const int shift = 63 - static_cast<int>(random() % 6);
    const uint64_t prefix = random() >> shift;
    const bool put = random() % 5 < 2;
    const uint64_t spared = 1 + random() % 40;
    for (int i = 0; i < kKeys; ++i) {
      const HashedKey key = world.Key(i);
      if (key.hash >> shift != prefix || random() % spared == 0) continue;
      if (put)
        world.db.PutInteger(key, 1, Deadline::None(), Now{});
      else
        world.db.Delete(key, Now{});
    }
    ASSERT_EQ(world.keyspace.Audit(Now{}), "") << round;
  }
}

TEST(SegmentTable, ComingAndGoingAtOneSizeKeepsItsSize) {
  TableWorld world;
  constexpr int kKeys = 2'000;
  for (int i = 0; i < kKeys; ++i) world.db.PutInteger(world.Key(i), 1, Deadline::None(), Now{});
  const size_t before = world.keyspace.memory_bytes();
  for (int i = 0; i < 60'000; ++i) {
    world.db.Delete(world.Key(i), Now{});
    world.db.PutInteger(world.Key(i + kKeys), 1, Deadline::None(), Now{});
    if (i % 10'000 == 0) {
      ASSERT_EQ(world.keyspace.Audit(Now{}), "");
    }
  }
  EXPECT_LT(world.keyspace.memory_bytes(), before * 3 / 2);
}

TEST(SegmentTable, ADrawLooksAtFewElementsHoweverManyThereAre) {
  constexpr int kElements = 20'000;
  const TableKey hash_key{SipKey{5}};
  size_t looks = 0;
  size_t memory = 0;
  std::vector<Watched> elements;
  for (int i = 0; i < kElements; ++i) elements.push_back({std::to_string(i), &looks});
  SegmentTableOf<Watched> table(hash_key, memory);
  for (Watched& element : elements) table.Insert(element, HashName(element.name, hash_key));

  Random random(1);
  std::set<const Watched*> drawn;
  constexpr int kDraws = 100'000;
  looks = 0;
  for (int i = 0; i < kDraws; ++i) drawn.insert(table.RandomEntry(random));
  EXPECT_LT(looks, kDraws * 10u);  // a full segment has 447
  EXPECT_GT(drawn.size(), kElements * 98u / 100);
  table.Drain(kElements, [](Watched&) {});
}

// No element is looked at while a table is filled that was told of them: nothing is split.
TEST(SegmentTable, WhatIsExpectedIsPutWithoutSplits) {
  const TableKey hash_key(SipKey{5});
  size_t memory = 0, looks = 0;
  constexpr size_t kElements = 100'000;
  std::vector<Watched> elements;
  for (size_t i = 0; i < kElements; ++i) elements.push_back({std::to_string(i), &looks});
  SegmentTableOf<Watched> table(hash_key, memory);
  table.Expect(kElements);
  EXPECT_EQ(table.Audit(), "");
  for (Watched& element : elements) table.Insert(element, HashName(element.name, hash_key));
  EXPECT_LT(looks, kElements / 20);  // few segments get far more than expected
  table.ExpectNoMore();
  EXPECT_EQ(table.Audit(), "");
  EXPECT_EQ(memory, table.table_bytes());
  EXPECT_LT(memory, kElements * 15);
  table.Drain(kElements, [](Watched&) {});
}

TEST(SegmentTable, WhatDoesNotComeLeavesNoMemory) {
  const TableKey hash_key(SipKey{5});
  size_t memory = 0, looks = 0;
  std::vector<Watched> elements;
  for (size_t i = 0; i < 1000; ++i) elements.push_back({std::to_string(i), &looks});
  SegmentTableOf<Watched> table(hash_key, memory);
  table.Expect(1'000'000);
  for (Watched& element : elements) table.Insert(element, HashName(element.name, hash_key));
  EXPECT_EQ(table.Audit(), "");
  table.ExpectNoMore();
  EXPECT_EQ(table.Audit(), "");
  EXPECT_EQ(memory, table.table_bytes());
  EXPECT_LT(memory, 50'000u);
  table.Drain(1000, [](Watched&) {});
}

TEST(SpreadHash, KeepsOrderAndIsTwiceAsDenseAtTheUpperEnd) {
  constexpr int kParts = 64;
  int counts[kParts] = {};
  uint64_t previous = 0;
  for (uint64_t i = 0; i < 1 << 20; ++i) {
    const uint64_t spread = SpreadHash(i << 44);
    EXPECT_GE(spread, previous);
    previous = spread;
    ++counts[spread >> 58];
  }
  EXPECT_NEAR(static_cast<double>(counts[kParts - 1]) / counts[0], 2.0, 0.1);
  EXPECT_EQ(SpreadHash(0), 0u);
  EXPECT_EQ(SpreadHash(UINT64_MAX), UINT64_MAX);
}

}  // namespace
}  // namespace sluice
