// ROLLING: the token bucket (Turner 1986), refilled evenly with max units a period up to a capacity
// of `burst`. Seen from when the bucket will be full it is the virtual scheduling of gcra.h with
// another capacity (I.371 proves the two equal), so the state and the arithmetic are those, exact
// to 1/max µs; LimitConfig::Capacity tells them apart.
#pragma once

#include "storage/limits/gcra.h"

namespace sluice {

using RollingState = GcraState;

}  // namespace sluice
