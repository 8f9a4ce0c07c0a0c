// Glob patterns as Redis reads them (KEYS, SCAN MATCH, PSUBSCRIBE, CONFIG GET): '*', '?', '[abc]',
// '[^a]', '[a-z]' and '\' before a character that stands for itself.
#pragma once

#include <string_view>

namespace sluice {

// Whether all of `text` matches. Time is bounded by the product of both lengths. As in Redis,
// nothing but the empty pattern matches empty text.
bool GlobMatches(std::string_view pattern, std::string_view text, bool ignore_case = false);

}  // namespace sluice
