// Bytes of a stranger inside a sentence.
#include "protocol/text/words.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice {
namespace {

using namespace std::string_view_literals;

TEST(EscapedText, IsPrintedAndBounded) {
  EXPECT_EQ(EscapedText("-ERR it's \"so\"", 100), "-ERR it's \"so\"");
  EXPECT_EQ(EscapedText("a\r\n\x1b[2J\0\xff\\"sv, 100), "a\\r\\n\\x1b[2J\\x00\\xff\\\\");
  EXPECT_EQ(EscapedText("abcdef", 6), "abcdef");
  EXPECT_EQ(EscapedText("abcdefg", 6), "abcdef...");
  EXPECT_EQ(EscapedText("", 0), "");
}

TEST(QuotedWord, IsReadBack) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  std::vector<std::string> words;
  ASSERT_TRUE(SplitWords(QuotedWord(all), words));
  EXPECT_EQ(words, std::vector{all});
}

}  // namespace
}  // namespace sluice
