// Long strings grow in place, what lies behind them is zero, and their pages are freed one by one.
#include "storage/memory/text_block.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

constexpr size_t kMib = 1 << 20;

TEST(TextBlock, IsWhatAStringWouldBe) {
  std::mt19937_64 random(1);
  TextBlock text;
  std::string model;
  for (int step = 0; step < 400; ++step) {
    const size_t bytes = random() % 2 == 0 ? random() % 100 : random() % (2 * kMib);
    const std::string piece(bytes, static_cast<char>('a' + step % 26));
    switch (random() % 5) {
      case 0:
        text.Assign(piece);
        model = piece;
        break;
      case 1:
        text.Append(piece);
        model += piece;
        break;
      case 2:
        text.Resize(model.size() + bytes);
        model.resize(model.size() + bytes);
        break;
      case 3: {
        const size_t begin = std::min(bytes, model.size());
        const size_t kept = (model.size() - begin) / 8 * 7;
        text.Narrow(begin, kept);
        model = model.substr(begin, kept);
        break;
      }
      default:
        text.Resize(model.size() - std::min(bytes, model.size()));
        model.erase(model.size() - std::min(bytes, model.size()));
    }
    if (model.size() > 12 * kMib) {
      text.Assign("");
      model.clear();
    }
    ASSERT_TRUE(text.view() == model) << step;
    ASSERT_GE(text.capacity(), text.size());
    ASSERT_EQ(text.bytes().data(), text.view().data());
  }
}

// 64 MiB and a byte, a thousand times: a copy each would be 64 GB.
TEST(TextBlock, GrowsWithoutACopyAndWithLittleRoom) {
  TextBlock text;
  text.Resize(64 * kMib);
  const char* at = text.view().data();
  int moves = 0;
  for (int i = 0; i < 1000; ++i) {
    text.Append(std::string(4096, 'x'));
    moves += text.view().data() != at;
    at = text.view().data();
    ASSERT_LE(text.capacity() - text.size(), TextBlock::kSlackMax + 4096);
  }
  EXPECT_LE(moves, 5);  // one for each MiB at most
}

// As a value that lies in the request that brought it.
TEST(TextBlock, ALargeOneIsNarrowedWhereItIs) {
  TextBlock text(Concat("SET k ", std::string(8 * kMib, 'x'), "\r\n"));
  const std::string_view command = text.view().substr(0, 5);
  const char* const value = text.view().data() + 6;
  text.Narrow(6, 8 * kMib);
  EXPECT_EQ(text.view().data(), value);
  EXPECT_EQ(command, "SET k");
  EXPECT_TRUE(text.view() == std::string(8 * kMib, 'x'));
  EXPECT_GE(text.MemoryBytes(), 8 * kMib + 6);
  text.Resize(8 * kMib + 2);
  EXPECT_EQ(text.view().substr(8 * kMib), std::string_view("\0\0", 2));
  TextBlock moved = std::move(text);
  moved.Append(std::string(9 * kMib, 'y'));
  EXPECT_EQ(moved.view().substr(17 * kMib), "yy");
  size_t pages = 0;
  while (const size_t freed = moved.FreePages(100)) pages += freed;
  EXPECT_GE(pages, 17 * kMib / 4096);
}

TEST(TextBlock, SmallOnesDoubleAndTheFirstBlockIsMadeToMeasure) {
  TextBlock text(std::string(1000, 'x'));
  EXPECT_LE(text.capacity(), 1024u);
  text.Append(std::string(100, 'y'));
  EXPECT_GE(text.capacity(), 2200u);
  EXPECT_LE(text.capacity(), 2560u);
}

TEST(TextBlock, MayBecomeAPartOfItself) {
  for (const size_t size : {size_t{1'000}, 2 * TextBlock::kMappedAt}) {
    std::string text(size, '\0');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7);
    for (const size_t from : {size_t{1}, size / 3, size - 10}) {
      TextBlock block;
      block.Append(text);
      block.Assign(std::string_view(block.view()).substr(from));
      EXPECT_EQ(block.view(), std::string_view(text).substr(from)) << size << " from " << from;
    }
  }
}

TEST(TextBlock, MovesFromOneToAnother) {
  TextBlock text(std::string(5 * kMib, 'x'));
  TextBlock other(std::move(text));
  EXPECT_EQ(text.size(), 0u);
  EXPECT_EQ(text.capacity(), 0u);
  text = std::move(other);
  EXPECT_EQ(text.size(), 5 * kMib);
}

TEST(TextBlock, FreesItsPagesInSlices) {
  TextBlock text(std::string(5 * kMib, 'x'));
  const size_t pages = text.capacity() / static_cast<size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(text.FreePages(100), 100u);
  EXPECT_EQ(text.FreePages(SIZE_MAX), pages - 100);
  EXPECT_EQ(text.FreePages(SIZE_MAX), 0u);
  EXPECT_EQ(text.MemoryBytes(), 0u);
}

}  // namespace
}  // namespace sluice
