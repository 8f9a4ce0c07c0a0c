// The index of KeyPatterns answers what asking each pattern by itself would answer.
#include "server/access/key_patterns.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/access/verdict.h"

namespace sluice {
namespace {

TEST(KeyPatternsTest, AllowsWhatAPatternSays) {
  KeyPatterns patterns;
  patterns.Add("app:*", kReads);
  patterns.Add("job", kReadsAndWrites);
  patterns.Add("h?llo", kWrites);

  EXPECT_TRUE(patterns.Allow("app:1", kReads));
  EXPECT_FALSE(patterns.Allow("app:1", kReads | kWrites));
  EXPECT_TRUE(patterns.Allow("app:", 0));
  EXPECT_FALSE(patterns.Allow("app", 0));
  EXPECT_TRUE(patterns.Allow("job", kReads | kWrites));
  EXPECT_FALSE(patterns.Allow("job2", kReads));
  EXPECT_TRUE(patterns.Allow("hello", kWrites));
  EXPECT_FALSE(patterns.Allow("", kReads));
}

TEST(KeyPatternsTest, AddsToThePatternThatIsThere) {
  KeyPatterns patterns;
  patterns.Add("app:*", kReads);
  patterns.Add("app:*", kWrites);

  EXPECT_EQ(patterns.size(), 1u);
  EXPECT_TRUE(patterns.Allow("app:1", kReadsAndWrites));
  EXPECT_EQ(patterns.Describe(), "~app:*");
}

TEST(KeyPatternsTest, NeedsOnePatternForAllOfTheAccess) {
  KeyPatterns patterns;
  patterns.Add("a*", kReads);
  patterns.Add("ab*", kWrites);

  EXPECT_FALSE(patterns.Allow("abc", kReadsAndWrites));
  EXPECT_TRUE(patterns.Allow("abc", kReads));
  EXPECT_TRUE(patterns.Allow("abc", kWrites));
}

// Texts over few characters, NUL and 0xff with them, around the eight bytes of the index.
std::string SomeText(std::mt19937_64& random, std::string_view characters, size_t size_max) {
  std::string text(random() % (size_max + 1), ' ');
  for (char& character : text) character = characters[random() % characters.size()];
  return text;
}

TEST(KeyPatternsTest, AnswersAsEachPatternByItself) {
  constexpr std::string_view kOfPatterns("ab*?[]\\\xff", 8);
  constexpr std::string_view kOfKeys("aab\0\xff", 5);
  std::mt19937_64 random(20);
  size_t allowed = 0;
  for (int round = 0; round < 200; ++round) {
    KeyPatterns patterns;
    std::vector<std::pair<std::string, uint8_t>> all;
    for (int i = 0; i < 30; ++i) {
      std::string text = SomeText(random, i % 2 ? kOfPatterns : "ab", 11);
      if (i % 4 == 1) text += '*';
      const auto access = static_cast<uint8_t>(1 + random() % 3);
      if (patterns.Has(text)) continue;
      patterns.Add(text, access);
      all.emplace_back(text, access);
    }
    for (int i = 0; i < 200; ++i) {
      const std::string key = SomeText(random, kOfKeys, 12);
      const auto access = static_cast<uint8_t>(random() % 4);
      const bool expected = std::ranges::any_of(all, [&](const auto& pattern) {
        return (pattern.second & access) == access && Glob(pattern.first).Matches(key);
      });
      allowed += expected;
      EXPECT_EQ(patterns.Allow(key, access), expected) << key << " " << int{access};
    }
  }
  EXPECT_GT(allowed, 1000u);
}

}  // namespace
}  // namespace sluice
