// See poller.h. The system gives the number of a closed descriptor to the next one. So each event
// carries the generation of its descriptor's place in `watched_`, and an event of a descriptor that
// was closed in the same round is passed over.
#include "server/net/loop/poller.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cstddef>

#include "server/net/loop/system_calls.h"

namespace sluice {
namespace {

constexpr int kEventsMax = 256;
constexpr uint32_t kEnds = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
constexpr uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

uint64_t DataOf(uint32_t generation, int descriptor) {
  return uint64_t{generation} << 32 | static_cast<uint32_t>(descriptor);
}

}  // namespace

Poller::Poller() : set_(::epoll_create1(EPOLL_CLOEXEC)) {}

Poller::~Poller() {
  if (open()) ::close(set_);
}

bool Poller::Watch(int descriptor, ReadinessWatcher& watcher) {
  const auto index = static_cast<size_t>(descriptor);
  if (index >= watched_.size()) watched_.resize(index + 1);
  Watched& watched = watched_[index];
  epoll_event event{.events = kEvents, .data = {.u64 = DataOf(watched.generation, descriptor)}};
  if (::epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &event) < 0) return false;
  watched.watcher = &watcher;
  watched.awaits_writable = false;
  return true;
}

void Poller::Forget(int descriptor) {
  Watched& watched = watched_[static_cast<size_t>(descriptor)];
  watched.watcher = nullptr;
  ++watched.generation;
}

void Poller::AwaitWritable(int descriptor) {
  Watched& watched = watched_[static_cast<size_t>(descriptor)];
  if (watched.awaits_writable) return;
  watched.awaits_writable = true;
  // Setting the same events again reports room that there is by now.
  epoll_event event{.events = kEvents, .data = {.u64 = DataOf(watched.generation, descriptor)}};
  ::epoll_ctl(set_, EPOLL_CTL_MOD, descriptor, &event);
}

Poller::Watched* Poller::Find(const epoll_event& event) {
  Watched& watched = watched_[static_cast<uint32_t>(event.data.u64)];
  const bool is_current = watched.watcher && watched.generation == event.data.u64 >> 32;
  return is_current ? &watched : nullptr;
}

bool Poller::Tell(bool may_wait) {
  epoll_event events[kEventsMax];
  const int count = AwaitEvents(set_, events, kEventsMax, may_wait ? -1 : 0);
  bool any_writable = false;
  for (int i = 0; i < count; ++i) {
    Watched* const watched = Find(events[i]);
    if (!watched) continue;
    const uint32_t happened = events[i].events;
    if (happened & (EPOLLIN | kEnds)) watched->watcher->Readable((happened & kEnds) != 0);
    any_writable |= watched->awaits_writable;
  }
  // A watcher that is told may close others.
  for (int i = 0; any_writable && i < count; ++i) {
    Watched* const watched = Find(events[i]);
    if (!watched || !watched->awaits_writable || !(events[i].events & (EPOLLOUT | kEnds))) continue;
    watched->awaits_writable = false;
    watched->watcher->Writable();
  }
  return count > 0;
}

}  // namespace sluice
