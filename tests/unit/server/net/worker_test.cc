// The worker beside the loop: what follows a piece runs on the loop, the loop is told at once, and
// a worker that has nothing to do keeps no loop running.
#include "server/net/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <semaphore>
#include <string>
#include <thread>

namespace sluice {
namespace {

struct WorkerTest : testing::Test {
  boost::asio::io_context io;
  std::string told;
  Worker worker{io, [this] { told += "finished "; }};
};

TEST_F(WorkerTest, TheLoopEndsWithTheLastPiece) {
  std::thread::id ran_on, followed_on;
  worker.Run([&] { ran_on = std::this_thread::get_id(); },
             [&] { followed_on = std::this_thread::get_id(); });
  io.run();
  EXPECT_NE(ran_on, std::this_thread::get_id());
  EXPECT_EQ(followed_on, std::this_thread::get_id());
  EXPECT_EQ(told, "finished ");
}

// How often the loop is told depends on when the pieces end: after the last one in any case.
TEST_F(WorkerTest, APieceMayFollowAPiece) {
  int pieces = 0;
  worker.Run([] {},
             [&] {
               ++pieces;
               worker.Run([] {}, [&pieces] { ++pieces; });
             });
  io.run();
  EXPECT_EQ(pieces, 2);
  EXPECT_TRUE(told.ends_with("finished "));
  io.restart();
  told.clear();
  worker.Run([] {}, [&pieces] { ++pieces; });
  io.run();
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(told, "finished ");
}

// What follows the pieces before it is not the caller's: they may change what it is at.
TEST_F(WorkerTest, APieceIsAwaitedAlone) {
  worker.Run([this] { told += "first-work "; }, [this] { told += "first "; });
  const uint64_t second =
      worker.Run([this] { told += "second-work "; }, [this] { told += "second "; });
  worker.Await(second);
  EXPECT_EQ(told, "first-work second-work second ");
  io.run();
  EXPECT_TRUE(told.starts_with("first-work second-work second first finished ")) << told;
}

TEST_F(WorkerTest, ItsCallerGoesOnMeanwhile) {
  std::binary_semaphore go{0};
  std::atomic<bool> is_done = false;
  const uint64_t piece = worker.Run([&] { go.acquire(), is_done = true; }, [] {});
  EXPECT_FALSE(is_done);
  go.release();
  worker.Await(piece);
  EXPECT_TRUE(is_done);
}

TEST_F(WorkerTest, EndsBehindThePieceThatRuns) {
  std::binary_semaphore begun{0}, go{0};
  bool is_done = false;
  {
    Worker ending(io, [] {});
    ending.Run([&] { begun.release(), go.acquire(), is_done = true; }, [] { ADD_FAILURE(); });
    begun.acquire();
    go.release();
  }
  EXPECT_TRUE(is_done);
}

// As at the end of a server, which stops to wait for anything else.
TEST_F(WorkerTest, WhatWasFinishedKeepsNoLoopRunning) {
  worker.Run([] {}, [this] { told += "one "; });
  worker.Run([] {}, [this] { told += "two "; });
  worker.Finish();
  EXPECT_EQ(told, "one two ");
  io.run();
  EXPECT_TRUE(told.starts_with("one two finished "));
}

}  // namespace
}  // namespace sluice
