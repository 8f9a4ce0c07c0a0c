// ShardedMap against a std::map; how often it hashes tells how many entries an insert moves.
#include "storage/hashing/sharded_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "storage/hashing/key_name.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

using Names = KeyNameMap<int>;

TEST(ShardedMap, AgreesWithAMap) {
  std::mt19937_64 random(TestSeed(0));
  ShardedMap<Names> sharded(KeyNameHash(SipKey{1}));
  std::map<std::string, int> plain;
  for (int step = 0; step < 40'000; ++step) {
    const std::string key = std::to_string(random() % 6'000);
    const KeyNameView name{0, key};
    if (random() % 4 == 0) {
      ASSERT_EQ(sharded.Erase(name), plain.erase(key) == 1);
    } else {
      const auto [place, is_new] = sharded.TryEmplace(KeyName(name), step);
      ASSERT_EQ(is_new, plain.emplace(key, step).second);
      ASSERT_EQ(*place, plain.at(key));
    }
    ASSERT_EQ(sharded.size(), plain.size());
  }
  for (const auto& [key, value] : plain) EXPECT_EQ(*sharded.Find(KeyNameView{0, key}), value);
  EXPECT_EQ(sharded.Find(KeyNameView{1, plain.begin()->first}), nullptr);
}

// What it counts is what the allocator would give the tables, before the split and behind it.
TEST(ShardedMap, CountsItsTables) {
  using Counters = absl::flat_hash_map<uint64_t, uint64_t>;
  ShardedMap<Counters> sharded;
  EXPECT_EQ(sharded.table_bytes(), 0u);
  Counters plain;
  for (uint64_t key = 0; key < 1'000; ++key) {
    sharded.TryEmplace(key, key);
    plain.emplace(key, key);
    ASSERT_EQ(sharded.table_bytes(), TableBytes(plain));
    ASSERT_LE(sharded.free_bytes(), sharded.table_bytes());
  }
  for (uint64_t key = 1'000; key < 100'000; ++key) sharded.TryEmplace(key, key);
  constexpr size_t kItem = sizeof(Counters::value_type) + 1;
  EXPECT_GT(sharded.table_bytes(), 100'000 * kItem);
  EXPECT_LT(sharded.table_bytes(), 100'000 * kItem * 5 / 2);
  const size_t full = sharded.free_bytes();
  for (uint64_t key = 0; key < 50'000; ++key) sharded.Erase(key);
  EXPECT_EQ(sharded.free_bytes(), full + 50'000 * ShardedMap<Counters>::kSlotBytes);
}

// How often a key is hashed tells how many are moved: absl hashes each again when it grows.
struct CountingHash {
  size_t operator()(uint64_t key) const {
    ++*count;
    return key * 0x9e3779b97f4a7c15;
  }
  size_t* count;
};

TEST(ShardedMap, NoInsertMovesMany) {
  using Counted = absl::flat_hash_map<uint64_t, int, CountingHash>;
  size_t hashed = 0;
  ShardedMap<Counted> map(CountingHash{&hashed});
  size_t most = 0;
  for (uint64_t key = 1; key <= 300'000; ++key) {
    const size_t before = hashed;
    map.TryEmplace(key, 0);
    most = std::max(most, hashed - before);
  }
  EXPECT_EQ(map.size(), 300'000u);
  EXPECT_LE(most, 4 * ShardedMap<Counted>::kSplitAt);
}

}  // namespace
}  // namespace sluice
