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

bool ValueCondition::OperandIsSound() const {
  return (kind != Kind::kDigest && kind != Kind::kNotDigest) || ParseDigest(operand);
}

bool ValueCondition::Holds(const Entry* entry) const {
  switch (kind) {
    case Kind::kNone:
      return true;
    case Kind::kMissing:
      return !entry;
    case Kind::kPresent:
      return entry;
    case Kind::kEqual:
      return entry && TextEquals(*entry, operand);
    case Kind::kNotEqual:
      return !entry || !TextEquals(*entry, operand);
    case Kind::kDigest:
      return entry && TextHasDigest(*entry, operand);
    case Kind::kNotDigest:
      return !entry || !TextHasDigest(*entry, operand);
  }
  return false;
}

}  // namespace sluice
