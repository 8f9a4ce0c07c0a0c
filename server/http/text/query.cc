// See query.h.
#include "server/http/text/query.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/hex.h"
#include "server/http/text/shown_name.h"

namespace sluice {
namespace {

constexpr size_t kTypeBytesMax = 32;

// %41 and '+' as forms of the web write them. Nothing: half an escape.
std::optional<std::string> Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low < 0) return std::nullopt;
    plain += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return plain;
}

template <typename T>
bool ReadNumber(std::string_view text, T& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

struct QueryField {
  std::string_view name;
  std::string_view fault;
  bool (*read)(std::string&& value, int databases, ApiQuery& query);
};
constexpr QueryField kQueryFields[] = {
    {"db", "there is no such database",
     [](std::string&& value, int databases, ApiQuery& query) {
       return ReadNumber(value, query.db) && query.db >= 0 && query.db < databases;
     }},
    {"match", "match takes a glob of at most 128 bytes",
     [](std::string&& value, int, ApiQuery& query) {
       query.match = std::move(value);
       return query.match.size() <= kMatchBytesMax;
     }},
    {"type", "type takes a type of keys",
     [](std::string&& value, int, ApiQuery& query) {
       query.type = std::move(value);
       return query.type.size() <= kTypeBytesMax;
     }},
    {"cursor", "cursor takes the number that an answer before gave",
     [](std::string&& value, int, ApiQuery& query) { return ReadNumber(value, query.cursor); }},
    {"rows", "rows takes a number from 1 to 100",
     [](std::string&& value, int, ApiQuery& query) {
       return ReadNumber(value, query.rows) && query.rows >= 1 && query.rows <= kQueryRowsMax;
     }},
    {"key", "key takes the id of a name, which has at most 1024 bytes",
     [](std::string&& value, int, ApiQuery& query) {
       query.key = NameOfId(value);
       return query.key.has_value();
     }},
    {"max_lag_ms", "max_lag_ms takes a number of milliseconds",
     [](std::string&& value, int, ApiQuery& query) {
       int64_t number = -1;
       if (!ReadNumber(value, number) || number < 0) return false;
       query.max_lag_ms = number;
       return true;
     }},
};
static_assert(kMatchBytesMax == 128 && kNameBytesMax == 1024 &&
              kQueryRowsMax == 100);  // as the sentences say

}  // namespace

Fault ReadQuery(std::string_view text, int databases, ApiQuery& query) {
  uint32_t seen = 0;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals == pair.npos) return "a value stands behind each name and '='";
    uint32_t bit = 1;
    const QueryField* field = nullptr;
    for (const QueryField& each : kQueryFields) {
      if (each.name == pair.substr(0, equals)) {
        field = &each;
        break;
      }
      bit <<= 1;
    }
    if (field == nullptr) return "there is db, match, type, cursor, rows and key";
    if (seen & bit) return Concat(field->name, " stands there twice");
    seen |= bit;
    std::optional<std::string> value = Unescaped(pair.substr(equals + 1));
    if (!value || !field->read(std::move(*value), databases, query))
      return std::string(field->fault);
  }
  return {};
}

}  // namespace sluice
