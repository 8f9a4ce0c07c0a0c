// The whole state of one limiter, but for the requests of LOG and LEAKY, and its packed form.
//
// LimiterState is what the code works on: configuration, the algorithm's own struct, and a ban.
// Packed it takes kNarrowLimiterBytes (25) while all numbers but the time are below 2^32 and there
// is no ban, else kWideLimiterBytes; the length tells the two apart. LOG and LEAKY have only the
// first, with the TickRun of their requests behind it: with more they are a Limiter object.
//
// How it fits into an Entry: as the inline bytes of an EntryPayload {kLimiter, kInline}. With the
// header (8), a timer (18) and a key of 20 bytes that is a block of 71 -> 72 bytes, 80 from malloc,
// and 92 with the entry's share of its segment. A handler unpacks, calls TakeLimit, packs, and
// overwrites the payload in place (same length: same block), so no Value is made or freed.
//
// Beyond the numbers of LimitConfig nothing is refused here: see limit.h for units and bounds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "storage/limits/limit.h"
#include "storage/limits/request_log.h"
#include "storage/limits/rolling.h"
#include "storage/limits/sliding_window.h"
#include "storage/limits/window.h"
#include "storage/time/clock.h"

namespace sluice {

// Now as the algorithm counts: all moments of a CALENDAR limiter are Unix times, so that its
// windows follow the wall clock when that is set; all others' are engine time.
inline Now OnItsClock(LimitAlgorithm algorithm, const Now& now) {
  if (algorithm != LimitAlgorithm::kCalendar) [[likely]]
    return now;
  return {now.unix_us(), 0};
}

// A value of 88 bytes, copied about freely. RequestLog stands apart because it owns memory.
struct LimiterState {
  LimitConfig config;
  union {
    SlidingWindowState sliding{};
    WindowState window;
    GcraState gcra;  // and ROLLING
  };
  int64_t banned_until_ms = 0;  // 0: there is no ban

  explicit LimiterState(const LimitConfig& config_given) : config(config_given) {
    if (config.algorithm == LimitAlgorithm::kSliding) return;
    if (HasWindow(config.algorithm)) {
      window = WindowState{};
    } else {
      gcra = GcraState{};
    }
  }
  // `now`: OnItsClock.
  bool Banned(const Now& now) const { return banned_until_ms != 0 && now.ms() < banned_until_ms; }
};

static_assert(std::is_trivially_copyable_v<LimiterState>);

// LOG and LEAKY keep their requests in a RequestLog beside the state.
inline bool NeedsLog(LimitAlgorithm algorithm) {
  return algorithm == LimitAlgorithm::kLog || algorithm == LimitAlgorithm::kLeaky;
}

// A LIMIT.TAKE. Requires: cost >= 1; 0 <= ban_ms <= kBanMsMax. One that costs nothing is a look
// (PeekLimit).
struct LimitRequest {
  LimitConfig config;  // the limiter is reconfigured to it if the request is allowed
  int64_t cost = 1;
  int64_t ban_ms = 0;  // > 0: a refusal bans for that long. One that is banned is not banned anew.
};

// The six values of LIMIT.TAKE's reply. Spans are rounded up to whole ms.
struct LimitVerdict {
  bool allowed = false;
  int64_t limit = 0;        // the capacity
  int64_t remaining = 0;    // 0 .. limit; 0 while banned
  int64_t retry_ms = 0;     // 0 if allowed, -1 if the cost never fits
  int64_t reset_ms = 0;     // until the limit is whole and no ban is left
  int64_t reset_at_ms = 0;  // the same as Unix time, the same in every answer in between

  // LimitEndsAtMs of the state that has given this answer.
  int64_t EndsAtMs(const Now& now) const { return reset_at_ms - now.unix_offset_ms; }
};

struct LimitInfo {
  LimitConfig config;
  int64_t used = 0;  // capacity less remaining; counts what is partly there again as not there
  int64_t remaining = 0;
  int64_t reset_at_ms = 0;
};

// In all of these, `log` is the limiter's log if it needs one, else null. Requires: the algorithm
// of the request is the limiter's ("limiter is WINDOW, not GCRA" is the caller's error). A refusal
// changes nothing, whatever numbers the request came with; but for its ban.
LimitVerdict TakeLimit(LimiterState& state, RequestLog* log, const LimitRequest& request,
                       const Now& now);
// Bans for `ban_ms` from now, unless a ban is on.
void BanLimit(LimiterState& state, int64_t ban_ms, const Now& now);
// The answer that the same request would get but for BAN, and nothing changes. Requires: cost >= 0.
LimitVerdict PeekLimit(const LimiterState& state, const RequestLog* log, const LimitConfig& config,
                       int64_t cost, const Now& now);
// Gives back; returns what remains. Requires: units >= 0.
int64_t RefundLimit(LimiterState& state, RequestLog* log, int64_t units, const Now& now);
LimitInfo DescribeLimit(const LimiterState& state, const RequestLog* log, const Now& now);
// Whether anything but a ban tells it from a new one.
bool LimitIsUsed(const LimiterState& state, const RequestLog* log, const Now& now);
// Engine ms from when on it is as good as none: the key's deadline. One that has passed means that
// nothing is to be stored (a refused first request).
int64_t LimitEndsAtMs(const LimiterState& state, const RequestLog* log, const Now& now);

// Whether requests can have made it, those of a server with another wall clock, too: it is whole
// again within the time that its configuration and a ban take at most.
bool LimitIsLikely(const LimiterState& state, const RequestLog* log, const Now& now);

inline constexpr size_t kNarrowLimiterBytes = 25;
inline constexpr size_t kWideLimiterBytes = 57;

inline constexpr size_t kPackedLimiterMax = kNarrowLimiterBytes + TickRun::kBytesMax;

// Writes a packed form at `out` (kPackedLimiterMax of room) and returns its length; 0 for a log
// that does not fit. `old_bytes`: the length that this takes the place of, or 0.
size_t PackLimiter(const LimiterState& state, const RequestLog* log, char* out,
                   size_t old_bytes = 0);
inline size_t PackLimiter(const LimiterState& state, char* out) {
  return PackLimiter(state, nullptr, out);
}
// Precondition of both: made by PackLimiter in this process; a file is read by its own decoder.
LimiterState UnpackLimiter(std::string_view packed);
// Requires: NeedsLog.
RequestLog UnpackLog(std::string_view packed);
// The first violated invariant as a sentence, or empty.
std::string AuditLimiter(const LimiterState& state, const RequestLog* log);

}  // namespace sluice
