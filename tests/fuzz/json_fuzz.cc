// cjson.decode takes any text; what it makes of it is encoded and decoded without a change.
#include "tests/fuzz/fuzz_script.h"

namespace sluice {
namespace {

constexpr std::string_view kText = R"(
cjson.decode_max_depth(tonumber(ARGV[2]))
cjson.encode_invalid_numbers(true)
cjson.encode_sparse_array(true)
local one = cjson.encode(cjson.decode(ARGV[1]))
local two = cjson.encode(cjson.decode(one))
return #two == #cjson.encode(cjson.decode(two))
)";

}  // namespace

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "{"sv,
      "}"sv,
      "["sv,
      "]"sv,
      ","sv,
      ":"sv,
      " "sv,
      "\n"sv,
      "\""sv,
      "\"a\""sv,
      "\"a\":"sv,
      "\\"sv,
      "\\n"sv,
      "\\/"sv,
      "\\u"sv,
      "\\u0000"sv,
      "\\u00e9"sv,
      "\\ud83d\\ude00"sv,
      "\\ud83d"sv,
      "\\ude00"sv,
      "\\x"sv,
      "true"sv,
      "false"sv,
      "null"sv,
      "tru"sv,
      "nan"sv,
      "-NaN"sv,
      "inf"sv,
      "-Infinity"sv,
      "0x1F"sv,
      "0x"sv,
      "1"sv,
      "-1"sv,
      "-"sv,
      "+1"sv,
      "01"sv,
      "1.5"sv,
      "1e5"sv,
      "1e999"sv,
      "-0"sv,
      "123456789012345"sv,
      "1234567890123456789"sv,
      "."sv,
      "e"sv,
      "\0"sv,
      "\x7f"sv,
      "\xff"sv,
      "[[[[[[[["sv,
      "{\"a\":{\"a\":"sv,
  };
  return kWords;
}

}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static sluice::FuzzScript script(sluice::kText);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string depth = std::to_string(1 + (size == 0 ? 0 : data[size - 1] % 8));
  const std::string_view arguments[] = {text, depth};
  const std::string reply = script.Run(arguments);
  sluice::FuzzCheck(reply.empty() || reply == ":1\r\n", "encoded again it is as long");
  return 0;
}
