// See limiter_json.h.
#include "server/http/limiter_json.h"

#include <algorithm>

#include "server/limits/limit_waiters.h"
#include "storage/keyspace/keyspace.h"
#include "storage/limits/leaky_bucket.h"
#include "storage/limits/limiter_key.h"
#include "storage/limits/tick_run.h"

namespace sluice {
namespace {

void WriteBucket(JsonText& json, const Entry& entry, const Now& now) {
  uint64_t level = 0;
  int64_t last_due_ms = 0;
  if (entry.is_packed()) {
    const TickRun run(entry.packed());
    level = run.UnitsAfter(now.ms());
    last_due_ms = run.last();
  } else {
    const auto& bucket = static_cast<const LeakyBucket&>(entry.value());
    level = bucket.Level(now);
    last_due_ms = bucket.last_due_ms();
  }
  json.Key("bucket")
      .Object()
      .Field("level", level)
      .Field("empty_in_ms", std::max<int64_t>(0, last_due_ms - now.ms()))
      .End();
}

}  // namespace

void WriteLimiter(JsonText& json, const PageCall& call, KeyNameView name, const Entry& entry,
                  const Now& now) {
  if (entry.type() == ValueType::kLeakyBucket) return WriteBucket(json, entry, now);
  if (entry.type() != ValueType::kLimiter) return;
  Keyspace& keyspace = call.parts.Get<Keyspace>();
  const LimiterKey limiter(keyspace.db(name.db), keyspace.Hash(name.key), now);
  if (!limiter.exists() || !limiter.is_limiter()) return;
  const LimitInfo info = limiter.Info();
  json.Key("limiter")
      .Object()
      .Field("algorithm", LimitAlgorithmName(info.config.algorithm))
      .Field("max", info.config.max)
      .Field("period_ms", info.config.period_ms)
      .Field("capacity", info.config.Capacity())
      .Field("used", info.used)
      .Field("remaining", info.remaining)
      .Field("whole_in_ms", std::max<int64_t>(0, info.reset_at_ms - now.unix_ms()))
      .Field("is_waited_for", call.parts.Get<LimitWaiters>().HasWaiters(name))
      .End();
}

}  // namespace sluice
