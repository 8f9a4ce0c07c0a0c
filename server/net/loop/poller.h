// Poller: the sockets of clients and listeners, in an epoll set of its own. The set is one
// descriptor inside Asio, readable while any of its members is:
//
//   while (poller.Tell()) ...   // one system call for all that are ready; it does not wait
//   poller.Await();             // Asio calls `ready` as soon as Tell has something to tell
//
// Through Asio alone each request would cost an async_wait, which is an epoll_ctl, and a turn could
// not gather all clients that are ready. A busy server asks Tell again and again and needs Asio for
// none of it; an idle one sleeps in Asio, beside signals, timers and all else that its io_context
// serves.
//
// Readiness comes in edges: what a watcher leaves unread is not reported again, it has to remember.
//
// Watch and Forget are O(1); a Tell is O(events), at most 256. Watchers are not owned.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
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
  // `ready` is called by a handler of `io`.
  Poller(boost::asio::io_context& io, std::function<void()> ready);
  Poller(const Poller&) = delete;

  bool open() const { return set_.is_open(); }  // false when the system refused, as errno says
  // The set: can be read while Tell has something to tell.
  int descriptor() { return set_.native_handle(); }

  // Watches `descriptor`, which is not owned, until Forget. False when the system refused.
  bool Watch(int descriptor, ReadinessWatcher& watcher);
  // To be called just before the descriptor is closed, which takes it out of the set.
  void Forget(int descriptor);
  // Writable will be called once, when there is room; asking again meanwhile changes nothing.
  void AwaitWritable(int descriptor);

  // Tells the watchers what is ready, without waiting; false when nothing was. There may be more
  // than it tells at once.
  bool Tell();
  // `ready` will be called once, when there is something to tell, or for what there is already;
  // asking again meanwhile changes nothing.
  void Await();
  // `ready` is not called any more, so that io.run() can return.
  void Stop();

 private:
  struct Watched {
    ReadinessWatcher* watcher = nullptr;
    uint32_t generation = 0;  // tells an event of a descriptor's former use
    bool awaits_writable = false;
  };

  Watched* Find(const epoll_event& event);

  boost::asio::posix::stream_descriptor set_;
  std::function<void()> ready_;
  bool awaited_ = false;
  std::vector<Watched> watched_;  // by descriptor
};

}  // namespace sluice
