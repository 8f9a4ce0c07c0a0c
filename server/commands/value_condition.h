// Conditions on the value that a key holds now: IFEQ, IFNE (the bytes), IFDEQ, IFDNE (their
// digest), and on its being there at all: NX, XX. Shared by SET, DELEX and their kin.
//
// A missing key meets IFNE and IFDNE and fails IFEQ and IFDEQ.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/engine/arg_reader.h"
#include "storage/entry.h"

namespace sluice {

struct ValueCondition {
  enum class Kind : uint8_t { kNone, kMissing, kPresent, kEqual, kNotEqual, kDigest, kNotDigest };
  Kind kind = Kind::kNone;
  std::string_view value;  // of IFEQ and IFNE
  uint64_t digest = 0;     // of IFDEQ and IFDNE

  // Whether it looks at the bytes, so that the key must hold a string.
  bool compares() const { return kind >= Kind::kEqual; }
  // Precondition: not compares(), or `entry` is null or a string.
  bool Holds(const Entry* entry) const;
};

// Takes "NX" or "XX". Not taken beside a condition of another kind.
bool TakePresence(ArgReader& args, ValueCondition& condition);
// Takes "IFEQ v", "IFNE v", "IFDEQ d" or "IFDNE d". Not taken without its operand or beside another
// condition. A digest that is none is a fault of `args`.
bool TakeComparison(ArgReader& args, ValueCondition& condition);

// Whether a string holds exactly these bytes. Precondition: entry.is_string().
bool TextEquals(const Entry& entry, std::string_view value);

}  // namespace sluice
