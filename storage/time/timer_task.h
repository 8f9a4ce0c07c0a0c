// TimerTask: what is on the timer wheel beside the keys' own deadlines. A part that wants to be
// called at a moment has one, or derives from it; TimerTasks::Arm sets it, Disarm takes it off,
// which its destruction does not.
#pragma once

#include "storage/time/timer_wheel.h"

namespace sluice {

struct TimerTask {
  TimerNode node;  // first: a fired node's address is that of its task
  // Called in a turn when the moment has come; it may arm, disarm and destroy this and any other.
  void (*fired)(TimerTask& task) = nullptr;
};

// The task of a part, which it calls back.
template <typename Owner>
struct TimerTaskOf : TimerTask {
  explicit TimerTaskOf(Owner& whose) : owner(whose) {}
  Owner& owner;
};

class TimerTasks {
 public:
  explicit TimerTasks(TimerWheel& wheel) : wheel_(wheel) {}

  // Sets a task, also one that is set already.
  void Arm(TimerTask& task, int64_t at_ms) {
    if (task.node.linked()) {
      wheel_.Move(task.node, at_ms);
    } else {
      wheel_.Insert(task.node, TimerKind::kTask, at_ms);
    }
  }
  void Disarm(TimerTask& task) { wheel_.Cancel(task.node); }

 private:
  TimerWheel& wheel_;
};

}  // namespace sluice
