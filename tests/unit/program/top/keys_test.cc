// Keys out of the bytes that a terminal sends.
#include "server/program/top/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/seed.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Kind = Key::Kind;

struct KeyRow {
  std::string bytes;
  std::vector<Key> keys;
};
const KeyRow kKeyRows[] = {
    {"q", {{Kind::kText, "q"}}},
    {"/a b", {{Kind::kText, "/"}, {Kind::kText, "a"}, {Kind::kText, " "}, {Kind::kText, "b"}}},
    {"\xc3\xbc\xf0\x9f\x94\x92", {{Kind::kText, "\xc3\xbc"}, {Kind::kText, "\xf0\x9f\x94\x92"}}},
    {"\r\n", {{Kind::kEnter}, {Kind::kEnter}}},
    {"\x7f\x08", {{Kind::kBackspace}, {Kind::kBackspace}}},
    {"\x03\x0c\x1a", {{Kind::kInterrupt}, {Kind::kRedraw}, {Kind::kStop}}},
    {"\x01", {{Kind::kOther}}},
    {"\x1b[A\x1b[B", {{Kind::kUp}, {Kind::kDown}}},
    {"\x1bOA\x1bOB", {{Kind::kUp}, {Kind::kDown}}},
    {"\x1b[5~\x1b[6~", {{Kind::kPageUp}, {Kind::kPageDown}}},
    {"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[7~\x1b[8~",
     {{Kind::kHome}, {Kind::kEnd}, {Kind::kHome}, {Kind::kEnd}, {Kind::kHome}, {Kind::kEnd}}},
    {"\x1b[3;5qj", {{Kind::kOther}, {Kind::kText, "j"}}},
    {"\x1bxj", {{Kind::kOther}, {Kind::kText, "j"}}},  // with Alt
    {"\x1b\x1b[A", {{Kind::kEscape}, {Kind::kUp}}},
    {"\x80\xff\x80j", {{Kind::kOther}, {Kind::kOther}, {Kind::kText, "j"}}},  // no UTF-8
    {"\xc3j", {{Kind::kOther}, {Kind::kText, "j"}}},
};

TEST(Keys, OfTheirBytes) {
  for (const KeyRow& row : kKeyRows) {
    KeyReader reader;
    EXPECT_EQ(reader.Read(row.bytes), row.keys) << testing::PrintToString(row.bytes);
    EXPECT_FALSE(reader.is_awaiting());
  }
}

TEST(Keys, CutAnywhereTheyAreTheSame) {
  for (const KeyRow& row : kKeyRows) {
    KeyReader reader;
    std::vector<Key> keys;
    for (const char byte : row.bytes) {
      for (const Key& key : reader.Read({&byte, 1})) keys.push_back(key);
    }
    EXPECT_EQ(keys, row.keys) << testing::PrintToString(row.bytes);
  }
}

TEST(Keys, AnEscapeAloneIsOneOnceNoMoreHasCome) {
  KeyReader reader;
  EXPECT_THAT(reader.Read("\x1b"), IsEmpty());
  EXPECT_TRUE(reader.is_awaiting());
  EXPECT_THAT(reader.End(), ElementsAre(Key{Kind::kEscape}));
  EXPECT_THAT(reader.End(), IsEmpty());
  EXPECT_THAT(reader.Read("\x1b["), IsEmpty());
  EXPECT_THAT(reader.End(), ElementsAre(Key{Kind::kOther}));
  EXPECT_THAT(reader.Read("A"), ElementsAre(Key{Kind::kText, "A"}));
}

// Whatever is sent, what is awaited stays small, and a key's text is one character.
TEST(Keys, AnyBytes) {
  std::mt19937_64 random(TestSeed(3));
  KeyReader reader;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random() % 3 ? random() : "\x1b[O;1"[random() % 6]);
    for (const Key& key : reader.Read(bytes)) {
      EXPECT_EQ(key.kind == Kind::kText, !key.text.empty());
      EXPECT_LE(key.text.size(), 4u);
      EXPECT_TRUE(key.text.empty() || static_cast<uint8_t>(key.text[0]) >= 0x20);
    }
    const size_t begun = reader.is_awaiting();
    if (random() % 2) {
      EXPECT_EQ(reader.End().size(), begun);
    }
  }
}

}  // namespace
}  // namespace sluice
