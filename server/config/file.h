// The syntax of redis.conf: one directive a line, words between spaces, quotes and escapes as in C.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Redis's sdssplitargs: false when quotes are unbalanced. Text ends at its first NUL.
bool SplitWords(std::string_view line, std::vector<std::string>& words);
// Redis's sdscatrepr: the text in double quotes, so that SplitWords gives it back.
std::string QuotedWord(std::string_view text);
// Without spaces, tabs and line ends around it.
std::string_view TrimLine(std::string_view line);

}  // namespace sluice
