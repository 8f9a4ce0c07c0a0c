// See workers.h. The io_context is never touched by the threads, which ring an eventfd instead.
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

Workers::Workers(boost::asio::io_context& io, std::function<void()> finished)
    : bell_(io), finished_(std::move(finished)) {
  boost::system::error_code refused;
  const int bell = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell >= 0 && bell_.assign(bell, refused)) ::close(bell);
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (Lane& lane : lanes_)
    if (lane.thread.joinable()) lane.thread.join();
}

void Workers::Start(WorkerLane lane) {
  Lane& started = lanes_[static_cast<size_t>(lane)];
  if (started.thread.joinable()) return;

  // Signals are the loop's.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  started.thread = std::thread([this, lane, &waiting = started.waiting] {
    YieldToOthers(lane);
    Loop(waiting);
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

uint64_t Workers::Run(WorkerLane lane, std::function<void()> work, std::function<void()> done) {
  Start(lane);
  {
    const std::lock_guard lock(mutex_);
    lanes_[static_cast<size_t>(lane)].waiting.push_back(
        {++last_number_, std::move(work), std::move(done)});
    ++undone_;
  }
  ++unfinished_;
  AwaitBell();
  changed_.notify_all();
  return last_number_;
}

void Workers::Loop(std::deque<Piece>& waiting) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !waiting.empty(); });
    if (stopping_) return;
    Piece piece = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    piece.work();
    lock.lock();
    --undone_;
    done_.push_back(std::move(piece));
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t rung = ::write(bell_.native_handle(), &one, sizeof one);
    changed_.notify_all();
  }
}

void Workers::AwaitBell() {
  if (unfinished_ == 0 || std::exchange(awaits_bell_, true)) return;
  bell_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](const boost::system::error_code& error) {
                     if (error) return;
                     awaits_bell_ = false;
                     uint64_t rung;
                     [[maybe_unused]] const ssize_t got =
                         ::read(bell_.native_handle(), &rung, sizeof rung);
                     RunDone();
                     AwaitBell();
                     finished_();
                   });
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
    changed_.wait(lock, [&] {
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
      changed_.wait(lock, [this] { return !done_.empty(); });
    }
    RunDone();
  }
}

}  // namespace sluice
