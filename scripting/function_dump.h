// The payload of FUNCTION DUMP: for each library the byte 0xF5 and its code as an RDB string, then
// the RDB version (2 bytes, low first) and a CRC64 of all before it. Redis reads what is written
// here, and what Redis writes (strings of every encoding) is read.
//
// One library "#!lua name=a\n..." of 40 bytes, as FUNCTION DUMP gives it:
//
//   f5 | 28 "#!lua name=a ..." | 0a 00 | crc64, 8 bytes
//   function, length, code       version 10
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct FunctionDump {
  std::vector<std::string> codes;
  std::string_view error;  // why there are no more, if that is not the end
};

// Never compressed: any reader takes that. O(bytes).
std::string WriteFunctionDump(std::span<const std::string_view> codes);
// Null: not whole, or of an unknown version. Things other than functions in a sealed payload are
// told in their place: after the libraries before them, which may have faults of their own.
std::optional<FunctionDump> ReadFunctionDump(std::string_view payload);

}  // namespace sluice
