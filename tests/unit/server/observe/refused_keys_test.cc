// The sketch of refused keys against exact counts: what is refused often is there, and a count is
// never too low, nor too high by more than it says.
#include "server/observe/refused_keys.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "protocol/text/concat.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

HashedKey Named(const std::string& name) { return {name, std::hash<std::string>()(name)}; }

TEST(RefusedKeys, FewKeysAreExact) {
  RefusedKeys refused;
  for (int i = 0; i < 10; ++i) refused.Count(0, Named("often"));
  for (int i = 0; i < 3; ++i) refused.Count(1, Named("often"));
  refused.Count(0, Named("once"));
  const auto top = refused.Top(2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0]->key, "often");
  EXPECT_EQ(top[0]->db, 0);
  EXPECT_EQ(top[0]->count, 10u);
  EXPECT_EQ(top[0]->excess, 0u);
  EXPECT_EQ(top[1]->db, 1);
  EXPECT_EQ(top[1]->count, 3u);
}

TEST(RefusedKeys, OftenRefusedKeysAreThere) {
  std::mt19937_64 random(FirstSeed());
  RefusedKeys refused;
  std::map<std::string, uint64_t> exact;
  constexpr uint64_t kRefusals = 50'000;
  for (uint64_t i = 0; i < kRefusals; ++i) {
    // One in four is of a key among ten, the others of 5,000.
    const uint64_t number = random() % 4 == 0 ? random() % 10 : 10 + random() % 5000;
    const std::string name = Concat("key:", number);
    ++exact[name];
    refused.Count(0, Named(name));
  }
  std::map<std::string, const RefusedKeys::Row*> shown;
  for (const RefusedKeys::Row* row : refused.Top(RefusedKeys::kKept)) {
    shown[row->key] = row;
    EXPECT_GE(row->count, exact[row->key]);
    EXPECT_LE(row->count - row->excess, exact[row->key]);
  }
  for (const auto& [name, count] : exact) {
    if (count > kRefusals / RefusedKeys::kKept) {
      EXPECT_TRUE(shown.contains(name)) << name;
    }
  }
}

TEST(RefusedKeys, HalvingForgetsInTime) {
  RefusedKeys refused;
  for (int i = 0; i < 5; ++i) refused.Count(0, Named("five"));
  for (int i = 0; i < 2; ++i) refused.Count(0, Named("two"));
  refused.Halve();
  EXPECT_EQ(refused.Top(9).size(), 2u);
  refused.Halve();
  ASSERT_EQ(refused.Top(9).size(), 1u);
  EXPECT_EQ(refused.Top(9)[0]->key, "five");
  refused.Count(0, Named("five"));
  EXPECT_EQ(refused.Top(9)[0]->count, 2u);
  refused.Count(0, Named("new"));
  EXPECT_EQ(refused.Top(9)[1]->count, 1u);
}

TEST(RefusedKeys, LongNamesTakeNoRoom) {
  RefusedKeys refused;
  refused.Count(0, Named(std::string(RefusedKeys::kKeyBytesMax + 1, 'x')));
  EXPECT_TRUE(refused.Top(9).empty());
  EXPECT_EQ(refused.too_long(), 1u);
  refused.Count(0, Named(std::string(RefusedKeys::kKeyBytesMax, 'x')));
  EXPECT_EQ(refused.Top(9).size(), 1u);
}

}  // namespace
}  // namespace sluice
