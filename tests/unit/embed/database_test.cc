// A database inside a program: commands, time, waiting, pushes, and what a host program does wrong.
#include "server/embed/database.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;
using sluice::Reply;
using Kind = sluice::Reply::Kind;

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/sluice-embed-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

class DatabaseTest : public testing::Test {
 protected:
  sluice::ManualTime time_;
  std::string fault_;
  sluice::Database db_ = *sluice::Database::Open({.time = &time_, .seed = 1}, fault_);

  void Pass(sluice::Time by) { db_.RunUntil(db_.Now() + by); }
  std::string Text(sluice::WordList words) { return db_.Run(words).ToText(); }
};

// --- commands and values

TEST_F(DatabaseTest, ValuesHaveTypes) {
  EXPECT_EQ(Text({"SET", "a", "1"}), "\"OK\"");
  EXPECT_TRUE(db_.Run({"SET", "a", "1"}).is_ok());
  EXPECT_EQ(Text({"INCR", "a"}), "2");
  EXPECT_EQ(Text({"GET", "a"}), "\"2\"");
  EXPECT_EQ(Text({"GET", "b"}), "(nil)");
  EXPECT_EQ(Text({"RPUSH", "l", "x", "y"}), "2");
  EXPECT_EQ(Text({"LRANGE", "l", "0", "-1"}), "[\"x\", \"y\"]");
  EXPECT_EQ(Text({"LRANGE", "none", "0", "-1"}), "[]");
  db_.Run({"HSET", "h", "f", "v"});
  EXPECT_EQ(Text({"HGETALL", "h"}), "{\"f\" => \"v\"}");
  EXPECT_EQ(db_.Run({"HGETALL", "h"})["f"].text(), "v");
  EXPECT_TRUE(db_.Run({"HGETALL", "h"})["g"].is_null());
  db_.Run({"SADD", "s", "m"});
  EXPECT_EQ(Text({"SMEMBERS", "s"}), "~[\"m\"]");
  db_.Run({"ZADD", "z", "1.5", "m"});
  const Reply score = db_.Run({"ZSCORE", "z", "m"});
  EXPECT_EQ(score.kind(), Kind::kDouble);
  EXPECT_EQ(score.number(), 1.5);
  const Reply wrong = db_.Run({"INCR", "l"});
  EXPECT_EQ(wrong.error_code(), "WRONGTYPE");
  EXPECT_EQ(db_.Run({"NOSUCH"}).error_code(), "ERR");
  EXPECT_EQ(db_.Run(sluice::WordList{}).error_code(), "ERR");
  EXPECT_EQ(db_.Get("a"), "2");
  EXPECT_EQ(db_.Get("l"), std::nullopt);
}

TEST_F(DatabaseTest, ItFollowsNoServer) {
  EXPECT_EQ(db_.Run({"REPLICAOF", "127.0.0.1", "6379"}).text(),
            "ERR a database inside a program follows no other server");
  EXPECT_EQ(Text({"REPLICAOF", "NO", "ONE"}), "\"OK\"");
  EXPECT_EQ(Text({"SET", "a", "1"}), "\"OK\"");
}

TEST_F(DatabaseTest, BytesAreBytes) {
  const std::string bytes("\0\r\n\xff\xc3", 5);
  db_.Run({"SET", bytes, bytes});
  EXPECT_EQ(db_.Run({"GET", bytes}).text(), bytes);
  const std::string large(64 << 20, 'x');
  db_.Run({"SET", "large", large});
  EXPECT_EQ(db_.Get("large")->size(), large.size());
  const std::string most(512 << 20, 'y');
  EXPECT_TRUE(db_.Run({"SET", "large", most}).is_ok());
  EXPECT_EQ(db_.Run({"STRLEN", "large"}).integer(), 512 << 20);
  EXPECT_EQ(db_.Run({"SET", "large", most + "y"}).error_code(), "ERR");
}

TEST_F(DatabaseTest, TransactionsAndScripts) {
  db_.Run({"MULTI"});
  EXPECT_EQ(Text({"SET", "a", "1"}), "\"QUEUED\"");
  EXPECT_EQ(Text({"RPUSH", "a", "x"}), "\"QUEUED\"");
  EXPECT_EQ(Text({"EXEC"}).substr(0, 18), "[\"OK\", -WRONGTYPE ");
  EXPECT_EQ(Text({"EVAL", "return {1, 'a', redis.call('get', KEYS[1])}", "1", "a"}),
            "[1, \"a\", \"1\"]");
  EXPECT_EQ(Text({"EVAL", "return redis.error_reply('MINE gone')", "0"}), "-MINE gone");
  EXPECT_EQ(Text({"SELECT", "3"}), "\"OK\"");
  EXPECT_EQ(Text({"DBSIZE"}), "0");
}

TEST_F(DatabaseTest, RepliesOutliveIt) {
  Reply reply;
  {
    sluice::Database other;
    other.Run({"RPUSH", "l", "a long element that is no small string"});
    reply = other.Run({"LRANGE", "l", "0", "-1"});
  }
  EXPECT_EQ(reply[0].text(), "a long element that is no small string");
}

TEST_F(DatabaseTest, ManyAreIndependent) {
  sluice::Database other;
  other.Run({"SET", "a", "theirs"});
  db_.Run({"SET", "a", "ours"});
  EXPECT_EQ(other.Get("a"), "theirs");
  EXPECT_EQ(db_.Get("a"), "ours");
}

// --- time

TEST_F(DatabaseTest, TimePassesByHand) {
  db_.Run({"SET", "a", "1", "PX", "1000"});
  EXPECT_LE(*db_.NextDeadline() - db_.Now(), 1s);
  Pass(999ms);
  EXPECT_EQ(Text({"PTTL", "a"}), "1");
  Pass(1ms);
  EXPECT_EQ(Text({"EXISTS", "a"}), "0");
}

TEST_F(DatabaseTest, WithoutPollingWhatIsOverIsOver) {
  db_.Run({"SET", "a", "1", "PX", "1000"});
  auto lock = db_.Acquire("door", "me", {.lease = 1s});
  time_.Advance(1001ms);
  EXPECT_EQ(Text({"EXISTS", "a"}), "0");
  EXPECT_TRUE(db_.Acquire("door", "you"));
}

TEST_F(DatabaseTest, WallClockStepsMoveNoLease) {
  auto lock = db_.Acquire("door", "me", {.lease = 10s});
  time_.StepWall(std::chrono::hours(24));
  Pass(9s);
  EXPECT_FALSE(db_.Acquire("door", "you"));
}

TEST(SystemTime, IsTheDefault) {
  sluice::Database db;
  const int64_t now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  const int64_t its_s = std::stoll(std::string(db.Run({"TIME"})[0].text()));
  EXPECT_LE(std::abs(its_s - now_ms / 1000), 2);
  EXPECT_GE(db.NextDeadline(), db.Now() - 1s);
  db.RunUntil(db.Now() + 1h);  // does not wait
}

// --- waiting

TEST_F(DatabaseTest, RunNeverWaits) {
  EXPECT_EQ(Text({"BLPOP", "q", "0"}), "(nil)");
  auto lock = db_.Acquire("door", "me");
  EXPECT_EQ(Text({"LOCK.ACQUIRE", "door", "you", "LEASE", "1000", "WAIT", "5000"}), "(nil)");
  EXPECT_EQ(Text({"LOCK.WAITERS", "door"}), "[]");
}

TEST_F(DatabaseTest, TicketIsPolled) {
  sluice::Ticket ticket = db_.Start({"BLPOP", "q", "0"});
  EXPECT_FALSE(ticket.ready());
  EXPECT_EQ(ticket.Take(), std::nullopt);
  db_.Run({"RPUSH", "q", "job"});
  ASSERT_TRUE(ticket.ready());
  EXPECT_EQ(ticket.Take()->ToText(), "[\"q\", \"job\"]");
  EXPECT_EQ(ticket.Take(), std::nullopt);
  EXPECT_TRUE(db_.Start({"GET", "a"}).ready());
}

TEST_F(DatabaseTest, TicketEndsAtItsDeadline) {
  sluice::Ticket ticket = db_.Start({"BLPOP", "q", "2"});
  EXPECT_LE(*db_.NextDeadline() - db_.Now(), 2s);
  Pass(1999ms);
  EXPECT_FALSE(ticket.ready());
  Pass(1ms);
  EXPECT_TRUE(ticket.Take()->is_null());
}

TEST_F(DatabaseTest, TicketIsCalledBack) {
  std::string told;
  db_.Start({"BLPOP", "q", "0"}).OnReady([&](Reply reply) { told = reply.ToText(); });
  db_.Run({"RPUSH", "q", "job"});
  EXPECT_EQ(told, "");
  EXPECT_EQ(db_.NextDeadline(), db_.Now());
  Pass(0s);
  EXPECT_EQ(told, "[\"q\", \"job\"]");
}

TEST_F(DatabaseTest, CancelledTicketLeavesTheLine) {
  {
    sluice::Ticket ticket = db_.Start({"BLPOP", "q", "0"});
    EXPECT_NE(Text({"CLIENT", "LIST"}).find("cmd=blpop"), std::string::npos);
  }
  db_.Run({"RPUSH", "q", "job"});
  EXPECT_EQ(Text({"LLEN", "q"}), "1");
}

TEST_F(DatabaseTest, TicketOutlivesIt) {
  sluice::Ticket waiting, done;
  {
    sluice::Database other;
    waiting = other.Start({"BLPOP", "q", "0"});
    done = other.Start({"PING"});
  }
  EXPECT_EQ(waiting.Take()->error_code(), "CLOSED");
  EXPECT_EQ(done.Take()->text(), "PONG");
}

TEST_F(DatabaseTest, LocksAreHandedOverInOrder) {
  auto first = db_.Acquire("door", "a", {.lease = 10s});
  ASSERT_TRUE(first);
  sluice::Ticket b = db_.Start({"LOCK.ACQUIRE", "door", "b", "LEASE", "5000", "WAIT", "60000"});
  sluice::Ticket c = db_.Start({"LOCK.ACQUIRE", "door", "c", "LEASE", "5000", "WAIT", "60000"});
  EXPECT_TRUE(first.Release());
  EXPECT_FALSE(first);
  auto second = db_.Adopt("door", "b", *b.Take());
  ASSERT_TRUE(second);
  EXPECT_GT(second.token(), first.token());
  EXPECT_FALSE(c.ready());
  Pass(5s);
  EXPECT_TRUE(c.ready());
  EXPECT_FALSE(second.Renew(1s));  // its lease was over
  EXPECT_NE(second.error(), "");
}

TEST_F(DatabaseTest, GuardReleases) {
  {
    auto lock = db_.Acquire("door", "me");
    EXPECT_TRUE(lock);
    EXPECT_EQ(lock.lease(), 30s);
    EXPECT_FALSE(db_.Acquire("door", "you"));
    EXPECT_TRUE(lock.Renew(60s));
  }
  auto lock = db_.Acquire("door", "you");
  EXPECT_TRUE(lock);
  sluice::LockGuard moved = std::move(lock);
  EXPECT_TRUE(moved);
  const std::string token = std::to_string(moved.token());
  EXPECT_TRUE(db_.Run({"FENCED", "door", token, "SET", "a", "1"}).is_ok());
  moved.Detach();
  EXPECT_FALSE(db_.Acquire("door", "me"));
}

TEST_F(DatabaseTest, GuardOutlivesIt) {
  sluice::LockGuard lock;
  {
    sluice::Database other;
    lock = other.Acquire("door", "me");
  }
  EXPECT_FALSE(lock.Release());
}

// --- limits

TEST_F(DatabaseTest, LimitsAreTaken) {
  const sluice::Rolling limit{2, 60s};
  EXPECT_TRUE(db_.Peek("user:17", limit));
  EXPECT_TRUE(db_.Take("user:17", limit));
  const sluice::Verdict second = db_.Take("user:17", limit);
  EXPECT_TRUE(second);
  EXPECT_EQ(second.limit, 2);
  EXPECT_EQ(second.remaining, 0);
  const sluice::Verdict third = db_.Take("user:17", limit);
  EXPECT_FALSE(third);
  EXPECT_EQ(third.retry_after, 30s);
  EXPECT_EQ(third.reset_after, 60s);
  Pass(30s);
  EXPECT_TRUE(db_.Take("user:17", limit));
  EXPECT_EQ(db_.Take("k", limit, 2).retry_after, 0s);
  db_.Run({"SET", "text", "1"});
  const sluice::Verdict undecided = db_.Take("text", limit);
  EXPECT_NE(undecided.error, "");
  EXPECT_EQ(undecided.retry_after, std::nullopt);
  db_.Run({"LIMIT.POLICY", "SET", "free", "WINDOW", "1", "1000"});
  EXPECT_TRUE(db_.Take("p", sluice::Policy{"free"}));
  EXPECT_FALSE(db_.Take("p", sluice::Policy{"free"}));
}

TEST_F(DatabaseTest, WhatNeverFitsHasNoRetry) {
  const sluice::Limit limits[] = {sluice::Window{2, 1s},  sluice::Rolling{2, 1s},
                                  sluice::Sliding{2, 1s}, sluice::RequestLog{2, 1s},
                                  sluice::Gcra{2, 1s, 2}, sluice::Leaky{2, 1s}};
  for (const sluice::Limit& limit : limits) {
    for (int again = 0; again < 2; ++again) {
      const sluice::Verdict verdict = db_.Take(limit.algorithm, limit, 100);
      EXPECT_EQ(verdict.error, "");
      EXPECT_FALSE(verdict.allowed);
      EXPECT_EQ(verdict.retry_after, std::nullopt) << limit.algorithm;
      EXPECT_EQ(db_.Peek(limit.algorithm, limit, 100).retry_after, std::nullopt);
    }
  }
}

// The second and later ones of a limit go another way than the first.
TEST_F(DatabaseTest, LimitsAreTheSameAnyWay) {
  sluice::ManualTime time;
  auto other = *sluice::Database::Open({.time = &time, .seed = 1}, fault_);
  const sluice::Limit limits[] = {sluice::Window{5, 1s},  sluice::Rolling{5, 1s, 7},
                                  sluice::Sliding{5, 1s}, sluice::RequestLog{5, 1s},
                                  sluice::Gcra{5, 1s, 2}, sluice::Leaky{5, 1s}};
  for (int round = 0; round < 200; ++round) {
    for (const sluice::Limit& limit : limits) {
      const std::string key = "k" + std::string(limit.algorithm);
      const int64_t cost = 1 + round / 10 % 2;
      std::vector<std::string> words = {"LIMIT.TAKE", key, std::string(limit.algorithm),
                                        std::to_string(limit.max), "1000"};
      if (limit.burst) words.insert(words.end(), {"BURST", std::to_string(limit.burst)});
      words.insert(words.end(), {"COST", std::to_string(cost)});
      const std::vector<std::string_view> views(words.begin(), words.end());
      for (int again = 0; again < 2; ++again) {
        const sluice::Verdict verdict = db_.Take(key, limit, cost);
        const Reply reply = other.Run(views);
        ASSERT_EQ(verdict.error, "");
        ASSERT_EQ(verdict.allowed, reply["allowed"].integer() == 1) << key << " " << round;
        ASSERT_EQ(verdict.limit, reply["limit"].integer());
        ASSERT_EQ(verdict.remaining, reply["remaining"].integer());
        ASSERT_EQ(verdict.retry_after.value_or(-1ms).count(), reply["retry_ms"].integer());
        ASSERT_EQ(verdict.reset_after.count(), reply["reset_ms"].integer());
        ASSERT_EQ(verdict.reset_at.count(), reply["reset_at_ms"].integer());
      }
    }
    Pass(37ms);
    other.RunUntil(other.Now() + 37ms);
  }
  for (sluice::Database* db : {&db_, &other}) {
    EXPECT_NE(db->Run({"INFO", "commandstats"}).text().find("cmdstat_limit.take:calls=2400"),
              std::string::npos)
        << db->Run({"INFO", "commandstats"}).text();
  }
}

TEST_F(DatabaseTest, LimitsThatOthersHearOf) {
  const sluice::Rolling limit{100, 60s};
  db_.Take("k", limit);
  db_.Take("k", limit);
  sluice::Client watcher = db_.Connect();
  watcher.Run({"WATCH", "k"});
  watcher.Run({"MULTI"});
  db_.Take("k", limit);
  EXPECT_TRUE(watcher.Run({"EXEC"}).is_null());
  db_.Run({"CONFIG", "SET", "notify-keyspace-events", "KEd"});
  watcher.Run({"SUBSCRIBE", "__keyevent@0__:limit.take"});
  EXPECT_EQ(db_.Take("k", limit).remaining, 96);
  EXPECT_EQ(watcher.NextPush()->elements().back().text(), "k");
  db_.Run({"CONFIG", "SET", "notify-keyspace-events", ""});
  db_.Run({"SET", "k", "1"});
  EXPECT_NE(db_.Take("k", limit).error, "");
  db_.Run({"MULTI"});
  EXPECT_EQ(db_.Take("other", limit).error.substr(0, 6), "QUEUED");
  EXPECT_EQ(db_.Run({"EXEC"}).size(), 1u);
}

TEST_F(DatabaseTest, LimitsAreInTheLog) {
  Folder folder;
  const sluice::Rolling limit{100, 60s};
  {
    auto db = sluice::Database::Open({.time = &time_, .directory = folder.path}, fault_);
    ASSERT_TRUE(db) << fault_;
    for (int i = 0; i < 10; ++i) db->Take("k", limit);
  }
  auto db = sluice::Database::Open({.time = &time_, .directory = folder.path}, fault_);
  ASSERT_TRUE(db) << fault_;
  EXPECT_EQ(db->Take("k", limit).remaining, 89);
}

// --- clients and pushes

TEST_F(DatabaseTest, ClientsAreApart) {
  sluice::Client client = db_.Connect();
  client.Run({"SELECT", "1"});
  client.Run({"SET", "a", "1"});
  EXPECT_EQ(Text({"EXISTS", "a"}), "0");
  client.Run({"LOCK.ACQUIRE", "door", "me", "SESSION"});
  { sluice::Client gone = std::move(client); }
  EXPECT_EQ(Text({"LOCK.ACQUIRE", "door", "you", "LEASE", "1"}).substr(0, 7), "{\"token");
}

TEST_F(DatabaseTest, WaitingClientRunsNothingElse) {
  sluice::Client client = db_.Connect();
  sluice::Ticket ticket = client.Start({"BLPOP", "q", "0"});
  EXPECT_EQ(client.Run({"PING"}).error_code(), "WAITING");
  EXPECT_EQ(client.Start({"PING"}).Take()->error_code(), "WAITING");
  ticket.Cancel();
  EXPECT_EQ(client.Run({"PING"}).text(), "PONG");
}

TEST_F(DatabaseTest, MessagesArrive) {
  sluice::Client client = db_.Connect();
  EXPECT_EQ(client.Run({"SUBSCRIBE", "news"}).ToText(), ">[\"subscribe\", \"news\", 1]");
  client.Run({"PSUBSCRIBE", "n*"});
  EXPECT_EQ(Text({"PUBLISH", "news", "hello"}), "2");
  EXPECT_EQ(client.NextPush()->ToText(), ">[\"message\", \"news\", \"hello\"]");
  EXPECT_EQ(client.NextPush()->ToText(), ">[\"pmessage\", \"n*\", \"news\", \"hello\"]");
  EXPECT_EQ(client.NextPush(), std::nullopt);
  std::string told;
  client.OnPush([&](const Reply& push) { told += push[2].text(); });
  db_.Run({"SPUBLISH", "news", "no"});
  db_.Run({"PUBLISH", "n", "1"});
  Pass(0s);
  EXPECT_EQ(told, "n");
}

TEST_F(DatabaseTest, EventsOfKeysAndLocks) {
  db_.Run({"CONFIG", "SET", "notify-keyspace-events", "Ex"});
  db_.Run({"SUBSCRIBE", "__keyevent@0__:expired"});
  db_.Run({"SET", "a", "1", "PX", "10"});
  Pass(10ms);
  EXPECT_EQ(db_.NextPush()->ToText(), ">[\"message\", \"__keyevent@0__:expired\", \"a\"]");
  db_.Run({"LOCK.ACQUIRE", "door", "me", "LEASE", "10", "NOTIFY"});
  Pass(11ms);
  EXPECT_EQ(db_.NextPush()->elements().front().text(), "lock-lost");
}

// What is pushed while a ticket has the client's answer to come is that client's.
TEST_F(DatabaseTest, PushesArriveWhileAClientWaits) {
  sluice::Client client = db_.Connect();
  client.Run({"LOCK.ACQUIRE", "door", "me", "LEASE", "10", "NOTIFY"});
  client.Run({"SUBSCRIBE", "news"});
  sluice::Ticket ticket = client.Start({"BLPOP", "list", "0"});
  db_.Run({"PUBLISH", "news", "hello"});
  Pass(11ms);
  EXPECT_EQ(client.NextPush()->ToText(), ">[\"message\", \"news\", \"hello\"]");
  EXPECT_EQ(client.NextPush()->elements().front().text(), "lock-lost");
  EXPECT_EQ(db_.NextPush(), std::nullopt);
  db_.Run({"RPUSH", "list", "1"});
  EXPECT_TRUE(ticket.Take().has_value());
}

// A renewal that a pause holds back is in time, and the lock is not handed over before it has run.
TEST_F(DatabaseTest, ARenewalIsInTimeOverAPause) {
  db_.Run({"LOCK.ACQUIRE", "door", "me", "LEASE", "100"});
  sluice::Client other = db_.Connect();
  sluice::Ticket waits =
      other.Start({"LOCK.ACQUIRE", "door", "you", "LEASE", "9", "WAIT", "99999"});
  db_.Run({"CLIENT", "PAUSE", "5000", "WRITE"});
  sluice::Client mine = db_.Connect();
  sluice::Ticket renewal = mine.Start({"LOCK.RENEW", "door", "me", "LEASE", "1000"});
  Pass(5000ms);
  EXPECT_EQ(renewal.Take()->integer(), 1000);
  EXPECT_FALSE(waits.Take().has_value());
  Pass(1001ms);
  EXPECT_TRUE(waits.Take().has_value());
}

// One that the host has given up keeps nobody waiting for long.
TEST_F(DatabaseTest, ATicketThatIsDroppedInAPauseHoldsNothingUp) {
  db_.Run({"LOCK.ACQUIRE", "door", "me", "LEASE", "100"});
  sluice::Client other = db_.Connect();
  sluice::Ticket waits =
      other.Start({"LOCK.ACQUIRE", "door", "you", "LEASE", "9", "WAIT", "99999"});
  db_.Run({"CLIENT", "PAUSE", "5000", "WRITE"});
  { sluice::Ticket dropped = db_.Connect().Start({"LOCK.RENEW", "door", "me", "LEASE", "1000"}); }
  Pass(5000ms);
  Pass(1000ms);
  EXPECT_TRUE(waits.Take().has_value());
}

TEST_F(DatabaseTest, InvalidationsArrive) {
  db_.Run({"CLIENT", "TRACKING", "ON"});
  db_.Run({"GET", "a"});
  sluice::Client other = db_.Connect();
  other.Run({"SET", "a", "1"});
  EXPECT_EQ(db_.NextPush()->ToText(), ">[\"invalidate\", [\"a\"]]");
}

TEST_F(DatabaseTest, TooManyPushesEndSubscriptions) {
  sluice::Client client = db_.Connect();
  client.Run({"SUBSCRIBE", "news"});
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 40; ++i) db_.Run({"PUBLISH", "news", large});
  EXPECT_EQ(client.NextPush()->error_code(), "CLOSED");
  EXPECT_EQ(client.Run({"PING"}).error_code(), "CLOSED");
  EXPECT_EQ(Text({"PUBLISH", "news", large}), "0");
}

TEST_F(DatabaseTest, LeavingIsForOneClient) {
  EXPECT_TRUE(db_.Run({"QUIT"}).is_ok());
  EXPECT_EQ(Text({"PING"}), "\"PONG\"");
  sluice::Client client = db_.Connect();
  EXPECT_TRUE(client.Run({"QUIT"}).is_ok());
  EXPECT_EQ(client.Run({"PING"}).error_code(), "CLOSED");
  EXPECT_EQ(Text({"RESET"}), "\"RESET\"");
  EXPECT_EQ(Text({"HELLO", "2"}).substr(0, 1), "{");
  db_.Run({"HSET", "h", "f", "v"});
  EXPECT_EQ(Text({"HGETALL", "h"}), "{\"f\" => \"v\"}");
}

TEST_F(DatabaseTest, PausedClientsAreHeld) {
  db_.Run({"CLIENT", "PAUSE", "1000", "WRITE"});
  EXPECT_EQ(db_.Run({"SET", "a", "1"}).error_code(), "PAUSED");
  EXPECT_EQ(db_.Run({"GET", "a"}).error_code(), "PAUSED");
  sluice::Ticket ticket = db_.Start({"SET", "a", "2"});
  EXPECT_FALSE(ticket.ready());
  Pass(1001ms);
  EXPECT_TRUE(ticket.Take()->is_ok());
  EXPECT_EQ(db_.Get("a"), "2");
}

// --- callbacks that do as they like

TEST_F(DatabaseTest, CallbackMayThrow) {
  db_.Start({"BLPOP", "q", "0"}).OnReady([](Reply) { throw std::runtime_error("mine"); });
  bool other = false;
  db_.Start({"BLPOP", "q", "0"}).OnReady([&](Reply) { other = true; });
  db_.Run({"RPUSH", "q", "1", "2"});
  EXPECT_THROW(Pass(0s), std::runtime_error);
  EXPECT_FALSE(other);
  Pass(0s);
  EXPECT_TRUE(other);
  EXPECT_EQ(Text({"PING"}), "\"PONG\"");
}

TEST_F(DatabaseTest, CallbackMayRunCommands) {
  db_.Start({"BLPOP", "q", "0"}).OnReady([&](Reply reply) {
    db_.Run({"SET", "got", reply[1].text()});
    db_.Start({"BLPOP", "q", "0"}).OnReady([&](Reply) { db_.Run({"SET", "again", "1"}); });
  });
  db_.Run({"RPUSH", "q", "1", "2"});
  Pass(0s);
  EXPECT_EQ(db_.Get("got"), "1");
  EXPECT_EQ(db_.Get("again"), "1");
}

TEST_F(DatabaseTest, CallbackMayDestroyIt) {
  auto db = std::make_unique<sluice::Database>();
  int calls = 0;
  for (int i = 0; i < 2; ++i) {
    db->Start({"BLPOP", "q", "0"}).OnReady([&](Reply) {
      ++calls;
      db.reset();
    });
  }
  db->Run({"RPUSH", "q", "1", "2"});
  sluice::Database* const raw = db.get();
  raw->RunUntil(raw->Now());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(db, nullptr);
}

// --- a directory

TEST_F(DatabaseTest, DirectoryOutlivesIt) {
  Folder folder;
  const std::string before = std::filesystem::current_path().string();
  const sluice::Options options{.directory = folder.path + "/data", .settings = {{"save", ""}}};
  int64_t token;
  {
    auto db = sluice::Database::Open(options, fault_);
    ASSERT_TRUE(db) << fault_;
    db->Run({"SET", "a", "1"});
    token = db->Acquire("door", "me").token();
    EXPECT_EQ(db->Close(), "");
    EXPECT_EQ(db->Run({"PING"}).error_code(), "CLOSED");
  }
  auto db = sluice::Database::Open(options, fault_);
  ASSERT_TRUE(db) << fault_;
  EXPECT_EQ(db->Get("a"), "1");
  EXPECT_GT(db->Acquire("door", "you").token(), token);
  EXPECT_EQ(std::filesystem::current_path().string(), before);
  EXPECT_TRUE(std::filesystem::exists(folder.path + "/data/appendonlydir"));
}

TEST_F(DatabaseTest, DirectoryIsOneDatabases) {
  Folder folder;
  auto first = sluice::Database::Open({.directory = folder.path}, fault_);
  ASSERT_TRUE(first) << fault_;
  EXPECT_FALSE(sluice::Database::Open({.directory = folder.path}, fault_));
  EXPECT_NE(fault_.find("another database"), std::string::npos) << fault_;
  EXPECT_FALSE(sluice::Database::Open(
      {.directory = folder.path, .settings = {{"appendonly", "no"}}}, fault_));
  first.reset();
  EXPECT_TRUE(sluice::Database::Open({.directory = folder.path}, fault_)) << fault_;
}

TEST_F(DatabaseTest, SnapshotsInTheDirectory) {
  Folder folder;
  const sluice::Options options{.directory = folder.path, .settings = {{"appendonly", "no"}}};
  {
    auto db = sluice::Database::Open(options, fault_);
    ASSERT_TRUE(db) << fault_;
    for (int i = 0; i < 1000; ++i) db->Run({"SET", std::to_string(i), "x"});
    EXPECT_FALSE(db->Run({"BGSAVE"}).is_error());
    db->Run({"SET", "500", "y"});
    db->RunUntil(db->Now());
    EXPECT_TRUE(db->Run({"SAVE"}).is_ok());
  }
  auto db = sluice::Database::Open(options, fault_);
  ASSERT_TRUE(db) << fault_;
  EXPECT_EQ(db->Run({"DBSIZE"}).integer(), 1000);
  EXPECT_EQ(db->Get("500"), "y");
}

TEST_F(DatabaseTest, WhatIsWrongAtTheStartIsSaid) {
  EXPECT_FALSE(sluice::Database::Open({.directory = "/proc/none"}, fault_));
  EXPECT_NE(fault_.find("/proc/none"), std::string::npos) << fault_;
  EXPECT_FALSE(sluice::Database::Open({.settings = {{"nosuch", "1"}}}, fault_));
  EXPECT_NE(fault_.find("nosuch"), std::string::npos) << fault_;
  EXPECT_FALSE(sluice::Database::Open({.settings = {{"databases", "-1"}}}, fault_));
  EXPECT_FALSE(sluice::Database::Open({.settings = {{"appendonly", "yes"}}}, fault_));
  EXPECT_FALSE(sluice::Database::Open({.directory = "/dev/full"}, fault_));
  Folder folder;
  std::filesystem::create_directory(folder.path + "/appendonlydir");
  std::ofstream(folder.path + "/appendonlydir/appendonly.aof.manifest") << "rubbish";
  EXPECT_FALSE(sluice::Database::Open({.directory = folder.path}, fault_));
}

TEST_F(DatabaseTest, ChildOfAForkIsRefused) {
  if (std::getenv("SLUICE_EMULATED")) GTEST_SKIP() << "qemu-user ignores MADV_WIPEONFORK";
  Folder folder;
  auto db = sluice::Database::Open({.directory = folder.path}, fault_);
  ASSERT_TRUE(db) << fault_;
  db->Run({"SET", "a", "1"});
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = db->Run({"SET", "a", "2"}).error_code() == "FORKED";
    const bool memory_works = db_.Run({"SET", "a", "2"}).is_ok();
    db.reset();  // writes nothing
    ::_exit(refused && memory_works ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(db->Get("a"), "1");
}

// The log can grow to 64 KiB and no further, as on a disk that is full.
TEST_F(DatabaseTest, FullDisk) {
  Folder folder;
  auto db = sluice::Database::Open({.time = &time_, .directory = folder.path}, fault_);
  ASSERT_TRUE(db) << fault_;
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 64 * 1024, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string value(1000, 'x');
  int written = 0;
  Reply reply;
  while (written < 100 && (reply = db->Run({"SET", "a", value})).is_ok()) ++written;
  EXPECT_GT(written, 10);
  EXPECT_EQ(reply.error_code(), "IOERR") << reply.ToText();
  EXPECT_EQ(db->Run({"SET", "b", "1"}).error_code(), "MISCONF");
  EXPECT_EQ(db->Get("a"), value);
  EXPECT_FALSE(db->Take("k", sluice::Rolling{1, 1s}));
  EXPECT_NE(db->Close(), "");
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);

  db = sluice::Database::Open({.time = &time_, .directory = folder.path}, fault_);
  ASSERT_TRUE(db) << fault_;
  EXPECT_EQ(db->Get("a"), value);
}

TEST_F(DatabaseTest, FullDiskHasRoomAgain) {
  Folder folder;
  auto db = sluice::Database::Open({.time = &time_, .directory = folder.path}, fault_);
  ASSERT_TRUE(db) << fault_;
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 64 * 1024, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string value(1000, 'x');
  for (int i = 0; i < 100; ++i) db->Run({"SET", "a", value});
  EXPECT_EQ(db->Run({"SET", "b", "1"}).error_code(), "MISCONF");
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  db->RunUntil(db->Now() + 2s);
  EXPECT_TRUE(db->Run({"SET", "b", "1"}).is_ok());
  EXPECT_EQ(db->Close(), "");
}

// A second call while one runs does nothing. Here it comes from within: the log's line calls back.
TEST(DatabaseTwice, CallsAtATime) {
  sluice::Database* inner = nullptr;
  sluice::Ticket ticket;
  const auto call = [&](std::string_view) {
    if (!inner) return;
    EXPECT_EQ(inner->Run({"SET", "a", "2"}).error_code(), "BUSY");
    EXPECT_EQ(inner->Start({"SET", "a", "2"}).Take()->error_code(), "BUSY");
    EXPECT_TRUE(inner->Take("user", sluice::Window{1, 1s}).error.starts_with("BUSY "));
    EXPECT_TRUE(inner->Acquire("door", "me").error().starts_with("BUSY "));
    EXPECT_EQ(inner->Get("a"), std::nullopt);
    EXPECT_EQ(inner->NextDeadline(), std::nullopt);
    EXPECT_FALSE(ticket.ready());
    EXPECT_TRUE(inner->Close().starts_with("BUSY "));
  };
  std::string fault;
  auto db = sluice::Database::Open({.log = call}, fault);
  db->Run({"SET", "a", "1"});
  ticket = db->Start({"PING"});
  EXPECT_TRUE(ticket.ready());
  inner = &*db;
  db->Run({"EVAL", "redis.log(redis.LOG_WARNING, 'hello')", "0"});
  EXPECT_TRUE(ticket.ready());
  EXPECT_EQ(db->Get("a"), "1");
  EXPECT_TRUE(db->Take("user", sluice::Window{1, 1s}));
  EXPECT_TRUE(db->Acquire("door", "me"));
}

// Whichever thread gets in, the other is told so, and nothing is lost.
TEST(DatabaseTwice, ThreadsInOne) {
  constexpr int kCalls = 20'000;
  sluice::Database db;
  int64_t done[2] = {}, refused[2] = {};
  const auto run = [&](int which) {
    for (int i = 0; i < kCalls; ++i) {
      const Reply reply = db.Run({"INCR", "n"});
      if (reply.is_error()) {
        ASSERT_EQ(reply.error_code(), "BUSY");
      }
      ++(reply.is_error() ? refused : done)[which];
    }
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  EXPECT_EQ(db.Get("n"), std::to_string(done[0] + done[1]));
  EXPECT_EQ(done[0] + done[1] + refused[0] + refused[1], 2 * kCalls);
}

TEST_F(DatabaseTest, ShutdownEndsIt) {
  db_.Run({"SHUTDOWN", "NOSAVE"});
  EXPECT_EQ(db_.Run({"PING"}).error_code(), "CLOSED");
  EXPECT_EQ(db_.NextDeadline(), std::nullopt);
  db_.RunUntil(db_.Now() + 1s);
}

}  // namespace
