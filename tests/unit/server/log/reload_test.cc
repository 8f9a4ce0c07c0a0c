// DEBUG RELOAD and DEBUG LOADAOF on a server with clients: locks, those who wait for them and what
// is remembered of them stay as they are; others are served meanwhile; and what the log tells is
// what the next start finds. What Redis answers is in tests/transcripts/debug.txt.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/server/log/scripted_log.h"
#include "tests/unit/server/snapshots/snapshot_world.h"

namespace sluice {
namespace {

std::string Token(const Reply& grant) { return std::to_string(grant.elements.at(0).integer); }

// What a server knows of locks and limits, over one of the commands.
void StaysOver(const std::vector<std::string>& reload) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"appendonly", "yes"}}));
  TestClient& owner = server.Connect();
  TestClient& waiter = server.Connect();
  owner.Run({"LOCK.ACQUIRE", "free", "me", "LEASE", "60000"});
  owner.Run({"FLUSHALL"});
  owner.Run({"SET", "held", "a text first"});
  owner.Run({"DEL", "held"});
  const std::string remembered = Token(owner.Run({"LOCK.ACQUIRE", "free", "me", "LEASE", "60000"}));
  owner.Run({"LOCK.RELEASE", "free", "me"});
  owner.Run({"LOCK.ACQUIRE", "held", "me", "SESSION"});
  owner.Run({"LOCK.ACQUIRE", "leased", "me", "LEASE", "60000"});
  owner.Run({"SWAPDB", "2", "3"});
  waiter.Send({"LOCK.ACQUIRE", "held", "other", "LEASE", "60000", "WAIT", "100000"});
  owner.Run({"LIMIT.TAKE", "user", "ROLLING", "10", "3600000", "COST", "4"});
  owner.Run({"HSET", "h", "f", "v"});
  owner.Run({"HPEXPIRE", "h", "60000", "FIELDS", "1", "f"});
  owner.Run({"SET", "k", "v", "PX", "60000"});

  EXPECT_EQ(owner.Run(reload).ToText(), "+OK");
  EXPECT_EQ(owner.Run({"DBSIZE"}).ToText(), ":5");
  EXPECT_EQ(owner.Run({"PTTL", "k"}).ToText(), ":60000");
  EXPECT_EQ(owner.Run({"HPTTL", "h", "FIELDS", "1", "f"}).ToText(), "[:60000]");
  EXPECT_EQ(owner.Run({"FENCED", "free", remembered, "SET", "k", "w", "KEEPTTL"}).ToText(), "+OK");
  EXPECT_EQ(
      owner.Run({"LIMIT.TAKE", "user", "ROLLING", "10", "3600000", "PEEK"}).elements.at(2).integer,
      6);
  EXPECT_FALSE(waiter.Next());
  owner.Run({"LOCK.RENEW", "leased", "me", "LEASE", "90000"});
  owner.Disconnect();
  server.Settle();
  EXPECT_TRUE(waiter.Next()) << "the lock was its session's";
  server.AdvanceTime(60'000);
  EXPECT_EQ(waiter.Run({"EXISTS", "k", "h", "leased"}).ToText(), ":1");
  server.AdvanceTime(40'000);
  EXPECT_EQ(waiter.Run({"EXISTS", "leased"}).ToText(), ":0");
}

TEST(Reload, LocksAndLimitsStayOverASnapshot) { StaysOver({"DEBUG", "RELOAD"}); }

TEST(Reload, LocksAndLimitsStayOverALog) { StaysOver({"DEBUG", "LOADAOF"}); }

TEST(Reload, AKeyOfTheFileTakesNoLocksPlace) {
  MemoryDisk disk;
  TestEngine server(With(disk));
  TestClient& client = server.Connect();
  client.Run({"SET", "door", "text"});
  client.Run({"SAVE"});
  client.Run({"DEL", "door"});
  client.Run({"LOCK.ACQUIRE", "door", "me", "LEASE", "1000"});
  EXPECT_EQ(client.Run({"DEBUG", "RELOAD", "NOSAVE"}).ToText(), "+OK");
  EXPECT_EQ(client.Run({"TYPE", "door"}).ToText(), "+lock");
  server.AdvanceTime(1001);
  EXPECT_EQ(client.Run({"EXISTS", "door"}).ToText(), ":0");
}

TEST(Reload, OthersAreServedMeanwhile) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"appendonly", "yes"}}));
  TestClient& client = server.Connect();
  TestClient& other = server.Connect();
  for (int i = 0; i < 300; ++i) client.Run({"SET", "k" + std::to_string(i), "v"});
  for (const std::string word : {"RELOAD", "LOADAOF"}) {
    std::vector<std::string> answers;
    server.OnPoll([&] {
      if (answers.size() >= 4) return;
      other.Send({"GET", "k1"});
      other.Send({"PING"});
      other.Send({"DEBUG", "RELOAD"});
      other.Send({"CONFIG", "SET", "appendonly", "no"});
      server.Turn();
      while (auto reply = other.Next()) answers.push_back(reply->ToText().substr(0, 18));
    });
    server.set_tick_step(1'000'000);
    EXPECT_EQ(client.Run({"DEBUG", word}).ToText(), "+OK");
    server.set_tick_step(0);
    ASSERT_GE(answers.size(), 4u) << word;
    EXPECT_EQ(answers[0], "-LOADING Redis is ");
    EXPECT_EQ(answers[1], "-LOADING Redis is ");
    EXPECT_EQ(answers[2], "-LOADING Redis is ");
    EXPECT_EQ(answers[3], "-LOADING Redis is ");
    server.OnPoll({});
    EXPECT_EQ(client.Run({"DBSIZE"}).ToText(), ":300");
  }
}

TEST(Reload, ATransactionOfBeforeDoesNotRunInTheMidst) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"appendonly", "yes"}}));
  TestClient& client = server.Connect();
  TestClient& other = server.Connect();
  for (int i = 0; i < 300; ++i) client.Run({"SET", "k" + std::to_string(i), "v"});
  other.Run({"MULTI"});
  other.Run({"SET", "k299", "w"});
  std::string answer;
  server.OnPoll([&] {
    if (!answer.empty()) return;
    other.Send({"EXEC"});
    server.Turn();
    if (auto reply = other.Next()) answer = reply->ToText();
  });
  server.set_tick_step(1'000'000);
  EXPECT_EQ(client.Run({"DEBUG", "RELOAD"}).ToText(), "+OK");
  server.set_tick_step(0);
  server.OnPoll({});
  EXPECT_EQ(answer,
            "-EXECABORT Transaction discarded because of: LOADING Redis is loading the dataset in "
            "memory");
  EXPECT_EQ(client.Run({"GET", "k299"}).ToText(), "\"v\"");
}

// The script is nobody's: the client that loads, and has sent more, is not served inside of it.
TEST(Reload, OthersAreServedInsideOfAScript) {
  for (const int64_t threshold_ms : {1, 1'000'000}) {
    MemoryDisk disk = DiskWithScript();
    TestEngine server(With(disk, {{"appendonly", "yes"}}));
    TestClient& client = server.Connect();
    TestClient& other = server.Connect();
    client.Run({"DEL", "k"});
    client.Run({"CONFIG", "SET", "busy-reply-threshold", std::to_string(threshold_ms)});
    client.Run({"SET", "a", "1"});
    std::vector<std::string> answers;
    server.OnPoll([&] {
      EXPECT_FALSE(client.has_received());
      if (answers.size() >= 3) return;
      other.Send({"PING"});
      server.Turn();
      while (auto reply = other.Next()) answers.push_back(reply->ToText());
    });
    server.set_tick_step(kScriptTickNanos);
    client.SendBytes("DEBUG LOADAOF\r\nDEL a\r\nEXISTS k\r\n");
    server.set_tick_step(0);
    server.OnPoll({});
    EXPECT_GE(answers.size(), 3U);
    for (const std::string& answer : answers)
      EXPECT_EQ(answer, "-LOADING Redis is loading the dataset in memory");
    server.Settle();
    EXPECT_EQ(client.TakeBytes(), "+OK\r\n:1\r\n:0\r\n");
  }
}

// The end of a script turns effects on again for other scripts, and not for the files.
TEST(Reload, WhatFollowsAScriptInTheLogIsNotWrittenOnceMore) {
  MemoryDisk disk = DiskWithScript();
  disk.files[kFirstIncrement] += "*4\r\n$5\r\nSETEX\r\n$1\r\ne\r\n$3\r\n100\r\n$1\r\nv\r\n";
  TestEngine server(With(disk, {{"appendonly", "yes"}}));
  TestClient& client = server.Connect();
  const std::string before = disk.files[kFirstIncrement];
  EXPECT_EQ(client.Run({"DEBUG", "LOADAOF"}).ToText(), "+OK");
  server.Settle();
  EXPECT_EQ(disk.files[kFirstIncrement], before);
}

TEST(Reload, TheLogTellsOfAnotherFileThatWasLoaded) {
  MemoryDisk disk;
  {
    TestEngine server(With(disk, {{"appendonly", "yes"}}));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "of the file"});
    client.Run({"SAVE"});
    client.Run({"SET", "k", "v"});
    client.Run({"SET", "gone", "v"});
    EXPECT_EQ(client.Run({"DEBUG", "RELOAD", "NOSAVE"}).ToText(), "+OK");
    client.Run({"APPEND", "k", "!"});
  }
  TestEngine again(With(disk, {{"appendonly", "yes"}}));
  again.Settle();
  TestClient& client = again.Connect();
  EXPECT_EQ(client.Run({"GET", "k"}).ToText(), "\"of the file!\"");
  EXPECT_EQ(client.Run({"EXISTS", "gone"}).ToText(), ":0");
}

TEST(Reload, KeysOfPopulateAreInTheLog) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"appendonly", "yes"}}));
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Run({"DEBUG", "POPULATE", "3"}).ToText(), "+OK");
  EXPECT_EQ(client.Run({"DEBUG", "LOADAOF"}).ToText(), "+OK");
  EXPECT_EQ(client.Run({"MGET", "key:0", "key:2"}).ToText(), "[\"value:0\", \"value:2\"]");
}

TEST(Reload, ADamagedFileEndsTheServerAndNotTheLog) {
  MemoryDisk disk;
  {
    TestEngine server(With(disk, {{"appendonly", "yes"}}));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "v"});
    client.Run({"SAVE"});
    client.Run({"SET", "l", "v"});
    disk.files["/dump.rdb"][60] ^= 1;
    EXPECT_EQ(client.Run({"DEBUG", "RELOAD", "NOSAVE", "NOFLUSH", "MERGE"}).ToText(),
              "-ERR Error trying to load the RDB dump");
    EXPECT_EQ(client.Run({"GET", "l"}).ToText(), "\"v\"");
    EXPECT_FALSE(server.shutdown_code());
    client.Send({"DEBUG", "RELOAD", "NOSAVE"});
    server.Settle();
    EXPECT_EQ(server.shutdown_code(), 1);
  }
  TestEngine again(With(disk, {{"appendonly", "yes"}}));
  again.Settle();
  EXPECT_EQ(again.Connect().Run({"MGET", "k", "l"}).ToText(), "[\"v\", \"v\"]");
}

}  // namespace
}  // namespace sluice
