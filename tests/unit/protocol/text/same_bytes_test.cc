// SameBytes sees a difference at every place of texts of every length.
#include "protocol/text/same_bytes.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace sluice
