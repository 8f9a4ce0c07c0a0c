// See info_fields.h.
#include "server/program/top/info_fields.h"

#include "protocol/text/number_text.h"

namespace sluice {
namespace {

// The text before the first `end`, which is taken off with it.
std::string_view TakeUntil(std::string_view& text, char end) {
  const size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return taken;
}

}  // namespace

void InfoFields::Add(std::string_view answer) {
  while (!answer.empty() && fields_.size() < kFieldsMax) {
    std::string_view line = TakeUntil(answer, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t colon = line.find(':');
    if (line.starts_with('#') || colon == std::string_view::npos) continue;
    fields_.insert_or_assign(std::string(line.substr(0, colon)),
                             std::string(line.substr(colon + 1)));
  }
}

std::string_view InfoFields::Text(std::string_view name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<int64_t> InfoFields::Number(std::string_view name) const {
  std::string_view text = Text(name);
  return ParseInt64(TakeUntil(text, '.'));
}

std::optional<int64_t> InfoFields::Part(std::string_view name, std::string_view part) const {
  std::string_view left = Text(name);
  while (!left.empty()) {
    std::string_view value = TakeUntil(left, ',');
    if (TakeUntil(value, '=') == part) return ParseInt64(value);
  }
  return std::nullopt;
}

}  // namespace sluice
