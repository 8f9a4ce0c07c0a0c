// The answers to requests for limits, and how others hear of them: the verdict, the errors of a key
// that is no such limiter, the event and the effect. Shared by LIMIT.TAKE, LIMIT.ALL and those that
// wait.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/dispatch/command.h"
#include "storage/limits/limiter_key.h"

namespace sluice {

inline constexpr std::string_view kTakeEvent = "limit.take";
inline constexpr std::string_view kShadowEvent = "limit.shadow";

void ReplyVerdict(ReplySink& reply, const LimitVerdict& verdict);

// Each answers the error itself: WRONGTYPE, or a live key has another algorithm. A missing key is
// fine. RefuseOther answers that of a key which is not accepted.
bool IsLimiter(ReplySink& reply, const LimiterKey& limiter);
void RefuseOther(ReplySink& reply, const LimiterKey& limiter, LimitAlgorithm asked);
inline bool Accepts(ReplySink& reply, const LimiterKey& limiter, LimitAlgorithm asked) {
  if (limiter.IsOpenTo(asked)) [[likely]]
    return true;
  RefuseOther(reply, limiter, asked);
  return false;
}

// The request again, with all of its numbers and the moment at which it was made: from the same
// state it leads to the same one, whenever it is replayed.
std::vector<std::string> LoggedTake(std::string_view key, const LimitRequest& request,
                                    const Now& now);
// A refusal may change something as well: it may bring a ban. So callers ask changed(), not
// allowed.
void SayTaken(CommandCall& call, std::string_view key, const LimitRequest& request, const Now& now,
              std::string_view event = kTakeEvent);

}  // namespace sluice
