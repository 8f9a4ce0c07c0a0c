// From the text of an option's value to what the server uses, and back. Errors are Redis's words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/config/options.h"

namespace sluice {

// The value in its one canonical form ("1gb" is "1073741824", "YES" is "yes"); null with a sentence
// in `fault`. For shapes other than kList there is exactly one value.
std::optional<std::string> Canonical(const OptionShape& shape, OptionValues values,
                                     std::string& fault);

// Redis's memtoull: digits and b, k, kb, m, mb, g or gb in any case; wraps beyond 64 bits as there.
std::optional<uint64_t> ParseMemory(std::string_view text);
// In the largest of gb, mb and kb that divides it, else in bytes: "64mb", "1000".
std::string MemoryText(uint64_t bytes);

// Reads and writes an option that has a field. Requires: option.field is not empty.
std::string ReadField(const Option& option, OptionValues values, Settings& settings);
std::string WriteField(const Option& option, const Settings& settings);

// Pieces between single spaces; none at all of empty text, as Redis's sdssplitlen.
std::vector<std::string> SplitAtSpaces(std::string_view text);

}  // namespace sluice
