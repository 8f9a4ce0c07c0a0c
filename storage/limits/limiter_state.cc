// See limiter_state.h.
#include "storage/limits/limiter_state.h"

namespace sluice {
namespace {

// Calls `visit` with the struct of the algorithm. S and L are const or not alike.
template <typename S, typename L, typename Visit>
auto WithAlgorithm(S& state, L* log, Visit visit) {
  switch (state.config.algorithm) {
    case LimitAlgorithm::kWindow:
      return visit(state.window);
    case LimitAlgorithm::kSliding:
      return visit(state.sliding);
    case LimitAlgorithm::kRolling:
    case LimitAlgorithm::kGcra:
      return visit(state.gcra);
    case LimitAlgorithm::kLog:
    case LimitAlgorithm::kLeaky:
      break;
  }
  assert(log != nullptr);
  return visit(*log);
}

int64_t SpanMs(int64_t from_us, int64_t to_us) {
  return to_us <= from_us ? 0 : (to_us - from_us - 1) / 1000 + 1;
}

int64_t TickAfter(int64_t us) { return us / 1000 + (us % 1000 > 0 ? 1 : 0); }

// The algorithm's answer under the ban, in the units of replies.
LimitVerdict MakeVerdict(const LimiterState& state, LimitAnswer answer, const Now& now) {
  if (state.Banned(now)) {
    const int64_t until_us = state.banned_until_ms * 1000;
    answer.fits = false;
    answer.remaining = 0;
    answer.fits_at_us = std::max(answer.fits_at_us, until_us);
    answer.whole_at_us = std::max(answer.whole_at_us, until_us);
  }
  LimitVerdict verdict;
  verdict.allowed = answer.fits;
  verdict.limit = state.config.Capacity();
  verdict.remaining = answer.remaining;
  if (!answer.fits)
    verdict.retry_ms =
        answer.fits_at_us == kNeverUs ? -1 : SpanMs(now.steady_us, answer.fits_at_us);
  verdict.reset_ms = SpanMs(now.steady_us, answer.whole_at_us);
  verdict.reset_at_ms =
      verdict.reset_ms == 0 ? now.unix_ms() : TickAfter(answer.whole_at_us) + now.unix_offset_ms;
  return verdict;
}

void Reconfigure(LimiterState& state, RequestLog* log, const LimitConfig& to, const Now& now) {
  assert(state.config.algorithm == to.algorithm);
  if (state.config == to) return;
  WithAlgorithm(state, log,
                [&](auto& algorithm) { algorithm.Reconfigure(state.config, to, now.steady_us); });
  state.config = to;
}

int64_t WholeAtUs(const LimiterState& state, const RequestLog* log, const Now& now) {
  return WithAlgorithm(state, log, [&](const auto& algorithm) {
    return algorithm.WholeAtUs(state.config, now.steady_us);
  });
}

LimitAnswer AskLimit(const LimiterState& state, const RequestLog* log, int64_t cost,
                     const Now& now) {
  return WithAlgorithm(state, log, [&](const auto& algorithm) {
    return algorithm.Ask(state.config, now.steady_us, cost);
  });
}

// Takes as much of the cost as there is, so that what shadows a limit sees the load that the limit
// would let through, and still never leaves 0 .. limit.
LimitAnswer TakeInShadow(LimiterState& state, RequestLog* log, int64_t cost, const Now& now) {
  return WithAlgorithm(state, log, [&](auto& algorithm) {
    LimitAnswer answer = algorithm.Ask(state.config, now.steady_us, cost);
    const int64_t taken = std::min(cost, answer.remaining);
    if (taken == 0) return answer;
    algorithm.Consume(state.config, now.steady_us, taken);
    answer.remaining -= taken;
    answer.whole_at_us = algorithm.WholeAtUs(state.config, now.steady_us);
    if (!answer.fits)
      answer.fits_at_us = algorithm.Ask(state.config, now.steady_us, cost).fits_at_us;
    return answer;
  });
}

}  // namespace

LimitVerdict TakeLimit(LimiterState& state, RequestLog* log, const LimitRequest& request,
                       const Now& now) {
  assert(request.cost >= 1 && request.ban_ms >= 0 && request.ban_ms <= kBanMsMax);
  Reconfigure(state, log, request.config, now);
  if (!state.Banned(now)) state.banned_until_ms = 0;  // one that is over would keep the state wide
  if (request.shadow) return MakeVerdict(state, TakeInShadow(state, log, request.cost, now), now);
  if (state.Banned(now)) return MakeVerdict(state, AskLimit(state, log, request.cost, now), now);
  const LimitAnswer answer = WithAlgorithm(state, log, [&](auto& algorithm) {
    return TakeFrom(algorithm, state.config, now.steady_us, request.cost);
  });
  if (!answer.fits && request.ban_ms > 0) state.banned_until_ms = now.ms() + request.ban_ms;
  return MakeVerdict(state, answer, now);
}

LimitVerdict PeekLimit(const LimiterState& state, const RequestLog* log, const LimitConfig& config,
                       int64_t cost, const Now& now) {
  assert(cost >= 1);
  if (state.config == config) return MakeVerdict(state, AskLimit(state, log, cost, now), now);
  LimiterState changed = state;
  RequestLog changed_log = log == nullptr ? RequestLog() : *log;
  Reconfigure(changed, &changed_log, config, now);
  return MakeVerdict(changed, AskLimit(changed, &changed_log, cost, now), now);
}

int64_t RefundLimit(LimiterState& state, RequestLog* log, int64_t units, const Now& now) {
  assert(units >= 0);
  WithAlgorithm(state, log, [&](auto& algorithm) {
    // More than the capacity is nowhere consumed: products stay within their bounds.
    algorithm.Refund(state.config, now.steady_us, std::min(units, kUnitsMax));
  });
  return MakeVerdict(state, AskLimit(state, log, 1, now), now).remaining;
}

LimitInfo DescribeLimit(const LimiterState& state, const RequestLog* log, const Now& now) {
  const LimitAnswer answer = AskLimit(state, log, 1, now);
  const LimitVerdict verdict = MakeVerdict(state, answer, now);
  return {state.config, verdict.limit - answer.remaining, verdict.remaining, verdict.reset_at_ms};
}

std::string AuditLimiter(const LimiterState& state, const RequestLog* log) {
  const LimitConfig& config = state.config;
  const bool has_burst = HasBurst(config.algorithm);
  LimitConfig made;
  if (MakeLimitConfig(config.algorithm, config.max, config.period_ms,
                      has_burst ? config.burst : kNotGiven, &made) != LimitFault::kNone ||
      made != config)
    return "a limiter's configuration is out of bounds";
  if (NeedsLog(config.algorithm) != (log != nullptr)) return "a limiter's log is missing or stray";
  switch (config.algorithm) {
    case LimitAlgorithm::kWindow:
      return state.window.used < 0 ? "a window has given back more than it had" : "";
    case LimitAlgorithm::kSliding:
      for (const int64_t count : {state.sliding.previous, state.sliding.current})
        if (count < 0 || count > config.max) return "a sliding window's count is out of bounds";
      return {};
    case LimitAlgorithm::kRolling:
    case LimitAlgorithm::kGcra:
      if (state.gcra.tat_part < 0 || state.gcra.tat_part >= config.max)
        return "the fraction of a limiter's time is none";
      return {};
    default:
      return log->Audit(config);
  }
}

bool LimitIsUsed(const LimiterState& state, const RequestLog* log, const Now& now) {
  return WholeAtUs(state, log, now) > now.steady_us;
}

int64_t LimitEndsAtMs(const LimiterState& state, const RequestLog* log, const Now& now) {
  const int64_t whole_at_us = WholeAtUs(state, log, now);
  const int64_t ends_ms = whole_at_us <= now.steady_us ? now.ms() : TickAfter(whole_at_us);
  return state.banned_until_ms == 0 ? ends_ms : std::max(ends_ms, state.banned_until_ms);
}

}  // namespace sluice
