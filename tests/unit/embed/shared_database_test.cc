// A database that threads share: nothing is lost, who waits is woken, and what goes while others
// wait.
#include "server/embed/shared_database.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using sluice::Reply;

template <typename Work>
void OnSharingThreads(int count, const Work& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

// Until that many clients wait for the lock, or the list.
void AwaitBlocked(sluice::SharedDatabase& db, int count) {
  const std::string line = "blocked_clients:" + std::to_string(count) + "\r";
  while (db.Run({"INFO", "clients"}).text().find(line) == std::string_view::npos)
    std::this_thread::yield();
}

TEST(SharedDatabase, EightThreadsCount) {
  sluice::SharedDatabase db;
  OnSharingThreads(8, [&](int) {
    for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(db.Run({"INCR", "n"}).is_error());
  });
  EXPECT_EQ(db.Get("n"), "80000");
}

TEST(SharedDatabase, ALimitHoldsForAll) {
  sluice::SharedDatabase db;
  std::atomic<int> allowed = 0;
  OnSharingThreads(8, [&](int) {
    for (int i = 0; i < 500; ++i) allowed += db.Take("all", sluice::Window{1000, 1h}).allowed;
  });
  EXPECT_EQ(allowed, 1000);
  EXPECT_FALSE(db.Peek("all", sluice::Window{1000, 1h}));
}

// What is counted is no atomic: the lock is what keeps the threads apart.
TEST(SharedDatabase, ALockIsWaitedFor) {
  sluice::SharedDatabase db;
  int count = 0;
  std::atomic<int64_t> last_token = 0;
  OnSharingThreads(4, [&](int thread) {
    const std::string owner = "thread-" + std::to_string(thread);
    for (int i = 0; i < 200; ++i) {
      sluice::SharedLock lock = db.Acquire("door", owner, {.lease = 60s}, /*wait=*/60s);
      ASSERT_TRUE(lock) << lock.error();
      ASSERT_LT(last_token.exchange(lock.token()), lock.token());
      ++count;
      EXPECT_TRUE(lock.Release() || i < 0);
    }
  });
  EXPECT_EQ(count, 800);
  EXPECT_TRUE(db.Acquire("door", "me"));
}

TEST(SharedDatabase, WithKeepsTogetherWhatBelongsTogether) {
  sluice::SharedDatabase db;
  OnSharingThreads(4, [&](int) {
    for (int i = 0; i < 500; ++i) {
      const Reply both = db.With([](sluice::Database& inside) {
        inside.Run({"MULTI"});
        inside.Run({"INCR", "a"});
        inside.Run({"INCR", "b"});
        return inside.Run({"EXEC"});
      });
      ASSERT_EQ(both[0].integer(), both[1].integer());
    }
  });
  EXPECT_EQ(db.Get("b"), "2000");
}

TEST(SharedDatabase, AListIsWaitedFor) {
  sluice::SharedDatabase db;
  std::thread other([&] {
    AwaitBlocked(db, 1);
    db.Run({"RPUSH", "jobs", "17"});
  });
  EXPECT_EQ(db.Wait({"BLPOP", "jobs", "0"}).ToText(), "[\"jobs\", \"17\"]");
  other.join();
  EXPECT_TRUE(db.Wait({"BLPOP", "jobs", "0.001"}).is_null());  // by its own deadline
  EXPECT_EQ(db.Wait({"PING"}).text(), "PONG");
}

// Of a time that is moved by hand: whoever moves it wakes those for whom it counts.
TEST(SharedDatabase, ALeaseThatEndsWakesTheNext) {
  sluice::ManualTime time;
  std::string fault;
  auto db = sluice::SharedDatabase::Open({.time = &time}, fault);
  ASSERT_TRUE(db) << fault;
  sluice::SharedLock first = db->Acquire("door", "first", {.lease = 30s});
  EXPECT_EQ(first.lease(), 30s);
  EXPECT_FALSE(db->Acquire("door", "second"));
  std::thread other([&] {
    sluice::SharedLock lock = db->Acquire("door", "second", {.lease = 30s}, /*wait=*/60s);
    EXPECT_GT(lock.token(), first.token());
    EXPECT_FALSE(db->Acquire("door", "third", {}, /*wait=*/1ms)) << "time stands still";
    lock.Detach();
  });
  AwaitBlocked(*db, 1);
  EXPECT_TRUE(first.Renew(40s));
  db->RunUntil(db->Now() + 40s);
  AwaitBlocked(*db, 1);
  db->RunUntil(db->Now() + 1ms);
  other.join();
  EXPECT_FALSE(first.Release());
  EXPECT_FALSE(first.Renew(1s));
}

TEST(SharedDatabase, TheEndWakesWhoWaits) {
  sluice::SharedDatabase db;
  std::thread other([&] { EXPECT_EQ(db.Wait({"BLPOP", "jobs", "0"}).error_code(), "CLOSED"); });
  AwaitBlocked(db, 1);
  EXPECT_EQ(db.Close(), "");
  other.join();
  EXPECT_EQ(db.Run({"PING"}).error_code(), "CLOSED");
  EXPECT_EQ(db.Acquire("door", "me", {}, 1s).error().substr(0, 6), "CLOSED");
}

TEST(SharedDatabase, LocksOutliveIt) {
  std::optional<sluice::SharedDatabase> db(std::in_place);
  sluice::SharedLock lock = db->Acquire("door", "me");
  sluice::SharedDatabase moved = *std::move(db);
  EXPECT_TRUE(lock.Renew(1s));
  EXPECT_GT(moved.UsedMemory(), 0u);
  db = std::nullopt;
  { const sluice::SharedDatabase gone = std::move(moved); }
  EXPECT_FALSE(lock.Renew(1s));
  EXPECT_FALSE(lock.Release());
  std::string fault;
  EXPECT_FALSE(sluice::SharedDatabase::Open({.settings = {{"no-such", "1"}}}, fault));
  EXPECT_NE(fault, "");
}

}  // namespace
