// The C API: what it owns, what it is given wrongly, and two threads in one database.
#include "server/embed/sluice_c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

class SluiceC : public testing::Test {
 protected:
  SluiceC() {
    const char* names[] = {"time", "unix-ms", "seed"};
    const char* values[] = {"manual", "1700000000000", "1"};
    db_ = sluice_open(names, values, 3, fault_, sizeof fault_);
  }
  ~SluiceC() override { EXPECT_EQ(sluice_close(db_, nullptr, 0), SLUICE_OK); }

  sluice_reply* Run(std::vector<const char*> words) {
    return sluice_run(db_, words.size(), words.data(), nullptr);
  }
  std::string Text(std::vector<const char*> words) { return TextOf(Run(std::move(words))); }
  static std::string TextOf(sluice_reply* reply) {
    size_t size = 0;
    const char* const text = sluice_reply_text(reply, &size);
    std::string copy(text, size);
    sluice_reply_free(reply);
    return copy;
  }
  int64_t Number(std::vector<const char*> words) {
    sluice_reply* const reply = Run(std::move(words));
    const int64_t number = sluice_reply_integer(reply);
    sluice_reply_free(reply);
    return number;
  }

  char fault_[256] = "";
  sluice_db* db_ = nullptr;
};

TEST_F(SluiceC, RunsCommands) {
  ASSERT_NE(db_, nullptr) << fault_;
  EXPECT_STREQ(sluice_version(), "0.1.0");
  EXPECT_EQ(Text({"SET", "a", "hello"}), "OK");
  EXPECT_EQ(Text({"GET", "a"}), "hello");
  EXPECT_EQ(Number({"INCR", "n"}), 1);
  const char* words[] = {"SET", "a", "1\0002"};
  const size_t sizes[] = {3, 1, 3};
  sluice_reply_free(sluice_run(db_, 3, words, sizes));
  EXPECT_EQ(Text({"GET", "a"}), std::string("1\0002", 3));
  EXPECT_EQ(Text({"LPUSH", "a", "1"}).substr(0, 9), "WRONGTYPE");
}

TEST_F(SluiceC, RepliesHaveParts) {
  sluice_reply_free(Run({"HSET", "h", "f", "v"}));
  sluice_reply* const map = Run({"HGETALL", "h"});
  EXPECT_EQ(sluice_reply_kind(map), SLUICE_MAP);
  EXPECT_EQ(sluice_reply_size(map), 2u);
  EXPECT_STREQ(sluice_reply_text(sluice_reply_element(map, 0), nullptr), "f");
  EXPECT_STREQ(sluice_reply_text(sluice_reply_field(map, "f"), nullptr), "v");
  EXPECT_EQ(sluice_reply_field(map, "g"), nullptr);
  EXPECT_EQ(sluice_reply_element(map, 2), nullptr);
  sluice_reply_free(map);
  sluice_reply_free(Run({"ZADD", "z", "1.5", "m"}));
  sluice_reply* const score = Run({"ZSCORE", "z", "m"});
  EXPECT_EQ(sluice_reply_double(score), 1.5);
  EXPECT_EQ(sluice_reply_integer(score), 1);
  EXPECT_STREQ(sluice_reply_text(score, nullptr), "");
  sluice_reply_free(score);
}

TEST_F(SluiceC, TimeWaitsAndPushes) {
  const char* words[] = {"BLPOP", "q", "2"};
  sluice_ticket* const first = sluice_start(db_, 3, words, nullptr);
  sluice_ticket* const second = sluice_start(db_, 3, words, nullptr);
  EXPECT_EQ(sluice_ticket_ready(first), 0);
  EXPECT_EQ(sluice_ticket_take(first), nullptr);
  sluice_reply_free(Run({"RPUSH", "q", "job"}));
  EXPECT_EQ(sluice_ticket_ready(first), 1);
  sluice_reply* const job = sluice_ticket_take(first);
  EXPECT_STREQ(sluice_reply_text(sluice_reply_element(job, 1), nullptr), "job");
  sluice_reply_free(job);
  EXPECT_LE(sluice_next_deadline(db_), sluice_now(db_) + 2'000'000);
  EXPECT_EQ(sluice_run_until(db_, sluice_now(db_) + 2'000'000), SLUICE_OK);
  sluice_reply* const nothing = sluice_ticket_take(second);
  EXPECT_NE(nothing, nullptr);
  EXPECT_EQ(sluice_reply_kind(nothing), SLUICE_NULL);
  sluice_reply_free(nothing);
  sluice_ticket_free(first);
  sluice_ticket_free(second);

  sluice_client* const client = sluice_connect(db_);
  const char* subscribe[] = {"SUBSCRIBE", "news"};
  sluice_reply_free(sluice_client_run(client, 2, subscribe, nullptr));
  EXPECT_EQ(Number({"PUBLISH", "news", "hello"}), 1);
  sluice_reply* const push = sluice_client_next_push(client);
  EXPECT_EQ(sluice_reply_kind(push), SLUICE_PUSH);
  sluice_reply_free(push);
  EXPECT_EQ(sluice_client_next_push(client), nullptr);
  EXPECT_EQ(sluice_next_push(db_), nullptr);
  sluice_client_free(client);
  EXPECT_EQ(sluice_step_wall(db_, 1'000'000), SLUICE_OK);
}

TEST_F(SluiceC, LimitsAndLocks) {
  sluice_verdict verdict;
  EXPECT_EQ(sluice_take(db_, "k", SIZE_MAX, "ROLLING", 1, 1000, 0, 1, &verdict, nullptr, 0),
            SLUICE_OK);
  EXPECT_EQ(verdict.allowed, 1);
  EXPECT_EQ(sluice_take(db_, "k", 1, "ROLLING", 1, 1000, 0, 1, &verdict, nullptr, 0), SLUICE_OK);
  EXPECT_EQ(verdict.allowed, 0);
  EXPECT_EQ(verdict.retry_after_ms, 1000);
  EXPECT_EQ(sluice_take(db_, "k", 1, "NONE", 1, 1000, 0, 1, &verdict, fault_, sizeof fault_),
            SLUICE_FAILED);
  EXPECT_STRNE(fault_, "");

  sluice_lock* const lock =
      sluice_acquire(db_, "door", SIZE_MAX, "me", SIZE_MAX, 1000, fault_, sizeof fault_);
  ASSERT_NE(lock, nullptr);
  EXPECT_GT(sluice_lock_token(lock), 0);
  EXPECT_EQ(sluice_lock_renew(lock, 2000), 1);
  EXPECT_EQ(sluice_acquire(db_, "door", 4, "you", 3, 1000, fault_, sizeof fault_), nullptr);
  EXPECT_STREQ(fault_, "");
  EXPECT_EQ(sluice_lock_release(lock), 1);
  EXPECT_EQ(sluice_acquire(db_, "door", 4, "you", 3, 0, fault_, sizeof fault_), nullptr);
  EXPECT_STRNE(fault_, "");
  sluice_lock* const other = sluice_acquire(db_, "door", 4, "you", 3, 1000, nullptr, 0);
  sluice_lock_free(other);
  EXPECT_EQ(sluice_acquire(db_, "door", 4, "me", 2, 1000, nullptr, 0), nullptr);
}

TEST_F(SluiceC, WrongArgumentsAreRefused) {
  EXPECT_EQ(sluice_run(nullptr, 0, nullptr, nullptr), nullptr);
  EXPECT_EQ(sluice_run(db_, 1, nullptr, nullptr), nullptr);
  const char* words[] = {"GET", nullptr};
  EXPECT_EQ(sluice_run(db_, 2, words, nullptr), nullptr);
  EXPECT_EQ(Text({}).substr(0, 4), "ERR ");
  EXPECT_EQ(sluice_reply_kind(nullptr), SLUICE_NULL);
  EXPECT_STREQ(sluice_reply_text(nullptr, nullptr), "");
  EXPECT_EQ(sluice_run_until(nullptr, 0), SLUICE_INVALID);
  EXPECT_EQ(sluice_take(db_, nullptr, 0, "LOG", 1, 1, 0, 1, nullptr, nullptr, 0), SLUICE_INVALID);
  sluice_reply_free(nullptr);
  sluice_ticket_free(nullptr);
  sluice_client_free(nullptr);
  sluice_lock_free(nullptr);
  EXPECT_EQ(sluice_close(nullptr, nullptr, 0), SLUICE_OK);
  const char* names[] = {"nosuch"};
  EXPECT_EQ(sluice_open(names, names, 1, fault_, 8), nullptr);
  EXPECT_EQ(std::strlen(fault_), 7u);
  const char* time[] = {"time"};
  EXPECT_EQ(sluice_open(time, names, 1, fault_, sizeof fault_), nullptr);
  EXPECT_EQ(sluice_open(nullptr, nullptr, 1, nullptr, 0), nullptr);
}

TEST_F(SluiceC, HandlesMayOutliveTheirDatabase) {
  sluice_db* const other = sluice_open(nullptr, nullptr, 0, nullptr, 0);
  const char* words[] = {"BLPOP", "q", "0"};
  sluice_ticket* const ticket = sluice_start(other, 3, words, nullptr);
  sluice_client* const client = sluice_connect(other);
  sluice_lock* const lock = sluice_acquire(other, "door", 4, "me", 2, 1000, nullptr, 0);
  const char* list[] = {"COMMAND", "COUNT"};
  sluice_reply* const reply = sluice_run(other, 2, list, nullptr);
  EXPECT_EQ(sluice_close(other, nullptr, 0), SLUICE_OK);
  EXPECT_GT(sluice_reply_integer(reply), 200);
  EXPECT_EQ(TextOf(sluice_ticket_take(ticket)).substr(0, 6), "CLOSED");
  EXPECT_EQ(TextOf(sluice_client_run(client, 2, list, nullptr)).substr(0, 6), "CLOSED");
  EXPECT_EQ(sluice_lock_renew(lock, 1), 0);
  sluice_ticket_free(ticket);
  sluice_client_free(client);
  EXPECT_EQ(sluice_lock_release(lock), 0);
  sluice_reply_free(reply);
}

// Whichever of them gets in, the other is told so, and nothing is lost.
TEST_F(SluiceC, TwoThreadsInOneDatabase) {
  constexpr int kCalls = 20'000;
  int64_t done[2] = {}, refused[2] = {};
  const auto run = [&](int which) {
    const char* words[] = {"INCR", "n"};
    for (int i = 0; i < kCalls; ++i) {
      sluice_reply* const reply = sluice_run(db_, 2, words, nullptr);
      const bool is_busy = std::strncmp(sluice_reply_text(reply, nullptr), "BUSY ", 5) == 0;
      ++(is_busy ? refused : done)[which];
      sluice_reply_free(reply);
    }
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  EXPECT_EQ(Number({"INCRBY", "n", "0"}), done[0] + done[1]);
  EXPECT_EQ(done[0] + done[1] + refused[0] + refused[1], 2 * kCalls);
}

TEST_F(SluiceC, ThreadsWithDatabasesOfTheirOwn) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      sluice_db* const db = sluice_open(nullptr, nullptr, 0, nullptr, 0);
      const char* words[] = {"EVAL", "return redis.call('incr', 'n')", "0"};
      for (int call = 1; call <= 2000; ++call) {
        sluice_reply* const reply = sluice_run(db, 3, words, nullptr);
        EXPECT_EQ(sluice_reply_integer(reply), call);
        sluice_reply_free(reply);
      }
      sluice_close(db, nullptr, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
