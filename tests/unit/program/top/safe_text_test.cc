// What a terminal is shown of bytes that others have chosen.
#include "server/program/top/safe_text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/seed.h"

namespace sluice {
namespace {

using namespace std::string_literals;

constexpr TerminalText kSafeUtf8 = TerminalText::kUtf8;
constexpr TerminalText kAscii = TerminalText::kAscii;

struct SafeRow {
  std::string bytes, utf8, ascii;
};
const SafeRow kSafeRows[] = {
    {"lock:build", "lock:build", "lock:build"},
    {"", "", ""},
    {"a\x1b[2Jb", "a\\x1b[2Jb", "a\\x1b[2Jb"},
    {"\x1b]0;title\x07", "\\x1b]0;title\\x07", "\\x1b]0;title\\x07"},
    {"a\nb\r\t\0c\x7f"s, "a\\nb\\r\\t\\x00c\\x7f", "a\\nb\\r\\t\\x00c\\x7f"},
    {"\\x1b", "\\\\x1b", "\\\\x1b"},
    {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", "gr\\u{fc}\\u{df}"},
    {"\xe9\x8d\xb5", "\xe9\x8d\xb5", "\\u{9375}"},
    {"\xc2\x9b"
     "2J",
     "\\u{9b}2J", "\\u{9b}2J"},  // CSI as one character
    {"a\xe2\x80\xae"
     "b",
     "a\\u{202e}b", "a\\u{202e}b"},                          // right to left from here
    {"\xe2\x81\xa6", "\\u{2066}", "\\u{2066}"},              // isolates
    {"\xd7\x90", "\\u{5d0}", "\\u{5d0}"},                    // Hebrew
    {"\xd8\xa7", "\\u{627}", "\\u{627}"},                    // Arabic
    {"e\xcc\x81", "e\\u{301}", "e\\u{301}"},                 // combines
    {"\xe2\x80\x8b", "\\u{200b}", "\\u{200b}"},              // takes no room
    {"\xc3(", "\\xc3(", "\\xc3("},                           // cut in two
    {"\xc3", "\\xc3", "\\xc3"},                              // cut off
    {"\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf"},                // longer than need be
    {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80"},  // half of a pair
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80"},
    {"\xff\xfe", "\\xff\\xfe", "\\xff\\xfe"},
};

TEST(SafeText, WritesOutWhatIsNotHarmless) {
  for (const SafeRow& row : kSafeRows) {
    EXPECT_EQ(Shown(row.bytes, 200, kSafeUtf8).text, row.utf8);
    EXPECT_EQ(Shown(row.bytes, 200, kAscii).text, row.ascii);
  }
}

TEST(SafeText, CutsAtAColumn) {
  EXPECT_EQ(Cell("abcdef", 6, kSafeUtf8), "abcdef");
  EXPECT_EQ(Cell("abcdef", 5, kSafeUtf8), "abcd~");
  EXPECT_EQ(Cell("abc", 5, kSafeUtf8), "abc  ");
  EXPECT_EQ(Cell("abc", 1, kSafeUtf8), "~");
  EXPECT_EQ(Cell("abc", 0, kSafeUtf8), "");
  // What is written out stays whole, and so does a letter of two columns.
  EXPECT_EQ(Cell("ab\x1b"
                 "c",
                 6, kSafeUtf8),
            "ab~   ");
  EXPECT_EQ(Cell("a\xe9\x8d\xb5\xe9\x8d\xb5", 4, kSafeUtf8), "a\xe9\x8d\xb5~");
  EXPECT_EQ(Cell("a\xe9\x8d\xb5\xe9\x8d\xb5", 3, kSafeUtf8), "a~ ");
}

TEST(SafeText, ANameLosesItsMiddle) {
  const auto name = [](std::string_view bytes, size_t columns, TerminalText terminal) {
    return ShownName(bytes, columns, terminal).text;
  };
  EXPECT_EQ(name("abcdefgh", 8, kSafeUtf8), "abcdefgh");
  EXPECT_EQ(name("abcdefgh", 7, kSafeUtf8),
            "abc\xe2\x80\xa6"
            "fgh");
  EXPECT_EQ(name("abcdefgh", 6, kSafeUtf8),
            "abc\xe2\x80\xa6"
            "gh");
  EXPECT_EQ(name("abcdefgh", 7, kAscii), "ab...gh");
  EXPECT_EQ(name("abcdefgh", 3, kSafeUtf8), "a\xe2\x80\xa6h");
  EXPECT_EQ(name("abcdefgh", 2, kSafeUtf8), "ab");
  EXPECT_EQ(name("abcdefgh", 0, kSafeUtf8), "");
  // What is written out stays whole at both ends.
  EXPECT_EQ(name("a\x1b"
                 "cdefg\x1b"
                 "h",
                 8, kSafeUtf8),
            "a\xe2\x80\xa6h");
  EXPECT_EQ(name("a\x1b"
                 "cdefg\x1b"
                 "h",
                 12, kSafeUtf8),
            "a\\x1bc\xe2\x80\xa6\\x1bh");
  const std::string huge(64 << 20, '\x1b');
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(name(huge, 9, kSafeUtf8), "\\x1b\xe2\x80\xa6\\x1b");
}

TEST(SafeText, LinesAreBrokenBehindSpaces) {
  const auto lines = [](std::string_view bytes, size_t columns, size_t lines_max) {
    return ShownLines(bytes, columns, lines_max, kAscii);
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines("", 10, 3), Lines());
  EXPECT_EQ(lines("one two three", 8, 3), (Lines{"one two ", "three"}));
  EXPECT_EQ(lines("onetwothree", 8, 2), (Lines{"onetwoth", "ree"}));
  EXPECT_EQ(lines("one two three four", 9, 2), (Lines{"one two t", "hree four"}));
  EXPECT_EQ(lines("one two three four", 6, 2), (Lines{"one ", "...our"}));
}

// Of a megabyte no more is looked at than is shown: else this would take a minute.
TEST(SafeText, LooksAtNoMoreThanItShows) {
  const std::string huge(64 << 20, '\x1b');
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(Cell(huge, 9, kSafeUtf8), "\\x1b\\x1b~");
}

TEST(SafeText, SentencesAreHarmlessAndKeepTheirBackslashes) {
  EXPECT_EQ(HarmlessLine("a\\b\x1b[2J\nfake\xc2\x9b", kSafeUtf8), "a\\b\\x1b[2J\\nfake\\u{9b}");
  EXPECT_EQ(HarmlessLines("a\x07\nb\n\nc\r", kAscii), "a\\x07\nb\n\nc\\r");
  EXPECT_EQ(HarmlessLine("gr\xc3\xbc", kSafeUtf8), "gr\xc3\xbc");
  EXPECT_EQ(HarmlessLines("", kAscii), "");
}

TEST(SafeText, AnyBytesFitAndAreHarmless) {
  std::mt19937_64 random(TestSeed(1));
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 20, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const size_t columns = random() % 30;
    for (const TerminalText terminal : {kSafeUtf8, kAscii}) {
      const ShownText shown = Shown(bytes, columns, terminal);
      EXPECT_LE(shown.columns, columns);
      EXPECT_LE(ShownName(bytes, columns, terminal).columns, columns);
      std::string all = shown.text + ShownName(bytes, columns, terminal).text;
      const std::vector<std::string> lines = ShownLines(bytes, columns + 10, 3, terminal);
      EXPECT_LE(lines.size(), 3u);
      for (const std::string& line : lines) {
        EXPECT_TRUE(Fits(line, 4 * (columns + 10), terminal));
        all += line;
      }
      for (const char byte : all) {
        EXPECT_TRUE(static_cast<uint8_t>(byte) >= 0x20 && byte != 0x7f);
        EXPECT_TRUE(terminal == kSafeUtf8 || static_cast<uint8_t>(byte) < 0x80);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
