// What commands on limiters answer: a verdict, or why a key is none that can be asked.
//
// A RESP3 client gets a map of named fields, a RESP2 client their values in the same order.
//
//   > LIMIT.TAKE api:42 WINDOW 3 10000
//   < 1) allowed       1
//     2) limit         3
//     3) remaining     2        what could still be taken now
//     4) retry_ms      0        when this cost would fit; -1: never
//     5) reset_ms      10000    until the limit is whole again
//     6) reset_at_ms   1795452061822
#pragma once

#include "protocol/reply_sink.h"
#include "storage/limits/limiter_key.h"

namespace sluice {

void ReplyVerdict(ReplySink& reply, const LimitVerdict& verdict);

// Each answers the error itself: WRONGTYPE, or a live key has another algorithm. A missing key is
// fine.
bool IsLimiter(ReplySink& reply, const LimiterKey& limiter);
// A key holds one algorithm as long as it lives; another one in the request is most likely a
// mistake in a deployment, and would forget what was consumed.
bool Accepts(ReplySink& reply, const LimiterKey& limiter, LimitAlgorithm asked);

}  // namespace sluice
