// The two kinds of deadlines in what commands read and in the effects that they tell. An effect
// names every deadline as a Unix time; that it stands for one of engine time is said beside it, and
// is known again when the effect is replayed.
#pragma once

#include <cstdint>

#include "server/dispatch/command.h"

namespace sluice {

// The deadline of a Unix time that the command names.
inline Deadline DeadlineAt(const CommandCall& call, int64_t unix_ms) {
  if (!call.client.replays_relative) [[likely]]
    return Deadline::Unix(unix_ms);
  int64_t engine_ms;
  const bool is_none = __builtin_sub_overflow(unix_ms, call.now.unix_offset_ms, &engine_ms);
  return is_none ? Deadline::Unix(unix_ms) : Deadline::Steady(engine_ms);
}

// The kind of time in an effect that names this deadline.
inline EffectTime EffectTimeOf(const Deadline& deadline) {
  if (deadline.none()) return EffectTime::kAsItIs;
  return deadline.kind == Deadline::Kind::kSteady ? EffectTime::kRelative : EffectTime::kAbsolute;
}

}  // namespace sluice
