// Looks at limiters, which change nothing: replicas serve them too, and they need no more than the
// right to read the key.
//
//   LIMIT.PEEK   what LIMIT.TAKE of the same words would answer, and is not counted
//   LIMIT.INFO   what the limiter is, and what of it is used

#include "server/commands/families.h"
#include "server/commands/limits/limit_answers.h"
#include "server/commands/limits/limit_args.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/reply_fields.h"
#include "server/limits/limit_service.h"
#include "storage/limits/limiter_key.h"

namespace sluice {
namespace {

//   LIMIT.TAKE k WINDOW 2 10000         → [1, 2, 1, 0, 10000, ...]
//   LIMIT.PEEK k WINDOW 2 10000         → [1, 2, 1, 0, 10000, ...]
//   LIMIT.PEEK k WINDOW 2 10000 COST 2  → [0, 2, 1, 10000, 10000, ...]
//   LIMIT.PEEK k GCRA 2 10000           → -ERR limiter is WINDOW, not GCRA
void LimitPeek(CommandCall& call) {
  ArgReader args(call.args, 2);
  const LimitRequest request = ReadPeek(args, call.part<LimitService>(), call.client.replays);
  if (args.failed()) return call.reply.Error(args.error());
  const LimiterKey limiter(call.db, call.Key(1), call.now);
  if (!Accepts(call.reply, limiter, request.config.algorithm)) return;
  ReplyVerdict(call.reply, limiter.Peek(request.config, request.cost));
}

void LimitInfoOf(CommandCall& call) {
  const LimiterKey limiter(call.db, call.Key(1), call.now);
  if (!IsLimiter(call.reply, limiter)) return;
  if (!limiter.exists()) return ReplyNoFields(call.reply);
  const LimitInfo info = limiter.Info();
  ReplyFields fields(call.reply, 7);
  fields.At("algorithm").Bulk(LimitAlgorithmName(info.config.algorithm));
  fields.Integer("limit", info.config.max);
  fields.Integer("period_ms", info.config.period_ms);
  fields.Integer("burst", info.config.burst);
  fields.Integer("used", info.used);
  fields.Integer("remaining", info.remaining);
  fields.Integer("reset_at_ms", info.reset_at_ms);
}

// --- the table

constexpr CommandRow kLimitViewsRows[] = {
    {.name = "LIMIT.PEEK",
     .arity = -4,
     .flags = kReadOnly | kFast,
     .categories = kCatLimit,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = LimitPeek,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(1); LOG and LEAKY: O(log N) where N is the number of milliseconds of the "
                   "period in which something came.",
     .usage = "key limit=<algorithm=<WINDOW | ROLLING | SLIDING | LOG | GCRA | LEAKY> "
              "max:integer(1..2^62) "
              "period-ms:integer(1..2^46) | calendar=<CALENDAR max:integer(1..2^62) unit=<MINUTE | "
              "HOUR | DAY | WEEK | MONTH> [ZONE zone:string(1..64)] [STARTS "
              "starts:integer(0..31)]> | POLICY name:string(0..256)> [BURST "
              "burst:integer(0..2^62)] [COST cost:integer(0..2^63-1)]",
     .summary = "What LIMIT.TAKE would answer; nothing is taken, also on a replica."},
    {.name = "LIMIT.INFO",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .categories = kCatLimit,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = LimitInfoOf,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "A limiter's numbers, what of it is used, and when it is whole again."},
};

}  // namespace

CommandFamily LimitViewsFamily() { return {"limit_views", kSpecsOf<kLimitViewsRows>}; }

}  // namespace sluice
