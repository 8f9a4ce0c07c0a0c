// The parts that RDB values are made of: checksum, lengths and strings, packed sequences. Bytes are
// those of redis-server; what is cut or changed anywhere is refused or read within its bounds.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/listpack/listpack.h"
#include "storage/listpack/listpack_size.h"
#include "storage/rdb/crc64.h"
#include "storage/rdb/rdb_reader.h"
#include "storage/rdb/rdb_sequence.h"
#include "storage/rdb/rdb_writer.h"

namespace sluice {
namespace {

std::string Bytes(std::initializer_list<int> bytes) {
  std::string result;
  for (const int byte : bytes) result.push_back(static_cast<char>(byte));
  return result;
}

std::vector<std::string> Read(std::string_view bytes, RdbSequence form, bool& whole) {
  std::vector<std::string> texts;
  whole = ReadPacked(bytes, form, [&](std::string_view text) {
    texts.emplace_back(text);
    return true;
  });
  return texts;
}

TEST(Crc64Test, AsRedis) {
  EXPECT_EQ(Crc64("123456789"), 0xe9c6d914c4b8d9ca);
  EXPECT_EQ(Crc64("6789", Crc64("12345")), Crc64("123456789"));
}

// Whatever the length and however it is cut, against one bit after the other.
TEST(Crc64Test, ManyBytesAtOnceAreAsOneBitAfterTheOther) {
  std::string text;
  uint64_t expected = 0;
  for (int i = 0; i < 700; ++i) {
    const auto byte = static_cast<unsigned char>(i * i * 37 + i / 7 + 11);
    text.push_back(static_cast<char>(byte));
    expected ^= byte;
    for (int bit = 0; bit < 8; ++bit) {
      expected = (expected >> 1) ^ (expected & 1 ? 0x95ac9329ac4bc9b5 : 0);
    }
    EXPECT_EQ(Crc64(text), expected);
    EXPECT_EQ(Crc64(text.substr(i / 3), Crc64(text.substr(0, i / 3))), expected);
  }
}

TEST(RdbTest, LengthsAndStrings) {
  const std::pair<uint64_t, size_t> lengths[] = {
      {0, 1}, {63, 1}, {64, 2}, {16383, 2}, {16384, 5}, {UINT32_MAX, 5}, {UINT64_MAX, 9}};
  for (const auto& [length, bytes] : lengths) {
    std::string out;
    RdbWriter(out).Length(length);
    EXPECT_EQ(out.size(), bytes);
    EXPECT_EQ(RdbReader(out).Length(), length);
  }
  const std::string texts[] = {"",
                               "0",
                               "-1",
                               "127",
                               "128",
                               "-32768",
                               "2147483647",
                               "2147483648",
                               "007",
                               "hello",
                               std::string(5000, 'x'),
                               std::string(64, '\0'),
                               "a b c d e f g h i j k l m n o p q r s t"};
  for (const std::string& text : texts) {
    std::string out;
    RdbWriter(out).String(text);
    EXPECT_LE(out.size(), text.size() + 5);
    RdbReader reader(out);
    EXPECT_EQ(reader.String(), text);
    EXPECT_TRUE(reader.ok() && reader.at_end());
    for (size_t cut = 0; cut < out.size(); ++cut) {
      RdbReader part(std::string_view(out).substr(0, cut));
      part.String();
      EXPECT_TRUE(part.failed());
    }
  }
}

TEST(RdbTest, LengthsBeyondTheBytesTakeNoMemory) {
  std::string out;
  RdbWriter(out).Length(uint64_t{1} << 60);
  EXPECT_EQ(RdbReader(out).String(), "");
  out = Bytes({0xc3, 1, 0x81, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}) + "x";
  RdbReader reader(out);
  EXPECT_EQ(reader.String(), "");
  EXPECT_TRUE(reader.failed());
}

TEST(ListpackTest, RoundTripsAndSizes) {
  const int64_t numbers[] = {0,        1,          127,           128,       -1,       4095,
                             4096,     -4096,      -4097,         32767,     -32768,   8388607,
                             -8388608, 2147483647, -2147483648LL, INT64_MAX, INT64_MIN};
  const std::string texts[] = {"",
                               "a",
                               std::string(63, 'b'),
                               std::string(64, 'c'),
                               std::string(4095, 'd'),
                               std::string(4096, 'e'),
                               std::string(200000, 'f'),
                               "-0",
                               "01"};
  ListpackWriter writer;
  size_t bytes = kListpackFrameBytes;
  std::vector<std::string> expected;
  for (const int64_t number : numbers) {
    writer.Number(number);
    bytes += ListpackIntegerBytes(number);
    expected.push_back(std::to_string(number));
  }
  for (const std::string& text : texts) {
    writer.Text(text);
    bytes += ListpackTextBytes(text);
    expected.push_back(text);
  }
  const std::string packed = writer.Finish();
  EXPECT_EQ(packed.size(), bytes);
  bool whole;
  EXPECT_EQ(Read(packed, RdbSequence::kListpack, whole), expected);
  EXPECT_TRUE(whole);
}

TEST(ListpackTest, BytesOfRedis) {
  ListpackWriter writer;
  writer.Text("hello");
  writer.Text("-300");
  EXPECT_EQ(writer.Finish(),
            Bytes({17, 0, 0, 0, 2, 0, 0x85}) + "hello" + Bytes({6, 0xde, 0xd4, 2, 0xff}));
}

const std::string kZiplistBytes = Bytes({25, 0, 0, 0, 20, 0, 0, 0, 4, 0}) +   // header
                                  Bytes({0, 3}) + "abc" + Bytes({5, 0xf3}) +  // a text, and 2
                                  Bytes({2, 0xfe, 0x80, 3, 0xc0, 0x10, 0x27, 0xff});  // -128, 10000
const std::string kZipmapBytes = Bytes({1, 3}) + "foo" + Bytes({3, 2}) + "barxx" + Bytes({0xff});
const std::string kIntsetBytes = Bytes({2, 0, 0, 0, 3, 0, 0, 0, 0xfe, 0xff, 1, 0, 2, 0});

TEST(ZiplistTest, AreRead) {
  bool whole;
  EXPECT_EQ(Read(kZiplistBytes, RdbSequence::kZiplist, whole),
            (std::vector<std::string>{"abc", "2", "-128", "10000"}));
  EXPECT_TRUE(whole);
  EXPECT_EQ(Read(kZipmapBytes, RdbSequence::kZipmap, whole),
            (std::vector<std::string>{"foo", "bar"}));
  EXPECT_TRUE(whole);
  EXPECT_EQ(Read(kIntsetBytes, RdbSequence::kIntset, whole),
            (std::vector<std::string>{"-2", "1", "2"}));
  EXPECT_TRUE(whole);
  Read(Bytes({2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 0}), RdbSequence::kIntset, whole);
  EXPECT_FALSE(whole) << "out of order";
}

// Whatever is changed: no read leaves the bytes (ASan), and a cut is always noticed.
TEST(ZiplistTest, DamagedSequences) {
  ListpackWriter writer;
  for (int i = 0; i < 20; ++i) {
    writer.Text(i % 2 ? std::string(static_cast<size_t>(i) * 5, 'x') : std::to_string(i * i));
  }
  const std::pair<RdbSequence, std::string> samples[] = {
      {RdbSequence::kListpack, writer.Finish()},
      {RdbSequence::kZiplist, kZiplistBytes},
      {RdbSequence::kZipmap, kZipmapBytes},
      {RdbSequence::kIntset, kIntsetBytes},
  };
  std::mt19937_64 random(1);
  for (const auto& [form, bytes] : samples) {
    bool whole;
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      Read(std::string(bytes, 0, cut), form, whole);
      EXPECT_FALSE(whole) << cut;
    }
    for (int round = 0; round < 30000; ++round) {
      std::string damaged = bytes;
      for (size_t n = 1 + random() % 3; n > 0; --n) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      Read(damaged, form, whole);
    }
  }
}

}  // namespace
}  // namespace sluice
