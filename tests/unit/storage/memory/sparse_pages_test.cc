// Which of the allocator's pages are to be emptied.
#include "storage/memory/sparse_pages.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr uintptr_t kFirst = uintptr_t{7} << 40;
constexpr size_t kBlock = 64;
constexpr size_t kPerPage = SparsePages::kSliceBytes / kBlock;

const void* BlockOn(size_t page) {
  return reinterpret_cast<const void*>(kFirst + page * SparsePages::kSliceBytes + 3 * kBlock);
}

void AddPage(SparsePages& pages, size_t number, size_t used, size_t block = kBlock) {
  pages.Add({.begin = kFirst + number * SparsePages::kSliceBytes,
             .bytes = SparsePages::kSliceBytes,
             .block_bytes = block,
             .blocks_used = used});
}

// 100 blocks a page of 1024: ten pages hold the blocks of one.
TEST(SparsePages, TheEmptiestAreChosenAsFarAsTheRestHasRoom) {
  SparsePages pages;
  for (size_t i = 0; i < 10; ++i) AddPage(pages, i, kPerPage / 10 + (i == 4 ? 5 : 0) - (i == 7));
  pages.Choose();
  size_t held = 0;
  for (size_t i = 0; i < 10; ++i) held += pages.Holds(BlockOn(i));
  EXPECT_EQ(held, 9U);
  EXPECT_FALSE(pages.Holds(BlockOn(4)));
  EXPECT_EQ(pages.chosen_bytes(), 9 * SparsePages::kSliceBytes);
  EXPECT_EQ(pages.page_bytes(), 10 * SparsePages::kSliceBytes);
  EXPECT_FALSE(pages.Holds(BlockOn(10)));
  EXPECT_FALSE(pages.Holds(nullptr));
}

TEST(SparsePages, WellUsedSizesAndSingleBlocksAreLeftAlone) {
  SparsePages pages;
  for (size_t i = 0; i < 20; ++i) AddPage(pages, i, kPerPage - kPerPage / 20);
  AddPage(pages, 20, 1, SparsePages::kSliceBytes);
  AddPage(pages, 21, 0, SparsePages::kSliceBytes);
  pages.Choose();
  EXPECT_EQ(pages.chosen_bytes(), 0U);
}

TEST(SparsePages, APageThatGotABlockIsKept) {
  SparsePages pages;
  for (size_t i = 0; i < 4; ++i) AddPage(pages, i, 1 + i);
  pages.Choose();
  EXPECT_TRUE(pages.Holds(BlockOn(0)));
  pages.Keeps(BlockOn(0));
  EXPECT_FALSE(pages.Holds(BlockOn(0)));
  EXPECT_TRUE(pages.Holds(BlockOn(1)));
  pages.Clear();
  EXPECT_FALSE(pages.Holds(BlockOn(1)));
  EXPECT_EQ(pages.page_bytes(), 0U);
}

// A page of larger blocks is some slices.
TEST(SparsePages, AllSlicesOfAPageAreIts) {
  SparsePages pages;
  for (size_t i = 0; i < 3; ++i) {
    pages.Add({.begin = kFirst + i * 8 * SparsePages::kSliceBytes + 128,
               .bytes = 8 * SparsePages::kSliceBytes - 4096,
               .block_bytes = 20'480,
               .blocks_used = 1 + i});
  }
  pages.Choose();
  EXPECT_TRUE(pages.Holds(BlockOn(0)) && pages.Holds(BlockOn(7)) && pages.Holds(BlockOn(15)));
  EXPECT_FALSE(pages.Holds(BlockOn(16)));
}

}  // namespace
}  // namespace sluice
