#include "server/commands/value_condition.h"

#include <optional>

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

bool TextHasDigest(const Entry& entry, uint64_t digest) {
  char scratch[Entry::kTextScratch];
  return ValueDigest(entry.Text(scratch)) == digest;
}

}  // namespace

bool TextEquals(const Entry& entry, std::string_view value) {
  char scratch[Entry::kTextScratch];
  return entry.Text(scratch) == value;
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
      return entry && TextEquals(*entry, value);
    case Kind::kNotEqual:
      return !entry || !TextEquals(*entry, value);
    case Kind::kDigest:
      return entry && TextHasDigest(*entry, digest);
    case Kind::kNotDigest:
      return !entry || !TextHasDigest(*entry, digest);
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
    const std::string_view operand = args.Bytes();
    if (word.kind == Kind::kEqual || word.kind == Kind::kNotEqual) {
      condition.value = operand;
      return true;
    }
    const std::optional<uint64_t> digest = ParseDigest(operand);
    if (!digest) args.Fail("ERR must be exactly 16 hexadecimal characters");
    condition.digest = digest.value_or(0);
    return true;
  }
  return false;
}

}  // namespace sluice
