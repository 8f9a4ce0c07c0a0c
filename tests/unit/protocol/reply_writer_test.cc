// What each reply looks like in RESP2 and RESP3, byte for byte.
#include "protocol/reply_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/output_text.h"

namespace sluice {
namespace {

using namespace std::string_view_literals;

std::string Written(int version, const std::function<void(ReplyWriter&)>& write) {
  OutputBuffer out;
  ReplyWriter writer(out);
  writer.set_version(version);
  write(writer);
  return OutputText(out);
}

TEST(ReplyWriter, Table) {
  const struct {
    std::function<void(ReplyWriter&)> write;
    std::string_view resp2, resp3;
  } rows[] = {
      {[](auto& r) { r.Ok(); }, "+OK\r\n", "+OK\r\n"},
      {[](auto& r) { r.Status("PONG"); }, "+PONG\r\n", "+PONG\r\n"},
      {[](auto& r) { r.Status(""); }, "+\r\n", "+\r\n"},
      {[](auto& r) { r.Error("ERR no"); }, "-ERR no\r\n", "-ERR no\r\n"},
      {[](auto& r) { r.Error("ERR a\r\nb\nc\r"); }, "-ERR a  b c\r\n", "-ERR a  b c\r\n"},
      {[](auto& r) { r.Error(ErrorCode::kSyntax); }, "-ERR syntax error\r\n",
       "-ERR syntax error\r\n"},
      {[](auto& r) { r.Integer(0); }, ":0\r\n", ":0\r\n"},
      {[](auto& r) { r.Integer(-1); }, ":-1\r\n", ":-1\r\n"},
      {[](auto& r) { r.Integer(INT64_MIN); }, ":-9223372036854775808\r\n",
       ":-9223372036854775808\r\n"},
      {[](auto& r) { r.Bulk(""); }, "$0\r\n\r\n", "$0\r\n\r\n"},
      {[](auto& r) { r.Bulk("a\r\n\0b"sv); }, "$5\r\na\r\n\0b\r\n"sv, "$5\r\na\r\n\0b\r\n"sv},
      {[](auto& r) { r.Null(); }, "$-1\r\n", "_\r\n"},
      {[](auto& r) { r.NullArray(); }, "*-1\r\n", "_\r\n"},
      {[](auto& r) { r.Array(0); }, "*0\r\n", "*0\r\n"},
      {[](auto& r) { r.Array(12); }, "*12\r\n", "*12\r\n"},
      {[](auto& r) { r.Map(2); }, "*4\r\n", "%2\r\n"},
      {[](auto& r) { r.Set(2); }, "*2\r\n", "~2\r\n"},
      {[](auto& r) { r.Push(3); }, "*3\r\n", ">3\r\n"},
      {[](auto& r) { r.Double(1.5); }, "$3\r\n1.5\r\n", ",1.5\r\n"},
      {[](auto& r) { r.Double(3.3); }, "$18\r\n3.2999999999999998\r\n", ",3.2999999999999998\r\n"},
      {[](auto& r) { r.Double(-INFINITY); }, "$4\r\n-inf\r\n", ",-inf\r\n"},
      {[](auto& r) { r.Bool(true); }, ":1\r\n", "#t\r\n"},
      {[](auto& r) { r.Bool(false); }, ":0\r\n", "#f\r\n"},
      {[](auto& r) { r.BigNumber("12345678901234567890"); }, "$20\r\n12345678901234567890\r\n",
       "(12345678901234567890\r\n"},
      {[](auto& r) { r.Verbatim("hi", "txt"); }, "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"},
      {[](auto& r) { r.Verbatim("hi", "m"); }, "$2\r\nhi\r\n", "=6\r\nm  :hi\r\n"},
      {[](auto& r) { r.Verbatim("hi", "markdown"); }, "$2\r\nhi\r\n", "=6\r\nmar:hi\r\n"},
      {[](auto& r) { r.Attribute(1); }, "", "|1\r\n"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Written(2, row.write), row.resp2);
    EXPECT_EQ(Written(3, row.write), row.resp3);
  }
}

// Sizes around those at which a reply goes another way: short ones, blocks' ends, a block of its
// own.
TEST(ReplyWriter, EverySizeComesOutWhole) {
  constexpr size_t kEdges[] = {size_t{30}, OutputBuffer::kFirstBlockBytes,
                               OutputBuffer::kBlockBytes / 4, OutputBuffer::kBlockBytes, 100000};
  for (const size_t edge : kEdges) {
    for (size_t size = edge - 30; size < edge + 30; ++size) {
      const std::string text(size, 'x');
      const std::string length = std::to_string(size);
      std::string expected;
      const std::string written = Written(3, [&](ReplyWriter& r) {
        for (const std::string_view before : {"", "a", "0123456789"}) {
          r.Status(before);
          r.Bulk(text);
          r.Status(text);
          r.Error(text);
          r.Verbatim(text, "txt");
        }
      });
      for (const std::string before : {"", "a", "0123456789"}) {
        expected += "+" + before + "\r\n$" + length + "\r\n" + text + "\r\n+" + text + "\r\n-" +
                    text + "\r\n=" + std::to_string(size + 4) + "\r\ntxt:" + text + "\r\n";
      }
      ASSERT_TRUE(written == expected) << size;
    }
  }
}

}  // namespace
}  // namespace sluice
