// SplitMap against a std::map; its scans, draws and slices.
#include "storage/types/split_map.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace {

struct Content {
  std::string value;
  Deadline deadline;
  bool operator==(const Content&) const = default;
};
using MapModel = std::map<std::string, Content>;

MapModel Contents(const SplitMap& map) {
  MapModel model;
  map.ForEach([&model](const Member& member) {
    const auto [at, added] =
        model.emplace(member.key(), Content{std::string(member.value()), member.deadline()});
    EXPECT_TRUE(added);
  });
  return model;
}

Deadline RandomDeadline(Random& random) {
  switch (random() % 4) {
    case 0:
      return Deadline::Steady(static_cast<int64_t>(random() % 1000));
    case 1:
      return Deadline::Unix(static_cast<int64_t>(random()));
    default:
      return Deadline::None();
  }
}

void Step(SplitMap& map, MapModel& model, Random& random, int names) {
  std::string name = "field:" + std::to_string(random() % names);
  if (random() % 50 == 0) name.append(300, 'x');
  if (random() % 3 == 0) {
    ASSERT_EQ(map.Erase(name), model.erase(name) > 0);
    return;
  }
  std::string value(random() % (random() % 20 == 0 ? 1000 : 12), 'v');
  const Deadline deadline = RandomDeadline(random);
  const bool created = map.Put(name, {.value = value, .deadline = deadline});
  ASSERT_EQ(created, model.insert_or_assign(name, Content{value, deadline}).second);
  const Member* const found = map.Find(name);
  ASSERT_NE(found, nullptr);
  ASSERT_EQ(found->value(), value);
  ASSERT_EQ(found->deadline(), deadline);
}

TEST(SplitMap, BehavesAsAMap) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    HashKeys map_hash_keys(SipKey{seed});
    SplitMap map(map_hash_keys);
    MapModel model;
    const int names = seed % 2 == 0 ? 30 : 3000;
    for (int step = 0; step < 6000; ++step) {
      Step(map, model, random, names);
      ASSERT_EQ(map.size(), model.size());
      if (step % 1500 != 0) continue;
      ASSERT_EQ(map.Audit(), "");
      ASSERT_EQ(Contents(map), model) << "seed " << seed;
    }
    const SplitMap copy(map);
    EXPECT_EQ(copy.Audit(), "");
    EXPECT_EQ(Contents(copy), model);
  }
}

TEST(SplitMap, MembersThatArePutTogetherAreAsIfPutOneByOne) {
  Random random(7);
  HashKeys map_hash_keys(SipKey{7});
  SplitMap map(map_hash_keys);
  MapModel model;
  for (int step = 0; step < 400; ++step) {
    std::vector<std::pair<std::string, std::string>> texts(random() % (SplitMap::kTogetherMax + 1));
    for (auto& [name, value] : texts) {
      name = "field:" + std::to_string(random() % 4000);
      value.assign(random() % 12, 'v');
    }
    std::vector<SplitMap::Named> members;
    size_t created = 0;
    for (const auto& [name, value] : texts) {
      members.push_back({name, {.value = value, .deadline = {}}});
      created += model.insert_or_assign(name, Content{value, {}}).second;
    }
    ASSERT_EQ(map.PutTogether(members), created);
    ASSERT_EQ(map.size(), model.size());
  }
  EXPECT_EQ(map.Audit(), "");
  EXPECT_EQ(Contents(map), model);
}

TEST(SplitMap, AMemberMayBeTheSourceOfItsOwnContent) {
  HashKeys map_hash_keys(SipKey{1});
  SplitMap map(map_hash_keys);
  map.Put("field", {.value = "value"});
  MemberContent content = map.Find("field")->content();
  content.deadline = Deadline::Unix(7);
  EXPECT_FALSE(map.Put(map.Find("field")->key(), content));
  EXPECT_EQ(map.Find("field")->value(), "value");
  EXPECT_EQ(map.Find("field")->deadline(), Deadline::Unix(7));
  EXPECT_FALSE(map.Put("field", map.Find("field")->content()));
  EXPECT_TRUE(map.Erase(map.Find("field")->key()));
  EXPECT_EQ(map.Audit(), "");
}

TEST(SplitMap, ScanGivesWhatStaysOnceThoughOthersComeAndGo) {
  Random random(5);
  HashKeys map_hash_keys(SipKey{5});
  SplitMap map(map_hash_keys);
  for (int i = 0; i < 3000; ++i) map.Put("stays:" + std::to_string(i), {});
  std::multiset<std::string> seen;
  uint64_t cursor = 0;
  do {
    cursor = map.Scan(cursor, 20, [&seen](const Member& member) { seen.emplace(member.key()); });
    for (int i = 0; i < 200; ++i) {
      const std::string name = "other:" + std::to_string(random() % 20000);
      if (!map.Put(name, {})) map.Erase(name);
    }
  } while (cursor != 0);
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(seen.count("stays:" + std::to_string(i)), 1u);
}

TEST(SplitMap, RandomMembersAreEquallyLikely) {
  Random random(3);
  HashKeys map_hash_keys(SipKey{3});
  SplitMap map(map_hash_keys);
  constexpr int kMembers = 600;
  constexpr int kDraws = 12'000;
  for (int i = 0; i < kMembers; ++i) map.Put(std::to_string(i), {});
  std::map<std::string, int> draws;
  for (int i = 0; i < kDraws; ++i) ++draws[std::string(map.RandomMember(random)->key())];
  EXPECT_EQ(draws.size(), static_cast<size_t>(kMembers));
  double chi_square = 0;
  for (const auto& [name, count] : draws) chi_square += (count - 20.0) * (count - 20.0) / 20.0;
  EXPECT_LT(chi_square, 760);  // 599 degrees of freedom: mean 599, deviation 35
}

// Also far beyond the first draws, where the members are gone through.
TEST(SplitMap, DrawsAreOfWantedMembersAndEquallyLikely) {
  HashKeys map_hash_keys(SipKey{4});
  SplitMap map(map_hash_keys);
  for (int i = 0; i < 1200; ++i) map.Put(std::to_string(i), {});
  const auto even = [](const Member& member) { return (member.key().back() - '0') % 2 == 0; };
  for (const uint64_t seed : {1, 2, 3}) {
    Random random(seed);
    std::map<std::string, int> draws;
    int left = 12'000;
    map.Draw(random, even, [&](const Member& member) {
      ++draws[std::string(member.key())];
      return --left > 0;
    });
    EXPECT_EQ(left, 0);
    EXPECT_EQ(draws.size(), 600u);
    double chi_square = 0;
    for (const auto& [name, count] : draws) {
      EXPECT_EQ((name.back() - '0') % 2, 0);
      chi_square += (count - 20.0) * (count - 20.0) / 20.0;
    }
    EXPECT_LT(chi_square, 780);  // 599 degrees of freedom: mean 599, deviation 35
  }
}

TEST(SplitMap, DrawsOfOneWantedMemberAmongManyComeToAnEnd) {
  HashKeys map_hash_keys(SipKey{4});
  SplitMap map(map_hash_keys);
  for (int i = 0; i < 100'000; ++i) map.Put(std::to_string(i), {});
  Random random(1);
  size_t looks = 0;
  int left = 1000;
  map.Draw(
      random,
      [&looks](const Member& member) {
        ++looks;
        return member.key() == "77";
      },
      [&left](const Member&) { return --left > 0; });
  EXPECT_LT(looks, map.size() + 1000);
}

TEST(SplitMap, ErasesManyAtOnce) {
  HashKeys map_hash_keys(SipKey{4});
  for (const int erased : {0, 1, 15, 16, 17, 100, 1000}) {
    SplitMap map(map_hash_keys);
    std::vector<std::string> names = {"missing"};
    for (int i = 0; i < 1000; ++i) {
      const std::string name = "name:" + std::to_string(i);
      map.Put(name, {});
      if (i < erased) names.push_back(name);
    }
    names.push_back(names.back());  // once more
    map.EraseAll(names);
    EXPECT_EQ(map.Audit(), "");
    ASSERT_EQ(map.size(), static_cast<size_t>(1000 - erased));
    for (const std::string& name : names) EXPECT_EQ(map.Find(name), nullptr);
  }
}

TEST(SplitMap, IsFreedInSlices) {
  HashKeys map_hash_keys(SipKey{1});
  SplitMap map(map_hash_keys);
  for (int i = 0; i < 5000; ++i) map.Put("member:" + std::to_string(i), {});
  size_t before = map.heap_bytes();
  size_t slices = 0;
  for (; map.size() > 0; ++slices) {
    EXPECT_LE(map.FreeSome(100), 100u);
    EXPECT_LT(map.heap_bytes(), before);
    before = map.heap_bytes();
  }
  EXPECT_EQ(slices, 50u);
  EXPECT_EQ(map.FreeSome(100), 0u);
}

TEST(SplitMap, AMemberTakesLittle) {
  HashKeys map_hash_keys(SipKey{1});
  SplitMap set(map_hash_keys), map(map_hash_keys);
  constexpr int kMembers = 100'000;
  for (int i = 0; i < kMembers; ++i) {
    const std::string name = "element:" + std::to_string(1000000 + i);  // 15 bytes
    set.Put(name, {});
    map.Put(name, {.value = name});
  }
  // Redis 7.0: 24 for the entry, 8 for the bucket, 17 a string, each rounded up: 56 and 80.
  EXPECT_LT(set.heap_bytes() / kMembers, 32u + 14);
  EXPECT_LT(map.heap_bytes() / kMembers, 48u + 14);
}

}  // namespace
}  // namespace sluice
