// ParsedArgsCache knows the last words alone, and keeps nothing of long ones.
#include "server/waiting/parsed_args_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice {
namespace {

using Words = std::vector<std::string_view>;

TEST(ParsedArgsCache, KnowsTheLastWordsAlone) {
  ParsedArgsCache<int> memo;
  EXPECT_EQ(memo.Find(Words{}), nullptr);
  EXPECT_EQ(memo.Find(Words{"WINDOW", "10"}), nullptr);
  memo.Keep(Words{"WINDOW", "10"}, 1);
  ASSERT_NE(memo.Find(Words{"WINDOW", "10"}), nullptr);
  EXPECT_EQ(*memo.Find(Words{"WINDOW", "10"}), 1);
  for (const Words& other : {Words{"WINDOW"}, Words{"WINDOW", "10", ""}, Words{"WINDOW", "11"},
                             Words{"WINDOW1", "0"}, Words{"window", "10"}}) {
    EXPECT_EQ(memo.Find(other), nullptr);
  }
  memo.Keep(Words{"GCRA", "10"}, 2);
  EXPECT_EQ(memo.Find(Words{"WINDOW", "10"}), nullptr);
  EXPECT_EQ(*memo.Find(Words{"GCRA", "10"}), 2);
}

TEST(ParsedArgsCache, KeepsNothingOfWhatIsTooLong) {
  ParsedArgsCache<int> memo;
  memo.Keep(Words{"a"}, 1);
  const std::string word(1000, 'x');
  memo.Keep(Words{"a", word}, 2);
  EXPECT_EQ(memo.Find(Words{"a", word}), nullptr);
  EXPECT_EQ(memo.Find(Words{"a"}), nullptr);
  const Words many(100, "a");
  memo.Keep(many, 3);
  EXPECT_EQ(memo.Find(many), nullptr);
}

}  // namespace
}  // namespace sluice
