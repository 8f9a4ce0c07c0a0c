// Threads that each have databases and servers of their own, at the same time: nothing in them is
// shared. Built with -fsanitize=thread (tests/README.md) this shows what is all the same.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "server/embed/database.h"
#include "server/embed/serving/server.h"
#include "server/embed/sluice_c.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

constexpr int kThreads = 2;
constexpr int kRounds = 20;

// All at once, so that even the first of each kind are made side by side.
template <typename Work>
void OnThreads(const Work& work) {
  std::atomic<int> there = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ++there;
      while (there < kThreads) std::this_thread::yield();
      for (int round = 0; round < kRounds; ++round) work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void UseWhatThereIs(const auto& run) {
  run({"SET", "a", "1", "PX", "60000"});
  run({"HSET", "h", "f", "1.5"});
  run({"ZADD", "z", "1", "a", "2", "b"});
  run({"XADD", "s", "*", "f", "v"});
  run({"EVAL", "return redis.call('INCR', 'n') .. cjson.encode({1}) .. math.random()", "0"});
  run({"GEOADD", "g", "13.3", "38.1", "p"});
  run({"SORT", "z", "BY", "nosort"});
  run({"LOCK.ACQUIRE", "l", "me", "LEASE", "1000"});
  run({"LIMIT.TAKE", "u", "ROLLING", "10", "1000"});
  run({"INFO"});
  run({"DUMP", "z"});
  run({"COMMAND", "DOCS", "GET"});
  run({"CONFIG", "SET", "notify-keyspace-events", "KEA"});
}

TEST(Threads, DatabasesShareNothing) {
  OnThreads([](int) {
    Database db;
    UseWhatThereIs([&](WordList words) { EXPECT_FALSE(db.Run(words).is_error()); });
    EXPECT_TRUE(db.Take("v", Rolling{10, 60s}));
    EXPECT_TRUE(db.Acquire("m", "me"));
    EXPECT_EQ(db.Close(), "");
  });
}

TEST(Threads, HandlesOfCShareNothing) {
  OnThreads([](int) {
    char fault[128];
    sluice_db* const db = sluice_open(nullptr, nullptr, 0, fault, sizeof fault);
    const char* words[] = {"EVAL", "return redis.call('INCR', 'n')", "0"};
    sluice_reply* const reply = sluice_run(db, 3, words, nullptr);
    EXPECT_EQ(sluice_reply_integer(reply), 1);
    sluice_reply_free(reply);
    EXPECT_EQ(sluice_close(db, fault, sizeof fault), SLUICE_OK);
  });
}

TEST(Threads, ServersShareNothing) {
  OnThreads([](int thread) {
    Server server;
    const auto loop =
        thread % 2 == 0 ? ServerOptions::Loop::kOwnThread : ServerOptions::Loop::kHost;
    ASSERT_EQ(server.Start({.settings = {{"test-double", "yes"}}, .loop = loop}), "");
    UseWhatThereIs([&](std::initializer_list<std::string_view> words) {
      EXPECT_FALSE(server.Run(words).is_error());
    });
    const ServerSpace space = server.space("s");
    EXPECT_EQ(space.clock().Freeze(), "");
    EXPECT_EQ(space.clock().Advance(1h), "");
    EXPECT_EQ(server.Stop(), "");
  });
}

// A server with a thread of its own may be asked by any.
TEST(Threads, OneServerIsAskedByMany) {
  Server server;
  ASSERT_EQ(server.Start(), "");
  OnThreads([&](int) {
    for (int i = 0; i < 50; ++i) server.Run({"INCR", "n"});
  });
  EXPECT_EQ(server.Run({"GET", "n"}).text(), std::to_string(kThreads * kRounds * 50));
  EXPECT_EQ(server.Stop(), "");
}

}  // namespace
}  // namespace sluice
