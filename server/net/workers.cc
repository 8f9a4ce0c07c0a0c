// See workers.h. The loop is never touched by the threads, which ring an eventfd instead. It is not
// read: each write to it is an edge of its own.
#include "server/net/workers.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// For the threads of lanes that no client waits for. They take a core that is free; where none is,
// the loop and the threads of other programs come first.
constexpr int kNiceness = 10;

// Linux keeps the niceness of each thread.
void YieldToOthers(WorkerLane lane) {
  if (lane != WorkerLane::kSnapshot) return;
  [[maybe_unused]] const int niceness = ::nice(kNiceness);
}

}  // namespace

Workers::Workers(EventLoop& loop, std::function<void()> finished)
    : bell_(loop,
            [this] {
              RunDone();
              finished_();
            }),
      finished_(std::move(finished)) {
  bell_.Open(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  for (Lane& lane : lanes_) {
    lane.called.notify_one();
    if (lane.thread.joinable()) lane.thread.join();
  }
}

void Workers::Start(WorkerLane lane) {
  Lane& started = lanes_[static_cast<size_t>(lane)];
  if (started.thread.joinable()) return;

  // Signals are the loop's.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  started.thread = std::thread([this, lane, &started] {
    YieldToOthers(lane);
    Loop(started);
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

uint64_t Workers::Run(WorkerLane lane, std::function<void()> work, std::function<void()> done) {
  Start(lane);
  Lane& called = lanes_[static_cast<size_t>(lane)];
  {
    const std::lock_guard lock(mutex_);
    called.waiting.push_back({++last_number_, std::move(work), std::move(done)});
    ++undone_;
  }
  ++unfinished_;
  called.called.notify_one();
  return last_number_;
}

// The bell is rung without the mutex, which the loop wants next: woken too early it would have to
// sleep, and be woken, once more.
void Workers::Loop(Lane& lane) {
  std::unique_lock lock(mutex_);
  while (true) {
    lane.called.wait(lock, [&] { return stopping_ || !lane.waiting.empty(); });
    if (stopping_) return;
    Piece piece = std::move(lane.waiting.front());
    lane.waiting.pop_front();
    lock.unlock();
    piece.work();
    lock.lock();
    --undone_;
    done_.push_back(std::move(piece));
    lock.unlock();
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t rung = ::write(bell_.descriptor(), &one, sizeof one);
    finished_one_.notify_all();
    lock.lock();
  }
}

void Workers::RunDone() {
  while (true) {
    Piece piece;
    {
      const std::lock_guard lock(mutex_);
      if (done_.empty()) return;
      piece = std::move(done_.front());
      done_.pop_front();
    }
    --unfinished_;
    piece.done();
  }
}

void Workers::Await(uint64_t number) {
  Piece piece;
  {
    std::unique_lock lock(mutex_);
    std::deque<Piece>::iterator found;
    finished_one_.wait(lock, [&] {
      found = std::ranges::find(done_, number, &Piece::number);
      return found != done_.end();
    });
    piece = std::move(*found);
    done_.erase(found);
  }
  --unfinished_;
  piece.done();
}

void Workers::Finish() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (undone_ == 0 && done_.empty()) return;
      finished_one_.wait(lock, [this] { return !done_.empty(); });
    }
    RunDone();
  }
}

}  // namespace sluice
