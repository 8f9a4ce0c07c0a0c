// Requests valid and invalid, as redis-server 7.0.15 takes and refuses them, cut everywhere: how
// bytes arrive must make no difference.
#include "protocol/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

namespace sluice {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using Request = std::vector<std::string>;

static_assert(sizeof(RequestParser) <= 32, "every session has one");

struct Outcome {
  std::vector<Request> requests;
  std::string error;
  size_t left = 0;  // bytes not consumed

  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  for (const Request& request : outcome.requests) {
    out << testing::PrintToString(request) << " ";
  }
  return out << "error: '" << outcome.error << "' left: " << outcome.left;
}

// Feeds `bytes` cut at `cuts`. Each window is a heap block of its exact size and a new place, so
// that a sanitizer sees a read beyond it or a view kept from an earlier one.
Outcome Feed(std::string_view bytes, std::vector<size_t> cuts, const ParseLimits& limits = {}) {
  RequestParser parser;
  Outcome outcome;
  size_t used = 0;
  cuts.push_back(bytes.size());
  for (const size_t end : cuts) {
    while (true) {
      const size_t size = end - used;
      const auto window = std::make_unique<char[]>(size);
      std::copy_n(bytes.data() + used, size, window.get());
      ArgumentList arguments;
      arguments.push_back("kept");
      const ParseStatus status = parser.Next({window.get(), size}, limits, arguments);
      EXPECT_EQ(arguments[0], "kept");
      if (status != ParseStatus::kRequest) {
        EXPECT_EQ(arguments.size(), 1u);
      }
      if (status == ParseStatus::kError) {
        outcome.error = parser.error();
        return outcome;
      }
      if (status == ParseStatus::kIncomplete) {
        EXPECT_EQ(parser.idle(), size == 0);
        break;
      }
      EXPECT_TRUE(parser.idle());
      EXPECT_GT(parser.consumed(), 0u);
      EXPECT_LE(parser.consumed(), size);
      outcome.requests.emplace_back(arguments.begin() + 1, arguments.end());
      used += parser.consumed();
      parser.ReleaseInline();
    }
  }
  outcome.left = bytes.size() - used;
  return outcome;
}

// The outcome however the bytes are cut: nowhere, once anywhere, after every byte.
void ExpectOutcome(std::string_view bytes, const Outcome& expected,
                   const ParseLimits& limits = {}) {
  const Outcome whole = Feed(bytes, {}, limits);
  EXPECT_EQ(whole, expected) << testing::PrintToString(bytes);
  std::vector<size_t> every;
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    EXPECT_EQ(Feed(bytes, {cut}, limits), whole)
        << testing::PrintToString(bytes) << " cut at " << cut;
    every.push_back(cut);
  }
  EXPECT_EQ(Feed(bytes, every, limits), whole) << testing::PrintToString(bytes) << " bytewise";
}

std::string Encode(const Request& request) {
  std::string bytes = "*" + std::to_string(request.size()) + "\r\n";
  for (const std::string& argument : request) {
    bytes += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
  }
  return bytes;
}

TEST(RequestParser, Arrays) {
  const struct {
    std::string_view bytes;
    std::vector<Request> requests;
    size_t left = 0;
  } rows[] = {
      {"", {}},
      {"*1\r\n$4\r\nPING\r\n", {{"PING"}}},
      {"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$12\r\nabcdefghijkl\r\n", {{"SET", "k", "abcdefghijkl"}}},
      {"*2\r\n$0\r\n\r\n$4\r\n\r\n\0*\r\n"sv, {{"", "\r\n\0*"s}}},
      {"*0\r\n", {{}}},
      {"*-1\r\n*-5\r\n*1\r\n$1\r\na\r\n", {{}, {}, {"a"}}},
      {"*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n", {{"a"}, {"b"}}},
      // Redis looks for the CR of a line alone, and not at what follows a bulk.
      {"*1\rx$1\rxaxx*1\r\n$1\r\nb\r\n", {{"a"}, {"b"}}},
      {"*1\r\n$1\r\na", {}, 9},
      {"*1\r\n$1\r\na\r", {}, 10},
      {"*1\r", {}, 3},
      {"*2\r\n$1\r\na\r\n", {}, 11},
      {"*1\r\nx", {}, 5},                 // no line end yet, so no error yet
      {"*1\0\r\n$1\r\na\r\n"sv, {}, 12},  // a NUL hides the line's end
      {"*1\r\n$1\0\r\na\r\n"sv, {}, 12},
  };
  for (const auto& row : rows) ExpectOutcome(row.bytes, {row.requests, "", row.left});
}

TEST(RequestParser, InlineLines) {
  const struct {
    std::string_view line;
    Request request;
  } rows[] = {
      {"PING", {"PING"}},
      {"", {}},
      {"   ", {}},
      {"  set\ta   b  ", {"set", "a", "b"}},
      {"a\rb", {"a", "b"}},
      {"a\vb \vc", {"a\vb", "c"}},
      {"\"a b\"", {"a b"}},
      {"'a b'", {"a b"}},
      {"\"\" ''", {"", ""}},
      {"a\"b c\" d'e f'", {"ab c", "de f"}},
      {R"("\x41\xfF\x4" "\xg1")", {"A\xffx4", "xg1"}},
      {R"("\n\r\t\b\a\q\\\"")", {"\n\r\t\b\aq\\\""}},
      {R"('\n\'\\x')", {R"(\n'\\x)"}},
      {R"(a\ b \x41)", {"a\\", "b", "\\x41"}},
      {"\"a\"\vb", {"a", "b"}},
      {"\x80\xff", {"\x80\xff"}},
      {"$4 *1", {"$4", "*1"}},
  };
  for (const auto& row : rows) {
    for (const std::string_view end : {"\n", "\r\n"}) {
      const std::string bytes = std::string(row.line) + std::string(end) + "*1\r\n$1\r\nx\r\n";
      ExpectOutcome(bytes, {{row.request, {"x"}}, ""});
    }
  }
  ExpectOutcome("PING", {{}, "", 4});
  ExpectOutcome("PI\0NG\r\n"sv, {{}, "", 7});
  ExpectOutcome("\r\r\n", {{{}}, ""});
}

TEST(RequestParser, UnbalancedQuotes) {
  for (const std::string_view line : {"\"a", "'a", "\"a\"b", "'a'b", "\"a\\", "\"a\\\"", "'a\\'",
                                      "a\"", "x y 'z", "\"a\"'b'", "\"", R"({"a":1})"}) {
    for (const std::string_view end : {"\n", "\r\n"}) {
      const std::string bytes = "ok\r\n" + std::string(line) + std::string(end);
      ExpectOutcome(bytes, {{{"ok"}}, "Protocol error: unbalanced quotes in request"});
    }
  }
}

TEST(RequestParser, Errors) {
  const std::string count = "Protocol error: invalid multibulk length";
  const std::string bulk = "Protocol error: invalid bulk length";
  const struct {
    std::string_view bytes;
    std::string error;
  } rows[] = {
      {"*\r\n", count},
      {"*a\r\n", count},
      {"*01\r\n", count},
      {"*+1\r\n", count},
      {"* 1\r\n", count},
      {"*-0\r\n", count},
      {"*1\n\r\n", count},
      {"*2147483648\r\n", count},
      {"*99999999999999999999\r\n", count},
      {"*1\r\n$\r\n", bulk},
      {"*1\r\n$a\r\n", bulk},
      {"*1\r\n$-1\r\n", bulk},
      {"*1\r\n$01\r\nab\r\n", bulk},
      {"*1\r\n$4a\r\nPING\r\n", bulk},
      {"*1\r\n$123a\r\n", bulk},
      {"*1\r\n$536870913\r\n", bulk},
      {"*1\r\n$9223372036854775808\r\n", bulk},
      {"*1\r\nx1\r\na\r\n", "Protocol error: expected '$', got 'x'"},
      {"*1\r\n\r\na\r\n", "Protocol error: expected '$', got ' '"},
      {"*2\r\n$1\r\na\r\n*1\r\n", "Protocol error: expected '$', got '*'"},
      {"*1\r\n\xff\r\n", "Protocol error: expected '$', got '\xff'"},
  };
  for (const auto& row : rows) {
    ExpectOutcome(row.bytes, {{}, row.error});
    ExpectOutcome(Encode({"a", "bc"}) + std::string(row.bytes), {{{"a", "bc"}}, row.error});
  }
}

TEST(RequestParser, BeforeLogin) {
  const ParseLimits limits = {.before_login = true};
  const Request ten(10, "x");
  ExpectOutcome(Encode(ten), {{ten}, ""}, limits);
  ExpectOutcome("*11\r\n", {{}, "Protocol error: unauthenticated multibulk length"}, limits);
  ExpectOutcome("*2147483648\r\n", {{}, "Protocol error: invalid multibulk length"}, limits);
  ExpectOutcome("*1\r\n$16385\r\n", {{}, "Protocol error: unauthenticated bulk length"}, limits);
  ExpectOutcome("*1\r\n$536870913\r\n", {{}, "Protocol error: invalid bulk length"}, limits);
  const Request large = {std::string(16384, 'x')};
  EXPECT_EQ(Feed(Encode(large), {5000}, limits), (Outcome{{large}, ""}));
  const Request larger = {std::string(16385, 'x')};
  EXPECT_EQ(Feed(Encode(larger), {}, limits).error, "Protocol error: unauthenticated bulk length");
}

TEST(RequestParser, LimitsOfTheCaller) {
  const ParseLimits limits = {.arguments_max = 2, .bulk_bytes_max = 3};
  ExpectOutcome(Encode({"abc", "d"}), {{{"abc", "d"}}, ""}, limits);
  ExpectOutcome(Encode({"a", "b", "c"}), {{}, "Protocol error: invalid multibulk length"}, limits);
  ExpectOutcome(Encode({"abcd"}), {{}, "Protocol error: invalid bulk length"}, limits);
  ExpectOutcome(Encode({"abcd", "d"}), {{}, "Protocol error: invalid bulk length"}, limits);
}

TEST(RequestParser, EndlessLines) {
  const struct {
    std::string_view start, error;
  } rows[] = {
      {"x", "Protocol error: too big inline request"},
      {"*", "Protocol error: too big mbulk count string"},
      {"*1\r\n$", "Protocol error: too big bulk count string"},
      {"*1\r\n", "Protocol error: too big bulk count string"},
  };
  for (const auto& row : rows) {
    const size_t before = row.start.find("\r\n") == row.start.npos ? 0 : 4;
    std::string bytes(row.start);
    bytes.append(kInlineBytesMax + before - bytes.size(), '1');
    EXPECT_EQ(Feed(bytes, {1000}).error, "") << row.start;
    EXPECT_EQ(Feed(bytes, {1000}).left, bytes.size()) << row.start;
    EXPECT_EQ(Feed(bytes + "1", {1000}).error, row.error);
    EXPECT_EQ(Feed(bytes + "1", {bytes.size()}).error, row.error);
    // Found in a window that Redis could never have seen.
    EXPECT_EQ(Feed(bytes + std::string(16 * 1024, '1') + "\r\n", {}).error, row.error);
  }
  const std::string longest(kInlineBytesMax - 1, 'x');
  EXPECT_EQ(Feed(longest + "\n", {500, 60000}), (Outcome{{{longest}}, ""}));
}

TEST(RequestParser, BytesWanted) {
  RequestParser parser;
  ArgumentList arguments;
  const auto wanted = [&](std::string_view window) {
    EXPECT_EQ(parser.Next(window, {}, arguments), ParseStatus::kIncomplete);
    return parser.bytes_wanted();
  };
  EXPECT_EQ(wanted("*2\r\n$3\r"), 0u);
  EXPECT_EQ(wanted("*2\r\n$3\r\n"), 13u);
  EXPECT_EQ(wanted("*2\r\n$3\r\nabc\r\n"), 0u);
  EXPECT_EQ(wanted("*2\r\n$3\r\nabc\r\n$1000000\r\nx"), 13u + 10 + 1000000 + 2);
  parser.Reset();
  EXPECT_EQ(parser.bytes_wanted(), 0u);
  EXPECT_TRUE(parser.idle());
}

TEST(RequestParser, DeclaredCountReservesNothing) {
  for (const std::string_view bytes :
       {"*1048576\r\n", "*1000000\r\n$1\r\na\r\n", "*1000\r\n$1\r\na\r\n$1\r\n"}) {
    RequestParser parser;
    ArgumentList arguments;
    EXPECT_EQ(parser.Next(bytes, {}, arguments), ParseStatus::kIncomplete);
    EXPECT_EQ(arguments.capacity(), 0u);
  }
}

// Views of several inline requests stay good together, until they are released.
TEST(RequestParser, UnescapedTextOutlivesTheNextRequest) {
  RequestParser parser;
  ArgumentList arguments;
  std::string window;
  for (int i = 0; i < 100; ++i) window += "\"a" + std::to_string(i) + "\"\n";
  for (size_t used = 0; used < window.size(); used += parser.consumed()) {
    ASSERT_EQ(parser.Next(std::string_view(window).substr(used), {}, arguments),
              ParseStatus::kRequest);
  }
  ASSERT_EQ(arguments.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(arguments[i], "a" + std::to_string(i));
}

TEST(RequestParser, ManyArgumentsAndLargeOnes) {
  Request request;
  for (int i = 0; i < 5000; ++i) request.push_back(std::string(i % 130, 'x'));
  request.push_back(std::string(3 << 20, 'y'));
  const std::string bytes = Encode(request) + Encode({"z"});
  EXPECT_TRUE(Feed(bytes, {}) == (Outcome{{request, {"z"}}, ""}));
  std::vector<size_t> cuts;
  for (size_t cut = 100000; cut < bytes.size(); cut += 100000) cuts.push_back(cut);
  EXPECT_TRUE(Feed(bytes, cuts) == (Outcome{{request, {"z"}}, ""}));
}

TEST(RequestParser, RandomRequestsCutAtRandom) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    Outcome expected;
    std::string bytes;
    for (size_t n = random() % 5 + 1; n > 0; --n) {
      Request request;
      for (size_t i = random() % 15 + 1; i > 0; --i) {
        std::string argument(random() % (random() % 10 == 0 ? 2000 : 12), '\0');
        for (char& c : argument) c = "\r\n*$0 \"'\\abc"[random() % 13];
        request.push_back(argument);
      }
      bytes += Encode(request);
      expected.requests.push_back(request);
    }
    EXPECT_EQ(Feed(bytes, {}), expected);
    std::vector<size_t> cuts;
    for (size_t n = random() % 10; n > 0; --n) cuts.push_back(random() % bytes.size());
    std::sort(cuts.begin(), cuts.end());
    EXPECT_EQ(Feed(bytes, cuts), expected);
  }
}

}  // namespace
}  // namespace sluice
