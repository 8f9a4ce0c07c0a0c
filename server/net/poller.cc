// See poller.h. It takes the descriptor of Asio's epoll set out of Asio's insides, for which there
// is no accessor; a static_assert names the versions for which that holds.
#include "server/net/poller.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <boost/asio/detail/epoll_reactor.hpp>
#include <boost/version.hpp>

static_assert(
    BOOST_VERSION >= 107400 && BOOST_VERSION < 108400,
    "Poller uses Asio's insides: look for epoll_fd_ in epoll_reactor.hpp of this version");

namespace sluice {
namespace {

using Reactor = boost::asio::detail::epoll_reactor;

// Asio has no accessor for its descriptor. In an explicit instantiation access is not checked.
template <int Reactor::*kDescriptor>
struct Insides {
  friend int DescriptorOf(const Reactor& reactor) { return reactor.*kDescriptor; }
};
template struct Insides<&Reactor::epoll_fd_>;
int DescriptorOf(const Reactor& reactor);

constexpr int kEventsMax = 256;
constexpr uint64_t kAsio = UINT64_MAX;  // in the place of generation and descriptor
constexpr uint32_t kEnds = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
constexpr uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

uint64_t DataOf(uint32_t generation, int descriptor) {
  return uint64_t{generation} << 32 | static_cast<uint32_t>(descriptor);
}

}  // namespace

Poller::Poller(boost::asio::io_context& io) : set_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!open()) return;
  Reactor& reactor = boost::asio::use_service<Reactor>(io);
  reactor.init_task();
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kAsio}};
  if (::epoll_ctl(set_, EPOLL_CTL_ADD, DescriptorOf(reactor), &event) < 0) {
    ::close(set_);
    set_ = -1;
  }
}

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

// Closing the descriptor takes it out of the set.
void Poller::Forget(int descriptor) {
  Watched& watched = watched_[static_cast<size_t>(descriptor)];
  watched.watcher = nullptr;
  ++watched.generation;
}

// Setting the same events again reports room that there is by now.
void Poller::AwaitWritable(int descriptor) {
  Watched& watched = watched_[static_cast<size_t>(descriptor)];
  if (watched.awaits_writable) return;
  watched.awaits_writable = true;
  epoll_event event{.events = kEvents, .data = {.u64 = DataOf(watched.generation, descriptor)}};
  ::epoll_ctl(set_, EPOLL_CTL_MOD, descriptor, &event);
}

Poller::Watched* Poller::Find(const epoll_event& event) {
  if (event.data.u64 == kAsio) return nullptr;
  Watched& watched = watched_[static_cast<uint32_t>(event.data.u64)];
  const bool is_current = watched.watcher && watched.generation == event.data.u64 >> 32;
  return is_current ? &watched : nullptr;
}

bool Poller::Wait(Patience patience) {
  epoll_event events[kEventsMax];
  const int count = ::epoll_wait(set_, events, kEventsMax, patience == Patience::kNone ? 0 : -1);
  bool asio = false;
  bool any_writable = false;
  for (int i = 0; i < count; ++i) {
    asio |= events[i].data.u64 == kAsio;
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
  return asio;
}

}  // namespace sluice
