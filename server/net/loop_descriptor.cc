// See loop_descriptor.h. std::chrono::steady_clock is CLOCK_MONOTONIC.
#include "server/net/loop_descriptor.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace sluice {

LoopDescriptor::LoopDescriptor()
    : set_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (open()) Watch(timer_);
}

LoopDescriptor::~LoopDescriptor() {
  if (timer_ >= 0) ::close(timer_);
  if (set_ >= 0) ::close(set_);
}

bool LoopDescriptor::Watch(int descriptor) const {
  epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
  return ::epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void LoopDescriptor::RingAt(std::optional<Moment> moment) const {
  itimerspec at{};
  if (moment) {  // a time of 0 would be none
    const int64_t ns =
        std::max<int64_t>(1, std::chrono::nanoseconds(moment->time_since_epoch()).count());
    at.it_value.tv_sec = ns / 1'000'000'000;
    at.it_value.tv_nsec = ns % 1'000'000'000;
  }
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

}  // namespace sluice
