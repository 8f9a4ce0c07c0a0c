// Glob answers as Redis 7.0.15 and as a simple matcher do, and stays cheap for any pattern.
#include "protocol/text/glob.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

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

// What was read from the pattern once is as what is read anew for each character.
TEST(Glob, MatchesAsASimpleMatcherWould) {
  const auto simple = [](std::string_view pattern, std::string_view text, auto& self) -> bool {
    if (pattern.empty()) return text.empty();
    if (pattern[0] == '*') {
      return self(pattern.substr(1), text, self) ||
             (!text.empty() && self(pattern, text.substr(1), self));
    }
    if (text.empty()) return false;
    const bool takes = pattern[0] == '?' || pattern[0] == text[0];
    return takes && self(pattern.substr(1), text.substr(1), self);
  };
  std::mt19937_64 random(1);
  const auto any = [&random](std::string_view of, size_t most) {
    std::string text;
    for (size_t i = random() % most; i > 0; --i) text.push_back(of[random() % of.size()]);
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string pattern = any(i % 2 == 0 ? "ab*" : "ab*?", 10);
    const std::string text = any("ab", 10) + "a";
    EXPECT_EQ(GlobMatches(pattern, text), simple(pattern, text, simple)) << pattern << " " << text;
  }
}

TEST(Glob, FoldsRangesAndWhatIsEscapedAsRedis) {
  EXPECT_TRUE(GlobMatches("[a-z]", "Q", true));
  EXPECT_TRUE(GlobMatches("[^A-Z]", "1", true));
  EXPECT_FALSE(GlobMatches("[^A-Z]", "q", true));
  EXPECT_TRUE(GlobMatches(R"([\A])", "A", true));
  EXPECT_FALSE(GlobMatches(R"([\A])", "a", true)) << "case counts behind a backslash";
  EXPECT_TRUE(GlobMatches("[\x80-\x7f]", "-"));
  EXPECT_TRUE(GlobMatches("[\xf0-a]", "Z")) << "chars have a sign";
}

// A product of pattern and text would be 10^12 steps here.
TEST(Glob, LongPatternsOnLongTextsStayCheap) {
  constexpr size_t kLong = 1'000'000;
  const std::string text(kLong, 'a');
  EXPECT_FALSE(GlobMatches("*" + std::string(kLong / 2, 'a') + "b*", text));
  EXPECT_FALSE(GlobMatches("*" + std::string(kLong / 2, 'a') + "?b*", text));
  EXPECT_FALSE(GlobMatches("*b" + std::string(kLong / 2, '?') + "b", text));
  EXPECT_TRUE(GlobMatches(std::string(kLong, '*'), text));
  EXPECT_TRUE(GlobMatches("*[" + std::string(kLong, 'a') + "]*", text));
  std::string many;
  for (size_t i = 0; i < kLong / 4; ++i) many += "*a?";
  EXPECT_FALSE(GlobMatches(many + "b*", text));
  EXPECT_FALSE(GlobMatches(std::string(Glob::kCharactersMax + 1, '?'),
                           std::string(Glob::kCharactersMax + 1, 'x')));
}

// Exponential in a naive matcher.
TEST(Glob, ManyStarsStayCheap) {
  std::string pattern, text(5000, 'a');
  for (int i = 0; i < 100; ++i) pattern += "a*";
  EXPECT_FALSE(GlobMatches(pattern + "b", text));
}

}  // namespace
}  // namespace sluice
