// The slots of keys, beside those that a redis-server has said.
#include "storage/hashing/key_slot.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sluice
