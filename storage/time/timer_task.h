// TimerTask: what is on the timer wheel beside the keys' own deadlines. A part that wants to be
// called when a deadline passes owns a TimerTask, or derives from it. TimerTasks::Arm puts it on
// the wheel, Disarm takes it off; its owner must disarm it before it is destroyed.
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

// Kept apart from the wheel so that parts need not know of other kinds of timers. It owns nothing.
class TimerTasks {
 public:
  explicit TimerTasks(TimerWheel& wheel) : wheel_(wheel) {}

  // Sets a task, also one that is set already.
  void Arm(TimerTask& task, int64_t at_ms) { Set(task.node, TimerKind::kTask, at_ms); }
  void Disarm(TimerTask& task) { wheel_.Cancel(task.node); }
  // The same for a lock's next end of a lease. There may be a million of them, so that they have
  // no function to be called: the turn knows whose they are.
  void ArmLease(TimerNode& lease, int64_t at_ms) { Set(lease, TimerKind::kLease, at_ms); }
  void DisarmLease(TimerNode& lease) { wheel_.Cancel(lease); }

 private:
  void Set(TimerNode& node, TimerKind kind, int64_t at_ms) {
    if (node.linked()) {
      wheel_.Move(node, at_ms);
    } else {
      wheel_.Insert(node, kind, at_ms);
    }
  }

  TimerWheel& wheel_;
};

}  // namespace sluice
