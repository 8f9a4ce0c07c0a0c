// FreeLater: every block is freed once, small ones some at a time.
#include "storage/memory/free_later.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/sanitized.h"

namespace sluice {
namespace {

class FreeLaterTest : public testing::Test {
 protected:
  FreeLaterTest() { freed_.clear(); }
  static void Free(void* block) { freed_.push_back(block); }
  void* Block(size_t i) { return &blocks_[i]; }

  static inline std::vector<void*> freed_;
  char blocks_[FreeLater::kBlocks + 1];
};

TEST_F(FreeLaterTest, SmallBlocksGoInARow) {
  if (kSanitized) GTEST_SKIP() << "there all are freed at once";
  FreeLater blocks(Free);
  std::vector<void*> all;
  for (size_t i = 0; i < FreeLater::kBlocks; ++i) {
    EXPECT_TRUE(freed_.empty());
    blocks.Take(Block(i), FreeLater::kBytesMax);
    all.push_back(Block(i));
  }
  EXPECT_EQ(freed_, all);
  blocks.Take(Block(FreeLater::kBlocks), 16);
  EXPECT_EQ(freed_.size(), FreeLater::kBlocks);
  blocks.FreeAll();
  EXPECT_EQ(freed_.size(), FreeLater::kBlocks + 1);
  blocks.FreeAll();
  EXPECT_EQ(freed_.size(), FreeLater::kBlocks + 1);
}

TEST_F(FreeLaterTest, LargeBlocksDoNotWait) {
  FreeLater blocks(Free);
  blocks.Take(Block(0), FreeLater::kBytesMax + 1);
  EXPECT_EQ(freed_, std::vector<void*>{Block(0)});
}

TEST_F(FreeLaterTest, NothingIsLeftAtTheEnd) {
  {
    FreeLater blocks(Free);
    blocks.Take(Block(0), 16);
  }
  EXPECT_EQ(freed_, std::vector<void*>{Block(0)});
}

}  // namespace
}  // namespace sluice
