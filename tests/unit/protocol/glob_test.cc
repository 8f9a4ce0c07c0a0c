#include "protocol/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

struct Case {
  std::string_view pattern, text;
  bool matches;
};

// Answers of KEYS and CONFIG GET on Redis 7.0.15.
constexpr Case kCases[] = {
    {"", "", true},
    {"*", "", false},
    {"*", "a", true},
    {"a*", "a", true},
    {"a*b", "ab", true},
    {"a*b*c", "axxbyyc", true},
    {"a*b*c", "axxbyy", false},
    {"h?llo", "hello", true},
    {"h?llo", "hllo", false},
    {"h[ae]llo", "hallo", true},
    {"h[ae]llo", "hillo", false},
    {"h[^e]llo", "hallo", true},
    {"h[^e]llo", "hello", false},
    {"h[a-b]llo", "hbllo", true},
    {"h[b-a]llo", "hallo", true},
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"\\", "\\", true},
    {"[abc", "b", true},
    {"[abc", "d", false},
    {"[", "a", false},
    {"[^", "a", true},
    {"[\\]]", "]", true},
    {"[]", "a", false},
    {"**a**", "bab", true},
    {"?", "", false},
    {"ab", "abc", false},
    {"abc", "ab", false},
    {"*[0-9]", "x12", true},
    {"[a-]", "-", false},
    {"[a-]", "^", true},
};

TEST(Glob, MatchesAsRedis) {
  for (const Case& c : kCases) {
    EXPECT_EQ(GlobMatches(c.pattern, c.text), c.matches) << c.pattern << " on " << c.text;
  }
}

TEST(Glob, IgnoresCaseWhenAsked) {
  EXPECT_TRUE(GlobMatches("MaxM*", "maxmemory", true));
  EXPECT_TRUE(GlobMatches("[A-C]x", "bX", true));
  EXPECT_FALSE(GlobMatches("MaxM*", "maxmemory"));
}

// Exponential in a naive matcher.
TEST(Glob, ManyStarsStayCheap) {
  std::string pattern, text(5000, 'a');
  for (int i = 0; i < 100; ++i) pattern += "a*";
  EXPECT_FALSE(GlobMatches(pattern + "b", text));
}

}  // namespace
}  // namespace sluice
