// See limit_answers.h.
#include "server/commands/limits/limit_answers.h"

#include <iterator>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commit/turn_gate.h"
#include "server/notify/notifications.h"
#include "storage/limits/calendar.h"

namespace sluice {
namespace {

constexpr std::string_view kVerdictFields[] = {"allowed",  "limit",    "remaining",
                                               "retry_ms", "reset_ms", "reset_at_ms"};

std::string PeriodWord(const LimitConfig& config) {
  if (config.algorithm != LimitAlgorithm::kCalendar) return Int64Text(config.period_ms);
  return std::string(CalendarUnitName(CalendarUnitOf(config.period_ms)));
}

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

// A key holds one algorithm as long as it lives; another one in the request is most likely a
// mistake in a deployment, and would forget what was consumed.
void RefuseOther(ReplySink& reply, const LimiterKey& limiter, LimitAlgorithm asked) {
  if (!IsLimiter(reply, limiter)) return;
  reply.Error(Concat("ERR limiter is ", LimitAlgorithmName(limiter.algorithm()), ", not ",
                     LimitAlgorithmName(asked)));
}

std::vector<std::string> LoggedTake(std::string_view key, const LimitRequest& request,
                                    const Now& now) {
  const LimitConfig& config = request.config;
  std::vector<std::string> words = {"LIMIT.TAKE", std::string(key),
                                    std::string(LimitAlgorithmName(config.algorithm)),
                                    Int64Text(config.max), PeriodWord(config)};
  const auto add = [&words](std::string_view option, int64_t value) {
    words.emplace_back(option);
    words.push_back(Int64Text(value));
  };
  if (config.calendar) {
    add("ENDS", config.calendar->EndMs(now.unix_ms()));
  } else if (config.window_end_ms > 0) {
    add("ENDS", config.window_end_ms);
  }
  if (HasBurst(config.algorithm)) add("BURST", config.burst);
  if (request.cost != 1) add("COST", request.cost);
  if (request.ban_ms > 0) add("BAN", request.ban_ms);
  add("AT", now.unix_us());
  return words;
}

void SayTaken(CommandCall& call, std::string_view key, const LimitRequest& request, const Now& now,
              std::string_view event) {
  call.Changed(kNotifyModule, event, key);
  if (!call.wants_effects()) return;
  ++call.part<TurnGate>().needs().grants;
  const std::vector<std::string> words = LoggedTake(key, request, now);
  const std::vector<std::string_view> views(words.begin(), words.end());
  call.ReplaceWith(views);
}

}  // namespace sluice
