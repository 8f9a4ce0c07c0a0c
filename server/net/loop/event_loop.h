// EventLoop: what the server's thread does between two turns. It waits, with one system call for
// everything, and then makes the calls that are due:
//
//   sockets                  the poller's: watchers are told, and note it
//   descriptors of others    a DescriptorCall each: the timer of alarms, signals, a worker's bell
//   calls of other threads   Post
//
//   DescriptorCall bell(loop, [] { ... });   // on the loop, when the bell can be read
//   bell.Open(::eventfd(...));
//   while (goes_on) loop.Round(/*may_wait=*/true);
//
// A loop of Asio around the poller's set was there before this: a request of a single client then
// took up to three epoll_wait instead of one, and a quarter of its instructions were Asio's. All
// that Asio did beside it were five descriptors.
//
// Post may be called from any thread, all else from the loop's.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "server/net/loop/poller.h"

namespace sluice {

class EventLoop;

// A descriptor for which a call is made when it can be read. As the poller's, its readiness comes
// in edges: the call reads all there is, or is content with less.
class DescriptorCall final : private ReadinessWatcher {
 public:
  // `call` may close this, and must not destroy it.
  DescriptorCall(EventLoop& loop, std::function<void()> call)
      : loop_(loop), call_(std::move(call)) {}
  ~DescriptorCall() override { Close(); }
  DescriptorCall(const DescriptorCall&) = delete;

  // Owns `descriptor` from now on, and closes the one before. False where there is none (it is
  // below zero), or the system refuses to watch it, as errno says: then it is closed.
  bool Open(int descriptor);
  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  // No call is made any more.
  void Close();

 private:
  friend class EventLoop;
  void Readable(bool ended) override;
  void Writable() override {}

  EventLoop& loop_;
  const std::function<void()> call_;
  int descriptor_ = -1;
};

class EventLoop {
 public:
  EventLoop();
  EventLoop(const EventLoop&) = delete;

  // False when the system refused, as errno says.
  bool open() const { return poller_.open() && bell_.open(); }
  Poller& poller() { return poller_; }
  // Can be read when a Round has something to do.
  int descriptor() const { return poller_.descriptor(); }

  // From any thread: `call` is made in the next Round.
  void Post(std::function<void()> call);
  // Tells the poller's watchers what is ready, and makes the calls that are due. Waits until there
  // is something, if it may. False: there was nothing. May be called from within a call.
  bool Round(bool may_wait);

 private:
  friend class DescriptorCall;
  void MakePosted();

  Poller poller_;
  std::vector<DescriptorCall*> due_;                      // to be called in this round
  DescriptorCall bell_{*this, [this] { MakePosted(); }};  // an eventfd, rung by Post
  std::deque<std::function<void()>> taken_;               // of those that were posted
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // guarded by mutex_
};

}  // namespace sluice
