// See value_condition.h.
#include "server/commands/shared/value_condition.h"

#include "storage/types/digest.h"

namespace sluice {
namespace {

using Kind = ValueCondition::Kind;

struct Word {
  std::string_view text;
  Kind kind;
};
constexpr Word kComparisons[] = {
    {"IFEQ", Kind::kEqual},
    {"IFNE", Kind::kNotEqual},
    {"IFDEQ", Kind::kDigest},
    {"IFDNE", Kind::kNotDigest},
};

bool TextHasDigest(const Entry& entry, std::string_view digest) {
  char scratch[Entry::kTextScratch];
  return ValueDigest(entry.Text(scratch)) == ParseDigest(digest);
}

}  // namespace

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

bool TakePresence(ArgReader& args, ValueCondition& condition) {
  const Kind before = condition.kind;
  if ((before == Kind::kNone || before == Kind::kMissing) && args.TakeWord("NX")) {
    condition.kind = Kind::kMissing;
    return true;
  }
  if ((before == Kind::kNone || before == Kind::kPresent) && args.TakeWord("XX")) {
    condition.kind = Kind::kPresent;
    return true;
  }
  return false;
}

bool TakeComparison(ArgReader& args, ValueCondition& condition) {
  if (condition.kind != Kind::kNone || args.left() < 2) return false;
  for (const Word& word : kComparisons) {
    if (!args.TakeWord(word.text)) continue;
    condition.kind = word.kind;
    condition.operand = args.Bytes();
    return true;
  }
  return false;
}

}  // namespace sluice
