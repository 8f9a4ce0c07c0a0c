// struct.unpack takes any format and any bytes; what it makes of them is packed and unpacked
// without a change, and as long as struct.size says.
#include "tests/fuzz/fuzz_script.h"

namespace sluice {
namespace {

// The format ends at the first bar.
constexpr std::string_view kText = R"(
local format, data = string.match(ARGV[1], '^([^|]*)|?(.*)$')
local sized, size = pcall(struct.size, format)
local function values(...)
  return {...}, select('#', ...) - 1
end
local first, n = values(struct.unpack(format, data))
local one = struct.pack(format, unpack(first, 1, n))
if sized and size ~= #one then return 'size' end
local second, m = values(struct.unpack(format, one))
return n == m and struct.pack(format, unpack(second, 1, m)) == one
)";

}  // namespace

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "<"sv,
      ">"sv,
      "="sv,
      "!"sv,
      "!4"sv,
      "!8"sv,
      "!3"sv,
      "!99999999999"sv,
      "x"sv,
      "b"sv,
      "B"sv,
      "h"sv,
      "H"sv,
      "l"sv,
      "L"sv,
      "T"sv,
      "i"sv,
      "I"sv,
      "i1"sv,
      "I3"sv,
      "i7"sv,
      "I8"sv,
      "i9"sv,
      "i32"sv,
      "I33"sv,
      "i2147483648"sv,
      "f"sv,
      "d"sv,
      "s"sv,
      "c"sv,
      "c0"sv,
      "c5"sv,
      "c2147483647"sv,
      "c4294967295"sv,
      " "sv,
      "z"sv,
      "|"sv,
      "|"sv,
      "|abcdefgh"sv,
      "\0"sv,
      "\xff\xff\xff\xff\xff\xff\xff\xff"sv,
      "\x00\x00\x00\x00\x00\x00\xf8\x7f"sv,
      "\x00\x00\x00\x00\x00\x00\x00\x80"sv,
      "\x05"sv,
      "text\0"sv,
  };
  return kWords;
}

}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static sluice::FuzzScript script(sluice::kText);
  const std::string_view arguments[] = {{reinterpret_cast<const char*>(data), size}};
  const std::string reply = script.Run(arguments);
  sluice::FuzzCheck(reply.empty() || reply == ":1\r\n", "packed again it is the same");
  return 0;
}
