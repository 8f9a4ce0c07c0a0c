// Workers: threads for what would hold the loop up, such as writing or syncing a file: one for each
// lane. The call that follows a piece of work runs on the loop again. A thread is made with the
// first piece of its lane.
//
// Pieces of one lane run in the order in which they were given, and so does what follows them; only
// Await takes one out of turn. Lanes do not wait for each other.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "server/clients/background.h"
#include "server/net/loop/event_loop.h"

namespace sluice {

class Workers final : public Background {
 public:
  // `finished` is called on the loop after pieces were done, and what follows them has run.
  Workers(EventLoop& loop, std::function<void()> finished);
  // Waits for the pieces that run; those that wait are dropped.
  ~Workers() override;
  Workers(const Workers&) = delete;

  bool open() const { return bell_.open(); }  // when the system refused nothing may run
  // There are pieces that the loop is still to hear of.
  bool busy() const { return unfinished_ > 0; }

  // Returns the piece's number.
  uint64_t Run(WorkerLane lane, std::function<void()> work, std::function<void()> done) override;
  // Returns when the piece is done and what follows it has run, here.
  void Await(uint64_t number) override;
  // Runs all there is, also what `done` adds, and returns when it is done.
  void Finish() override;

 private:
  struct Piece {
    uint64_t number;
    std::function<void()> work, done;
  };
  struct Lane {
    std::thread thread;
    std::condition_variable called;  // it has a piece, or is to stop
    std::deque<Piece> waiting;       // guarded by mutex_
  };

  void Start(WorkerLane lane);
  void Loop(Lane& lane);
  void RunDone();

  DescriptorCall bell_;  // an eventfd: rung after each piece
  const std::function<void()> finished_;
  uint64_t last_number_ = 0;
  size_t unfinished_ = 0;  // the loop's: pieces whose `done` has not begun
  std::array<Lane, kWorkerLanes> lanes_;
  std::mutex mutex_;                      // of all below
  std::condition_variable finished_one_;  // for Await and Finish
  std::deque<Piece> done_;
  size_t undone_ = 0;  // pieces that wait or run
  bool stopping_ = false;
};

}  // namespace sluice
