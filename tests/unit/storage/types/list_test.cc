// List: every operation against a std::deque, with chunks of all sizes, and the accounts after each
// step. What it takes, beside the length of its elements.
#include "storage/types/list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>

namespace sluice {
namespace {

using ListModel = std::deque<std::string>;

ListModel Contents(const List& list) {
  ListModel model;
  list.Walk(0, ListEnd::kBack, [&](size_t index, std::string_view text) {
    EXPECT_EQ(index, model.size());
    model.emplace_back(text);
    return true;
  });
  return model;
}

// Lengths around what the form of an element depends on, numbers among them.
std::string RandomItem(std::mt19937_64& random) {
  static constexpr const char* kEdges[] = {"0",
                                           "-1",
                                           "127",
                                           "128",
                                           "-128",
                                           "-129",
                                           "32767",
                                           "32768",
                                           "8388608",
                                           "-8388609",
                                           "2147483648",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "9223372036854775808",
                                           "00",
                                           "-0",
                                           "+1",
                                           "",
                                           "a"};
  switch (random() % 8) {
    case 0:
      return kEdges[random() % std::size(kEdges)];
    case 1:
    case 2:
      return std::to_string(static_cast<int64_t>(random()) >> random() % 64);
    case 3:
      return std::string(random() % 600, static_cast<char>('a' + random() % 26));
    case 4:
      return std::string(random() % 40 ? 9000 : 40000, 'L');
    default:
      return std::string(random() % 24, static_cast<char>('a' + random() % 3));
  }
}

class Pair {
 public:
  explicit Pair(uint64_t seed) : random_(seed) {
    static constexpr ListLimits kLimits[] = {{},
                                             {.chunk_bytes = 64},
                                             {.chunk_elements = 1},
                                             {.chunk_elements = 3},
                                             {.alone_bytes = 10},
                                             {.chunk_bytes = 65536}};
    limits_ = kLimits[random_() % std::size(kLimits)];
  }

  void Step() {
    const size_t size = model_.size();
    switch (random_() % 12) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Push();
      case 4:
        return Drop(random_() % std::min<size_t>(size + 1, 5));
      case 5:
        return random_() % 30 ? Drop(std::min<size_t>(size, 1)) : Drop(random_() % (size + 1));
      case 6:
      case 7:
        return Insert();
      case 8:
        return Replace();
      case 9:
        return Remove();
      case 10:
        return Find();
      default:
        return Walk();
    }
  }

  void Check() {
    ASSERT_EQ(list_.size(), model_.size());
    ASSERT_EQ(Contents(list_), model_);
    char scratch[List::kTextScratch];
    if (!model_.empty()) {
      ASSERT_EQ(list_.AtEnd(ListEnd::kFront, scratch), model_.front());
      ASSERT_EQ(list_.AtEnd(ListEnd::kBack, scratch), model_.back());
      const size_t index = random_() % model_.size();
      ASSERT_EQ(list_.At(index, scratch), model_[index]);
    }
    const std::unique_ptr<Value> copy = list_.Clone();
    ASSERT_EQ(Contents(static_cast<List&>(*copy)), model_);
    ASSERT_EQ(copy->Audit(), "");
    ASSERT_LE(copy->MemoryBytes(), list_.MemoryBytes());
  }

 private:
  ListEnd RandomEnd() { return random_() % 2 ? ListEnd::kFront : ListEnd::kBack; }
  std::string Known() {  // often one that is there
    return model_.empty() || random_() % 4 == 0 ? RandomItem(random_)
                                                : model_[random_() % model_.size()];
  }

  void Push() {
    const ListEnd end = RandomEnd();
    const std::string text = RandomItem(random_);
    list_.Push(end, text, limits_);
    end == ListEnd::kFront ? model_.push_front(text) : model_.push_back(text);
  }
  void Drop(size_t count) {
    const ListEnd end = RandomEnd();
    list_.Drop(end, count);
    const auto n = static_cast<ptrdiff_t>(count);
    end == ListEnd::kFront ? model_.erase(model_.begin(), model_.begin() + n)
                           : model_.erase(model_.end() - n, model_.end());
  }
  void Insert() {
    const size_t index = random_() % (model_.size() + 1);
    const std::string text = RandomItem(random_);
    list_.Insert(index, text, limits_);
    model_.insert(model_.begin() + static_cast<ptrdiff_t>(index), text);
  }
  void Replace() {
    if (model_.empty()) return;
    const size_t index = random_() % model_.size();
    const std::string text = RandomItem(random_);
    list_.Replace(index, text, limits_);
    model_[index] = text;
  }
  void Remove() {
    const std::string text = Known();
    const size_t max = random_() % 3 ? random_() % 4 : SIZE_MAX;
    const ListEnd from = RandomEnd();
    size_t expected = 0;
    if (from == ListEnd::kBack) std::reverse(model_.begin(), model_.end());
    for (auto at = model_.begin(); at != model_.end() && expected < max;) {
      if (*at == text) {
        at = model_.erase(at);
        ++expected;
      } else {
        ++at;
      }
    }
    if (from == ListEnd::kBack) std::reverse(model_.begin(), model_.end());
    EXPECT_EQ(list_.Remove(text, max, from), expected);
  }
  void Find() {
    const std::string text = Known();
    const ListEnd towards = RandomEnd();
    const size_t looks = random_() % (model_.size() + 2);
    std::vector<size_t> found, expected;
    list_.Find(text, towards, looks, [&](size_t index) {
      found.push_back(index);
      return true;
    });
    for (size_t i = 0; i < std::min(looks, model_.size()); ++i) {
      const size_t index = towards == ListEnd::kBack ? i : model_.size() - 1 - i;
      if (model_[index] == text) expected.push_back(index);
    }
    EXPECT_EQ(found, expected);
  }
  void Walk() {
    if (model_.empty()) return;
    const size_t from = random_() % model_.size();
    const ListEnd towards = RandomEnd();
    size_t at = from;
    list_.Walk(from, towards, [&](size_t index, std::string_view text) {
      EXPECT_EQ(index, at);
      EXPECT_EQ(text, model_[index]);
      at += towards == ListEnd::kBack ? 1 : -1;
      return true;
    });
    EXPECT_EQ(at, towards == ListEnd::kBack ? model_.size() : SIZE_MAX);
  }

  std::mt19937_64 random_;
  ListLimits limits_;
  List list_;
  ListModel model_;
};

TEST(List, DoesWhatADequeDoes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed);
    for (int i = 0; i < 400; ++i) {
      pair.Step();
      if (i % 8 == 0) pair.Check();
      if (testing::Test::HasFailure()) return;
    }
    pair.Check();
  }
}

TEST(List, GivesEveryTextBack) {
  std::mt19937_64 random(7);
  char scratch[ListItem::kTextScratch];
  for (int i = 0; i < 100000; ++i) {
    const std::string text = RandomItem(random);
    const ListItem item(text);
    ASSERT_EQ(ListItem::Text(item.bytes(), item.integer(), scratch), text);
    ASSERT_LE(item.size(), text.size());
  }
}

TEST(List, AccountsForWhatItTakes) {
  List list;
  const size_t empty = list.MemoryBytes();
  EXPECT_EQ(list.Elements(), 0u);
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    list.Push(i % 3 ? ListEnd::kBack : ListEnd::kFront, RandomItem(random), {});
  }
  EXPECT_EQ(list.Elements(), list.chunks());
  EXPECT_GT(list.Remove("a", SIZE_MAX, ListEnd::kFront), 0u);
  list.Drop(ListEnd::kFront, 5000);
  const size_t chunks = list.chunks();
  EXPECT_EQ(list.FreeSome(3), 3u);
  EXPECT_EQ(list.FreeSome(SIZE_MAX), chunks - 3);
  EXPECT_EQ(list.FreeSome(1), 0u);
  EXPECT_EQ(list.MemoryBytes(), empty);
}

// Two bytes an element, and little for the chunks.
TEST(List, IsCompact) {
  List list;
  for (int i = 0; i < 100000; ++i)
    list.Push(ListEnd::kBack, "element:" + std::to_string(1000000 + i), {});
  EXPECT_LT(list.MemoryBytes(), 100000 * (15 + 2) * 102 / 100);
  List ten;
  for (int i = 0; i < 10; ++i)
    ten.Push(ListEnd::kBack, "element:" + std::to_string(1000000 + i), {});
  EXPECT_EQ(ten.MemoryBytes(), sizeof(List) + sizeof(ListChunk) + BlockSize(10 * (15 + 2)));
  List numbers;
  for (int i = 0; i < 100000; ++i) numbers.Push(ListEnd::kBack, std::to_string(i), {});
  EXPECT_LT(numbers.MemoryBytes(), 100000 * (3 + 2) * 102 / 100);
}

// Elements taken out of the middle leave no chain of nearly empty chunks.
TEST(List, JoinsSmallNeighbours) {
  List list;
  for (int i = 0; i < 20000; ++i) list.Push(ListEnd::kBack, i % 100 ? "gone" : "stays", {});
  EXPECT_EQ(list.Remove("gone", SIZE_MAX, ListEnd::kBack), 19800u);
  EXPECT_LE(list.chunks(), 2u);
  EXPECT_EQ(Contents(list), ListModel(200, "stays"));
}

}  // namespace
}  // namespace sluice
