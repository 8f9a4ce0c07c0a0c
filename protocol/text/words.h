// Words of a line as Redis takes them apart, in configuration files and in the first line of a
// library: between spaces, with quotes and escapes as in C.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// SplitWords(R"(save 900 "a b\n" 'c')") gives save, 900, a b and a line end, c.
//
// Redis's sdssplitargs: false when quotes are unbalanced. Text ends at its first NUL.
bool SplitWords(std::string_view line, std::vector<std::string>& words);
// Redis's sdscatrepr: the text in double quotes, so that SplitWords gives it back.
std::string QuotedWord(std::string_view text);
// Bytes of a stranger inside a sentence: escaped as there, without quotes, and not more than so
// many of them; "..." stands for the rest.
std::string EscapedText(std::string_view text, size_t bytes_max);

}  // namespace sluice
