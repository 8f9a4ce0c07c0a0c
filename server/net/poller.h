// Poller: the wait between two turns. It waits for the clients' descriptors in an epoll set of its
// own, of which Asio's set is one member, so that one system call gathers a turn's clients and
// tells whether Asio has anything to do.
//
// Through Asio each wait is two system calls: what is posted behind a pass of its reactor, as a
// turn has to be, runs only after the reactor was asked once more. And its async_wait costs an
// epoll_ctl a request. Asio keeps what is rare: newcomers, signals, timers.
//
// Readiness comes in edges: what a watcher leaves unread is not reported again, it has to remember.
#pragma once

#include <boost/asio/io_context.hpp>
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
  // Asio's handlers are only ever run by io.poll() and io.poll_one(), never by io.run().
  explicit Poller(boost::asio::io_context& io);
  ~Poller();
  Poller(const Poller&) = delete;

  bool open() const { return set_ >= 0; }  // false when the system refused, as errno says

  // Watches `descriptor`, which is not owned, until Forget. False when the system refused.
  bool Watch(int descriptor, ReadinessWatcher& watcher);
  // To be called just before the descriptor is closed.
  void Forget(int descriptor);
  // Writable will be called once, when there is room; asking again meanwhile changes nothing.
  void AwaitWritable(int descriptor);

  enum class Patience { kNone, kForever };
  // Tells the watchers. Returns whether Asio has handlers to run.
  bool Wait(Patience patience);

 private:
  struct Watched {
    ReadinessWatcher* watcher = nullptr;
    uint32_t generation = 0;  // tells an event of a descriptor's former use
    bool awaits_writable = false;
  };

  Watched* Find(const epoll_event& event);

  int set_;
  std::vector<Watched> watched_;  // by descriptor
};

}  // namespace sluice
