// See blocking.h.
#include "server/commands/shared/blocking.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "protocol/text/number_text.h"
#include "storage/time/timer_wheel.h"

namespace sluice {
namespace {

// From a wait in ms to the engine's ms at which it ends, rounded up: as in Redis, no wait is
// shorter than it was to be. One that is longer than the timer wheel can hold, 2^48 ms or 8900
// years, is cut to that.
int64_t EndOfWait(ArgReader& args, const CommandCall& call, int64_t wait_ms) {
  if (wait_ms < 0) {
    args.Fail("ERR timeout is negative");
    return 0;
  }
  if (wait_ms == 0) return 0;
  return (call.now.steady_us + 999) / 1000 + std::min(wait_ms, TimerWheel::kDeadlineMsMax);
}

}  // namespace

int64_t ReadTimeoutSeconds(ArgReader& args, const CommandCall& call) {
  const std::optional<long double> seconds = ParseLongDouble(args.Bytes());
  if (!seconds) {
    args.Fail("ERR timeout is not a float or out of range");
    return 0;
  }
  // A number that is no int64 becomes the least of them in Redis, on either side.
  const long double ms = std::ceil(*seconds * 1000);
  const bool fits = std::fabs(ms) < 0x1p63L;
  return EndOfWait(args, call, fits ? static_cast<int64_t>(ms) : INT64_MIN);
}

int64_t ReadTimeoutMs(ArgReader& args, const CommandCall& call) {
  const std::optional<int64_t> ms = ParseInt64(args.Bytes());
  if (!ms) {
    args.Fail("ERR timeout is not an integer or out of range");
    return 0;
  }
  return EndOfWait(args, call, *ms);
}

}  // namespace sluice
