// Where syncs of the log are made: in place on a disk that is known to be fast, by the worker on
// any other; and what is promised holds in either place.
#include "server/log/sync_place.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "server/log/log_service.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

constexpr int64_t kMicro = 1000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kFewBytes = 100;

// Plays syncs that take as long as is said, one a ms, where SyncPlace has them made.
class Syncs {
 public:
  bool IsHere(uint64_t bytes = kFewBytes) const { return place_.IsHere(bytes, now_ns_); }
  // Returns how many were made in place.
  int Play(int times, int64_t took_us) {
    int here = 0;
    for (int i = 0; i < times; ++i) {
      const bool in_place = IsHere();
      here += in_place;
      now_ns_ += took_us * kMicro;
      place_.Ended(in_place, took_us * kMicro, now_ns_);
      Pass(1000 * kMicro);
    }
    return here;
  }
  void Pass(int64_t ns) { now_ns_ += ns; }

 private:
  SyncPlace place_;
  int64_t now_ns_ = 5 * kSecond;
};

TEST(SyncPlace, ADiskIsFastWhenMostOfItsSyncsWere) {
  Syncs syncs;
  EXPECT_FALSE(syncs.IsHere());
  EXPECT_EQ(syncs.Play(20, 20), 0);
  EXPECT_EQ(syncs.Play(1000, 20), 1000);
  EXPECT_EQ(syncs.Play(12, 150), 12);
  EXPECT_EQ(syncs.Play(2, 150), 1);
}

// The thread that sleeps through a sync may get no processor at once.
TEST(SyncPlace, AFewOfTheWorkersThatWereLateAreNothing) {
  Syncs syncs;
  for (int i = 0; i < 10; ++i) {
    syncs.Play(1, 5000);
    syncs.Play(2, 20);
  }
  EXPECT_TRUE(syncs.IsHere());
}

TEST(SyncPlace, ASlowDiskHasTheWorkerAlways) {
  for (const int64_t took_us : {101, 200, 4000, 500'000}) {
    Syncs syncs;
    EXPECT_EQ(syncs.Play(10'000, took_us), 0) << took_us;
  }
}

TEST(SyncPlace, TheWorkerHasTheNextOnesAfterASlowOneInPlace) {
  Syncs syncs;
  syncs.Play(40, 20);
  EXPECT_EQ(syncs.Play(1, 1000), 1);
  EXPECT_EQ(syncs.Play(70, 20), 0);
  EXPECT_GT(syncs.Play(20, 20), 0);
}

TEST(SyncPlace, ThePauseGrowsWithWhatWasTooLong) {
  EXPECT_EQ(SyncPlace::PauseAfter(200 * kMicro), 0);
  EXPECT_EQ(SyncPlace::PauseAfter(300 * kMicro), 20 * 100 * kMicro * 3 / 2);
  EXPECT_EQ(SyncPlace::PauseAfter(600 * kMicro), 20 * 400 * kMicro * 3);
  EXPECT_EQ(SyncPlace::PauseAfter(kSecond) / kSecond, 249);
  EXPECT_EQ(SyncPlace::PauseAfter(1000 * kSecond), SyncPlace::PauseAfter(kSecond));
}

// The disk is fast while the worker is asked, and slow where it is not: the worst there can be.
TEST(SyncPlace, WaitsForSlowOnesTakeLittleOfTheTime) {
  constexpr int64_t kSlowUs = SyncPlace::kSlowNanos / kMicro;
  for (const auto& [took_us, part] : {std::pair{250, 30}, {400, 40}, {1000, 80}, {10'000, 1000}}) {
    Syncs syncs;
    int64_t beyond_us = 0;
    int64_t passed_us = 0;
    for (int i = 0; i < 100'000; ++i) {
      const bool is_slow = syncs.IsHere();
      syncs.Play(1, is_slow ? took_us : 20);
      if (is_slow) beyond_us += took_us - kSlowUs;
      passed_us += (is_slow ? took_us : 20) + 1000;
    }
    EXPECT_GT(beyond_us, 0) << took_us;
    EXPECT_LE(beyond_us, passed_us / part + took_us) << took_us;
  }
}

TEST(SyncPlace, WhatIsLongAgoSaysNothing) {
  Syncs syncs;
  syncs.Play(40, 20);
  EXPECT_TRUE(syncs.IsHere());
  syncs.Pass(2 * kSecond);
  EXPECT_FALSE(syncs.IsHere());
  EXPECT_EQ(syncs.Play(20, 20), 0);
  EXPECT_EQ(syncs.Play(20, 20), 20);
}

TEST(SyncPlace, MuchIsTheWorkers) {
  Syncs syncs;
  syncs.Play(40, 20);
  EXPECT_TRUE(syncs.IsHere(SyncPlace::kBytesMax));
  EXPECT_FALSE(syncs.IsHere(SyncPlace::kBytesMax + 1));
}

TEST(SyncPlace, WithoutAClockThereIsTheWorker) {
  Syncs syncs;
  EXPECT_EQ(syncs.Play(100, 0), 0);
}

// --- a server

class LogInPlace : public testing::Test {
 protected:
  LogInPlace() {
    disk_.trouble = [this](MemoryDisk::Call call, const std::string&) {
      if (call != MemoryDisk::Call::kSync) return 0;
      if (server_) server_->clock().AdvanceMicros(sync_us_);
      return std::exchange(sync_fault_, 0);
    };
    TestEngine::Options options;
    options.disk = &disk_;
    options.config = {{"appendonly", "yes"}, {"appendfsync", "always"}};
    server_.emplace(options);
    client_ = &server_->Connect();
    server_->AdvanceTime(100);  // the first mark of tokens is written
  }
  // Some changes, each on disk before the next one.
  void Change(int times = 30) {
    for (int i = 0; i < times; ++i) client_->Run({"INCR", "n"});
  }
  const CommitLog& log() { return server_->engine().part<LogService>().commits(); }
  void RunWorker() {
    while (server_->RunBackgroundNow()) server_->Settle();
    server_->Settle();
  }

  MemoryDisk disk_;
  int64_t sync_us_ = 20;
  int sync_fault_ = 0;  // of the next one
  std::optional<TestEngine> server_;
  TestClient* client_ = nullptr;
};

TEST_F(LogInPlace, AnAnswerNeedsNoWorker) {
  Change();
  server_->set_aside_waits(true);
  const uint64_t before = log().syncs_in_place();
  client_->Send({"INCR", "n"});
  EXPECT_EQ(client_->TakeBytes(), ":31\r\n");
  EXPECT_EQ(server_->background_tasks(), 0u);
  EXPECT_TRUE(log().IsAllDurable());
  EXPECT_EQ(log().syncs_in_place(), before + 1);
}

TEST_F(LogInPlace, OnASlowDiskItIsTheWorkers) {
  sync_us_ = 4000;
  Change(200);
  EXPECT_EQ(log().syncs_in_place(), 0u);
  server_->set_aside_waits(true);
  client_->Send({"INCR", "n"});
  EXPECT_EQ(client_->TakeBytes(), "");
  EXPECT_EQ(server_->background_tasks(), 1u);
  RunWorker();
  EXPECT_EQ(client_->TakeBytes(), ":201\r\n");
}

TEST_F(LogInPlace, ADiskThatGetsSlowHasTheWorkerAgain) {
  Change();
  sync_us_ = 4000;
  Change(1);
  server_->set_aside_waits(true);
  client_->Send({"INCR", "n"});
  EXPECT_EQ(client_->TakeBytes(), "");
  RunWorker();
  EXPECT_EQ(client_->TakeBytes(), ":32\r\n");
}

TEST_F(LogInPlace, NothingIsAnsweredWhereTheSyncFails) {
  Change();
  server_->set_aside_waits(true);
  sync_fault_ = EIO;
  const uint64_t before = log().failed_syncs();
  client_->Send({"INCR", "n"});
  EXPECT_EQ(log().failed_syncs(), before + 1);
  EXPECT_EQ(client_->TakeBytes(), "");
  EXPECT_TRUE(client_->closed());
  EXPECT_TRUE(log().is_unsure());
  // A whole new base, and it goes on.
  RunWorker();
  server_->AdvanceTime(1000);
  RunWorker();
  TestClient& other = server_->Connect();
  other.Send({"INCR", "n"});
  RunWorker();
  EXPECT_EQ(other.TakeBytes(), ":32\r\n");
}

TEST_F(LogInPlace, NothingIsAnsweredWhereThereIsNoRoom) {
  Change();
  server_->set_aside_waits(true);
  disk_.full_appends = 1;
  client_->Send({"INCR", "n"});
  EXPECT_EQ(client_->TakeBytes(), "");
  EXPECT_TRUE(client_->closed());
  TestClient& other = server_->Connect();
  other.Send({"INCR", "n"});
  EXPECT_TRUE(other.TakeBytes().starts_with("-MISCONF"));
  server_->AdvanceTime(1000);
  RunWorker();
  other.Send({"GET", "n"});
  EXPECT_EQ(other.TakeBytes(), "$2\r\n31\r\n");
}

TEST_F(LogInPlace, TheNextStartFindsAllOfIt) {
  Change(100);
  EXPECT_GT(log().syncs_in_place(), 50u);
  std::mt19937_64 chance(1);
  disk_.PowerCut(chance);
  disk_.trouble = nullptr;
  TestEngine::Options options;
  options.disk = &disk_;
  options.config = {{"appendonly", "yes"}};
  TestEngine again(options);
  again.Settle();
  EXPECT_EQ(again.Connect().Run({"GET", "n"}).ToText(), "\"100\"");
}

}  // namespace
}  // namespace sluice
