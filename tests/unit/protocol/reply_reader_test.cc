// Replies valid and invalid, cut everywhere, and round trips through ReplyWriter.
#include "protocol/reply_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/write_reply.h"

namespace sluice {
namespace {

using namespace std::string_view_literals;

struct Row {
  std::string_view bytes;
  std::string_view text;
};

constexpr Row kValid[] = {
    {"+OK\r\n", "+OK"},
    {"+\r\n", "+"},
    {"-ERR no\r\n", "-ERR no"},
    {":1\r\n", ":1"},
    {":-9223372036854775808\r\n", ":-9223372036854775808"},
    {"$0\r\n\r\n", "\"\""},
    {"$5\r\na\r\n\0\"\r\n"sv, "\"a\\r\\n\\x00\\\"\""},
    {"$2\r\n\xff\\\r\n", "\"\\xff\\\\\""},
    {"$-1\r\n", "(nil)"},
    {"_\r\n", "(nil)"},
    {"*-1\r\n", "(nil-array)"},
    {"*0\r\n", "[]"},
    {"*2\r\n:1\r\n*1\r\n+a\r\n", "[:1, [+a]]"},
    {"%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n", "{+a => :1, +b => :2}"},
    {"%0\r\n", "{}"},
    {"~2\r\n:1\r\n:2\r\n", "~[:1, :2]"},
    {">2\r\n+message\r\n$1\r\nx\r\n", ">[+message, \"x\"]"},
    {",1.5\r\n", ",1.5"},
    {",-inf\r\n", ",-inf"},
    {",nan\r\n", ",nan"},
    {"#t\r\n", "#t"},
    {"#f\r\n", "#f"},
    {"(12345678901234567890\r\n", "(12345678901234567890"},
    {"=7\r\ntxt:a\nb\r\n", "=txt:a\\nb"},
    {"|1\r\n+ttl\r\n:5\r\n", "|{+ttl => :5}"},
    {"*2\r\n|1\r\n+ttl\r\n:5\r\n+a\r\n+b\r\n", "[|{+ttl => :5} +a, +b]"},
};

constexpr std::string_view kInvalid[] = {
    "x",
    "\r\n",
    "PING\r\n",
    "+a\rb\r\n",
    "+a\nb\r\n",
    ":\r\n",
    ":1a\r\n",
    ":+1\r\n",
    ":9223372036854775808\r\n",
    ":00000000000000000000000000000000000000001",
    "$-2\r\n",
    "$x\r\n",
    "$?\r\n",
    "$536870913\r\n",
    "$1\r\nab",
    "$1\r\na\rx",
    "*-2\r\n",
    "*?\r\n",
    "*9999999999\r\n",
    "*1\r\nx",
    "%-1\r\n",
    "~-1\r\n",
    ">-1\r\n",
    "_a\r\n",
    "#\r\n",
    "#x\r\n",
    "#tt\r\n",
    ",\r\n",
    ",abc\r\n",
    "=3\r\nabc\r\n",
    "=-1\r\n",
    "=5\r\ntxt;a\r\n",
};

TEST(ReplyReader, ReadsAndShowsEveryKind) {
  for (const Row& row : kValid) {
    ReplyReader reader;
    const std::string followed = std::string(row.bytes) + "+next\r\n";
    const std::optional<Reply> reply = reader.Read(followed);
    ASSERT_TRUE(reply) << row.text;
    EXPECT_EQ(reader.consumed(), row.bytes.size()) << row.text;
    EXPECT_EQ(reply->ToText(), row.text);
  }
}

TEST(ReplyReader, EveryPrefixIsIncomplete) {
  for (const Row& row : kValid) {
    for (size_t cut = 0; cut < row.bytes.size(); ++cut) {
      ReplyReader reader;
      const std::string prefix(row.bytes.substr(0, cut));
      EXPECT_FALSE(reader.Read(prefix)) << row.text << " cut at " << cut;
      EXPECT_FALSE(reader.failed()) << row.text << " cut at " << cut;
    }
  }
}

TEST(ReplyReader, RefusesWhatIsNoReply) {
  for (const std::string_view bytes : kInvalid) {
    ReplyReader reader;
    EXPECT_FALSE(reader.Read(bytes)) << bytes;
    EXPECT_TRUE(reader.failed()) << bytes;
    EXPECT_TRUE(reader.Read("+OK\r\n")) << "a reader has no memory";
    EXPECT_FALSE(reader.failed());
  }
}

TEST(ReplyReader, DepthIsBounded) {
  const auto nested = [](int depth) {
    std::string bytes;
    for (int i = 0; i < depth; ++i) bytes += "*1\r\n";
    return bytes + ":1\r\n";
  };
  ReplyReader reader;
  EXPECT_TRUE(reader.Read(nested(ReplyReader::kDepthMax)));
  EXPECT_FALSE(reader.Read(nested(ReplyReader::kDepthMax + 1)));
  EXPECT_TRUE(reader.failed());
  EXPECT_FALSE(reader.Read(nested(100000)));
  EXPECT_TRUE(reader.failed());
}

TEST(ReplyReader, HugeCountCostsNothingBeforeItsElements) {
  ReplyReader reader;
  EXPECT_FALSE(reader.Read("*2000000000\r\n:1\r\n"));
  EXPECT_FALSE(reader.failed());
}

// A random reply as RESP3 can carry it.
Reply RandomReply(std::mt19937& random, int depth) {
  using Kind = Reply::Kind;
  Reply reply;
  const auto bytes = [&](std::string_view alphabet) {
    std::string text(random() % 20, '\0');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    return text;
  };
  const auto elements = [&](size_t per_count) {
    for (size_t n = random() % 4 * per_count; n > 0; --n) {
      reply.elements.push_back(RandomReply(random, depth + 1));
    }
  };
  switch (random() % (depth < 4 ? 13 : 9)) {
    case 0:
      reply.kind = Kind::kStatus;
      reply.text = bytes("abc DEF");
      break;
    case 1:
      reply.kind = Kind::kError;
      reply.text = "ERR " + bytes("abc");
      break;
    case 2:
      reply.kind = Kind::kInteger;
      reply.integer = static_cast<int64_t>(random()) - INT32_MAX;
      break;
    case 3:
      reply.kind = Kind::kBulk;
      reply.text = bytes("\r\n\0\xff$*ab"sv);
      break;
    case 4:
      reply.kind = Kind::kNull;
      break;
    case 5:
      reply.kind = Kind::kDouble;
      reply.text = DoubleText(random() / 1000.0);
      break;
    case 6:
      reply.kind = Kind::kBool;
      reply.integer = random() % 2;
      break;
    case 7:
      reply.kind = Kind::kBigNumber;
      reply.text = "1" + bytes("0123456789");
      break;
    case 8:
      reply.kind = Kind::kVerbatim;
      reply.text = "txt:" + bytes("a\r\n");
      break;
    case 9:
      reply.kind = Kind::kArray;
      elements(1);
      break;
    case 10:
      reply.kind = Kind::kMap;
      elements(2);
      break;
    case 11:
      reply.kind = Kind::kSet;
      elements(1);
      break;
    case 12:
      reply.kind = Kind::kPush;
      elements(1);
      break;
  }
  return reply;
}

TEST(ReplyReader, RoundTripsThroughTheWriter) {
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    const Reply reply = RandomReply(random, 0);
    const std::string bytes = Resp3Of(reply);
    ReplyReader reader;
    const std::optional<Reply> read = reader.Read(bytes);
    ASSERT_TRUE(read) << reply.ToText();
    ASSERT_EQ(reader.consumed(), bytes.size());
    ASSERT_EQ(*read, reply) << reply.ToText() << "\n" << read->ToText();
    const size_t cut = random() % bytes.size();
    ASSERT_FALSE(reader.Read(std::string_view(bytes).substr(0, cut)));
    ASSERT_FALSE(reader.failed());
  }
}

}  // namespace
}  // namespace sluice
