// Readiness: tells a watcher each time a descriptor may be read, and, when asked to, once when it may
// be written, at no system call a wait.
//
// Asio's async_wait re-arms a descriptor with one epoll_ctl per wait, which for a small request is a
// twentieth of all its cost. Here the descriptor is registered once, edge-triggered as all of Asio's
// are, with an operation that stays in the reactor's queue and only reports. That takes Asio's detail
// namespace (as of Boost 1.74 to 1.83); nothing outside readiness.cc knows of it.
//
// Edges have two consequences for the watcher. What it leaves unread is not reported again: it has to
// remember. And an end of stream that came together with data is not reported by itself: after a read
// that emptied the socket it has to look once more, later (see Server's second looks).
#pragma once

#include <boost/asio/io_context.hpp>

namespace sluice {

class ReadinessWatcher {
 public:
  virtual ~ReadinessWatcher() = default;
  // Called from inside the reactor: it may note and post, not read, close or destroy.
  virtual void Readable() = 0;
  // Called as a handler of its own: anything goes.
  virtual void Writable() = 0;
};

class Readiness {
 public:
  // Watches `descriptor`, which it does not own, from now to Stop. `watcher` lives until then.
  Readiness(boost::asio::io_context& io, int descriptor, ReadinessWatcher& watcher);
  ~Readiness();
  Readiness(const Readiness&) = delete;

  bool watching() const { return registration_ != nullptr; }  // false when the system refused
  void AwaitWritable();  // asking again meanwhile changes nothing
  // To be called just before the descriptor is closed, which takes it out of the reactor's set. Nothing
  // is reported any more.
  void Stop();

 private:
  class Registration;
  Registration* registration_;  // its operations may outlive this object: it frees itself
};

}  // namespace sluice
