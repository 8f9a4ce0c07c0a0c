// NearWord: slips of the fingers find the word, other words find none.
#include "protocol/text/near_word.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::string_view kKnown[] = {"port",          "maxmemory", "maxmemory-policy", "fix",
                                       "http-password", "save",      "aclfile",          ""};

TEST(NearWord, FindsWhatWasMeant) {
  constexpr struct {
    std::string_view word, meant;
  } kRows[] = {
      {"prot", "port"},
      {"ports", "port"},
      {"PROT", "port"},
      {"maxmemroy", "maxmemory"},
      {"max-memory", "maxmemory"},
      {"maxmemory-polic", "maxmemory-policy"},
      {"http-pass", "http-password"},
      {"acl", "aclfile"},
      {"fxi", "fix"},
      {"nonsense", ""},
      {"x", ""},
      {"", ""},
      {"trop", ""},
      {"e", ""},
  };
  for (const auto& row : kRows) EXPECT_EQ(NearWord(row.word, kKnown), row.meant) << row.word;
}

TEST(NearWord, KnowsItself) {
  for (const std::string_view word : kKnown) EXPECT_EQ(NearWord(word, kKnown), word);
}

TEST(NearWord, IsBounded) {
  const std::string longer(100'000, 'a');
  EXPECT_EQ(NearWord(longer, kKnown), "");
  const std::string_view known[] = {longer};
  EXPECT_EQ(NearWord("aaaa", known), "");
}

TEST(NearWord, SaysSo) {
  EXPECT_EQ(DidYouMean("fxi", kKnown, "--"), "; did you mean '--fix'?");
  EXPECT_EQ(DidYouMean("nonsense", kKnown), "");
}

}  // namespace
}  // namespace sluice
