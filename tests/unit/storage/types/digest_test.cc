// The digest of a value is part of the protocol: these are Redis 8.4's.
#include "storage/types/digest.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string_view>

namespace sluice {
namespace {

TEST(Digest, IsRedis) {
  EXPECT_EQ(DigestText(ValueDigest("Hello world")), "b6acb9d84a38ff74");
  EXPECT_EQ(DigestText(ValueDigest("hello")), "9555e8555c62dcfd");
  EXPECT_EQ(DigestText(ValueDigest("")), "2d06800538d394c2");
  EXPECT_EQ(DigestText(ValueDigest("v8")), "0cc76dbb41381419") << "a leading zero stays";
}

// Files have it, so it is fixed: XXH3-64 with what came before as its seed.
TEST(Digest, OfSeveralTextsTellsWhereOneEnds) {
  const auto of = [](std::initializer_list<std::string_view> texts) {
    uint64_t digest = 0;
    for (const std::string_view text : texts) digest = ChainedDigest(digest, text);
    return digest;
  };
  EXPECT_EQ(of({"hello"}), ValueDigest("hello"));
  const std::set<uint64_t> all = {of({"a", "bc"}), of({"ab", "c"}), of({"abc"}),
                                  of({"bc", "a"}), of({"", "abc"}), of({"abc", ""})};
  EXPECT_EQ(all.size(), 6u);
}

TEST(Digest, IsReadInEitherCase) {
  EXPECT_EQ(ParseDigest("0cc76dbb41381419"), ValueDigest("v8"));
  EXPECT_EQ(ParseDigest("0CC76DBB41381419"), ValueDigest("v8"));
}

TEST(Digest, IsExactlySixteenHexadecimalDigits) {
  for (const char* text : {"", "0", "0cc76dbb4138141", "0cc76dbb413814190", "0cc76dbb4138141g",
                           "0x76dbb413814190", "+cc76dbb41381419"}) {
    EXPECT_FALSE(ParseDigest(text)) << text;
  }
}

}  // namespace
}  // namespace sluice
