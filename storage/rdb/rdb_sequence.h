// The elements of a list, hash, set or sorted set, in whichever form a value of RDB holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "storage/rdb/rdb_reader.h"

namespace sluice {

enum class RdbSequence : uint8_t {
  kStrings,  // a count, then strings
  kPairs,    // a count, then twice as many strings
  kListpack,
  kZiplist,
  kZipmap,
  kIntset,
};

// Visits every element in order; its text lives during the visit. False when the bytes are at fault
// or `visit` answers false; then the reader has failed.
using VisitText = absl::FunctionRef<bool(std::string_view)>;
bool ReadSequence(RdbReader& reader, RdbSequence form, VisitText visit);
// The same of a string that has been taken already. Not for kStrings and kPairs.
bool ReadPacked(std::string_view bytes, RdbSequence form, VisitText visit);

// Visits the strings of a kStrings or kPairs some at a time, so that what is large can be put where
// it belongs with the cache misses of several overlapping: kTextsTogether, or fewer, and of pairs
// whole ones. What is kept back meanwhile is bounded in bytes, but for the last pair.
inline constexpr size_t kTextsTogether = 32;
using VisitTexts = absl::FunctionRef<bool(std::span<const std::string>)>;
bool ReadTogether(RdbReader& reader, RdbSequence form, VisitTexts visit);

}  // namespace sluice
