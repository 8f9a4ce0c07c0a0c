// SmallText: up to 15 bytes inside, more in a box; the same text either way.
#include "storage/memory/small_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sluice {
namespace {

TEST(SmallText, UpToFifteenBytesTakeNoBlock) {
  EXPECT_EQ(HeapBytes(SmallText()), 0u);
  EXPECT_EQ(HeapBytes(SmallText("127.0.0.1:54321")), 0u);
  EXPECT_EQ(HeapBytes(SmallText("127.0.0.11:54321")), 32u);
}

TEST(SmallText, KeepsAnyBytesOfAnyLength) {
  for (size_t size = 0; size < 40; ++size) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 37);
    const SmallText text(bytes);
    EXPECT_EQ(text.view(), bytes);
    EXPECT_EQ(text.empty(), size == 0);
  }
}

// From each form to each, itself included.
TEST(SmallText, CopiesAndMovesAreTheirOwn) {
  const std::string texts[] = {"", "short", "fifteen bytes..", "a text that is longer than that"};
  for (const std::string& first : texts) {
    for (const std::string& second : texts) {
      SmallText text(first);
      const SmallText copy = text;
      text = SmallText(second);
      EXPECT_EQ(text, second);
      EXPECT_EQ(copy, first);
      SmallText moved = std::move(text);
      EXPECT_EQ(moved, second);
      text = copy;
      EXPECT_EQ(text, first);
      const SmallText& same = text;
      text = same;
      EXPECT_EQ(text, first);
      moved = std::move(text);
      EXPECT_EQ(moved, first);
    }
  }
}

}  // namespace
}  // namespace sluice
