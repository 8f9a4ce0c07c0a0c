// See worker.h. The io_context is never touched by the thread, which rings an eventfd instead.
#include "server/net/worker.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace sluice {

Worker::Worker(boost::asio::io_context& io, std::function<void()> finished)
    : bell_(io), finished_(std::move(finished)) {
  boost::system::error_code refused;
  const int bell = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell >= 0 && bell_.assign(bell, refused)) ::close(bell);
}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Worker::Start() {
  // Signals are the loop's.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Loop(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

uint64_t Worker::Run(std::function<void()> work, std::function<void()> done) {
  if (!thread_.joinable()) Start();
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({++last_number_, std::move(work), std::move(done)});
  }
  ++unfinished_;
  AwaitBell();
  changed_.notify_all();
  return last_number_;
}

void Worker::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Piece piece = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = true;
    lock.unlock();
    piece.work();
    lock.lock();
    running_ = false;
    done_.push_back(std::move(piece));
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t rung = ::write(bell_.native_handle(), &one, sizeof one);
    changed_.notify_all();
  }
}

void Worker::AwaitBell() {
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

void Worker::RunDone() {
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

void Worker::Await(uint64_t number) {
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

void Worker::Finish() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (waiting_.empty() && !running_ && done_.empty()) return;
      changed_.wait(lock, [this] { return !done_.empty(); });
    }
    RunDone();
  }
}

}  // namespace sluice
