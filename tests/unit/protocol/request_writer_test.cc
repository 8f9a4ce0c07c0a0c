// Requests as bytes, and that RequestParser reads them back.
#include "protocol/request_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/request_parser.h"

namespace sluice {
namespace {

using namespace std::string_view_literals;

TEST(RequestWriter, AppendsWordsWithTheirLengths) {
  std::string out = "before";
  const std::string_view words[] = {"SET", "k", ""};
  AppendRequest(out, words);
  EXPECT_EQ(out, "before*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
}

TEST(RequestWriter, ItsBytesAreReadBack) {
  const std::string large(100'000, 'x');
  const std::string middling(480, 'y');
  const std::vector<std::string_view> words = {"a\r\n\0b"sv, "", large, middling, middling, "$1"};
  std::string out;
  AppendRequest(out, words);
  RequestParser parser;
  ArgumentList arguments;
  ASSERT_EQ(parser.Next(out, {}, arguments), ParseStatus::kRequest);
  ASSERT_EQ(arguments.size(), words.size());
  for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(arguments[i], words[i]);
}

TEST(RequestWriter, ItsBytesAreKnownBefore) {
  for (const size_t size : {0, 1, 9, 10, 99, 100, 486, 487, 488, 511, 512, 12'345}) {
    const std::string word(size, 'x');
    const std::vector<std::string_view> words(size % 13, word);
    std::string out;
    AppendRequest(out, words);
    EXPECT_EQ(RequestBytes(words), out.size()) << size;
  }
}

}  // namespace
}  // namespace sluice
