// See cell.h. Products are of 64-bit factors, or of e < 2^94 with a 64-bit one that is checked: all
// stay below 2^127.
#include "storage/limits/cell.h"

#include <cassert>
#include <iterator>
#include <limits>

#include "protocol/number_text.h"

namespace sluice {
namespace {

using Signed = __int128;

constexpr Signed kMsNs = 1'000'000;
constexpr std::string_view kFaults[] = {
    "",
    "Zero rates are not supported",
    "Rates above one per nanosecond are not supported",
    "The result is out of range",
};
static_assert(std::size(kFaults) == static_cast<size_t>(CellFault::kOverflow) + 1);

bool Fits64(Signed value) {
  return value >= std::numeric_limits<int64_t>::min() &&
         value <= std::numeric_limits<int64_t>::max();
}

// Truncates. Divisions of 128 bits are calls, and nearly all numbers have 64.
Signed Quotient(Signed dividend, Signed divisor) {
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
Signed SecondsOf(Signed ns) {
  return Fits64(ns) ? RoundedSeconds(static_cast<int64_t>(ns)) : RoundedSeconds(ns);
}

struct Sums {
  Signed interval;   // e
  Signed tolerance;  // D
  Signed increment;
};

CellFault MakeSums(const CellRequest& request, Sums* sums) {
  sums->interval = Quotient(request.period_ns, request.count);
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

// Writes the numbers of a reply unless one does not fit.
CellFault Fill(Signed remaining, Signed retry_s, Signed reset_s, CellAnswer* answer) {
  if (!Fits64(remaining) || !Fits64(retry_s) || !Fits64(reset_s)) return CellFault::kOverflow;
  answer->remaining = static_cast<int64_t>(remaining);
  answer->retry_after_s = static_cast<int64_t>(retry_s);
  answer->reset_after_s = static_cast<int64_t>(reset_s);
  return CellFault::kNone;
}

}  // namespace

std::string_view CellFaultText(CellFault fault) { return kFaults[static_cast<size_t>(fault)]; }

CellFault TakeCell(const CellRequest& request, std::optional<int64_t> tat_ns, int64_t now_ns,
                   CellAnswer* answer) {
  if (request.count == 0 || request.period_ns == 0) return CellFault::kZeroRate;
  if (request.max_burst == std::numeric_limits<int64_t>::max()) return CellFault::kOverflow;
  *answer = CellAnswer{};
  answer->limit = request.max_burst + 1;
  if (request.max_burst < 0 || request.count < 0 || request.period_ns < 0) {
    answer->limited = true;
    return CellFault::kNone;
  }
  Sums sums;
  const CellFault fault = MakeSums(request, &sums);
  if (fault != CellFault::kNone) return fault;

  const Signed now = now_ns;
  const Signed tat = tat_ns.value_or(now_ns);
  const Signed new_tat = (tat > now ? tat : now) + sums.increment;
  const Signed missing = new_tat - sums.tolerance - now;  // the wait until it would be allowed
  answer->limited = missing > 0;
  const Signed ttl = (answer->limited ? tat : new_tat) - now;
  if (!answer->limited) {
    if (!Fits64(new_tat) || !Fits64(Quotient(ttl, kMsNs))) return CellFault::kOverflow;
    answer->stored = true;
    answer->new_tat_ns = static_cast<int64_t>(new_tat);
    answer->ttl_ms = static_cast<int64_t>(Quotient(ttl, kMsNs));
  }
  const Signed left = sums.tolerance - ttl;
  const Signed remaining = left > -sums.interval ? Quotient(left, sums.interval) : 0;
  const bool can_wait = answer->limited && sums.increment <= sums.tolerance;
  return Fill(remaining, can_wait ? SecondsOf(missing) : -1, SecondsOf(ttl), answer);
}

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
