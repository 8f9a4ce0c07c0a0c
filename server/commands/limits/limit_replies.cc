// See limit_replies.h.
#include "server/commands/limits/limit_replies.h"

#include <iterator>
#include <string_view>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

constexpr std::string_view kVerdictFields[] = {"allowed",  "limit",    "remaining",
                                               "retry_ms", "reset_ms", "reset_at_ms"};

}  // namespace

// Six numbers at once in RESP2: this is the hottest reply of a limiter.
void ReplyVerdict(ReplySink& reply, const LimitVerdict& verdict) {
  const int64_t values[] = {verdict.allowed,  verdict.limit,    verdict.remaining,
                            verdict.retry_ms, verdict.reset_ms, verdict.reset_at_ms};
  static_assert(std::size(values) == std::size(kVerdictFields));
  if (reply.version() == 2) return reply.Integers(values);
  reply.Map(std::size(values));
  for (size_t i = 0; i < std::size(values); ++i) {
    reply.Bulk(kVerdictFields[i]);
    reply.Integer(values[i]);
  }
}

bool IsLimiter(ReplySink& reply, const LimiterKey& limiter) {
  if (limiter.is_limiter()) [[likely]]
    return true;
  reply.Error(ErrorCode::kWrongType);
  return false;
}

bool Accepts(ReplySink& reply, const LimiterKey& limiter, LimitAlgorithm asked) {
  if (limiter.IsOpenTo(asked)) [[likely]]
    return true;
  if (!IsLimiter(reply, limiter)) return false;
  reply.Error(Concat("ERR limiter is ", LimitAlgorithmName(limiter.algorithm()), ", not ",
                     LimitAlgorithmName(asked)));
  return false;
}

}  // namespace sluice
