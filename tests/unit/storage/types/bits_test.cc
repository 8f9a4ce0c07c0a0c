// Bits against a model that looks at one bit after another.
#include "storage/types/bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice {
namespace {

std::string RandomBytes(std::mt19937& random, size_t bytes_max) {
  // Long runs of equal bytes, where whole words are skipped, beside noise.
  std::string bytes;
  const size_t bytes_wanted = random() % (bytes_max + 1);
  while (bytes.size() < bytes_wanted) {
    const size_t run = random() % 2 ? 1 : random() % 40;
    const unsigned kind = random() % 3;
    const char byte = kind == 0 ? '\0' : kind == 1 ? '\xff' : static_cast<char>(random());
    bytes.append(std::min(run, bytes_wanted - bytes.size()), byte);
  }
  return bytes;
}

bool ModelBit(std::string_view bytes, uint64_t offset) {
  return static_cast<unsigned char>(bytes[offset / 8]) & (0x80 >> offset % 8);
}

TEST(Bits, CountFromTheHighestOfTheFirstByte) {
  const std::string bytes = "\x80\x01";
  EXPECT_TRUE(BitAt(bytes, 0));
  EXPECT_FALSE(BitAt(bytes, 1));
  EXPECT_TRUE(BitAt(bytes, 15));
  EXPECT_FALSE(BitAt(bytes, 16)) << "beyond the end";
  EXPECT_FALSE(BitAt({}, UINT64_MAX));
}

TEST(Bits, PutChangesOneBit) {
  std::string bytes(2, '\0');
  PutBit(bytes, 9, true);
  EXPECT_EQ(bytes, std::string("\0\x40", 2));
  PutBit(bytes, 9, true);
  EXPECT_EQ(bytes, std::string("\0\x40", 2));
  PutBit(bytes, 9, false);
  EXPECT_EQ(bytes, std::string(2, '\0'));
}

TEST(Bits, EmptyRangesHoldNothing) {
  EXPECT_EQ(CountBits("\xff", {.first = 1, .last = 0}), 0u);
  EXPECT_EQ(FindBit("\xff", true, {.first = 1, .last = 0}), -1);
}

TEST(Bits, CountAndFindAgreeWithTheModel) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const std::string bytes = RandomBytes(random, 400);
    if (bytes.empty()) continue;
    const uint64_t total = bytes.size() * 8;
    BitRange range{random() % total, random() % total};
    if (range.first > range.last) std::swap(range.first, range.last);
    uint64_t count = 0;
    int64_t first[2] = {-1, -1};
    for (uint64_t i = range.first; i <= range.last; ++i) {
      const bool bit = ModelBit(bytes, i);
      count += bit;
      if (first[bit] < 0) first[bit] = static_cast<int64_t>(i);
    }
    ASSERT_EQ(CountBits(bytes, range), count);
    ASSERT_EQ(FindBit(bytes, false, range), first[0]);
    ASSERT_EQ(FindBit(bytes, true, range), first[1]);
  }
}

// Wherever it stands between bits of the other value, which are skipped in blocks.
TEST(Bits, FindsALonelyBit) {
  for (const bool value : {false, true}) {
    for (size_t at = 0; at < 130; ++at) {
      std::string bytes(130, value ? '\0' : '\xff');
      PutBit(bytes, at * 8 + at % 8, value);
      const auto expected = static_cast<int64_t>(at * 8 + at % 8);
      ASSERT_EQ(FindBit(bytes, value, {.first = 0, .last = bytes.size() * 8 - 1}), expected);
      ASSERT_EQ(FindBit(bytes, value, {.first = at * 8, .last = at * 8 + 7}), expected);
    }
  }
}

TEST(Bits, ManySetBitsDoNotOverflowTheSums) {
  const std::string bytes(100'000, '\xff');
  EXPECT_EQ(CountBits(bytes, {0, bytes.size() * 8 - 1}), bytes.size() * 8);
}

TEST(Bits, CombineAgreesWithTheModel) {
  std::mt19937 random(8);
  for (int round = 0; round < 1000; ++round) {
    const std::string strings[] = {RandomBytes(random, 200), RandomBytes(random, 200),
                                   RandomBytes(random, 200)};
    const std::string_view sources[] = {strings[0], strings[1], strings[2]};
    size_t longest = 0;
    for (const std::string_view source : sources) longest = std::max(longest, source.size());
    const std::string all(CombineBits(BitOperation::kAnd, sources).view());
    const std::string any(CombineBits(BitOperation::kOr, sources).view());
    const std::string odd(CombineBits(BitOperation::kXor, sources).view());
    const std::string diff(CombineBits(BitOperation::kDiff, sources).view());
    const std::string diff1(CombineBits(BitOperation::kDiff1, sources).view());
    const std::string and_or(CombineBits(BitOperation::kAndOr, sources).view());
    const std::string one(CombineBits(BitOperation::kOne, sources).view());
    const std::string none(CombineBits(BitOperation::kNot, std::span(sources, 1)).view());
    ASSERT_EQ(all.size(), longest);
    ASSERT_EQ(any.size(), longest);
    ASSERT_EQ(odd.size(), longest);
    for (const std::string* text : {&diff, &diff1, &and_or, &one}) ASSERT_EQ(text->size(), longest);
    ASSERT_EQ(none.size(), sources[0].size());
    for (uint64_t i = 0; i < longest * 8; ++i) {
      const int set = BitAt(sources[0], i) + BitAt(sources[1], i) + BitAt(sources[2], i);
      ASSERT_EQ(BitAt(all, i), set == 3);
      ASSERT_EQ(BitAt(any, i), set > 0);
      ASSERT_EQ(BitAt(odd, i), set % 2 == 1);
      const bool first = BitAt(sources[0], i);
      ASSERT_EQ(BitAt(diff, i), first && set == 1);
      ASSERT_EQ(BitAt(diff1, i), !first && set > 0);
      ASSERT_EQ(BitAt(and_or, i), first && set > 1);
      ASSERT_EQ(BitAt(one, i), set == 1);
      if (i < none.size() * 8) {
        ASSERT_NE(BitAt(none, i), BitAt(sources[0], i));
      }
    }
  }
}

}  // namespace
}  // namespace sluice
