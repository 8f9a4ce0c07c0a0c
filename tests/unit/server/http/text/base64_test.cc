// Base64 in both alphabets, there and back; and what is none.
#include "server/http/text/base64.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Base64, KnownTexts) {  // RFC 4648, 10
  for (const auto& [bytes, text] : {std::pair{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(ToBase64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
  EXPECT_EQ(ToBase64("\xfb\xff"), "+/8=");
  EXPECT_EQ(ToBase64Url("\xfb\xff"), "-_8");
}

TEST(Base64, AllBytesThereAndBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes.push_back(static_cast<char>(i * 37));
    EXPECT_EQ(FromBase64(ToBase64(bytes)), bytes);
    EXPECT_EQ(FromBase64(ToBase64Url(bytes)), bytes);
  }
}

TEST(Base64, WhatIsNone) {
  for (const std::string_view text : {"!", "A", "AAAAA", "AA=A", "AA===", " AA", "AA\n", "Ä"})
    EXPECT_EQ(FromBase64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace sluice
