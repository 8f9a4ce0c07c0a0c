// Key positions by Redis's rules for key specs, those included that no command of ours has yet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "server/dispatch/command_table.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::optional<std::vector<int>> Find(const KeySpec& spec, std::vector<std::string_view> args) {
  std::vector<int> positions;
  if (!FindKeyPositions(spec, args, positions)) return std::nullopt;
  return positions;
}

std::optional<std::vector<int>> Find(CommandSpec spec, std::vector<std::string_view> args) {
  spec.name = "X";
  spec.arity = -1;
  spec.run = [](CommandCall&) {};
  const CommandFamily family{"test", {&spec, 1}};
  const CommandTable table({&family, 1});
  std::vector<KeyUse> keys;
  if (!FindKeys(*table.Check(args), keys)) return std::nullopt;
  std::vector<int> positions;
  for (const KeyUse& key : keys) positions.push_back(key.position);
  return positions;
}

TEST(KeyPositions, OneKey) {
  const KeySpec spec = KeyAt(1, kKeyRo).specs[0];
  EXPECT_THAT(*Find(spec, {"GET", "a"}), ElementsAre(1));
  EXPECT_EQ(Find(spec, {"GET"}), std::nullopt);
}

TEST(KeyPositions, RangeToTheEndWithSteps) {
  const KeySpec spec = KeyRange(1, -1, 2, kKeyOw).specs[0];
  EXPECT_THAT(*Find(spec, {"MSET", "a", "1", "b", "2"}), ElementsAre(1, 3));
  EXPECT_THAT(*Find(spec, {"MSET", "a", "1", "b"}), ElementsAre(1, 3));  // the handler's fault
  EXPECT_EQ(Find(spec, {"MSET"}), std::nullopt);
}

TEST(KeyPositions, LastIsLeftOut) {
  const KeySpec spec = KeyRange(1, -2, 1, kKeyRo).specs[0];
  EXPECT_THAT(*Find(spec, {"BLPOP", "a", "b", "0"}), ElementsAre(1, 2));
  EXPECT_EQ(Find(spec, {"BLPOP", "0"}), std::nullopt);
}

TEST(KeyPositions, LimitTakesAPart) {
  KeySpec spec{.begin = 1, .last = -1, .limit = 2, .keyword = "STREAMS"};
  EXPECT_THAT(*Find(spec, {"XREAD", "COUNT", "1", "streams", "a", "b", "0", "0"}),
              ElementsAre(4, 5));
  EXPECT_THAT(*Find(spec, {"XREAD", "STREAMS", "a", "0"}), ElementsAre(2));
}

TEST(KeyPositions, AMissingKeywordIsNoFault) {
  const KeySpec spec{.begin = 2, .keyword = "STORE"};
  EXPECT_THAT(*Find(spec, {"SORT", "a"}), IsEmpty());
  EXPECT_THAT(*Find(spec, {"SORT", "a", "STORE"}), IsEmpty());
  EXPECT_THAT(*Find(spec, {"SORT", "a", "store", "b"}), ElementsAre(3));
}

TEST(KeyPositions, KeywordFromTheEnd) {
  const KeySpec spec{.begin = -2, .last = -1, .keyword = "KEYS"};
  EXPECT_THAT(*Find(spec, {"MIGRATE", "h", "1", "", "0", "9", "KEYS", "a", "b"}),
              ElementsAre(7, 8));
  EXPECT_THAT(*Find(spec, {"MIGRATE", "h", "1", "a", "0", "9"}), IsEmpty());
}

TEST(KeyPositions, Counted) {
  const KeySpec spec = KeysCounted(2, kKeyRo).specs[0];
  EXPECT_THAT(*Find(spec, {"EVAL", "x", "2", "a", "b", "c"}), ElementsAre(3, 4));
  for (const std::string_view count : {"0", "-1", "4", "x", "", "9223372036854775807"}) {
    EXPECT_EQ(Find(spec, {"EVAL", "x", count, "a", "b", "c"}), std::nullopt) << count;
  }
  EXPECT_EQ(Find(spec, {"EVAL", "x"}), std::nullopt);
}

TEST(KeyPositions, SpecsAddUp) {
  const CommandSpec spec{.keys = KeyAt(2, kKeyOw) + KeyRange(3, -1, 1, kKeyRo)};
  EXPECT_THAT(*Find(spec, {"X", "AND", "to", "a", "b"}), ElementsAre(2, 3, 4));
}

TEST(KeyPositions, WhatIsNoKeyIsPassedOver) {
  const CommandSpec spec{.keys = KeyAt(1, kKeyNotKey) + KeyAt(2, kKeyRo)};
  EXPECT_THAT(*Find(spec, {"X", "channel", "a"}), ElementsAre(2));
}

// A word that a spec looks for may be a value, which only the row's own function knows.
TEST(KeyPositions, TheRowsFunctionKnowsBetter) {
  const auto all = [](const Request& request, std::vector<KeyUse>& keys) {
    const int words = static_cast<int>(request.args.size());
    for (int i = 1; i < words; ++i) keys.push_back({i, kKeyRo});
    return words > 1;
  };
  const CommandSpec spec{.keys = {{KeySpec{.flags = kKeyRo, .begin = 1, .keyword = "STORE"}}, 1},
                         .find_keys = all};
  EXPECT_THAT(*Find(spec, {"X", "STORE", "b"}), ElementsAre(1, 2));
  EXPECT_EQ(Find(spec, {"X"}), std::nullopt);
}

}  // namespace
}  // namespace sluice
