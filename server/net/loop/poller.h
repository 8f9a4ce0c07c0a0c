// Poller: who may be read or written: sockets of clients and listeners, and what EventLoop watches,
// in one epoll set. Tell is one system call for all that are ready.
//
// Readiness comes in edges: what a watcher leaves unread is not reported again, it has to remember.
//
// Watch and Forget are O(1); a Tell is O(events), at most 256. Watchers are not owned.
#pragma once

#include <cstdint>
#include <vector>

struct epoll_event;

namespace sluice {

class ReadinessWatcher {
 public:
  virtual ~ReadinessWatcher() = default;
  // There is something to read; `ended`: and then the end of the stream, which is not told again.
  // Called while others are yet to be told: it may note, not read, close or destroy.
  virtual void Readable(bool ended) = 0;
  // Called when all that can be read was told: anything goes.
  virtual void Writable() = 0;
};

class Poller {
 public:
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;

  bool open() const { return set_ >= 0; }  // false when the system refused, as errno says
  // The set: can be read while Tell has something to tell.
  int descriptor() const { return set_; }

  // Watches `descriptor`, which is not owned, until Forget. False when the system refused.
  bool Watch(int descriptor, ReadinessWatcher& watcher);
  // To be called just before the descriptor is closed, which takes it out of the set.
  void Forget(int descriptor);
  // Writable will be called once, when there is room; asking again meanwhile changes nothing.
  void AwaitWritable(int descriptor);

  // Tells the watchers what is ready; false when nothing was. There may be more than it tells at
  // once. If it may wait it does so until there is something, or a signal's handler has run.
  bool Tell(bool may_wait);

 private:
  struct Watched {
    ReadinessWatcher* watcher = nullptr;
    uint32_t generation = 0;  // tells an event of a descriptor's former use
    bool awaits_writable = false;
  };

  Watched* Find(const epoll_event& event);

  const int set_;
  std::vector<Watched> watched_;  // by descriptor
};

}  // namespace sluice
