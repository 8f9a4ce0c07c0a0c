// Collections as files have them: built at once, and yet what their own interfaces would have made
// of the same elements; what comes twice is refused wherever it stands.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "storage/types/list_builder.h"
#include "tests/support/rdb_samples.h"
#include "tests/support/rdb_world.h"

namespace sluice {
namespace {

std::string PackedFile(RdbType type, const std::vector<std::string>& texts) {
  ListpackWriter listpack;
  for (const std::string& text : texts) listpack.Text(text);
  std::string value;
  RdbWriter(value).String(listpack.Finish());
  return RdbSample{"", type, value}.File();
}

std::vector<std::string> Elements(const List& list) {
  std::vector<std::string> elements;
  if (list.empty()) return elements;
  list.Walk(0, ListEnd::kBack, [&](size_t, std::string_view text) {
    elements.emplace_back(text);
    return true;
  });
  return elements;
}

// The same chunks, too: as many, and of the same size when they give back their room.
TEST(ListBuilderTest, MakesWhatPushWouldMake) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    ListLimits limits;
    if (random() % 2 == 0) limits.chunk_bytes = 1 + random() % 300;
    if (random() % 4 == 0) limits.chunk_elements = 1 + random() % 9;
    if (random() % 4 == 0) limits.alone_bytes = 1 + random() % 50;
    ListBuilder builder(limits);
    List pushed;
    std::vector<std::string> expected;
    for (size_t left = 1 + random() % 200; left > 0; --left) {
      const auto number = static_cast<int64_t>(random()) >> random() % 64;
      const bool is_number = random() % 2 == 0;
      const std::string text = is_number            ? std::to_string(number)
                               : random() % 50 == 0 ? std::string(40000, 'l')
                                                    : std::string(random() % 60, 't');
      is_number&& random() % 2 == 0 ? builder.Number(number) : builder.Text(text);
      pushed.Push(ListEnd::kBack, text, limits);
      expected.push_back(text);
    }
    EXPECT_FALSE(builder.empty());
    const std::unique_ptr<List> list = builder.Finish();
    ASSERT_EQ(list->Audit(), "");
    EXPECT_EQ(Elements(*list), expected);
    EXPECT_EQ(list->chunks(), pushed.chunks());
    EXPECT_LE(list->MemoryBytes(), pushed.MemoryBytes());
  }
  EXPECT_TRUE(ListBuilder(ListLimits()).empty());
}

TEST(ListBuilderTest, NumbersAreKeptAsTheirTextsWouldBe) {
  for (const int64_t edge : {int64_t{0}, int64_t{127}, int64_t{128}, int64_t{32767}, int64_t{32768},
                             int64_t{1} << 23, int64_t{1} << 31, int64_t{1} << 39, INT64_MAX}) {
    for (const int64_t number : {edge, -edge, -edge - 1}) {
      ListBuilder builder{ListLimits()};
      builder.Number(number);
      const std::unique_ptr<List> list = builder.Finish();
      size_t found = 0;
      list->Find(std::to_string(number), ListEnd::kBack, 1, [&](size_t) { return ++found > 0; });
      EXPECT_EQ(found, 1u) << number;
    }
  }
}

// Few fields, as many as a pack has, and more.
TEST(RdbLoadingTest, AFieldOrMemberThatComesTwiceIsRefused) {
  for (const size_t count : {2u, 9u, 100u, 128u, 129u, 512u, 513u, 2000u}) {
    for (const RdbType type : {RdbType::kHashListpack, RdbType::kSortedSetListpack}) {
      std::vector<std::string> texts;
      for (size_t i = 0; i < count; ++i) {
        texts.push_back("field:" + std::to_string(i));
        texts.push_back(std::to_string(i));
      }
      RdbWorld sound;
      EXPECT_EQ(sound.Load(PackedFile(type, texts)), "") << count;
      EXPECT_EQ(sound.keyspace().Audit(sound.now()), "");
      for (const size_t again : {size_t{0}, (count - 1) / 2, count - 2}) {
        std::vector<std::string> twice = texts;
        twice[2 * count - 2] = twice[2 * again];
        RdbWorld world;
        EXPECT_NE(world.Load(PackedFile(type, twice)), "") << count << ' ' << again;
        EXPECT_EQ(world.Find(0, "key"), nullptr);
      }
    }
  }
}

// --- large hashes and sets, whose elements are put together

// `each`: how many texts are one element.
std::string PlainFile(RdbType type, const std::vector<std::string>& texts, size_t each) {
  std::string value;
  RdbWriter writer(value);
  writer.Length(texts.size() / each);
  for (const std::string& text : texts) writer.String(text);
  return RdbSample{"", type, value}.File();
}

struct PlainType {
  RdbType type;
  size_t each;
};
constexpr PlainType kPlainTypes[] = {{RdbType::kHash, 2}, {RdbType::kSet, 1}};

TEST(RdbLoadingTest, ElementsThatArePutTogetherAreAllThere) {
  for (const size_t count : {1u, 15u, 16u, 17u, 31u, 32u, 33u, 600u, 5000u}) {
    // Long texts are not kept back until there are many.
    for (const size_t longer : {size_t{0}, size_t{7'000}, size_t{70'000}}) {
      if (longer > 0 && count > 33) continue;
      std::vector<std::string> texts;
      for (size_t i = 0; i < count; ++i) {
        texts.push_back("field:" + std::to_string(i) + std::string(i % 5 == 3 ? longer : 0, 'f'));
        texts.push_back("value:" + std::to_string(i) + std::string(i % 3 == 1 ? longer : 0, 'v'));
      }
      RdbWorld world;
      ASSERT_EQ(world.Load(PlainFile(RdbType::kHash, texts, 2)), "") << count;
      const auto& hash = static_cast<const Hash&>(world.Find(0, "key")->value());
      EXPECT_EQ(hash.Audit(), "");
      EXPECT_EQ(hash.size(), count);
      for (size_t i = 0; i < count; ++i) {
        FieldValue found;
        ASSERT_TRUE(hash.Get(texts[2 * i], world.now(), found));
        EXPECT_EQ(found.text, texts[2 * i + 1]);
      }
      RdbWorld other;
      ASSERT_EQ(other.Load(PlainFile(RdbType::kSet, texts, 1)), "") << count;
      const auto& set = static_cast<const Set&>(other.Find(0, "key")->value());
      EXPECT_EQ(set.Audit(), "");
      EXPECT_EQ(set.size(), 2 * count);
      for (const std::string& text : texts) EXPECT_TRUE(set.Has(text));
    }
  }
}

TEST(RdbLoadingTest, AnElementThatComesTwiceAmongThoseIsRefused) {
  for (const size_t count : {2u, 33u, 600u, 2000u}) {
    for (const PlainType& plain : kPlainTypes) {
      for (const size_t before : {size_t{1}, size_t{20}, count - 1}) {
        if (before >= count) continue;
        std::vector<std::string> texts;
        for (size_t i = 0; i < count * plain.each; ++i) texts.push_back("t:" + std::to_string(i));
        texts[(count - 1) * plain.each] = texts[(count - 1 - before) * plain.each];
        RdbWorld world;
        EXPECT_NE(world.Load(PlainFile(plain.type, texts, plain.each)), "") << count << before;
        EXPECT_EQ(world.Find(0, "key"), nullptr);
      }
    }
  }
}

TEST(RdbLoadingTest, AFieldThatComesTwiceBeforeOneThatEndsIsRefused) {
  RdbWorld world;
  const std::vector<std::string> texts = {"a", "1", "0", "a", "2", "0", "b", "3", "4102444800123"};
  EXPECT_NE(world.Load(PackedFile(RdbType::kHashListpackFieldTtlRc, texts)), "");
}

// Old ziplists have "-0" as a text, and Redis answers with it until it is set anew.
TEST(RdbLoadingTest, AScoreOfMinusZeroStays) {
  RdbWorld world;
  EXPECT_EQ(world.Load(PackedFile(RdbType::kSortedSetListpack,
                                  {"c", "1", "b", "-0", "a", "0", "d", "-0.0", "e", "-1.5"})),
            "");
  const auto& set = static_cast<const SortedSet&>(world.Find(0, "key")->value());
  EXPECT_EQ(set.Audit(), "");
  std::string order;
  set.ForEach(set.All(), SortedSet::Direction::kUp, [&](std::string_view name, double score) {
    ConcatTo(order, name, '=', DoubleText(score), ' ');
    return true;
  });
  EXPECT_EQ(order, "e=-1.5 a=0 b=-0 d=-0 c=1 ");
  SortedSet put;
  SortedSet::Limits limits;
  put.Put("a", -0.0, limits);
  EXPECT_EQ(DoubleText(*put.Score("a")), "0");
}

TEST(RdbLoadingTest, TypesOfReleaseCandidatesAreRead) {
  for (const RdbSample& sample : RdbSamples()) {
    if (sample.type != RdbType::kHashFieldTtlRc && sample.type != RdbType::kHashListpackFieldTtlRc)
      continue;
    RdbWorld world;
    EXPECT_EQ(world.Load(sample.File()), "") << sample.name;
    const auto& hash = static_cast<const Hash&>(world.Find(0, "key")->value());
    EXPECT_EQ(hash.size(), 2u);
    EXPECT_TRUE(hash.has_deadlines());
    // In Valkey's files 22 is another form, and 23 is none.
    RdbSample other = sample;
    other.header = "VALKEY080";
    RdbWorld valkey;
    EXPECT_NE(valkey.Load(other.File()), "");
  }
}

}  // namespace
}  // namespace sluice
