// HyperLogLog against a model, within its error, and on any bytes that a client may have set.
#include "storage/types/hyperloglog.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>

namespace sluice {
namespace {

constexpr size_t kSparseBytes = 3000;

TEST(HyperLogLog, SparseAndDenseAgreeWithAModel) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    std::mt19937_64 random(seed);
    std::string sparse = hll::Empty();
    std::string dense = hll::Empty();
    ASSERT_TRUE(hll::MakeDense(dense));
    auto model = std::make_unique<hll::Registers>();
    const uint64_t spread = seed % 2 == 0 ? 200 : hll::kRegisters;  // neighbours join into runs
    for (int i = 0; i < 3000; ++i) {
      const hll::Place place{random() % spread,
                             static_cast<uint8_t>(random() % (i > 2500 ? 51 : 4) + 1)};
      const bool higher = (*model)[place.index] < place.value;
      (*model)[place.index] = std::max((*model)[place.index], place.value);
      const auto expected = higher ? hll::Change::kDone : hll::Change::kNone;
      ASSERT_EQ(hll::Raise(sparse, place, kSparseBytes), expected);
      ASSERT_EQ(hll::Raise(dense, place, kSparseBytes), expected);
      ASSERT_TRUE(!hll::IsSparse(sparse) || sparse.size() <= kSparseBytes);
    }
    for (const std::string* text : {&sparse, &dense}) {
      auto registers = std::make_unique<hll::Registers>();
      ASSERT_TRUE(hll::MergeInto(*registers, *text));
      EXPECT_EQ(*registers, *model);
      EXPECT_EQ(hll::Count(*text), hll::Estimate(*registers));
    }
    ASSERT_TRUE(hll::MakeDense(sparse));
    EXPECT_EQ(sparse.substr(hll::kHeaderBytes), dense.substr(hll::kHeaderBytes));
  }
}

TEST(HyperLogLog, EstimatesWithinItsError) {
  std::string text = hll::Empty();
  for (int i = 1; i <= 100'000; ++i) {
    hll::Raise(text, hll::PlaceOf("element:" + std::to_string(i)), kSparseBytes);
    if (i != 100 && i != 1000 && i != 10'000 && i != 100'000) continue;
    auto registers = std::make_unique<hll::Registers>();
    ASSERT_TRUE(hll::MergeInto(*registers, text));
    EXPECT_NEAR(static_cast<double>(hll::Estimate(*registers)), i, i * 0.03);
  }
}

// Whatever a client has SET is followed only as far as it makes sense.
TEST(HyperLogLog, AnyBytesAreSafe) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    std::mt19937_64 random(seed);
    std::string text = hll::Empty();
    for (int i = 0; i < 20; ++i) {
      hll::Raise(text, hll::PlaceOf(std::to_string(random())), kSparseBytes);
    }
    for (int i = 0; i < 4; ++i) {
      const size_t at = hll::kHeaderBytes + random() % (text.size() - hll::kHeaderBytes);
      text[at] = static_cast<char>(random());
    }
    if (random() % 3 == 0) text.resize(hll::kHeaderBytes + random() % 8);
    ASSERT_TRUE(hll::IsOne(text));
    auto registers = std::make_unique<hll::Registers>();
    const bool sound = hll::MergeInto(*registers, text);
    EXPECT_EQ(hll::Count(text).has_value(), sound);
    std::string copy = text;
    EXPECT_EQ(hll::MakeDense(copy), sound);
    hll::DescribeRuns(text);
    for (int i = 0; i < 20; ++i) {
      hll::Raise(text, hll::PlaceOf(std::to_string(i)), kSparseBytes);
    }
  }
  EXPECT_FALSE(hll::IsOne(""));
  EXPECT_FALSE(hll::IsOne("HYLL"));
  EXPECT_FALSE(hll::IsOne(std::string("HYLL\x02") + std::string(100, '\0')));
  EXPECT_FALSE(hll::IsOne(std::string("HYLL\0", 5) + std::string(100, '\0')));
}

}  // namespace
}  // namespace sluice
