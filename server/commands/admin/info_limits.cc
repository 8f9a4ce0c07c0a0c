// INFO limits: what the limiter commands have decided, by algorithm, and which callers wait.

#include <string>

#include "server/commands/admin/info.h"
#include "server/waiting/limit_waiters.h"

namespace sluice {

// Sums first, then a line for each algorithm, also for those that were never asked for. Counts are
// since the start or CONFIG RESETSTAT.
void WriteLimits(const Parts& parts, InfoText& text) {
  LimitWaiters& limit_waiters = parts.Get<LimitWaiters>();
  const LimitStatistics& statistics = limit_waiters.statistics();
  LimitStatistics::Decided all;
  for (const LimitStatistics::Decided& each : statistics.by_algorithm) {
    all.taken += each.taken;
    all.refused += each.refused;
  }
  text.Field("limits_taken", all.taken);
  text.Field("limits_refused", all.refused);
  text.Field("limits_shadow_allowed", statistics.shadow.taken);
  text.Field("limits_shadow_refused", statistics.shadow.refused);
  text.Field("limits_waiting", limit_waiters.waiting());
  text.Field("limits_waited", statistics.waited);
  text.Field("limit_policies", limit_waiters.policies().size());
  for (size_t i = 0; i < statistics.by_algorithm.size(); ++i) {
    const LimitStatistics::Decided& each = statistics.by_algorithm[i];
    text.Field(Concat("limits_", LimitEncoding(static_cast<LimitAlgorithm>(i))),
               "taken=", each.taken, ",refused=", each.refused);
  }
}

}  // namespace sluice
