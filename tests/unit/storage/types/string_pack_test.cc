// StringPack against a std::vector of strings, and what its elements take.
#include "storage/types/string_pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace sluice {
namespace {

std::vector<std::string> Texts(const StringPack& pack) {
  std::vector<std::string> texts;
  char scratch[StringPack::kTextScratch];
  for (auto at = pack.begin(); at != pack.end(); at = pack.Next(at)) {
    texts.emplace_back(pack.At(at).Text(scratch));
  }
  return texts;
}

TEST(StringPack, KeepsIntegersShort) {
  const struct {
    const char* text;
    size_t bytes;
  } kCases[] = {
      {"", 1},           {"5", 2},          {"-1", 2},
      {"10", 2},         {"127", 2},        {"128", 3},
      {"-128", 2},       {"-129", 3},       {"32767", 3},
      {"1700000000", 5}, {"007", 4},        {"1700000000000", 7},
      {"-0", 3},         {"1.5", 4},        {"9223372036854775807", 9},
      {"99", 2},         {"2147483647", 5}, {"-9223372036854775808", 9},
      {"+5", 3},         {"field", 6},      {"9223372036854775808", 20},
  };
  for (const auto& [text, bytes] : kCases) {
    StringPack pack;
    pack.Append(text);
    EXPECT_EQ(pack.bytes(), bytes) << text;
    EXPECT_EQ(Texts(pack), std::vector<std::string>{text});
    EXPECT_EQ(pack.Find(text), pack.begin());
    EXPECT_EQ(pack.At(0).TextBytes(), std::string(text).size());
  }
}

TEST(StringPack, KeepsTextsOfAnyLength) {
  StringPack pack;
  std::vector<std::string> model;
  for (const size_t length : {0, 1, 238, 239, 240, 255, 256, 65535, 65536, 200000}) {
    model.emplace_back(length, static_cast<char>('a' + length % 26));
    pack.Append(model.back());
  }
  EXPECT_EQ(Texts(pack), model);
  for (size_t i = 0; i < model.size(); ++i) EXPECT_EQ(pack.Find(model[i]), pack.Nth(i));
  EXPECT_EQ(pack.Find("absent"), pack.end());
}

TEST(StringPack, LooksAtEveryStridethElementOnly) {
  StringPack pack;
  for (const char* text : {"a", "b", "b", "a", "c", "b"}) pack.Append(text);
  EXPECT_EQ(pack.Find("b", pack.begin(), 2), pack.Nth(2));
  EXPECT_EQ(pack.Find("b", pack.Nth(1), 2), pack.Nth(1));
  EXPECT_EQ(pack.Find("b", pack.Nth(3), 2), pack.Nth(5));
  EXPECT_EQ(pack.Find("c", pack.Nth(1), 2), pack.end());
  EXPECT_EQ(pack.Nth(6), pack.end());
}

std::string RandomPacked(std::mt19937_64& random) {
  switch (random() % 6) {
    case 0:
      return std::to_string(static_cast<int64_t>(random()) >> (random() % 64));
    case 1:
      return std::to_string(random() % 300);
    case 2:
      return std::string(random() % 600, 'x');
    case 3: {
      std::string bytes(random() % 12, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      return bytes;
    }
    default:
      return "element:" + std::to_string(random() % 1000);
  }
}

TEST(StringPack, BehavesAsAVector) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    StringPack pack;
    std::vector<std::string> model;
    for (int step = 0; step < 500; ++step) {
      const size_t index = random() % (model.size() + 1);
      const auto at = pack.Nth(index);
      const bool in = index < model.size();
      switch (random() % 8) {
        case 0:
        case 1:
        case 2:
          model.insert(model.begin() + index, RandomPacked(random));
          EXPECT_EQ(pack.Insert(at, model[index]), at);
          break;
        case 3:
          if (!in) break;
          model[index] = RandomPacked(random);
          pack.Replace(at, model[index]);
          break;
        case 4:
        case 5: {
          const size_t count = std::min<size_t>(random() % 4, model.size() - index);
          model.erase(model.begin() + index, model.begin() + index + count);
          pack.Erase(at, count);
          break;
        }
        case 6: {
          StringPack copy = pack;
          pack.Clear();
          pack = std::move(copy);
          break;
        }
        default: {
          const std::string wanted = in ? model[index] : RandomPacked(random);
          const auto found = std::find(model.begin(), model.end(), wanted) - model.begin();
          EXPECT_EQ(pack.Find(wanted), pack.Nth(found));
        }
      }
      ASSERT_EQ(pack.size(), model.size());
      if (step % 10 == 0) {
        ASSERT_EQ(Texts(pack), model) << "seed " << seed;
      }
    }
    ASSERT_EQ(Texts(pack), model) << "seed " << seed;
    pack.Erase(pack.begin(), SIZE_MAX);
    EXPECT_TRUE(pack.empty());
    EXPECT_EQ(pack.MemoryBytes(), 0u);
  }
}

TEST(StringPack, TakesLittleMoreThanItsBytes) {
  StringPack pack;
  for (int i = 0; i < 4000; ++i) {
    pack.Append("element:" + std::to_string(i));
    ASSERT_LE(pack.MemoryBytes(), pack.bytes() * 5 / 4 + 15);
  }
}

}  // namespace
}  // namespace sluice
