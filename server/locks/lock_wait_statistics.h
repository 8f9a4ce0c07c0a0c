// LockWaitStatistics: how long requests waited for a lock until they had it, and how many waited in
// vain, for INFO, /metrics and the page: in all, and by prefixes of names (metrics-prefixes).
//
//   statistics.SetPrefixes({"door:", "door:front:"});
//   statistics.CountGranted(names, 250);   // door:front:1 counts for door:front: alone
//
// A wait counts when it is over: once in all, and once for each prefix that is the longest of any
// of its names. A request that had its lock at once, or would not wait, is not counted: it costs
// nothing. CONFIG RESETSTAT begins anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/observe/histogram.h"
#include "storage/locks/lock_name.h"

namespace sluice {

// Why a request waited for nothing.
enum class LockWaitInVain : uint8_t {
  kTimeout,     // WAIT was over
  kTurnedAway,  // CLIENT UNBLOCK, a later request of its owner, a key of another type ...
  kClosed,      // its client has gone
  kDeadlock,    // it would have waited for itself, and was told so at once
};
// As INFO and /metrics call them, in that order.
inline constexpr std::array<std::string_view, 4> kLockWaitInVainWords = {"timeout", "turned_away",
                                                                         "closed", "deadlock"};

class LockWaitStatistics {
 public:
  struct Waits {
    Histogram granted_ms;
    std::array<uint64_t, kLockWaitInVainWords.size()> in_vain{};
  };
  struct OfPrefix {
    std::string prefix;
    Waits waits;
  };

  // Takes the place of those before. A prefix that stays keeps its counts, a new one begins with
  // none. Requires: kMetricsPrefixesMax at most, all different, none empty.
  void SetPrefixes(std::span<const std::string> prefixes);
  // O(names * prefixes).
  void CountGranted(const LockNames& names, int64_t waited_ms);
  void CountInVain(const LockNames& names, LockWaitInVain why);
  // Sets all counts to zero; the prefixes stay.
  void Reset();

  const Waits& all() const { return all_; }
  // In the order in which they were set.
  const std::vector<OfPrefix>& by_prefix() const { return by_prefix_; }

 private:
  size_t LongestOf(std::string_view name) const;
  void ForEach(const LockNames& names, absl::FunctionRef<void(Waits&)> count);

  Waits all_;
  std::vector<OfPrefix> by_prefix_;
};

}  // namespace sluice
