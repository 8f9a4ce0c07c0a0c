// Alarms: calls at moments of real time, on the loop. One timer of the system (timerfd) serves all
// of them: setting an alarm behind another costs no system call.
//
// Set and Cancel are O(log n) of those that are set.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "server/net/loop/event_loop.h"

namespace sluice {

class Alarms {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  // A moment and a number, so that each is unlike all others. A default one is of no alarm.
  using Id = std::pair<Moment, uint64_t>;

  explicit Alarms(EventLoop& loop);
  Alarms(const Alarms&) = delete;

  bool open() const { return timer_.open(); }  // false when the system refused, as errno says

  // `call` is made once, when so much time has passed; it may set and cancel others.
  Id Set(std::chrono::microseconds in, std::function<void()> call);
  // Nothing happens to one that has been called.
  void Cancel(const Id& id);
  // None is called any more.
  void Stop();

 private:
  void Await();
  void CallDue();

  DescriptorCall timer_;
  std::map<Id, std::function<void()>> calls_;
  std::optional<Moment> awaited_;  // for which the timer is set
  uint64_t last_number_ = 0;
  bool stopped_ = false;
};

}  // namespace sluice
