// Any bytes, cut anywhere, give the same requests and the same error; every view lies in the window
// or is unescaped text. The first two bytes of the input choose the limits and the cuts.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "protocol/request_parser.h"
#include "tests/fuzz/fuzz_target.h"

namespace sluice {
namespace {

struct Outcome {
  std::vector<std::vector<std::string>> requests;
  std::string error;
  bool operator==(const Outcome&) const = default;
};

// Takes all requests from the window of `bytes` that ends at `end`, which lies in a new place each
// time. False after an error.
bool ReadWindow(RequestParser& parser, std::string_view bytes, size_t end,
                const ParseLimits& limits, size_t& used, Outcome& outcome) {
  while (true) {
    const size_t size = end - used;
    const auto window = std::make_unique<char[]>(size);
    std::copy_n(bytes.data() + used, size, window.get());
    ArgumentList arguments;
    const ParseStatus status = parser.Next({window.get(), size}, limits, arguments);
    if (status == ParseStatus::kError) {
      outcome.error = parser.error();
      FuzzCheck(!outcome.error.empty(), "an error has a text");
      return false;
    }
    if (status == ParseStatus::kIncomplete) {
      FuzzCheck(arguments.empty(), "an incomplete request gives no arguments");
      FuzzCheck(parser.bytes_wanted() == 0 || parser.bytes_wanted() > size, "more is wanted");
      return true;
    }
    FuzzCheck(parser.consumed() > 0 && parser.consumed() <= size, "consumed within the window");
    FuzzCheck(parser.idle(), "idle between requests");
    outcome.requests.emplace_back(arguments.begin(), arguments.end());
    used += parser.consumed();
    parser.ReleaseInline();
  }
}

Outcome Feed(std::string_view bytes, size_t step, const ParseLimits& limits) {
  RequestParser parser;
  Outcome outcome;
  size_t used = 0;
  for (size_t end = 0; end < bytes.size();) {
    end = std::min(end + step, bytes.size());
    if (!ReadWindow(parser, bytes, end, limits, used, outcome)) break;
  }
  return outcome;
}

}  // namespace

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "*1\r\n"sv,
      "*2\r\n"sv,
      "*12\r\n"sv,
      "*0\r\n"sv,
      "*-1\r\n"sv,
      "*"sv,
      "$"sv,
      "$0\r\n\r\n"sv,
      "$1\r\na\r\n"sv,
      "$10\r\n0123456789\r\n"sv,
      "$100\r\n"sv,
      "$3\r\nSET\r\n"sv,
      "\r\n"sv,
      "\n"sv,
      "\r"sv,
      "\0"sv,
      "1"sv,
      "0"sv,
      "-"sv,
      "9999999999"sv,
      "536870913"sv,
      "PING"sv,
      " "sv,
      "\""sv,
      "'"sv,
      "\\"sv,
      "\\x41"sv,
      "\\n"sv,
      "a b"sv,
      "\"a b\" "sv,
      "*1\r\n$4\r\nPING\r\n"sv,
      "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nvv\r\n"sv,
      "*2\r\n$0\r\n\r\n$12\r\nabcdefghijkl\r\n"sv,
      "set key 'a \\'b' \"\\x00\\n\"\r\n"sv,
  };
  return kWords;
}

}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  if (size < 2) return 0;
  ParseLimits limits;
  if (data[0] % 4 >= 2) limits = {.arguments_max = 3, .bulk_bytes_max = 8};
  limits.before_login = data[0] % 2 == 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  // Beyond this, where a line is refused depends on the cuts, as in Redis.
  if (bytes.size() > kInlineBytesMax) return 0;
  const Outcome whole = Feed(bytes, bytes.size(), limits);
  FuzzCheck(Feed(bytes, 1, limits) == whole, "byte by byte gives the same");
  FuzzCheck(Feed(bytes, data[1] % 32 + 2, limits) == whole, "in pieces gives the same");
  return 0;
}
