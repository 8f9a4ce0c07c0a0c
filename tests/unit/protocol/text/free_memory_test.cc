// FreeMemory gives back what assigning an empty text or vector keeps; ClearKeeping gives back what
// is large.
#include "protocol/text/free_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace sluice {
namespace {

constexpr size_t kMany = 1'000'000;

TEST(FreeMemory, OfATextAndAVector) {
  std::string text(kMany, 'x');
  FreeMemory(text);
  EXPECT_TRUE(text.empty());
  EXPECT_LT(text.capacity(), 100U);
  std::vector<int> numbers(kMany);
  FreeMemory(numbers);
  EXPECT_EQ(numbers.capacity(), 0U);
}

TEST(FreeMemory, OfAllThatAnObjectHas) {
  struct Held {
    int db = 7;
    std::string bytes;
    std::array<std::string, 2> texts;
  };
  Held held{.db = 1, .bytes = std::string(kMany, 'x'), .texts = {"", std::string(kMany, 'y')}};
  FreeMemory(held);
  EXPECT_EQ(held.db, 7);
  EXPECT_LT(held.bytes.capacity() + held.texts[1].capacity(), 100U);
}

TEST(ClearKeeping, KeepsABlockThatIsSmallEnough) {
  for (const size_t kept_max : {kMany - 1, 2 * kMany}) {
    std::string text(kMany, 'x');
    ClearKeeping(text, kept_max);
    EXPECT_TRUE(text.empty());
    EXPECT_EQ(text.capacity() >= kMany, kept_max > kMany);
    std::vector<char> letters(kMany);
    ClearKeeping(letters, kept_max);
    EXPECT_TRUE(letters.empty());
    EXPECT_EQ(letters.capacity(), kept_max > kMany ? kMany : 0U);
  }
}

}  // namespace
}  // namespace sluice
