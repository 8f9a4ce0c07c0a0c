// BlockSize names the size classes of malloc.
#include "storage/memory/block_size.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(BlockSize, IsOfMallocsClasses) {
  const struct {
    size_t wanted;
    size_t bytes;
  } kCases[] = {
      {0, 0},     {1, 8},     {16, 16},   {17, 32},   {113, 128},   {128, 128},    {129, 160},
      {192, 192}, {193, 224}, {250, 256}, {257, 320}, {7169, 8192}, {8193, 10240},
  };
  for (const auto& [wanted, bytes] : kCases) EXPECT_EQ(BlockSize(wanted), bytes) << wanted;
}

}  // namespace
}  // namespace sluice
