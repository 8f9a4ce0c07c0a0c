// The options of SCAN and of its kin that walk a hash, a set or a sorted set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/glob.h"
#include "server/dispatch/command.h"

namespace sluice {

enum class ScanTarget : uint8_t { kKeys, kMembers };  // only keys have a TYPE

// `count` is how many elements a call looks at, about. `type` is a view of the request.
struct ScanOptions {
  int64_t count = 10;
  std::optional<Glob> glob;  // none: every name
  std::optional<std::string_view> type;

  bool Wants(std::string_view name) const;
};

// A single star matches everything, the empty key too, for which Glob knows no star.
inline bool MatchesAll(std::string_view pattern) { return pattern == "*"; }

// Reads the options from the argument `first` on. False: the error has been answered.
bool ReadScanOptions(CommandCall& call, size_t first, ScanTarget target, ScanOptions& options);

// Answers with a cursor and what was found.
void ReplyScan(CommandCall& call, uint64_t cursor, const std::vector<std::string>& found);
// With the end: there was nothing to walk.
void ReplyEmptyScan(CommandCall& call);

}  // namespace sluice
