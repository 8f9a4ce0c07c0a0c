// See direct_take.h.
#include "server/embed/inside/direct_take.h"

#include <cassert>

#include "server/core/turn_clock.h"
#include "server/dispatch/effects.h"
#include "server/observe/command_counts.h"
#include "server/observe/statistics.h"
#include "server/waiting/limit_waiters.h"
#include "storage/keyspace/keyspace.h"
#include "storage/limits/limiter_key.h"

namespace sluice {

std::optional<LimitRequest> LastTake(const Parts& parts, Args words) {
  const TakeOptions* const known = parts.Get<LimitWaiters>().parsed_takes().Find(words);
  if (!known || !known->policy.empty() || known->peek || known->shadow || known->wait_ms ||
      known->at_unix_us)
    return std::nullopt;
  return known->request;
}

// As Dispatcher::Run has it around a handler, without those who would be told.
std::optional<LimitVerdict> TakeDirectly(const Parts& parts, Session& session,
                                         const Command& command, std::string_view key,
                                         const LimitRequest& request) {
  Keyspace& keyspace = parts.Get<Keyspace>();
  Effects& effects = parts.Get<Effects>();
  assert(!effects.wanted());
  effects.Begin(session.db);
  effects.audit().Begin(keyspace.changes());
  LimiterKey limiter(keyspace.db(session.db), keyspace.Hash(key), parts.Get<TurnClock>().now());
  std::optional<LimitVerdict> verdict;
  if (limiter.IsOpenTo(request.config.algorithm)) {
    verdict = limiter.Take(request);
    if (limiter.changed()) effects.audit().Told(session.db, key);
  }
  [[maybe_unused]] const std::string_view fault = effects.audit().End(keyspace.changes());
  assert(fault.empty());
  effects.Finish(session.db, limiter.changed(), {});
  if (!verdict) return verdict;
  LimitStatistics& limits = parts.Get<LimitWaiters>().statistics();
  limits.by_algorithm[static_cast<size_t>(request.config.algorithm)].Count(verdict->allowed);
  session.last_command = &command.full_name;
  ++parts.Get<Statistics>().commands;
  ++parts.Get<CommandCounts>().Of(command.number).calls;
  return verdict;
}

}  // namespace sluice
