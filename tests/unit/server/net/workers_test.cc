// The workers beside the loop: what follows a piece runs on the loop, the loop is told at once,
// lanes do not wait for each other, and workers that have nothing to do keep no loop running.
#include "server/net/workers.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <semaphore>
#include <string>
#include <thread>

namespace sluice {
namespace {

struct WorkersTest : testing::Test {
  EventLoop loop;
  std::string told;
  Workers workers{loop, [this] { told += "finished "; }};

  // As a server that has ended: for as long as there are pieces.
  void RunLoop() {
    while (workers.busy()) loop.Round(/*may_wait=*/true);
  }
};

TEST_F(WorkersTest, TheLoopEndsWithTheLastPiece) {
  std::thread::id ran_on, followed_on;
  workers.Run(
      WorkerLane::kLog, [&] { ran_on = std::this_thread::get_id(); },
      [&] { followed_on = std::this_thread::get_id(); });
  RunLoop();
  EXPECT_NE(ran_on, std::this_thread::get_id());
  EXPECT_EQ(followed_on, std::this_thread::get_id());
  EXPECT_EQ(told, "finished ");
}

// How often the loop is told depends on when the pieces end: after the last one in any case.
TEST_F(WorkersTest, APieceMayFollowAPiece) {
  int pieces = 0;
  workers.Run(
      WorkerLane::kLog, [] {},
      [&] {
        ++pieces;
        workers.Run(
            WorkerLane::kLog, [] {}, [&pieces] { ++pieces; });
      });
  RunLoop();
  EXPECT_EQ(pieces, 2);
  EXPECT_TRUE(told.ends_with("finished "));
  told.clear();
  workers.Run(
      WorkerLane::kLog, [] {}, [&pieces] { ++pieces; });
  RunLoop();
  EXPECT_EQ(pieces, 3);
  EXPECT_TRUE(told.ends_with("finished "));
}

// What follows the pieces before it is not the caller's: they may change what it is at.
TEST_F(WorkersTest, APieceIsAwaitedAlone) {
  workers.Run(
      WorkerLane::kLog, [this] { told += "first-work "; }, [this] { told += "first "; });
  const uint64_t second = workers.Run(
      WorkerLane::kLog, [this] { told += "second-work "; }, [this] { told += "second "; });
  workers.Await(second);
  EXPECT_EQ(told, "first-work second-work second ");
  RunLoop();
  EXPECT_TRUE(told.starts_with("first-work second-work second first finished ")) << told;
}

TEST_F(WorkersTest, TheirCallerGoesOnMeanwhile) {
  std::binary_semaphore go{0};
  std::atomic<bool> is_done = false;
  const uint64_t piece = workers.Run(
      WorkerLane::kLog, [&] { go.acquire(), is_done = true; }, [] {});
  EXPECT_FALSE(is_done);
  go.release();
  workers.Await(piece);
  EXPECT_TRUE(is_done);
}

TEST_F(WorkersTest, EndBehindThePieceThatRuns) {
  std::binary_semaphore begun{0}, go{0};
  bool is_done = false;
  {
    Workers ending(loop, [] {});
    ending.Run(
        WorkerLane::kLog, [&] { begun.release(), go.acquire(), is_done = true; },
        [] { ADD_FAILURE(); });
    begun.acquire();
    go.release();
  }
  EXPECT_TRUE(is_done);
}

// As at the end of a server, which stops to wait for anything else.
TEST_F(WorkersTest, WhatWasFinishedKeepsNoLoopRunning) {
  workers.Run(
      WorkerLane::kLog, [] {}, [this] { told += "one "; });
  workers.Run(
      WorkerLane::kLog, [] {}, [this] { told += "two "; });
  workers.Finish();
  EXPECT_EQ(told, "one two ");
  EXPECT_FALSE(workers.busy());
  loop.Round(/*may_wait=*/false);
  EXPECT_TRUE(told.starts_with("one two finished "));
}

// A snapshot's sync may take seconds: the log's, which clients wait for, goes on beside it.
TEST_F(WorkersTest, LanesDoNotWaitForEachOther) {
  std::binary_semaphore go{0};
  workers.Run(
      WorkerLane::kSnapshot, [&] { go.acquire(), told += "snapshot "; }, [] {});
  const uint64_t piece = workers.Run(
      WorkerLane::kLog, [] {}, [this] { told += "log "; });
  workers.Await(piece);
  EXPECT_EQ(told, "log ");
  go.release();
  workers.Finish();
  EXPECT_EQ(told, "log snapshot ");
}

TEST_F(WorkersTest, OnlyTheLaneOfSnapshotsYields) {
  const auto niceness_of = [this](WorkerLane lane) {
    int niceness = -1;
    workers.Await(workers.Run(
        lane, [&] { niceness = ::getpriority(PRIO_PROCESS, 0); }, [] {}));
    return niceness;
  };
  const int own = ::getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(niceness_of(WorkerLane::kLog), own);
  constexpr int kNicest = 19;
  EXPECT_GE(niceness_of(WorkerLane::kSnapshot), std::min(own + 1, kNicest));
}

}  // namespace
}  // namespace sluice
