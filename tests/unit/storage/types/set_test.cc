// IntSet and Set against a std::set; their forms, samples and scans.
#include "storage/types/set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "storage/types/int_set.h"

namespace sluice {
namespace {

constexpr size_t kIntegersMax = 512;
HashKeys set_hash_keys(SipKey{7});
const Set::Limits kLimits{.integers = kIntegersMax, .hash_keys = &set_hash_keys};

std::vector<std::string> Members(const Set& set) {
  std::vector<std::string> members;
  set.ForEach([&members](std::string_view member) { members.emplace_back(member); });
  return members;
}

std::set<std::string> Sorted(const std::vector<std::string>& members) {
  return {members.begin(), members.end()};
}

TEST(IntSet, BehavesAsASortedSet) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    IntSet numbers;
    std::set<int64_t> model;
    for (int step = 0; step < 600; ++step) {
      const int width = step < 200 ? 55 : step < 400 ? 40 : 0;  // ever wider numbers come
      const int64_t number = static_cast<int64_t>(random()) >> (width + random() % (64 - width));
      if (random() % 3 == 0) {
        ASSERT_EQ(numbers.Remove(number), model.erase(number) > 0);
      } else {
        ASSERT_EQ(numbers.Add(number), model.insert(number).second);
        ASSERT_TRUE(numbers.contains(number));
      }
      ASSERT_EQ(numbers.size(), model.size());
    }
    size_t i = 0;
    for (const int64_t number : model) ASSERT_EQ(numbers.at(i++), number) << "seed " << seed;
  }
}

TEST(IntSet, TakesTheWidthOfItsWidest) {
  IntSet numbers;
  for (int i = 0; i < 100; ++i) numbers.Add(i * 300);
  EXPECT_LE(numbers.heap_bytes(), 240u);
  numbers.Add(1 << 20);
  EXPECT_LE(numbers.heap_bytes(), 480u);
}

TEST(Set, BehavesAsASet) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    Random random(seed);
    Set set;
    HashKeys own_keys(SipKey{seed});
    const Set::Limits limits{.integers = kIntegersMax, .hash_keys = &own_keys};
    std::set<std::string> model;
    const int names = seed % 3 == 0 ? 2000 : 60;
    for (int step = 0; step < 3000; ++step) {
      std::string member = std::to_string(random() % names);
      if (seed % 2 == 0 && random() % 3 == 0) member = "member:" + member;
      if (seed % 4 == 0 && random() % 100 == 0) member.append(100, 'x');
      if (random() % 3 == 0) {
        ASSERT_EQ(set.Remove(member), model.erase(member) > 0);
      } else {
        ASSERT_EQ(set.Add(member, limits), model.insert(member).second);
      }
      ASSERT_EQ(set.size(), model.size());
      ASSERT_EQ(set.Has(member), model.contains(member));
    }
    EXPECT_EQ(Sorted(Members(set)), model) << "seed " << seed;
    EXPECT_EQ(set.Audit(), "");
    const auto copy = set.Clone();
    EXPECT_EQ(Sorted(Members(static_cast<const Set&>(*copy))), model);
    EXPECT_EQ(copy->Encoding(), set.Encoding());
  }
}

TEST(Set, IsCompactWhileItIsSmall) {
  Set numbers;
  Set texts;
  for (int i = 0; i < 10; ++i) {
    numbers.Add(std::to_string(1'000'000 + i), kLimits);
    texts.Add("element:00000000000" + std::to_string(i), kLimits);
  }
  EXPECT_EQ(numbers.MemoryBytes(), sizeof(Set) + 48u);  // 10 x 4 bytes
  EXPECT_EQ(texts.MemoryBytes(), sizeof(Set) + 224u);   // 10 x 21
  EXPECT_LE(sizeof(Set), 32u);
}

TEST(Set, KeepsItsEncoding) {
  Set set;
  for (size_t i = 0; i < kIntegersMax; ++i) set.Add(std::to_string(i), kLimits);
  EXPECT_EQ(set.Encoding(), "intset");
  set.Add("x", kLimits);
  EXPECT_EQ(set.Encoding(), "hashtable");
  EXPECT_EQ(set.size(), kIntegersMax + 1);
  for (size_t i = 0; i < kIntegersMax; ++i) set.Remove(std::to_string(i));
  EXPECT_EQ(set.Encoding(), "hashtable");
  EXPECT_TRUE(set.Has("x"));
}

TEST(Set, SamplesAreDifferentAndEvenlyChosen) {
  for (const int members : {20, 100, 1000}) {
    for (const std::string prefix : {"", "m"}) {
      Random random(7);
      Set set;
      for (int i = 0; i < members; ++i) set.Add(prefix + std::to_string(i), kLimits);
      const size_t wanted = 5;
      std::set<std::string> seen;
      for (int draw = 0; draw < members * 4; ++draw) {
        std::set<std::string> sample;
        set.Sample(wanted, random, [&](std::string_view member) { sample.emplace(member); });
        ASSERT_EQ(sample.size(), wanted);
        seen.insert(sample.begin(), sample.end());
        ASSERT_TRUE(set.Has(set.RandomMember(random)));
      }
      EXPECT_EQ(seen.size(), static_cast<size_t>(members));
      size_t all = 0;
      set.Sample(SIZE_MAX, random, [&all](std::string_view) { ++all; });
      EXPECT_EQ(all, static_cast<size_t>(members));
    }
  }
}

TEST(Set, ScanGivesAll) {
  Set set;
  std::set<std::string> model;
  for (int i = 0; i < 5000; ++i) {
    model.insert("m" + std::to_string(i));
    set.Add("m" + std::to_string(i), kLimits);
  }
  std::vector<std::string> seen;
  uint64_t cursor = 0;
  do {
    cursor = set.Scan(cursor, 10, [&seen](std::string_view member) { seen.emplace_back(member); });
  } while (cursor != 0);
  EXPECT_EQ(seen.size(), model.size());
  EXPECT_EQ(Sorted(seen), model);
}

}  // namespace
}  // namespace sluice
