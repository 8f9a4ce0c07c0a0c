// See action_body.h.
#include "server/http/text/action_body.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "protocol/text/concat.h"
#include "server/http/text/shown_name.h"

namespace sluice {
namespace {

constexpr int64_t kTokenMax = int64_t{1} << 53;

// Takes pieces off the begin of a text; the first that does not fit is the fault of all that
// follow.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  bool Take(char c) {
    Skip();
    if (left_.empty() || left_[0] != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  // The text between the quotes of a string without escapes.
  std::optional<std::string_view> TakeString() {
    if (!Take('"')) return std::nullopt;
    const size_t end = left_.find_first_of("\"\\");
    if (end == left_.npos || left_[end] != '"') return std::nullopt;
    const std::string_view text = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    return text;
  }
  // Digits alone.
  std::optional<int64_t> TakeNumber() {
    Skip();
    int64_t number = 0;
    const char* const end = left_.data() + left_.size();
    if (left_.empty() || left_[0] == '-') return std::nullopt;
    const auto [stop, error] = std::from_chars(left_.data(), end, number);
    if (error != std::errc()) return std::nullopt;
    left_.remove_prefix(static_cast<size_t>(stop - left_.data()));
    return number;
  }
  bool IsAtEnd() {
    Skip();
    return left_.empty();
  }

 private:
  void Skip() { left_.remove_prefix(std::min(left_.find_first_not_of(" \t\r\n"), left_.size())); }
  std::string_view left_;
};

struct Field {
  std::string_view name;
  std::string_view fault;
  bool (*read)(Reader& reader, int databases, ActionBody& body);
};
constexpr Field kFields[] = {
    {"db", "there is no such database",
     [](Reader& reader, int databases, ActionBody& body) {
       const std::optional<int64_t> db = reader.TakeNumber();
       if (!db || *db >= databases) return false;
       body.db = static_cast<int>(*db);
       return true;
     }},
    {"key", "key takes the id of a name",
     [](Reader& reader, int, ActionBody& body) {
       const std::optional<std::string_view> id = reader.TakeString();
       const std::optional<std::string> name = id ? NameOfId(*id) : std::nullopt;
       if (name) body.key = *name;
       return name.has_value();
     }},
    {"token", "token takes a number from 1 to 2^53 - 1",
     [](Reader& reader, int, ActionBody& body) {
       const std::optional<int64_t> token = reader.TakeNumber();
       if (!token || *token < 1 || *token >= kTokenMax) return false;
       body.token = *token;
       return true;
     }},
};
constexpr std::string_view kNoObject = "the body is no flat JSON object";

}  // namespace

Fault ReadActionBody(std::string_view json, int databases, ActionBody& body) {
  Reader reader(json);
  bool seen[std::size(kFields)] = {};
  if (!reader.Take('{')) return std::string(kNoObject);
  do {
    const std::optional<std::string_view> name = reader.TakeString();
    if (!name || !reader.Take(':')) return std::string(kNoObject);
    const auto* const field = std::ranges::find(kFields, *name, &Field::name);
    if (field == std::end(kFields)) return "there is db, key and token";
    bool& is_known = seen[field - std::begin(kFields)];
    if (is_known) return Concat(field->name, " stands there twice");
    is_known = true;
    if (!field->read(reader, databases, body)) return std::string(field->fault);
  } while (reader.Take(','));
  if (!reader.Take('}') || !reader.IsAtEnd()) return std::string(kNoObject);
  return seen[0] && seen[1] ? std::string() : "db and key are needed";
}

}  // namespace sluice
