// cmsgpack.unpack takes any bytes; what it makes of them is packed and unpacked without a change.
// (The first packing may cut what is too deep, and an array's holes show with the second.)
#include "tests/fuzz/fuzz_script.h"

namespace sluice {
namespace {

constexpr std::string_view kText = R"(
local function pack(...)
  if select('#', ...) == 0 then return '' end
  return cmsgpack.pack(...)
end
local position, count = tonumber(ARGV[2]), 0
while position ~= -1 do
  local next = cmsgpack.unpack_limit(ARGV[1], 3, position)
  if next ~= -1 and next <= position then return 0 end
  position = next
end
local two = pack(cmsgpack.unpack(pack(cmsgpack.unpack(ARGV[1]))))
return #pack(cmsgpack.unpack(two)) == #two
)";

}  // namespace

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "\x00"sv,
      "\x7f"sv,
      "\x80"sv,
      "\x81"sv,
      "\x82\xa1"
      "a\x01\xa1"
      "b"sv,
      "\x8f"sv,
      "\x90"sv,
      "\x91"sv,
      "\x92\x01"sv,
      "\x9f"sv,
      "\xa0"sv,
      "\xa1x"sv,
      "\xbf"sv,
      "\xc0"sv,
      "\xc1"sv,
      "\xc2"sv,
      "\xc3"sv,
      "\xc4\x02zz"sv,
      "\xc7"sv,
      "\xca\x3f\x80\x00\x00"sv,
      "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01"sv,
      "\xcc\xff"sv,
      "\xcd\xff\xff"sv,
      "\xce\xff\xff\xff\xff"sv,
      "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"sv,
      "\xd0\x80"sv,
      "\xd1\x80\x00"sv,
      "\xd2\x80\x00\x00\x00"sv,
      "\xd3\x80\x00\x00\x00\x00\x00\x00\x00"sv,
      "\xd4"sv,
      "\xd9\x02hi"sv,
      "\xda\x00\x01y"sv,
      "\xdb\xff\xff\xff\xff"sv,
      "\xdc\x00\x02"sv,
      "\xdd\x00\x00\x00\x01"sv,
      "\xdd\x7f\xff\xff\xff"sv,
      "\xde\x00\x01"sv,
      "\xdf\x00\x00\x00\x01"sv,
      "\xdf\xff\xff\xff\xff"sv,
      "\xe0"sv,
      "\xff"sv,
  };
  return kWords;
}

}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static sluice::FuzzScript script(sluice::kText);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string start = std::to_string(size == 0 ? 0 : data[size - 1] % 4);
  const std::string_view arguments[] = {bytes, start};
  const std::string reply = script.Run(arguments);
  sluice::FuzzCheck(reply.empty() || reply == ":1\r\n", "packed again it is as large");
  return 0;
}
