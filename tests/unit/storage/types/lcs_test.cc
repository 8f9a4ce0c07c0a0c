// LCS: every answer is a common subsequence, as long as a search by brute force finds.
#include "storage/types/lcs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace sluice {
namespace {

bool IsSubsequence(std::string_view part, std::string_view whole) {
  for (const char c : whole) {
    if (!part.empty() && part.front() == c) part.remove_prefix(1);
  }
  return part.empty();
}

size_t LongestByBruteForce(std::string_view a, std::string_view b) {
  size_t longest = 0;
  for (uint32_t chosen = 0; chosen < 1u << a.size(); ++chosen) {
    std::string part;
    for (size_t i = 0; i < a.size(); ++i) {
      if (chosen >> i & 1) part += a[i];
    }
    if (part.size() > longest && IsSubsequence(part, b)) longest = part.size();
  }
  return longest;
}

std::string RandomText(std::mt19937& random, size_t bytes_max) {
  std::string text(random() % (bytes_max + 1), '\0');
  for (char& c : text) c = static_cast<char>('a' + random() % 3);
  return text;
}

TEST(Lcs, FindsTextAndPlaces) {
  const Lcs lcs = *FindLcs("ohmytext", "mynewtext");
  EXPECT_EQ(lcs.text, "mytext");
  EXPECT_THAT(lcs.matches, testing::ElementsAre(LcsMatch{4, 5, 4}, LcsMatch{2, 0, 2}));
  EXPECT_EQ(LcsLength("ohmytext", "mynewtext"), 6u);
}

TEST(Lcs, OfNothingIsNothing) {
  EXPECT_EQ(FindLcs("", "abc")->text, "");
  EXPECT_TRUE(FindLcs("abc", "")->matches.empty());
  EXPECT_EQ(LcsLength("", ""), 0u);
}

TEST(Lcs, IsCommonLongestAndWhereItSays) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const std::string a = RandomText(random, 10);
    const std::string b = RandomText(random, 14);
    const Lcs lcs = *FindLcs(a, b);
    ASSERT_TRUE(IsSubsequence(lcs.text, a));
    ASSERT_TRUE(IsSubsequence(lcs.text, b));
    ASSERT_EQ(lcs.text.size(), LongestByBruteForce(a, b)) << a << ' ' << b;
    ASSERT_EQ(LcsLength(a, b), lcs.text.size());
    std::string together;
    for (auto match = lcs.matches.rbegin(); match != lcs.matches.rend(); ++match) {
      ASSERT_EQ(a.substr(match->a, match->length), b.substr(match->b, match->length));
      together += a.substr(match->a, match->length);
    }
    ASSERT_EQ(together, lcs.text);
  }
}

}  // namespace
}  // namespace sluice
