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
// meaning. A log that is replayed may name zones that are not there.
TakeOptions ReadTake(ArgReader& args, LimitService& limits, bool replays);
// The same for LIMIT.PEEK, whose options are COST, BURST, ZONE and STARTS.
LimitRequest ReadPeek(ArgReader& args, LimitService& limits, bool replays);
// "<algorithm> max period-ms [BURST b]" or "CALENDAR max unit [ZONE name] [STARTS n]", to the end.
LimitConfig ReadConfig(ArgReader& args, LimitService& limits, bool replays);
// One of LIMIT.ALL's: "<algorithm> max period-ms burst cost" (burst 0: the algorithm's own) or
// "POLICY name cost".
LimitRequest ReadPart(ArgReader& args, LimitService& limits);

}  // namespace sluice
