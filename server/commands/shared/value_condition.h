// Conditions on the value that a key holds now: IFEQ, IFNE (the bytes), IFDEQ, IFDNE (their
// digest), and on its being there at all: NX, XX. Shared by SET, DELEX and their kin.
//
// A missing key meets IFNE and IFDNE and fails IFEQ and IFDEQ.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/dispatch/arg_reader.h"
#include "storage/keyspace/entry.h"

namespace sluice {

inline constexpr std::string_view kDigestFault = "ERR must be exactly 16 hexadecimal characters";

struct ValueCondition {
  enum class Kind : uint8_t { kNone, kMissing, kPresent, kEqual, kNotEqual, kDigest, kNotDigest };
  Kind kind = Kind::kNone;
  std::string_view operand;  // the value of IFEQ and IFNE, the digest of IFDEQ and IFDNE

  // Whether it looks at the bytes, so that the key must hold a string.
  bool compares() const { return kind >= Kind::kEqual; }
  // Whether the operand can be compared at all; a digest must be one (kDigestFault).
  bool OperandIsSound() const;
  // Precondition: OperandIsSound(), and if compares() then `entry` is null or a string.
  bool Holds(const Entry* entry) const;
};

// Takes "NX" or "XX". Not taken beside a condition of another kind.
bool TakePresence(ArgReader& args, ValueCondition& condition);
// Takes "IFEQ v", "IFNE v", "IFDEQ d" or "IFDNE d". Not taken without its operand or beside another
// condition.
bool TakeComparison(ArgReader& args, ValueCondition& condition);

// Whether a string holds exactly these bytes. Precondition: entry.is_string().
bool TextEquals(const Entry& entry, std::string_view value);

}  // namespace sluice
