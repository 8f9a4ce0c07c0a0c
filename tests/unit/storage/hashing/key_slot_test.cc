// The slots of keys, beside those that a redis-server has said.
#include "storage/hashing/key_slot.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sluice {
namespace {

TEST(KeySlot, IsThatOfRedis) {
  EXPECT_EQ(SlotOfKey(""), 0);
  EXPECT_EQ(SlotOfKey("foo"), 12182);
  EXPECT_EQ(SlotOfKey("a"), 15495);
  EXPECT_EQ(SlotOfKey("123456789"), 0x31C3);  // the check value of CRC-16/XMODEM
}

TEST(KeySlot, ATagStandsForItsKey) {
  EXPECT_EQ(SlotOfKey("{foo}.a"), SlotOfKey("foo"));
  EXPECT_EQ(SlotOfKey("a{foo}b{bar}"), SlotOfKey("foo"));
  EXPECT_EQ(SlotOfKey("foo{{bar}}zap"), SlotOfKey("{bar"));
  EXPECT_EQ(SlotOfKey("a{b}c"), 3300);
}

TEST(KeySlot, WithoutATagAllBytesCount) {
  EXPECT_NE(SlotOfKey("{}foo"), SlotOfKey("foo"));
  EXPECT_NE(SlotOfKey("{foo"), SlotOfKey("foo"));
  EXPECT_NE(SlotOfKey("}{foo"), SlotOfKey("foo"));
}

// The specification's words, a bit at a time.
KeySlot SlotBit(std::string_view key) {
  const size_t open = key.find('{');
  const size_t close = open == key.npos ? key.npos : key.find('}', open);
  if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  unsigned crc = 0;
  for (const char c : key) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0);
    crc &= 0xffff;
  }
  return static_cast<KeySlot>(crc % kKeySlots);
}

TEST(KeySlot, BothWaysAreTheSameForKeysOfAnyLength) {
  std::mt19937 random(7);
  for (size_t bytes = 0; bytes <= 70; ++bytes) {
    for (int round = 0; round < 200; ++round) {
      std::string key(bytes, '\0');
      // Few letters make many tags; all bytes, those beside the braces.
      for (char& c : key)
        c = round % 2 == 0 ? "{}ab"[random() % 4] : static_cast<char>(random() % 256);
      ASSERT_EQ(SlotOfKey(key), SlotBit(key)) << key;
      ASSERT_EQ(SlotOfKeyByTable(key), SlotBit(key)) << key;
    }
  }
}

}  // namespace
}  // namespace sluice
