// Worker: a thread for what would hold the loop up, such as writing or syncing a file. It runs one
// piece of work after the other; what is to follow each runs on the loop again. The thread is made
// with the first piece.
//
// Pieces run in the order in which they were given, and so does what follows them; only Await takes
// one out of turn.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sluice {

class Worker {
 public:
  // `finished` is called on the loop after pieces were done, and what follows them has run.
  Worker(boost::asio::io_context& io, std::function<void()> finished);
  // Waits for the piece that runs; those that wait are dropped.
  ~Worker();
  Worker(const Worker&) = delete;

  // Can be read when pieces are done. Below zero when the system refused it: then nothing may run.
  int bell() { return bell_.is_open() ? bell_.native_handle() : -1; }

  // Returns the piece's number.
  uint64_t Run(std::function<void()> work, std::function<void()> done);
  // Returns when the piece is done and what follows it has run, here.
  void Await(uint64_t number);
  // Runs all there is, also what `done` adds, and returns when it is done.
  void Finish();

 private:
  struct Piece {
    uint64_t number;
    std::function<void()> work, done;
  };

  void Start();
  void Loop();
  void AwaitBell();
  void RunDone();

  boost::asio::posix::stream_descriptor bell_;  // an eventfd: rung after each piece
  const std::function<void()> finished_;
  uint64_t last_number_ = 0;
  size_t unfinished_ = 0;     // the loop's: pieces whose `done` has not begun
  bool awaits_bell_ = false;  // only while there are any: a quiet worker holds no io_context back
  std::thread thread_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<Piece> waiting_;
  std::deque<Piece> done_;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace sluice
