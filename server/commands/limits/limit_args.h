// The grammar of LIMIT.TAKE, LIMIT.PEEK, LIMIT.ALL and LIMIT.POLICY: an algorithm with its numbers
// or the name of a policy, and the options of a request. Every fault is told before anything is
// looked at.
//
//   LIMIT.TAKE key WINDOW 100 60000 COST 5
//   LIMIT.TAKE key POLICY api WAIT 2000
#pragma once

#include "server/dispatch/arg_reader.h"
#include "server/limits/limit_service.h"
#include "storage/limits/limiter_state.h"
#include "storage/limits/policy.h"

namespace sluice {

inline constexpr std::string_view kNoSuchPolicy = "ERR no such policy";
inline constexpr int64_t kUnixUsMax = int64_t{1} << 60;  // 36,000 years

// Reads "<algorithm> max period-ms" or "POLICY name", then the options: all that LIMIT.TAKE has
// behind its key, and keeps it in parsed_takes(). After a fault of `args` the result has no
// meaning.
TakeOptions ReadTake(ArgReader& args, LimitService& limits);
// The same for LIMIT.PEEK, whose options are COST and BURST.
LimitRequest ReadPeek(ArgReader& args, const PolicyTable& policies);
// "<algorithm> max period-ms [BURST b]", to the end.
LimitConfig ReadConfig(ArgReader& args);
// One of LIMIT.ALL's: "<algorithm> max period-ms burst cost" (burst 0: the algorithm's own) or
// "POLICY name cost".
LimitRequest ReadPart(ArgReader& args, const PolicyTable& policies);

}  // namespace sluice
