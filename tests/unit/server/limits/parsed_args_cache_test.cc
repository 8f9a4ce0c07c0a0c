// ParsedArgsCache knows the last words alone, and keeps nothing of long ones.
#include "server/limits/parsed_args_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice {
namespace {

using ParsedWords = std::vector<std::string_view>;

TEST(ParsedArgsCache, KnowsTheLastWordsAlone) {
  ParsedArgsCache<int> memo;
  EXPECT_EQ(memo.Find(ParsedWords{}), nullptr);
  EXPECT_EQ(memo.Find(ParsedWords{"WINDOW", "10"}), nullptr);
  memo.Keep(ParsedWords{"WINDOW", "10"}, 1);
  ASSERT_NE(memo.Find(ParsedWords{"WINDOW", "10"}), nullptr);
  EXPECT_EQ(*memo.Find(ParsedWords{"WINDOW", "10"}), 1);
  for (const ParsedWords& other :
       {ParsedWords{"WINDOW"}, ParsedWords{"WINDOW", "10", ""}, ParsedWords{"WINDOW", "11"},
        ParsedWords{"WINDOW1", "0"}, ParsedWords{"window", "10"}}) {
    EXPECT_EQ(memo.Find(other), nullptr);
  }
  memo.Keep(ParsedWords{"GCRA", "10"}, 2);
  EXPECT_EQ(memo.Find(ParsedWords{"WINDOW", "10"}), nullptr);
  EXPECT_EQ(*memo.Find(ParsedWords{"GCRA", "10"}), 2);
}

TEST(ParsedArgsCache, KeepsNothingOfWhatIsTooLong) {
  ParsedArgsCache<int> memo;
  memo.Keep(ParsedWords{"a"}, 1);
  const std::string word(1000, 'x');
  memo.Keep(ParsedWords{"a", word}, 2);
  EXPECT_EQ(memo.Find(ParsedWords{"a", word}), nullptr);
  EXPECT_EQ(memo.Find(ParsedWords{"a"}), nullptr);
  const ParsedWords many(100, "a");
  memo.Keep(many, 3);
  EXPECT_EQ(memo.Find(many), nullptr);
}

}  // namespace
}  // namespace sluice
