// See limiter_state.h. Each algorithm answers in microseconds of engine time; MakeVerdict alone
// turns that into what replies say, and there the ban counts. A request with other numbers than the
// limiter's changes them only if it is granted: a look and a refusal leave the state as it is.
#include "storage/limits/limiter_state.h"

namespace sluice {
namespace {

// Calls `visit` with the struct of the algorithm. This is the one switch over algorithms:
// everything below is written once for all of them. S and L are const or not alike.
template <typename S, typename L, typename Visit>
auto WithAlgorithm(S& state, L* log, Visit visit) {
  switch (state.config.algorithm) {
    case LimitAlgorithm::kWindow:
    case LimitAlgorithm::kCalendar:
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

// Both are rounded up, so that a client that waits as told is not refused for a fraction of a ms.
int64_t SpanMs(int64_t from_us, int64_t to_us) {
  return to_us <= from_us ? 0 : (to_us - from_us - 1) / 1000 + 1;
}

int64_t TickAfter(int64_t us) { return us / 1000 + (us % 1000 > 0 ? 1 : 0); }

// The algorithm's answer under the ban of `state`, in the units of replies. `config` is that of the
// request, which the state may not have yet. The ban comes on top of what the algorithm says:
// nothing remains, and neither retry nor reset is before its end.
LimitVerdict MakeVerdict(const LimiterState& state, const LimitConfig& config, LimitAnswer answer,
                         const Now& now) {
  if (state.Banned(now)) {
    const int64_t until_us = state.banned_until_ms * 1000;
    answer.fits = false;
    answer.remaining = 0;
    answer.fits_at_us = std::max(answer.fits_at_us, until_us);
    answer.whole_at_us = std::max(answer.whole_at_us, until_us);
  }
  LimitVerdict verdict;
  verdict.allowed = answer.fits;
  verdict.limit = config.Capacity();
  verdict.remaining = answer.remaining;
  if (!answer.fits)
    verdict.retry_ms =
        answer.fits_at_us == kNeverUs ? -1 : SpanMs(now.steady_us, answer.fits_at_us);
  verdict.reset_ms = SpanMs(now.steady_us, answer.whole_at_us);
  // Rounded up from the moment itself and not from the span, so that every answer names the same
  // ms.
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

// Answers as the state would if it were reconfigured first: asks a copy; a log, which is too large
// to copy, converts its answer instead (AskAs).
LimitAnswer AskReconfigured(const LimiterState& state, const RequestLog* log,
                            const LimitConfig& config, int64_t cost, const Now& now) {
  if (NeedsLog(config.algorithm)) return log->AskAs(state.config, config, now.steady_us, cost);
  LimiterState changed = state;
  Reconfigure(changed, nullptr, config, now);
  return AskLimit(changed, nullptr, cost, now);
}

// Answers a request with other numbers than the state's own. A look and a refusal leave it as it
// is, so it recovers at its own pace: the moment from when on the cost fits is searched for by
// asking, in some 50 steps.
LimitAnswer AskLimitAs(const LimiterState& state, const RequestLog* log, const LimitConfig& config,
                       int64_t cost, const Now& now) {
  LimitAnswer answer = AskReconfigured(state, log, config, cost, now);
  answer.whole_at_us = WholeAtUs(state, log, now);
  if (answer.fits || cost > config.Capacity()) return answer;
  int64_t refused_us = now.steady_us;
  answer.fits_at_us = answer.whole_at_us;
  while (answer.fits_at_us - refused_us > 1) {
    const int64_t middle_us = refused_us + (answer.fits_at_us - refused_us) / 2;
    const Now then{middle_us, now.unix_offset_ms};
    (AskReconfigured(state, log, config, cost, then).fits ? answer.fits_at_us : refused_us) =
        middle_us;
  }
  return answer;
}

std::string AuditSliding(const SlidingWindowState& sliding, const LimitConfig& config) {
  if (sliding.whole < 0 || sliding.whole > kWholeMax) return "a window's shares are out of bounds";
  for (const int64_t count : {sliding.previous, sliding.current})
    if (count < 0 || count > (sliding.whole == 0 ? config.max : sliding.whole))
      return "a sliding window's count is out of bounds";
  return {};
}

}  // namespace

// --- what is asked

// One request, in three steps at most: asked as it is, asked under its own numbers, banned.
LimitVerdict TakeLimit(LimiterState& state, RequestLog* log, const LimitRequest& request,
                       const Now& engine_now) {
  const Now now = OnItsClock(request.config.algorithm, engine_now);
  assert(request.cost >= 1 && request.ban_ms >= 0 && request.ban_ms <= kBanMsMax);
  // The same numbers as before and no ban: asked and consumed in one go. All else is looked at
  // first, for a refusal must leave no trace.
  if (state.banned_until_ms == 0 && state.config == request.config) [[likely]] {
    const LimitAnswer answer = WithAlgorithm(state, log, [&](auto& algorithm) {
      return TakeFrom(algorithm, request.config, now.steady_us, request.cost);
    });
    if (answer.fits || request.ban_ms == 0) return MakeVerdict(state, state.config, answer, now);
  } else {
    const LimitVerdict seen = PeekLimit(state, log, request.config, request.cost, engine_now);
    // Granted under other numbers: they are taken over, and the request is asked once more under
    // them.
    if (seen.allowed) {
      Reconfigure(state, log, request.config, now);
      state.banned_until_ms = 0;  // one that is over would keep the state wide
      return TakeLimit(state, log, request, engine_now);
    }
    if (request.ban_ms == 0) return seen;
  }
  BanLimit(state, request.ban_ms, engine_now);
  return PeekLimit(state, log, request.config, request.cost, engine_now);
}

void BanLimit(LimiterState& state, int64_t ban_ms, const Now& engine_now) {
  const Now now = OnItsClock(state.config.algorithm, engine_now);
  assert(ban_ms >= 1 && ban_ms <= kBanMsMax);
  if (!state.Banned(now)) state.banned_until_ms = now.ms() + ban_ms;
}

LimitVerdict PeekLimit(const LimiterState& state, const RequestLog* log, const LimitConfig& config,
                       int64_t cost, const Now& engine_now) {
  assert(cost >= 0);
  const Now now = OnItsClock(config.algorithm, engine_now);
  const LimitAnswer answer = state.config == config ? AskLimit(state, log, cost, now)
                                                    : AskLimitAs(state, log, config, cost, now);
  return MakeVerdict(state, config, answer, now);
}

int64_t RefundLimit(LimiterState& state, RequestLog* log, int64_t units, const Now& engine_now) {
  const Now now = OnItsClock(state.config.algorithm, engine_now);
  assert(units >= 0);
  WithAlgorithm(state, log, [&](auto& algorithm) {
    // More than the capacity is nowhere consumed: products stay within their bounds.
    algorithm.Refund(state.config, now.steady_us, std::min(units, kUnitsMax));
  });
  return MakeVerdict(state, state.config, AskLimit(state, log, 1, now), now).remaining;
}

LimitInfo DescribeLimit(const LimiterState& state, const RequestLog* log, const Now& engine_now) {
  const Now now = OnItsClock(state.config.algorithm, engine_now);
  const LimitAnswer answer = AskLimit(state, log, 1, now);
  const LimitVerdict verdict = MakeVerdict(state, state.config, answer, now);
  return {state.config, verdict.limit - answer.remaining, verdict.remaining, verdict.reset_at_ms};
}

// --- what is kept

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
    case LimitAlgorithm::kCalendar:
      return state.window.used < 0 ? "a window has given back more than it had" : "";
    case LimitAlgorithm::kSliding:
      return AuditSliding(state.sliding, config);
    case LimitAlgorithm::kRolling:
    case LimitAlgorithm::kGcra:
      if (state.gcra.tat_part < 0 || state.gcra.tat_part >= config.max)
        return "the fraction of a limiter's time is none";
      return {};
    default:
      return log->Audit(config);
  }
}

bool LimitIsUsed(const LimiterState& state, const RequestLog* log, const Now& engine_now) {
  const Now now = OnItsClock(state.config.algorithm, engine_now);
  return WholeAtUs(state, log, now) > now.steady_us;
}

// A limiter lives until it is whole again and its ban is over, whichever is later.
int64_t LimitEndsAtMs(const LimiterState& state, const RequestLog* log, const Now& engine_now) {
  const Now now = OnItsClock(state.config.algorithm, engine_now);
  const int64_t whole_at_us = WholeAtUs(state, log, now);
  int64_t ends_ms = whole_at_us <= now.steady_us ? now.ms() : TickAfter(whole_at_us);
  if (state.banned_until_ms != 0) ends_ms = std::max(ends_ms, state.banned_until_ms);
  return ends_ms + now.unix_offset_ms - engine_now.unix_offset_ms;
}

// Two bans are room for one and for the difference of two clocks.
bool LimitIsLikely(const LimiterState& state, const RequestLog* log, const Now& now) {
  const LimitConfig& config = state.config;
  const int64_t refill_ms =
      HasBurst(config.algorithm)
          ? static_cast<int64_t>(DivideUp(Product(config.Capacity(), config.PeriodUs()),
                                          static_cast<Wide>(config.max))) /
                1000
          : 2 * config.period_ms;  // SLIDING looks back on a whole period
  return LimitEndsAtMs(state, log, now) - now.ms() <= refill_ms + 2 * kBanMsMax;
}

}  // namespace sluice
