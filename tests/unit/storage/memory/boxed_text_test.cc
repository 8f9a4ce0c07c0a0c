// BoxedText and RarePart: texts and parts that take little room where they stand.
#include "storage/memory/boxed_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "storage/memory/rare_part.h"

namespace sluice {
namespace {

TEST(BoxedText, NoneIsNotTheEmptyText) {
  const BoxedText none;
  const BoxedText empty{std::string_view()};
  EXPECT_TRUE(none.is_none());
  EXPECT_FALSE(empty.is_none());
  EXPECT_EQ(none.view(), "");
  EXPECT_EQ(empty.view(), "");
  EXPECT_EQ(HeapBytes(none), 0u);
  EXPECT_EQ(HeapBytes(empty), 8u);
}

TEST(BoxedText, KeepsAnyBytes) {
  const std::string bytes("a\0b\xff", 4);
  EXPECT_EQ(BoxedText(bytes).view(), bytes);
  const std::string many(100'000, 'x');
  EXPECT_EQ(BoxedText(many).view(), many);
  EXPECT_EQ(HeapBytes(BoxedText(std::string(12, 'x'))), 16u);
  EXPECT_EQ(HeapBytes(BoxedText(std::string(13, 'x'))), 32u);
}

// What points to the bytes may go on to do so.
TEST(BoxedText, TheBytesStayWhereTheyAreWhenItMoves) {
  BoxedText text(std::string_view("owner"));
  const std::string_view bytes = text;
  const BoxedText moved = std::move(text);
  EXPECT_EQ(moved.view().data(), bytes.data());
}

TEST(BoxedText, CopiesAreTheirOwn) {
  BoxedText text(std::string_view("one"));
  const BoxedText copy = text;
  text = "two";
  EXPECT_EQ(copy.view(), "one");
  const BoxedText& same = text;
  text = same;
  EXPECT_EQ(text.view(), "two");
  text = BoxedText();
  EXPECT_TRUE(text.is_none());
}

struct Part {
  int number = 7;
  std::string text;
};

TEST(RarePart, ReadsAsUnsetUntilItIsMade) {
  RarePart<Part> part;
  EXPECT_EQ(part->number, 7);
  EXPECT_FALSE(part.is_made());
  part.Make().number = 8;
  EXPECT_TRUE(part.is_made());
  EXPECT_EQ(part->number, 8);
  EXPECT_EQ(RarePart<Part>()->number, 7);
}

TEST(RarePart, CopiesAreTheirOwn) {
  RarePart<Part> part;
  part.Make().text = "one";
  const RarePart<Part> copy = part;
  part.Make().text = "two";
  EXPECT_EQ(copy->text, "one");
  part = RarePart<Part>();
  EXPECT_FALSE(part.is_made());
  EXPECT_EQ(part->text, "");
}

}  // namespace
}  // namespace sluice
