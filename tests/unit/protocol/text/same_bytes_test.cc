// SameBytes sees a difference at every place of texts of every length.
#include "protocol/text/same_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

namespace sluice {
namespace {

TEST(SameBytes, SeesEveryByteOfEveryLength) {
  for (size_t length = 0; length <= 70; ++length) {
    const std::string text(length, 'a');
    EXPECT_TRUE(SameBytes(text, std::string(length, 'a')));
    EXPECT_FALSE(SameBytes(text, text + 'a'));
    for (size_t at = 0; at < length; ++at) {
      std::string other = text;
      other[at] = '\0';
      EXPECT_FALSE(SameBytes(text, other)) << length << " " << at;
    }
  }
}

// The number that is made when compiling is the one that is made when running; it has each of the
// first eight bytes in its place, and nothing of what lies around the text.
TEST(ShortNumber, HasEveryByteInItsPlace) {
  constexpr std::string_view kText = "\x81-bcdefg\xfe!";
  constexpr uint64_t kNumbers[] = {
      ShortNumber(kText.substr(0, 0)), ShortNumber(kText.substr(0, 1)),
      ShortNumber(kText.substr(0, 2)), ShortNumber(kText.substr(0, 3)),
      ShortNumber(kText.substr(0, 4)), ShortNumber(kText.substr(0, 5)),
      ShortNumber(kText.substr(0, 6)), ShortNumber(kText.substr(0, 7)),
      ShortNumber(kText.substr(0, 8)), ShortNumber(kText.substr(0, 9))};
  for (size_t length = 0; length < std::size(kNumbers); ++length) {
    uint64_t expected = 0;
    std::memcpy(&expected, kText.data(), std::min<size_t>(length, kShortBytes));
    const std::string text(kText.substr(0, length));
    EXPECT_EQ(ShortNumber(text), expected) << length;
    EXPECT_EQ(kNumbers[length], expected) << length;
  }
}

}  // namespace
}  // namespace sluice
