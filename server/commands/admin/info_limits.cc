// INFO limits: what the limiter commands have decided, by algorithm, and which callers wait.

#include <string>

#include "server/commands/admin/info.h"
#include "server/limits/limit_waiters.h"

namespace sluice {

// Sums first, then a line for each algorithm, also for those that were never asked for. Counts are
// since the start or CONFIG RESETSTAT.
void WriteLimits(const Parts& parts, InfoText& text) {
  LimitService& limits = parts.Get<LimitService>();
  const LimitStatistics& statistics = limits.statistics();
  const LimitStatistics::Decided all = statistics.All();
  // Requests that were granted and refused, without PEEK, which decides nothing.
  text.Field("limits_taken", all.taken);
  text.Field("limits_refused", all.refused);
  // SHADOW is counted apart: it is a trial of a limit, whatever it takes.
  text.Field("limits_shadow_allowed", statistics.shadow.taken);
  text.Field("limits_shadow_refused", statistics.shadow.refused);
  // Callers that wait at this moment, and requests that ever had to.
  text.Field("limits_waiting", parts.Get<LimitWaiters>().waiting());
  text.Field("limits_waited", statistics.waited);
  text.Field("limit_policies", limits.policies().size());
  // limits_window, limits_rolling ...: "taken=5,refused=2".
  for (size_t i = 0; i < statistics.by_algorithm.size(); ++i) {
    const LimitStatistics::Decided& each = statistics.by_algorithm[i];
    text.Field(Concat("limits_", LimitEncoding(static_cast<LimitAlgorithm>(i))),
               "taken=", each.taken, ",refused=", each.refused);
  }
}

}  // namespace sluice
