// The dialects of GCRA that count from a stored "theoretical arrival time": CL.THROTTLE (Redis
// module redis-cell 0.5.0), RL.THROTTLE (the same), and the command GCRA. The arithmetic is
// redis-cell's, rounding for rounding, in ns of Unix time:
//
//   e = trunc(period / count)   D = e x (max_burst + 1)   inc = e x quantity
//   new = max(now, tat) + inc   allowed if now >= new - D
//
// but in 128 bits, so that it never wraps: what does not fit into a reply or into the stored 64
// bits is a CellFault. The emission interval e is truncated to whole ns there, so it is here too:
// these are dialects; exact rates are LIMIT.TAKE's.
//
// CL.THROTTLE key 2 1 10 (a burst of 2, one unit each 10 s): e = 10 s, D = 30 s. With the key
// empty:
//
//   at 0 s   new = 10 s   10 - 30 <= 0   allowed, 2 remain
//   at 0 s   new = 20 s   20 - 30 <= 0   allowed, 1 remains
//   at 0 s   new = 30 s   30 - 30 <= 0   allowed, 0 remain
//   at 0 s   new = 40 s   40 - 30 >  0   limited: retry after 10 s, reset after 30 s
//
// Nothing is stored here. The caller reads `tat` from the key (a decimal string) and, if `stored`,
// writes new_tat_ns with a TTL of ttl_ms: as PEXPIRE, so a TTL of 0 or less removes the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

enum class CellFault : uint8_t {
  kNone,
  kZeroRate,  // count or period is 0
  kTooFast,   // less than 1 ns between two units
  kOverflow,  // the result does not fit into 64 bits
};
// The sentence without "Cell error: Store error: ", which is CL.THROTTLE's own.
std::string_view CellFaultText(CellFault fault);

// As the client gave it; TakeCell checks the numbers.
struct CellRequest {
  int64_t max_burst = 0;
  int64_t count = 0;  // per period
  __int128 period_ns = 0;
  int64_t quantity = 1;  // 0 peeks, below 0 gives back
};

struct CellAnswer {
  bool limited = false;
  int64_t limit = 0;  // max_burst + 1
  int64_t remaining = 0;
  int64_t retry_after_s = -1;  // -1 if allowed, or if never possible
  int64_t reset_after_s = 0;
  bool stored = false;
  int64_t new_tat_ns = 0;  // meaningful if `stored`, as is the next
  int64_t ttl_ms = 0;      // may be 0 or less
};

// `tat_ns` is what the key holds, nullopt if there is none. Pure and O(1): the caller reads the key
// before and writes it after. On a fault `answer` holds nothing that may be told.
CellFault TakeCell(const CellRequest& request, std::optional<int64_t> tat_ns, int64_t now_ns,
                   CellAnswer* answer);

// A period in whole seconds as CL.THROTTLE takes it.
inline __int128 CellPeriodNs(int64_t seconds) { return __int128{seconds} * 1'000'000'000; }
// GCRA's period: decimal seconds, "1" or "0.25" or "1.5"; digits beyond the ns are cut off.
// nullopt for anything else, and beyond 2^63 - 1 s.
std::optional<__int128> ParseCellPeriodNs(std::string_view text);

}  // namespace sluice
