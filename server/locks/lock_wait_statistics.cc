// See lock_wait_statistics.h.
#include "server/locks/lock_wait_statistics.h"

#include <algorithm>
#include <bitset>
#include <cassert>
#include <utility>

#include "server/config/settings.h"

namespace sluice {

void LockWaitStatistics::SetPrefixes(std::span<const std::string> prefixes) {
  assert(prefixes.size() <= kMetricsPrefixesMax);
  std::vector<OfPrefix> former = std::exchange(by_prefix_, {});
  by_prefix_.reserve(prefixes.size());
  for (const std::string& prefix : prefixes) {
    const auto found = std::ranges::find(former, prefix, &OfPrefix::prefix);
    by_prefix_.push_back({prefix, found == former.end() ? Waits() : std::move(found->waits)});
  }
}

// by_prefix_.size() where the name has none of them.
size_t LockWaitStatistics::LongestOf(std::string_view name) const {
  size_t longest = by_prefix_.size();
  for (size_t i = 0; i < by_prefix_.size(); ++i) {
    const std::string& prefix = by_prefix_[i].prefix;
    if (!name.starts_with(prefix)) continue;
    const bool is_first = longest == by_prefix_.size();
    if (is_first || prefix.size() > by_prefix_[longest].prefix.size()) longest = i;
  }
  return longest;
}

void LockWaitStatistics::ForEach(const LockNames& names, absl::FunctionRef<void(Waits&)> count) {
  count(all_);
  if (by_prefix_.empty()) return;
  std::bitset<kMetricsPrefixesMax> counted;
  for (const LockName& name : names) {
    const size_t at = LongestOf(name.key);
    if (at == by_prefix_.size() || counted.test(at)) continue;
    counted.set(at);
    count(by_prefix_[at].waits);
  }
}

void LockWaitStatistics::CountGranted(const LockNames& names, int64_t waited_ms) {
  ForEach(names, [&](Waits& waits) { waits.granted_ms.Record(waited_ms); });
}

void LockWaitStatistics::CountInVain(const LockNames& names, LockWaitInVain why) {
  ForEach(names, [&](Waits& waits) { ++waits.in_vain[static_cast<size_t>(why)]; });
}

void LockWaitStatistics::Reset() {
  all_ = {};
  for (OfPrefix& each : by_prefix_) each.waits = {};
}

}  // namespace sluice
