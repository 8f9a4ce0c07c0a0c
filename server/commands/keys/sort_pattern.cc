// See sort_pattern.h.
#include "server/commands/keys/sort_pattern.h"

#include "protocol/text/concat.h"
#include "server/commands/shared/lookup.h"
#include "storage/types/hash.h"

namespace sluice {

bool HasPlaceholder(std::string_view pattern) {
  return pattern.find('*') != std::string_view::npos;
}

// Only the first star counts, and an arrow only behind it and with a field's name after it: "w_*->"
// is a plain key. A key of another type is as good as none; it is no error.
std::optional<std::string> LookUpPattern(CommandCall& call, std::string_view pattern,
                                         std::string_view element) {
  if (pattern == "#") return std::string(element);
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return std::nullopt;
  const std::string_view head = pattern.substr(0, star);
  std::string_view tail = pattern.substr(star + 1);
  std::string_view field;
  const size_t arrow = tail.find("->");
  // The arrow belongs to the part behind the star, and its field is taken off the name.
  if (arrow != std::string_view::npos && arrow + 2 < tail.size()) {
    field = tail.substr(arrow + 2);
    tail = tail.substr(0, arrow);
  }
  const std::string name = Concat(head, element, tail);
  const Entry* const entry = LookUpToRead(call, call.keyspace.Hash(name));
  if (!entry) return std::nullopt;
  if (!field.empty()) {
    if (entry->type() != ValueType::kHash) return std::nullopt;
    FieldValue value;
    const Hash& hash = static_cast<const Hash&>(entry->value());
    if (!hash.Get(field, call.now, value)) return std::nullopt;
    return std::string(value.text);
  }
  if (!entry->is_string()) return std::nullopt;
  char scratch[Entry::kTextScratch];
  return std::string(entry->Text(scratch));
}

}  // namespace sluice
