// Names of keys and owners, which may be any bytes, as the page shows them: UTF-8 in which each
// character can be seen, of bounded length; and, for requests to come, the bytes themselves.
//
//   WriteName(json, "a\xff\n")     {"text":"a\\xff\\x0a","bytes":3,"id":"Yf8K"}
//
// Bytes that are no UTF-8, controls, and characters that have no shape or turn the direction of the
// text behind them are written as \xNN or \u{NNNN}, and a backslash as two: so two names never look
// alike for such a reason. A long name shows its begin; `bytes` is the length of the whole.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/text/json_text.h"

namespace sluice {

inline constexpr size_t kShownCharactersMax = 120;
// A name that is longer has no id: it can be looked at, but not asked for.
inline constexpr size_t kNameBytesMax = 1024;

// The first characters of `bytes`.
std::string ShownText(std::string_view bytes, size_t characters_max = kShownCharactersMax);

// An object, as a value.
void WriteName(JsonText& json, std::string_view bytes);

// An id that has come back. Nothing: it is none.
std::optional<std::string> NameOfId(std::string_view id);

}  // namespace sluice
