// See cell.h. Products are of 64-bit factors, or of e < 2^94 with a 64-bit one that is checked: all
// stay below 2^127.
#include "storage/limits/cell.h"

#include <cassert>
#include <iterator>
#include <limits>

#include "protocol/text/number_text.h"

namespace sluice {
namespace {

using Signed = __int128;

constexpr int64_t kMsNs = 1'000'000;
constexpr std::string_view kFaults[] = {
    "",
    "Zero rates are not supported",
    "Rates above one per nanosecond are not supported",
    "The result is out of range",
};
static_assert(std::size(kFaults) == static_cast<size_t>(CellFault::kOverflow) + 1);

// --- numbers

// Two overloads, so that the templates below ask nothing where Number has 64 bits already.
bool Fits64(int64_t) { return true; }
bool Fits64(Signed value) {
  return value >= std::numeric_limits<int64_t>::min() &&
         value <= std::numeric_limits<int64_t>::max();
}

// Truncates. Divisions of 128 bits are calls, and nearly all numbers have 64.
template <typename Number>
Number Quotient(Number dividend, Number divisor) {
  if (Fits64(dividend) && Fits64(divisor)) [[likely]]
    return static_cast<int64_t>(dividend) / static_cast<int64_t>(divisor);
  return dividend / divisor;
}

// redis-cell cuts to whole ms, then rounds up to seconds.
template <typename Integer>
Integer RoundedSeconds(Integer ns) {
  const Integer ms = ns / 1'000'000;
  return ms / 1000 + (ms % 1000 > 0 ? 1 : 0);
}
int64_t SecondsOf(int64_t ns) { return RoundedSeconds(ns); }
Signed SecondsOf(Signed ns) {
  return Fits64(ns) ? RoundedSeconds(static_cast<int64_t>(ns)) : RoundedSeconds(ns);
}

// --- the decision

template <typename Number>
struct Sums {
  Number interval;   // e
  Number tolerance;  // D
  Number increment;
};

// Any request: a number that does not fit says so, where 64 bits would wrap.
CellFault MakeSums(const CellRequest& request, Sums<Signed>* sums) {
  sums->interval = Quotient<Signed>(request.period_ns, request.count);
  if (sums->interval == 0) return CellFault::kTooFast;
  const Signed capacity = Signed{request.max_burst} + 1;
  if (__builtin_mul_overflow(sums->interval, capacity, &sums->tolerance) ||
      __builtin_mul_overflow(sums->interval, Signed{request.quantity}, &sums->increment))
    return CellFault::kOverflow;
  // Room for the sums with 64-bit times below.
  const Signed bound = Signed{1} << 125;
  const bool fits = sums->tolerance < bound && sums->increment < bound && sums->increment > -bound;
  return fits ? CellFault::kNone : CellFault::kOverflow;
}

// The same in 64 bits, as nearly all requests have it: with a time below twice the bound whatever
// is added below fits. False where it may not.
constexpr int64_t kNarrowMax = int64_t{1} << 60;
// Every product and sum is checked; a negative quantity gives back.
bool MakeSums(const CellRequest& request, int64_t tat, int64_t now, Sums<int64_t>* sums) {
  if (request.period_ns > kNarrowMax || tat > 2 * kNarrowMax || tat < -2 * kNarrowMax ||
      now > 2 * kNarrowMax || now < -2 * kNarrowMax)
    return false;
  sums->interval = static_cast<int64_t>(request.period_ns) / request.count;
  if (sums->interval == 0 ||
      __builtin_mul_overflow(sums->interval, request.max_burst + 1, &sums->tolerance) ||
      __builtin_mul_overflow(sums->interval, request.quantity, &sums->increment))
    return false;
  return sums->tolerance <= kNarrowMax && sums->increment <= kNarrowMax &&
         sums->increment >= -kNarrowMax;
}

// Writes the numbers of a reply unless one does not fit.
template <typename Number>
CellFault Fill(Number remaining, Number retry_s, Number reset_s, CellAnswer* answer) {
  if (!Fits64(remaining) || !Fits64(retry_s) || !Fits64(reset_s)) return CellFault::kOverflow;
  answer->remaining = static_cast<int64_t>(remaining);
  answer->retry_after_s = static_cast<int64_t>(retry_s);
  answer->reset_after_s = static_cast<int64_t>(reset_s);
  return CellFault::kNone;
}

// The whole of GCRA: when the next unit would arrive in theory, and whether that is further ahead
// than the tolerance.
template <typename Number>
CellFault Decide(const Sums<Number>& sums, Number tat, Number now, CellAnswer* answer) {
  const Number new_tat = (tat > now ? tat : now) + sums.increment;
  const Number missing = new_tat - sums.tolerance - now;  // the wait until it would be allowed
  answer->limited = missing > 0;
  // A refusal stores nothing, so the key goes on living until the old arrival time.
  const Number ttl = (answer->limited ? tat : new_tat) - now;
  if (!answer->limited) {
    if (!Fits64(new_tat) || !Fits64(Quotient<Number>(ttl, kMsNs))) return CellFault::kOverflow;
    answer->stored = true;
    answer->new_tat_ns = static_cast<int64_t>(new_tat);
    answer->ttl_ms = static_cast<int64_t>(Quotient<Number>(ttl, kMsNs));
  }
  // As redis-cell has it: what is beyond the tolerance leaves 0, not a negative number.
  const Number left = sums.tolerance - ttl;
  const Number remaining = left > -sums.interval ? Quotient<Number>(left, sums.interval) : 0;
  const bool can_wait = answer->limited && sums.increment <= sums.tolerance;
  return Fill<Number>(remaining, can_wait ? SecondsOf(missing) : -1, SecondsOf(ttl), answer);
}

}  // namespace

std::string_view CellFaultText(CellFault fault) { return kFaults[static_cast<size_t>(fault)]; }

CellFault TakeCell(const CellRequest& request, std::optional<int64_t> tat_ns, int64_t now_ns,
                   CellAnswer* answer) {
  if (request.count == 0 || request.period_ns == 0) return CellFault::kZeroRate;
  if (request.max_burst == std::numeric_limits<int64_t>::max()) return CellFault::kOverflow;
  *answer = CellAnswer{};
  answer->limit = request.max_burst + 1;
  // A negative rate lets nothing through, and is no error.
  if (request.max_burst < 0 || request.count < 0 || request.period_ns < 0) {
    answer->limited = true;
    return CellFault::kNone;
  }
  const int64_t tat = tat_ns.value_or(now_ns);
  Sums<int64_t> narrow;
  if (MakeSums(request, tat, now_ns, &narrow)) [[likely]]
    return Decide(narrow, tat, now_ns, answer);
  Sums<Signed> sums;
  const CellFault fault = MakeSums(request, &sums);
  return fault != CellFault::kNone ? fault : Decide<Signed>(sums, tat, now_ns, answer);
}

// "1.5" -> 1'500'000'000, "-1.5" -> -1'500'000'000: the decimals have the sign of the text.
std::optional<__int128> ParseCellPeriodNs(std::string_view text) {
  constexpr size_t kNsDigits = 9;
  const size_t point = text.find('.');
  const std::optional<int64_t> seconds = ParseInt64(text.substr(0, point));
  if (!seconds.has_value()) return std::nullopt;
  const std::string_view decimals = point == std::string_view::npos ? "" : text.substr(point + 1);
  if (point != std::string_view::npos && decimals.empty()) return std::nullopt;
  int64_t nanos = 0;
  for (const char c : decimals)
    if (c < '0' || c > '9') return std::nullopt;
  for (size_t i = 0; i < kNsDigits; ++i)
    nanos = nanos * 10 + (i < decimals.size() ? decimals[i] - '0' : 0);
  const __int128 whole = CellPeriodNs(*seconds);
  return text[0] == '-' ? whole - nanos : whole + nanos;
}

}  // namespace sluice
