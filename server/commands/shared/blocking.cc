// See blocking.h.
#include "server/commands/shared/blocking.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "protocol/text/number_text.h"
#include "server/core/turn_clock.h"
#include "storage/time/timer_wheel.h"

namespace sluice {
namespace {

int64_t TakeEnd(ArgReader& args, const CommandCall& call, int64_t wait_ms) {
  if (wait_ms < 0) {
    args.Fail("ERR timeout is negative");
    return 0;
  }
  return wait_ms == 0 ? 0 : EndOfWait(call, wait_ms);
}

}  // namespace

int64_t EndOfWait(const CommandCall& call, int64_t wait_ms) {
  const Now present = call.part<TurnClock>().Present();
  return (present.steady_us + 999) / 1000 + std::min(wait_ms, TimerWheel::kDeadlineMsMax);
}

int64_t ReadTimeoutSeconds(ArgReader& args, const CommandCall& call) {
  const std::optional<long double> seconds = ParseLongDouble(args.Bytes());
  if (!seconds) {
    args.Fail("ERR timeout is not a float or out of range");
    return 0;
  }
  // A number that is no int64 becomes the least of them in Redis, on either side.
  const long double ms = std::ceil(*seconds * 1000);
  const bool fits = std::fabs(ms) < 0x1p63L;
  return TakeEnd(args, call, fits ? static_cast<int64_t>(ms) : INT64_MIN);
}

int64_t ReadTimeoutMs(ArgReader& args, const CommandCall& call) {
  const std::optional<int64_t> ms = ParseInt64(args.Bytes());
  if (!ms) {
    args.Fail("ERR timeout is not an integer or out of range");
    return 0;
  }
  return TakeEnd(args, call, *ms);
}

}  // namespace sluice
