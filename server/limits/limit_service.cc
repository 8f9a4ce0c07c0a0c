// See limit_service.h.
#include "server/limits/limit_service.h"

#include "storage/limits/limiter_key.h"

namespace sluice {

LimitVerdict LimitService::Take(LimiterKey& limiter, int db, const LimitRequest& request,
                                const CountedAs& as) {
  const LimitVerdict verdict = limiter.Take(request);
  Count(db, limiter.key(), request.config.algorithm, as, verdict.allowed);
  return verdict;
}

void LimitService::Count(int db, const HashedKey& key, LimitAlgorithm algorithm,
                         const CountedAs& as, bool allowed) {
  // SHADOW hinders no caller, so its refusals are none of the page's.
  if (as.shadow) [[unlikely]]
    return statistics_.shadow.Count(allowed);
  statistics_.by_algorithm[static_cast<size_t>(algorithm)].Count(allowed);
  if (!as.policy.empty()) [[unlikely]]
    statistics_.CountFor(as.policy, allowed);
  if (!allowed) NoteRefused(db, key);
}

}  // namespace sluice
