// What a client could do that knew the secret key of the hashes: names that begin alike by the
// thousand. It costs memory and work in proportion to their number, and nothing goes wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "storage/hashing/key_hash.h"
#include "storage/keyspace/segment_table_impl.h"

namespace sluice {
namespace {

// Counts how often a table looks at its key, which is what splitting and growing cost.
struct Counted {
  std::string_view key() const {
    ++*looks;
    return name;
  }
  std::string name;
  size_t* looks;
};

constexpr TableKey kKnownKey({4, 2});
constexpr int kPrefixBits = 13;

std::string NameOf(uint64_t number) { return "name:" + std::to_string(number); }

// The first `count` names whose hashes begin with these bits.
std::vector<std::string> Colliding(size_t count, uint64_t prefix) {
  std::vector<std::string> names;
  for (uint64_t i = 0; names.size() < count; ++i) {
    std::string name = NameOf(i);
    if (HashName(name, kKnownKey) >> (64 - kPrefixBits) == prefix) names.push_back(std::move(name));
  }
  return names;
}

class CraftedCollisions : public testing::Test {
 protected:
  void Insert(const std::string& name) {
    elements_.push_back(std::make_unique<Counted>(Counted{name, &looks_}));
    table_.Insert(*elements_.back(), HashName(name, kKnownKey));
  }
  void Erase(const std::string& name) { table_.Erase(*Find(name), HashName(name, kKnownKey)); }
  Counted* Find(const std::string& name) { return table_.Find({name, HashName(name, kKnownKey)}); }
  // Every name, exactly once; the most that one call gave, and the highest cursor.
  struct Walked {
    size_t most_in_call = 0;
    uint64_t cursor_max = 0;
    size_t calls = 0;
  };
  Walked ScanAll(size_t count) {
    Walked walked;
    std::set<std::string> seen;
    uint64_t cursor = 0;
    do {
      size_t in_call = 0;
      cursor = table_.Scan(cursor, count, [&](const Counted& element) {
        EXPECT_TRUE(seen.insert(element.name).second);
        ++in_call;
      });
      walked.most_in_call = std::max(walked.most_in_call, in_call);
      walked.cursor_max = std::max(walked.cursor_max, cursor);
      ++walked.calls;
    } while (cursor != 0);
    EXPECT_EQ(seen.size(), table_.size());
    return walked;
  }

  static constexpr size_t kNames = 1500;
  const std::vector<std::string> names_ = Colliding(kNames, 0x1234 >> (16 - kPrefixBits));
  std::vector<std::unique_ptr<Counted>> elements_;
  size_t looks_ = 0;
  size_t memory_ = 0;
  SegmentTableOf<Counted> table_{kKnownKey, memory_};
};

TEST_F(CraftedCollisions, CostMemoryAndWorkInProportion) {
  for (const std::string& name : names_) Insert(name);
  // Rehashed when the table inside doubles, and where the directory does: 15 times each.
  EXPECT_LT(looks_, 15 * kNames);
  // 2 KB of slots of 6 bytes, and a place of 8 bytes each at worst.
  EXPECT_LT(memory_, 30'000u);
  EXPECT_EQ(table_.Audit(), "");

  looks_ = 0;
  for (const std::string& name : names_) EXPECT_NE(Find(name), nullptr);
  EXPECT_LT(looks_, kNames + kNames / 10);
  EXPECT_EQ(Find("another"), nullptr);
}

TEST_F(CraftedCollisions, AreScannedInPiecesAndOnceEach) {
  for (const std::string& name : names_) Insert(name);
  for (const size_t count : {1, 10, 100, 1000}) {
    const Walked walked = ScanAll(count);
    EXPECT_LE(walked.most_in_call, count + PageSlack(count));
    EXPECT_LT(walked.cursor_max, uint64_t{1} << 31);
    EXPECT_LE(walked.calls, kNames / count + 20);
  }
}

// Others come and go beside them; some of them as well.
TEST_F(CraftedCollisions, StayRightAmongOthers) {
  for (const std::string& name : names_) Insert(name);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 20'000; ++i) Insert("other:" + std::to_string(i));
    ASSERT_EQ(table_.Audit(), "");
    EXPECT_LE(ScanAll(10).most_in_call, 10 + PageSlack(10));
    for (int i = 0; i < 20'000; ++i) Erase("other:" + std::to_string(i));
    for (size_t i = round; i < kNames; i += 7) Erase(names_[i]);
    ASSERT_EQ(table_.Audit(), "");
    ScanAll(10);
    for (size_t i = round; i < kNames; i += 7) Insert(names_[i]);
    ASSERT_EQ(table_.Audit(), "");
  }
  for (const std::string& name : names_) EXPECT_NE(Find(name), nullptr);
  for (const std::string& name : names_) Erase(name);
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(table_.Audit(), "");
  EXPECT_LT(memory_, 20'000u);
}

TEST_F(CraftedCollisions, AreChosenAtRandomAsOftenAsOthers) {
  for (const std::string& name : names_) Insert(name);
  for (size_t i = 0; i < kNames; ++i) Insert("other:" + std::to_string(i));
  Random random(5);
  constexpr int kEach = 6;
  std::map<const Counted*, int> draws;
  for (size_t i = 0; i < 2 * kNames * kEach; ++i) ++draws[table_.RandomEntry(random)];
  double chi_square = 0;
  for (const auto& element : elements_) {
    const double off = draws[element.get()] - kEach;
    chi_square += off * off / kEach;
  }
  EXPECT_LT(chi_square, 2 * kNames + 400);  // deviation 77
}

// Where a call of Scan may stop.
TEST(ScanPlaces, AreShortAndBetween) {
  Random random(3);
  for (int i = 0; i < 100'000; ++i) {
    uint64_t low = random() >> random() % 64, high = random() >> random() % 64;
    if (low > high) std::swap(low, high);
    if (low == high) continue;
    const uint64_t place = ShortestPlace(low, high);
    ASSERT_LT(low, place);
    ASSERT_LE(place, high);
    // None between them has fewer bits.
    if (BitsOf(place) > 1) {
      ASSERT_GT(NextPlace(low, BitsOf(place) - 1) - 1, high - 1);
    }
    ASSERT_EQ(ReverseBits(ReverseBits(place)), place);
  }
  EXPECT_EQ(ReverseBits(1), uint64_t{1} << 63);
  EXPECT_EQ(BitsOf(uint64_t{1} << 63), 1);
  EXPECT_EQ(PlaceOfCursor(1), uint64_t{1} << 63);
  // In a crowd the place gets longer, up to what a cursor holds.
  struct Ranked {
    uint64_t hash;
  };
  std::vector<Ranked> crowd;
  for (uint64_t hash = 100; hash < 200; ++hash) crowd.push_back({hash});
  EXPECT_EQ(StopAmong(std::span(crowd), 10, PageSlack(10), 0), NextPlace(109, kCursorBits));
  for (Ranked& item : crowd) item.hash <<= 64 - kCursorBits;
  const uint64_t stop = StopAmong(std::span(crowd), 10, PageSlack(10), 0);
  EXPECT_GT(stop, uint64_t{109} << (64 - kCursorBits));
  EXPECT_LE(stop, uint64_t{119} << (64 - kCursorBits));
}

}  // namespace
}  // namespace sluice
