// See value_condition.h.
#include "server/commands/shared/value_condition.h"

#include "storage/types/digest.h"

namespace sluice {
namespace {

using Kind = ValueCondition::Kind;

// Requires: `digest` is sound. Hex digits of either case are the same digest. O(bytes of the
// string).
bool TextHasDigest(const Entry& entry, std::string_view digest) {
  char scratch[Entry::kTextScratch];
  return ValueDigest(entry.Text(scratch)) == ParseDigest(digest);
}

}  // namespace

// O(bytes) at most: different lengths are told at once.
bool TextEquals(const Entry& entry, std::string_view value) {
  char scratch[Entry::kTextScratch];
  return entry.Text(scratch) == value;
}

bool ValueCondition::IsDigest(std::string_view text) { return ParseDigest(text).has_value(); }

bool ValueCondition::ComparisonHolds(const Entry* entry) const {
  switch (kind) {
    case Kind::kEqual:
      return entry && TextEquals(*entry, operand);
    case Kind::kNotEqual:
      return !entry || !TextEquals(*entry, operand);
    case Kind::kDigest:
      return entry && TextHasDigest(*entry, operand);
    case Kind::kNotDigest:
      return !entry || !TextHasDigest(*entry, operand);
    default:
      return false;
  }
}

}  // namespace sluice
