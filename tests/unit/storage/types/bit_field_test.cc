// Bit fields: what is written is read again, neighbours stay, and overflow is computed exactly.
#include "storage/types/bit_field.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "storage/types/bits.h"

namespace sluice {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(BitField, TypesAreILowerOrULower) {
  EXPECT_EQ(ParseFieldType("i64")->bits, 64);
  EXPECT_TRUE(ParseFieldType("i1")->is_signed);
  EXPECT_EQ(ParseFieldType("u63")->bits, 63);
  EXPECT_FALSE(ParseFieldType("u1")->is_signed);
  for (const char* text :
       {"", "i", "u", "u64", "i65", "u0", "i-1", "I8", "x8", "u08", "u8 ", "8"}) {
    EXPECT_FALSE(ParseFieldType(text)) << text;
  }
}

TEST(BitField, BeyondTheEndIsZero) {
  EXPECT_EQ(ReadField("", 1000, {false, 63}), 0);
  EXPECT_EQ(ReadField("\xff", 4, {false, 8}), 0xf0);
  EXPECT_EQ(ReadField("\xff", 4, {true, 8}), -16);
}

TEST(BitField, WritesWhatIsReadAndNothingElse) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 5000; ++round) {
    const bool is_signed = random() % 2;
    const FieldType type{is_signed, 1 + static_cast<int>(random() % (is_signed ? 64 : 63))};
    const uint64_t offset = random() % 70;
    std::string bytes(20, random() % 2 ? '\xff' : '\0');
    const std::string before = bytes;
    const int64_t value = *FitField(type, static_cast<int64_t>(random()), FieldOverflow::kWrap);
    WriteField(bytes, offset, type, value);
    ASSERT_EQ(ReadField(bytes, offset, type), value);
    for (uint64_t i = 0; i < bytes.size() * 8; ++i) {
      if (i >= offset && i < offset + type.bits) continue;
      ASSERT_EQ(BitAt(bytes, i), BitAt(before, i)) << i;
    }
  }
}

TEST(BitField, OverflowWrapsSaturatesOrFails) {
  const FieldType i8{true, 8};
  EXPECT_EQ(FitField(i8, 127, 1, FieldOverflow::kWrap), -128);
  EXPECT_EQ(FitField(i8, 127, 1, FieldOverflow::kSaturate), 127);
  EXPECT_EQ(FitField(i8, -128, -1, FieldOverflow::kSaturate), -128);
  EXPECT_EQ(FitField(i8, 127, 1, FieldOverflow::kFail), std::nullopt);
  const FieldType u2{false, 2};
  EXPECT_EQ(FitField(u2, 3, 2, FieldOverflow::kWrap), 1);
  EXPECT_EQ(FitField(u2, 0, -1, FieldOverflow::kWrap), 3);
  EXPECT_EQ(FitField(u2, 0, -1, FieldOverflow::kSaturate), 0);
}

TEST(BitField, SixtyFourBitsAreExact) {
  const FieldType i64{true, 64};
  EXPECT_EQ(FitField(i64, kMax, kMax, FieldOverflow::kWrap), -2);
  EXPECT_EQ(FitField(i64, kMin, kMin, FieldOverflow::kWrap), 0);
  EXPECT_EQ(FitField(i64, kMax, kMax, FieldOverflow::kSaturate), kMax);
  EXPECT_EQ(FitField(i64, kMin, -1, FieldOverflow::kSaturate), kMin);
  EXPECT_EQ(FitField({true, 63}, kMin, FieldOverflow::kSaturate), kMin / 2);
}

TEST(BitField, AnUnsignedOperandIsUnsigned) {
  const FieldType u8{false, 8};
  EXPECT_EQ(FitField(u8, -1, FieldOverflow::kWrap), 255);
  EXPECT_EQ(FitField(u8, -1, FieldOverflow::kSaturate), 255);
  EXPECT_EQ(FitField(u8, -1, FieldOverflow::kFail), std::nullopt);
  EXPECT_EQ(FitField({true, 8}, -1, FieldOverflow::kFail), -1);
}

}  // namespace
}  // namespace sluice
