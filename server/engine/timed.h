// Timed: what is on the timer wheel beside the keys' own deadlines. Who wants to be called at a
// moment is one, or has one; Engine::Arm sets it, Engine::Disarm takes it off, which its
// destruction does not.
#pragma once

#include "storage/time/timer_wheel.h"

namespace sluice {

class Engine;

struct Timed {
  TimerNode node;  // first: a fired node's address is that of what is timed
  // Called in a turn when the moment has come; it may arm, disarm and destroy this and any other.
  void (*fired)(Engine& engine, Timed& timed) = nullptr;
};

}  // namespace sluice
