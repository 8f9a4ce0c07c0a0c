// CopyBytes copies texts of every length, and nothing beside them; the two may overlap.
#include "protocol/text/copy_bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

// Bytes that all differ from their neighbours.
std::string Pattern(size_t size) {
  std::string pattern(size, '\0');
  for (size_t i = 0; i < size; ++i) pattern[i] = static_cast<char>('0' + i);
  return pattern;
}

TEST(CopyBytes, CopiesEveryLengthAndNothingBeside) {
  for (size_t length = 0; length <= 40; ++length) {
    const std::string from = Pattern(length);
    std::string to(length + 2, '-');
    CopyBytes(to.data() + 1, from.data(), length);
    EXPECT_EQ(to, "-" + from + "-");
  }
}

TEST(CopyBytes, MayOverlap) {
  for (size_t length = 0; length <= 40; ++length) {
    for (size_t shift = 0; shift <= length; ++shift) {
      const std::string before = Pattern(length + shift);
      std::string text = before;
      CopyBytes(text.data() + shift, text.data(), length);
      EXPECT_EQ(text.substr(shift), before.substr(0, length));
      text = before;
      CopyBytes(text.data(), text.data() + shift, length);
      EXPECT_EQ(text.substr(0, length), before.substr(shift));
    }
  }
}

}  // namespace
}  // namespace sluice
