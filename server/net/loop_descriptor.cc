// See loop_descriptor.h.
#include "server/net/loop_descriptor.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace sluice {

LoopDescriptor::LoopDescriptor()
    : set_(::epoll_create1(EPOLL_CLOEXEC)), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (open()) Watch(bell_);
}

LoopDescriptor::~LoopDescriptor() {
  if (bell_ >= 0) ::close(bell_);
  if (set_ >= 0) ::close(set_);
}

bool LoopDescriptor::Watch(int descriptor) const {
  epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
  return ::epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void LoopDescriptor::Ring() {
  if (std::exchange(is_rung_, true)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t rung = ::write(bell_, &one, sizeof one);
}

void LoopDescriptor::Still() {
  if (!std::exchange(is_rung_, false)) return;
  uint64_t rung;
  [[maybe_unused]] const ssize_t got = ::read(bell_, &rung, sizeof rung);
}

}  // namespace sluice
