// Conditions on the value that a key holds now: IFEQ, IFNE (the bytes), IFDEQ, IFDNE (their
// digest), and on its being there at all: NX, XX. Shared by SET, DELEX and their kin.
//
// A missing key meets IFNE and IFDNE, as it differs from every value, and fails IFEQ and IFDEQ. So
// SET with IFNE also makes a key that is missing.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/commands/shared/option_table.h"
#include "server/dispatch/arg_reader.h"
#include "storage/keyspace/entry.h"

namespace sluice {

// The error of IFDEQ and IFDNE for an operand that is no digest.
inline constexpr std::string_view kDigestFault = "ERR must be exactly 16 hexadecimal characters";

struct ValueCondition {
  enum class Kind : uint8_t { kNone, kMissing, kPresent, kEqual, kNotEqual, kDigest, kNotDigest };
  Kind kind = Kind::kNone;
  std::string_view operand;  // the value of IFEQ and IFNE, the digest of IFDEQ and IFDNE

  // Whether it looks at the bytes, so that the key must hold a string.
  constexpr bool compares() const { return kind >= Kind::kEqual; }
  // Whether the operand can be compared at all; a digest must be one (kDigestFault).
  bool OperandIsSound() const { return kind < Kind::kDigest || IsDigest(operand); }
  // Requires: OperandIsSound(), and if compares() then `entry` is null or a string.
  bool Holds(const Entry* entry) const {
    if (compares()) [[unlikely]]
      return ComparisonHolds(entry);
    return kind == Kind::kNone || (kind == Kind::kPresent) == (entry != nullptr);
  }

 private:
  static bool IsDigest(std::string_view text);
  bool ComparisonHolds(const Entry* entry) const;
};

// By ValueCondition::Kind.
inline constexpr std::string_view kConditionWords[] = {"",     "NX",    "XX",   "IFEQ",
                                                       "IFNE", "IFDEQ", "IFDNE"};

// "NX", "XX", "IFEQ v" and their kin as rows of a table of options, whose result has a member
// `condition`. Beside a condition of another kind they are no options; NX and XX may come twice,
// the others may not, and are no options without their operand.
template <typename Options, ValueCondition::Kind kKind>
inline constexpr OptionRow<Options> kConditionRow = {
    .word = kConditionWords[static_cast<size_t>(kKind)],
    .read =
        [](ArgReader& args, Options& options) {
          options.condition.kind = kKind;
          if (options.condition.compares()) options.condition.operand = args.Bytes();
        },
    .values = ValueCondition{kKind, {}}.compares() ? 1u : 0u,
    .known =
        [](const Options& options) {
          const ValueCondition& before = options.condition;
          return before.kind == ValueCondition::Kind::kNone ||
                 (before.kind == kKind && !before.compares());
        },
};

// Whether a string holds exactly these bytes. Requires: entry.is_string().
bool TextEquals(const Entry& entry, std::string_view value);

}  // namespace sluice
