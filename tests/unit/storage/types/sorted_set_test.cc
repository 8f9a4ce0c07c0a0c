// SortedSet in both forms against a plain model: a std::map of scores and a std::set of pairs.
#include "storage/types/sorted_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/hashing/key_hash.h"

namespace sluice {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
HashKeys score_hash_keys(SipKey{1});
const SortedSet::Limits kSmall{.hash_keys = &score_hash_keys};
const SortedSet::Limits kLarge{0, 0, &score_hash_keys};
using Elements = std::vector<std::pair<std::string, double>>;
using Direction = SortedSet::Direction;

Elements Walk(const SortedSet& set, RankRange range, Direction direction = Direction::kUp) {
  Elements elements;
  set.ForEach(range, direction, [&](std::string_view name, double score) {
    elements.emplace_back(name, score);
    return true;
  });
  return elements;
}

class ScoreModel {
 public:
  bool Put(const std::string& name, double score) {
    const auto [at, added] = scores_.try_emplace(name, score);
    if (!added && at->second == score) return false;
    order_.erase({at->second, name});
    at->second = score;
    order_.insert({score, name});
    return added;
  }
  bool Erase(const std::string& name) {
    const auto at = scores_.find(name);
    if (at == scores_.end()) return false;
    order_.erase({at->second, name});
    scores_.erase(at);
    return true;
  }
  void Erase(RankRange range) {
    for (const auto& [name, score] : Slice(range)) Erase(name);
  }
  Elements Slice(RankRange range) const {
    Elements elements;
    auto at = std::next(order_.begin(), static_cast<ptrdiff_t>(range.first));
    for (size_t i = range.first; i < range.last; ++i, ++at) {
      elements.emplace_back(at->second, at->first);
    }
    return elements;
  }
  RankRange Between(const ScoreRange& range) const {
    RankRange ranks;
    for (const auto& [score, name] : order_) {
      ranks.first += range.Below(score);
      ranks.last += !range.Above(score);
    }
    return range.empty() ? RankRange{} : ranks;
  }
  size_t RankOf(const std::string& name) const {
    return static_cast<size_t>(
        std::distance(order_.begin(), order_.find({scores_.at(name), name})));
  }
  const std::map<std::string, double>& scores() const { return scores_; }

 private:
  std::map<std::string, double> scores_;
  std::set<std::pair<double, std::string>> order_;
};

std::string NameOf(uint64_t number) {
  // Numbers, texts and a few long names: StringPack keeps them differently.
  if (number % 3 == 0) return std::to_string(number);
  return "member:" + std::to_string(number) + std::string(number % 50 == 1 ? 300 : 0, 'x');
}

double ScoreOf(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return kInf;
    case 1:
      return -kInf;
    case 2:
      return static_cast<double>(random() % 5);
    case 3:
      return 1.7e12 + static_cast<double>(random() % 1000000);
    case 4:
      return -static_cast<double>(random() % 1000) / 7;
    default:
      return static_cast<double>(random() % 1000);
  }
}

void Compare(const SortedSet& set, const ScoreModel& model, std::mt19937_64& random) {
  ASSERT_EQ(set.Audit(), "");
  ASSERT_EQ(set.size(), model.scores().size());
  ASSERT_EQ(Walk(set, set.All()), model.Slice(set.All()));
  Elements down = Walk(set, set.All(), Direction::kDown);
  ASSERT_EQ(Elements(down.rbegin(), down.rend()), model.Slice(set.All()));
  for (int i = 0; i < 20; ++i) {
    ScoreRange range{ScoreOf(random), ScoreOf(random), random() % 2 == 0, random() % 2 == 0};
    const RankRange ranks = set.Between(range);
    ASSERT_EQ(ranks.size(), model.Between(range).size());
    if (!ranks.empty()) {
      ASSERT_EQ(ranks, model.Between(range));
    }
  }
  Elements scanned;
  uint64_t cursor = 0;
  do {
    cursor = set.Scan(cursor, 10, [&](std::string_view name, double score) {
      scanned.emplace_back(name, score);
    });
  } while (cursor != 0);
  std::map<std::string, double> seen(scanned.begin(), scanned.end());
  ASSERT_EQ(scanned.size(), model.scores().size());
  ASSERT_EQ(seen, model.scores());
}

struct Play {
  uint64_t seed;
  SortedSet::Limits limits;
  uint64_t names;
  int steps;
};

class SortedSetPlay : public testing::TestWithParam<Play> {};

TEST_P(SortedSetPlay, DoesWhatTheModelDoes) {
  const Play& play = GetParam();
  std::mt19937_64 random(play.seed);
  SortedSet set;
  ScoreModel model;
  for (int step = 0; step < play.steps; ++step) {
    const std::string name = NameOf(random() % play.names);
    const uint64_t roll = random() % 100;
    const bool shrinking = step % 4000 > 2500;
    if (roll < (shrinking ? 25 : 70)) {
      const double score = ScoreOf(random);
      ASSERT_EQ(set.Put(name, score, play.limits), model.Put(name, score));
    } else if (roll < 98) {
      ASSERT_EQ(set.Erase(name), model.Erase(name));
    } else if (roll == 98 && !set.empty()) {
      const size_t first = random() % set.size();
      const RankRange range{first, first + random() % (set.size() - first + 1) / 8};
      set.Erase(range);
      model.Erase(range);
    } else {
      const auto found = set.Find(name);
      ASSERT_EQ(found.has_value(), model.scores().count(name) > 0);
      if (found) {
        ASSERT_EQ(found->rank, model.RankOf(name));
        ASSERT_EQ(found->score, model.scores().at(name));
        ASSERT_EQ(set.Score(name), found->score);
      }
    }
    if (step % 500 == 0) Compare(set, model, random);
    if (HasFatalFailure()) return;
  }
  const std::unique_ptr<Value> copy = set.Clone();
  while (set.size() > 0) set.Erase(RankRange{0, 1});
  ASSERT_EQ(set.Audit(), "");
  Compare(static_cast<const SortedSet&>(*copy), model, random);
}

INSTANTIATE_TEST_SUITE_P(Forms, SortedSetPlay,
                         testing::Values(Play{1, {1 << 20, 1 << 20, &score_hash_keys}, 60, 12000},
                                         Play{2, kLarge, 60, 12000}, Play{3, kLarge, 400, 12000},
                                         Play{4, kLarge, 6000, 24000}, Play{5, kSmall, 300, 8000},
                                         Play{6, kLarge, 1000000, 24000}));

TEST(SortedSetTest, GrowsLargeByMembersOrByTheirLengthAndStaysSo) {
  SortedSet set;
  for (int i = 0; i < 128; ++i) set.Put(std::to_string(i), i, kSmall);
  EXPECT_EQ(set.Encoding(), "listpack");
  set.Put("7", 3, kSmall);  // another score is no other member
  EXPECT_EQ(set.Encoding(), "listpack");
  set.Put("one more", 3, kSmall);
  EXPECT_EQ(set.Encoding(), "skiplist");
  set.Erase(RankRange{0, 128});
  EXPECT_EQ(set.Encoding(), "skiplist");
  EXPECT_EQ(set.Clone()->Encoding(), "skiplist");

  SortedSet other;
  other.Put(std::string(64, 'x'), 1, kSmall);
  EXPECT_EQ(other.Encoding(), "listpack");
  other.Put(std::string(65, 'x'), 1, kSmall);
  EXPECT_EQ(other.Encoding(), "skiplist");
}

// Some at a time, from a small set into a large one; the second of a name stops it.
TEST(SortedSetTest, NewMembersAreAddedTogether) {
  SortedSet together, one_by_one;
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back(std::to_string(i * 7919 % 1000));
  for (size_t from = 0; from < names.size();) {
    const size_t count = std::min(names.size() - from, from % NewMember::kTogetherMax + 1);
    std::vector<NewMember> members;
    for (size_t i = from; i < from + count; ++i) members.push_back({names[i], double(i % 50)});
    EXPECT_TRUE(together.Add(members, kSmall));
    for (const NewMember& each : members) one_by_one.Put(each.name, each.score, kSmall);
    from += count;
  }
  EXPECT_EQ(Walk(together, together.All()), Walk(one_by_one, one_by_one.All()));
  EXPECT_EQ(together.Audit(), "");

  const NewMember twice[] = {{"new", 1}, {"also new", 2}, {"new", 3}, {"never", 4}};
  EXPECT_FALSE(together.Add(twice, kSmall));
  EXPECT_EQ(together.Score("new"), 1);
  EXPECT_EQ(together.Score("also new"), 2);
  EXPECT_FALSE(together.Score("never"));
}

TEST(SortedSetTest, MinusZeroIsZeroWhileSmall) {
  SortedSet small;
  small.Put("m", -0.0, kSmall);
  EXPECT_FALSE(std::signbit(*small.Score("m")));
  SortedSet large;
  large.Put("m", -0.0, kLarge);
  EXPECT_TRUE(std::signbit(*large.Score("m")));
}

TEST(SortedSetTest, NamesOfAllKindsKeepTheirBytes) {
  for (const SortedSet::Limits& limits :
       {SortedSet::Limits{100, 100000, &score_hash_keys}, kLarge}) {
    SortedSet set;
    const std::vector<std::string> names = {
        "", "0", "-5", "12345678901", std::string("\0x", 2), std::string(70000, 'y')};
    for (const std::string& name : names) set.Put(name, 1, limits);
    for (const std::string& name : names) EXPECT_EQ(set.Score(name), 1);
    EXPECT_EQ(Walk(set, {0, 2}), (Elements{{"", 1}, {std::string("\0x", 2), 1}}));
    EXPECT_EQ(set.Audit(), "");
  }
}

TEST(SortedSetTest, LexRangesOfEqualScores) {
  for (const SortedSet::Limits& limits : {kSmall, kLarge}) {
    SortedSet set;
    for (const char* name : {"a", "b", "c", "d"}) set.Put(name, 0, limits);
    using Kind = LexBound::Kind;
    const LexBound low{Kind::kLowest, false, {}};
    const LexBound high{Kind::kHighest, false, {}};
    const LexBound b{Kind::kText, false, "b"};
    const LexBound after_b{Kind::kText, true, "b"};
    EXPECT_EQ(set.Between(LexRange{low, high}), (RankRange{0, 4}));
    EXPECT_EQ(set.Between(LexRange{b, high}), (RankRange{1, 4}));
    EXPECT_EQ(set.Between(LexRange{after_b, high}), (RankRange{2, 4}));
    EXPECT_EQ(set.Between(LexRange{low, b}), (RankRange{0, 2}));
    EXPECT_EQ(set.Between(LexRange{low, after_b}), (RankRange{0, 1}));
    EXPECT_EQ(set.Between(LexRange{b, b}), (RankRange{1, 2}));
    for (const LexRange& none : {LexRange{high, low}, LexRange{low, low}, LexRange{after_b, b},
                                 LexRange{high, high}, LexRange{high, b}}) {
      EXPECT_TRUE(set.Between(none).empty());
    }
  }
}

// Scores that only grow, and a window that moves: what rate limiters do.
TEST(SortedSetTest, AMovingWindowStaysSound) {
  SortedSet set;
  for (int i = 0; i < 30000; ++i) {
    set.Put(std::to_string(i), i, kLarge);
    set.Erase(set.Between(ScoreRange{-kInf, static_cast<double>(i - 5000)}));
    if (i % 3000 == 0) {
      ASSERT_EQ(set.Audit(), "");
    }
  }
  EXPECT_EQ(set.size(), 5000u);
}

TEST(SortedSetTest, ManyMembersAreFreedInSlices) {
  SortedSet set;
  for (int i = 0; i < 20000; ++i) set.Put(std::to_string(i), i % 100, kLarge);
  EXPECT_EQ(set.Elements(), 20000u);
  const size_t before = set.MemoryBytes();
  EXPECT_LT(before, 20000u * 70);
  size_t freed = 0;
  size_t calls = 0;
  while (const size_t some = set.FreeSome(100)) {
    EXPECT_LE(some, 100u);
    freed += some;
    ++calls;
  }
  EXPECT_GE(freed, 20000u);
  EXPECT_GE(calls, 200u);
  EXPECT_LT(set.MemoryBytes(), 2000u);
}

TEST(SortedSetTest, ASmallSetKeepsScoresExactly) {
  const double digits =
      std::bit_cast<double>(uint64_t{0x3132333435363738});  // its bytes: "12345678"
  for (const double score : {0.0,          1.0,    -1.0,       9.0,     10.0,      -10.0, 1e6,
                             1e18,         -1e18,  1e18 + 256, 0x1p63,  1e300,     0.5,   -0.1,
                             1.7e9 + 0.25, 5e-324, digits,     -digits, 0x1p-1022, kInf,  -kInf}) {
    SortedSet set;
    set.Put("name", score, kSmall);
    ASSERT_EQ(set.Encoding(), "listpack");
    EXPECT_EQ(set.Score("name"), score);
    EXPECT_EQ(set.Between(ScoreRange{score, score}).size(), 1u) << score;
  }
}

TEST(SortedSetTest, ASmallSetIsCompact) {
  SortedSet set;
  for (int i = 0; i < 10; ++i) {
    set.Put("element:00000000000" + std::to_string(i), 999'990 + i, kSmall);
  }
  EXPECT_EQ(set.MemoryBytes(), 32u + 256u);  // 10 x (21 + 4) bytes
}

// Redis 7.0 takes some 120 bytes for each of a million members of 20 bytes.
TEST(SortedSetTest, AManyMemberedSetIsCompact) {
  SortedSet set;
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    char name[32];
    snprintf(name, sizeof name, "element:%012d", i);
    set.Put(name, static_cast<double>(random() % 1000000), kLarge);
  }
  EXPECT_LT(set.MemoryBytes(), 100000u * 80);
}

}  // namespace
}  // namespace sluice
