// PendingInput: what has not run is always a contiguous view of what was appended, whatever was
// taken off its front, and nothing is kept of what has run.
#include "server/clients/pending_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "storage/hashing/random.h"

namespace sluice {
namespace {

TEST(PendingInput, TakesNothingWhileNothingWaits) {
  PendingInput input;
  EXPECT_TRUE(input.empty());
  EXPECT_EQ(input.view(), "");
  EXPECT_EQ(input.MemoryBytes(), 0u);
  input.Append("");
  EXPECT_EQ(input.MemoryBytes(), 0u);
  input.Append("GET a");
  EXPECT_GE(input.MemoryBytes(), 5u + sizeof(TextBlock));
  input.Ran(5);
  EXPECT_TRUE(input.empty());
  EXPECT_EQ(input.MemoryBytes(), 0u);
  input.Ran(3);  // what it was has become a value
  EXPECT_TRUE(input.empty());
}

TEST(PendingInput, WhatRanGoesWhenItIsMoreThanTheHalf) {
  PendingInput input;
  input.Append("0123456789");
  input.Ran(5);
  EXPECT_EQ(input.view(), "56789");
  EXPECT_EQ(input.size(), 10u);
  input.Ran(1);
  EXPECT_EQ(input.view(), "6789");
  EXPECT_EQ(input.size(), 4u);
}

TEST(PendingInput, BytesMayBeWrittenWhereTheyBelong) {
  PendingInput input;
  input.Append("abc");
  const std::span<char> room = input.Room(4, 100);
  ASSERT_EQ(room.size(), 4u);
  std::memcpy(room.data(), "defg", 4);
  EXPECT_EQ(input.view(), "abc");
  input.Lengthen(2);
  EXPECT_EQ(input.view(), "abcde");
}

TEST(PendingInput, IsTakenWithWhatRanInFront) {
  PendingInput input;
  input.Append("0123456789");
  input.Ran(4);
  const TextBlock taken = input.Take();
  EXPECT_EQ(taken.view(), "0123456789");
  EXPECT_TRUE(input.empty());
  EXPECT_EQ(PendingInput().Take().view(), "");
}

TEST(PendingInput, IsAPlainStringToItsUser) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    PendingInput input;
    std::string model;
    for (int step = 0; step < 500; ++step) {
      switch (random() % 4) {
        case 0:
        case 1: {
          const std::string more(random() % 50, static_cast<char>('a' + step % 26));
          input.Append(more);
          model += more;
          break;
        }
        case 2: {
          const size_t ran = random() % (model.size() + 1);
          input.Ran(ran);
          model.erase(0, ran);
          break;
        }
        case 3: {  // a part of itself
          const size_t from = random() % (model.size() + 1);
          input.Assign(input.view().substr(from));
          model.erase(0, from);
          break;
        }
      }
      ASSERT_EQ(input.view(), model);
      ASSERT_EQ(input.empty(), model.empty());
      ASSERT_LE(input.size(), 2 * model.size());
      if (model.empty()) {
        ASSERT_EQ(input.MemoryBytes(), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
