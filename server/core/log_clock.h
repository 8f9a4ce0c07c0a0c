// The clock of a turn as a log and a snapshot note it.
#pragma once

#include "server/core/turn_clock.h"
#include "storage/log/turn_writer.h"

namespace sluice {

inline LogClock LogClockOf(const TurnClock& clock) {
  return {clock.now().unix_offset_ms, clock.clock().shift_ms(), clock.clock().skew_ms()};
}

}  // namespace sluice
