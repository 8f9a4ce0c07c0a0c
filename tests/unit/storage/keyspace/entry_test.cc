// The layout of entries, as tables: sizes of blocks, and that every combination of key length,
// value and deadline gives back what was put in.
#include "storage/keyspace/entry.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "storage/keyspace/keyspace.h"
#include "tests/support/null_observer.h"

namespace sluice {

class EntryTest : public testing::Test {
 protected:
  static size_t BlockBytes(const Entry& entry) { return entry.shape().BlockBytes(); }
  static bool Outside(const Entry& entry) { return entry.outside(); }

  Entry& Put(std::string_view key, std::string_view text, Deadline deadline) {
    return keyspace_.db(0).PutText(keyspace_.Hash(key), text, deadline, now_);
  }

  const Now now_{.steady_us = 1'000'000, .unix_offset_ms = 1'700'000'000'000};
  NullObserver observer_;
  TimerWheel wheel_{now_.ms()};
  Keyspace keyspace_{2, SipKey{1}, wheel_, observer_};
};

TEST_F(EntryTest, BlocksAreAsSmallAsTheyCanBe) {
  const std::string key18(18, 'k');
  const Deadline none = Deadline::None();
  const Deadline steady = Deadline::Steady(5000);
  const Deadline unix = Deadline::Unix(1'800'000'000'000);
  const struct {
    std::string key;
    std::string text;
    Deadline deadline;
    size_t bytes;
  } kCases[] = {
      {key18, "42", steady, 48},  // what everything here is made for: 8 + 18 + 18 + 4
      {key18, "42", none, 32},
      {key18, "42", unix, 64},
      {key18, "2147483647", steady, 48},
      {key18, "2147483648", steady, 64},
      {"", "", none, 8},
      {"k", "1", none, 16},
      {"k", "abcdefg", none, 16},
      {"k", "abcdefgh", none, 32},
      {std::string(254, 'k'), "", none, 320},
      {std::string(255, 'k'), "", none, 320},  // 4 more for the length
      {"k", std::string(128, 'v'), none, 160},
      {"k", std::string(129, 'v'), none, 32},  // a string of its own
  };
  for (const auto& [key, text, deadline, bytes] : kCases) {
    keyspace_.Flush(0, false);
    const Entry& entry = Put(key, text, deadline);
    EXPECT_EQ(BlockBytes(entry), bytes) << key << " " << text;
    EXPECT_EQ(Outside(entry), text.size() > Entry::kInlineBytesMax);
  }
}

TEST_F(EntryTest, EveryCombinationComesBackWhole) {
  const std::vector<size_t> key_lengths = {0, 1, 18, 254, 255, 256, 70'000};
  const std::vector<std::string> texts = {"",
                                          "0",
                                          "-1",
                                          "2147483647",
                                          "-2147483648",
                                          "-2147483649",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "9223372036854775808",
                                          "x",
                                          std::string(44, 'e'),
                                          std::string(45, 'r'),
                                          std::string(128, '\0'),
                                          std::string(129, 'o'),
                                          std::string(100'000, 'z')};
  const std::vector<Deadline> deadlines = {
      Deadline::None(), Deadline::Steady(2'000), Deadline::Steady((int64_t{1} << 48) - 1),
      Deadline::Unix(1'700'000'009'999), Deadline::Unix(std::numeric_limits<int64_t>::max())};
  char scratch[Entry::kTextScratch];
  for (const size_t length : key_lengths) {
    const std::string key(length, 'k');
    // Without a flush: each overwrites the one before, from every layout into every other.
    for (const Deadline& deadline : deadlines) {
      for (const std::string& text : texts) {
        const Entry& entry = Put(key, text, deadline);
        ASSERT_EQ(entry.key(), key);
        ASSERT_EQ(entry.Text(scratch), text);
        ASSERT_EQ(entry.TextBytes(), text.size());
        ASSERT_EQ(entry.deadline(), deadline);
        ASSERT_EQ(entry.is_volatile(), !deadline.none());
        ASSERT_EQ(entry.type(), ValueType::kString);
        ASSERT_GE(entry.MemoryBytes(), key.size() + (entry.is_integer() ? 4 : text.size()));
        ASSERT_EQ(keyspace_.Audit(now_), "");
      }
    }
    for (const Deadline& deadline : deadlines) {
      Entry* entry = keyspace_.db(0).Modify(keyspace_.Hash(key), now_);
      ASSERT_EQ(keyspace_.db(0).SetDeadline(*entry, deadline).deadline(), deadline);
      ASSERT_EQ(keyspace_.Audit(now_), "");
    }
  }
}

TEST_F(EntryTest, EncodingsAreRedis) {
  EXPECT_EQ(Put("k", "12", Deadline::None()).Encoding(), "int");
  EXPECT_EQ(Put("k", std::string(44, 'x'), Deadline::None()).Encoding(), "embstr");
  EXPECT_EQ(Put("k", std::string(45, 'x'), Deadline::None()).Encoding(), "raw");
  EXPECT_EQ(Put("k", "", Deadline::None()).Encoding(), "embstr");
}

TEST_F(EntryTest, TheSameSizeIsOverwrittenInPlace) {
  const Deadline soon = Deadline::Steady(5000);
  const Deadline later = Deadline::Steady(9000);
  const Entry* before = &Put("key", "value-one", soon);
  EXPECT_EQ(&Put("key", "value-two", later), before);
  before = &Put("key", "7", soon);
  Entry* entry = keyspace_.db(0).Modify(keyspace_.Hash("key"), now_);
  EXPECT_EQ(&keyspace_.db(0).SetInteger(*entry, std::numeric_limits<int32_t>::min()), before);
  entry = &keyspace_.db(0).SetInteger(*entry, int64_t{1} << 40);
  EXPECT_EQ(&keyspace_.db(0).SetInteger(*entry, 1), entry);  // keeps its 8 bytes
  EXPECT_EQ(entry->integer(), 1);
}

TEST_F(EntryTest, AccessClockHas24Bits) {
  Entry& entry = Put("k", "v", Deadline::None());
  EXPECT_EQ(entry.access_clock(), 1u);
  keyspace_.db(0).SetAccessClock(entry, 0x1234567);
  EXPECT_EQ(entry.access_clock(), 0x234567u);
  Now later = now_;
  later.steady_us += 5'000'000;
  EXPECT_EQ(keyspace_.db(0).Find(keyspace_.Hash("k"), later)->access_clock(), 0x234567u);
  EXPECT_EQ(keyspace_.db(0).FindAndTouch(keyspace_.Hash("k"), later)->access_clock(), 6u);
}

TEST(Deadline, SaturatesAtTheLimits) {
  const Now now{.steady_us = 5'000'000, .unix_offset_ms = 1'700'000'000'000};
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const struct {
    Deadline deadline;
    int64_t left_ms;
    int64_t unix_ms;
  } kCases[] = {
      {Deadline::Steady(5'001), 1, 1'700'000'005'001},
      {Deadline::Steady(5'000), 0, 1'700'000'005'000},
      {Deadline::Unix(1'700'000'005'001), 1, 1'700'000'005'001},
      {Deadline::Steady(kMax), kMax - 5'000, kMax},
      {Deadline::Unix(kMin), kMin, kMin},
      {Deadline::Steady(kMin), kMin, kMin + 1'700'000'000'000},
  };
  for (const auto& [deadline, left_ms, unix_ms] : kCases) {
    EXPECT_EQ(deadline.LeftMs(now), left_ms);
    EXPECT_EQ(deadline.UnixMs(now), unix_ms);
    EXPECT_EQ(deadline.Passed(now), left_ms <= 0);
  }
  EXPECT_FALSE(Deadline::None().Passed(now));
}

}  // namespace sluice
