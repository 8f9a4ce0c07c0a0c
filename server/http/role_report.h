// For balancers: which server takes writes, and which replica is fresh enough to be read.
//
//   GET /leader                    200 on the master, while it is ready; else 503, and why not
//   GET /replica?max_lag_ms=15000  200 on a replica whose data are no older than that; without
//                                  max_lag_ms: whose link to its master is up
#pragma once

#include "server/http/exchange.h"
#include "server/http/page_call.h"

namespace sluice {

HttpAnswer AnswerLeader(const PageCall& call);
HttpAnswer AnswerReplica(const PageCall& call);

}  // namespace sluice
