// See event_loop.h. The bell is never read: each write to it is an edge of its own, whatever it
// counts.
#include "server/net/loop/event_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>

namespace sluice {

// --- DescriptorCall

bool DescriptorCall::Open(int descriptor) {
  Close();
  if (descriptor < 0) return false;
  if (!loop_.poller_.Watch(descriptor, *this)) {
    const int fault = errno;
    ::close(descriptor);
    errno = fault;
    return false;
  }
  descriptor_ = descriptor;
  return true;
}

void DescriptorCall::Close() {
  if (!open()) return;
  std::erase(loop_.due_, this);
  loop_.poller_.Forget(descriptor_);
  ::close(std::exchange(descriptor_, -1));
}

void DescriptorCall::Readable(bool) { loop_.due_.push_back(this); }

// --- EventLoop

EventLoop::EventLoop() { bell_.Open(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void EventLoop::Post(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(call));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t rung = ::write(bell_.descriptor(), &one, sizeof one);
}

bool EventLoop::Round(bool may_wait) {
  const bool any = poller_.Tell(may_wait);
  while (!due_.empty()) {
    DescriptorCall& first = *due_.front();
    due_.erase(due_.begin());
    first.call_();
  }
  return any;
}

// What they post themselves is for the next round. A round inside one of them goes on with those
// that are left of this one.
void EventLoop::MakePosted() {
  {
    const std::lock_guard lock(mutex_);
    std::move(posted_.begin(), posted_.end(), std::back_inserter(taken_));
    posted_.clear();
  }
  while (!taken_.empty()) {
    const std::function<void()> call = std::move(taken_.front());
    taken_.pop_front();
    call();
  }
}

}  // namespace sluice
