// The payload of FUNCTION DUMP: for each library the byte 0xF5 and its code as an RDB string, then
// the RDB version (2 bytes, low first) and a CRC64 of all before it. Redis reads what is written
// here, and what Redis writes (compressed strings too) is read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

std::string WriteFunctionDump(std::span<const std::string_view> codes);
// Null: not whole, or not of a version that is known.
std::optional<std::vector<std::string>> ReadFunctionDump(std::string_view payload);

}  // namespace sluice
