// Two servers at rest, one of which follows the other: what is the same, and what is not.
#pragma once

#include <cstddef>

#include "tests/simulation/cluster/machine.h"

namespace sluice::cluster {

// Requires of both that they have been left alone for half a minute. The replica is up to date: it
// has the master's history, its keys with their deadlines, policies and functions, and its engine
// time, late by the shortest delay. Clocks that run `wildly` may leave that behind. Returns how
// many keys there are; a failure of the test where something differs.
size_t ExpectSame(Machine& master, Machine& replica, bool wildly);

}  // namespace sluice::cluster
