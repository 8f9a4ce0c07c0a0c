// ArgReader keeps the first fault, and reads nothing behind it.
#include "server/dispatch/arg_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

using Words = std::vector<std::string_view>;

TEST(ArgReader, ReadsLeftToRight) {
  const Words words = {"SET", "key", "12", "px", "1.5"};
  ArgReader args(words);
  EXPECT_EQ(args.Bytes(), "key");
  EXPECT_EQ(args.Int(), 12);
  EXPECT_FALSE(args.TakeWord("EX"));
  EXPECT_TRUE(args.TakeWord("PX"));
  EXPECT_EQ(args.Double(), 1.5);
  EXPECT_TRUE(args.Finish());
}

TEST(ArgReader, TheFirstFaultStays) {
  const Words words = {"X", "no", "5"};
  ArgReader args(words);
  EXPECT_EQ(args.Int(), 0);
  EXPECT_FALSE(args.more());
  EXPECT_EQ(args.Int(), 0);
  args.Fail(ErrorCode::kSyntax);
  EXPECT_FALSE(args.Finish());
  EXPECT_EQ(args.error(), ErrorText(ErrorCode::kNotInteger));
}

TEST(ArgReader, MissingAndLeftOverAreSyntaxErrors) {
  const Words one = {"X"};
  ArgReader missing(one);
  missing.Bytes();
  EXPECT_FALSE(missing.Finish());
  EXPECT_EQ(missing.error(), ErrorText(ErrorCode::kSyntax));

  const Words two = {"X", "left"};
  ArgReader left(two);
  EXPECT_FALSE(left.Finish());
  EXPECT_EQ(left.error(), ErrorText(ErrorCode::kSyntax));
}

TEST(ArgReader, RangesAndOwnSentences) {
  const auto error = [](std::string_view word, const IntRange& range) {
    const Words words = {"X", word};
    ArgReader args(words);
    args.IntIn(range);
    return std::string(args.error());
  };
  EXPECT_EQ(error("11", {"LEASE", 0, 10, "ms"}), "ERR LEASE must be 0 to 10 ms");
  EXPECT_EQ(error("-1", {"LEASE", 0, 10, "ms"}), "ERR LEASE must be 0 to 10 ms");
  EXPECT_EQ(error("1.5", {"n", -3, 10}), "ERR n must be an integer, -3 to 10");
  for (const std::string_view inside : {"-3", "10"}) {
    EXPECT_EQ(error(inside, {"n", -3, 10}), ErrorText(ErrorCode::kOk));
  }
  const Words missing = {"X"};
  ArgReader args(missing);
  args.IntIn({"n", 0, 10});
  EXPECT_EQ(args.error(), "ERR n must be an integer, 0 to 10");

  const Words words = {"X", "11"};
  ArgReader own(words);
  own.Fail(std::string("ERR of its own"));
  EXPECT_EQ(own.error(), "ERR of its own");
}

TEST(IsWord, ComparesLettersOnly) {
  EXPECT_TRUE(IsWord("gEt", "GET"));
  EXPECT_FALSE(IsWord("ge", "GET"));
  EXPECT_FALSE(IsWord("GE\x14", "GET"));
  EXPECT_FALSE(IsWord("`", "@"));
}

}  // namespace
}  // namespace sluice
