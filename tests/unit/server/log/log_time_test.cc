// Time in a log: what was relative when it was written is so after a restart, and feels no step of
// the wall clock, neither before nor after; what was absolute stays a Unix time. On the same boot
// the machine's own time tells how much has passed, else the wall clock.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/log/log_service.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

constexpr int64_t kStartMs = 1'700'000'000'000;  // the wall clock when the first server starts
constexpr int64_t kUptimeMs = 50'000'000;        // of its machine
constexpr int64_t kLeftMs = 100'000;             // to all deadlines, when they are set
constexpr char kBoot[] = "first boot";
constexpr char kNextBoot[] = "second boot";

// A server that starts on this disk, when the machine says so and the wall clock that.
TestEngine::Options At(MemoryDisk& disk, const std::string& boot, int64_t uptime_ms,
                       int64_t unix_ms) {
  disk.files["/proc/sys/kernel/random/boot_id"] = boot + "\n";
  TestEngine::Options options;
  options.disk = &disk;
  options.config = {{"appendonly", "yes"}, {"appendfsync", "always"}};
  options.unix_ms = unix_ms - uptime_ms;
  options.uptime_ms = uptime_ms;
  return options;
}
TestEngine::Options First(MemoryDisk& disk) { return At(disk, kBoot, kUptimeMs, kStartMs); }

// Every way to give a key, or field of a hash, a deadline that is `relative` or not.
void WriteKeys(TestEngine& server, bool relative) {
  TestClient& client = server.Connect();
  const std::string name = relative ? "relative:" : "absolute:";
  const auto run = [&](std::vector<std::string> words) {
    const Reply reply = client.Run(words);
    EXPECT_NE(reply.kind, Reply::Kind::kError) << words[0] << " " << reply.text;
    return reply;
  };
  const std::string px = relative ? "PX" : "PXAT";
  const std::string pexpire = relative ? "PEXPIRE" : "PEXPIREAT";
  const std::string ms = std::to_string(relative ? kLeftMs : server.now().unix_ms() + kLeftMs);
  run({"SET", name + "set", "v", px, ms});
  run({"MSETEX", "2", name + "mset1", "v", name + "mset2", "v", px, ms});
  run({"INCREX", name + "increx", "BYINT", "3", px, ms});
  for (const std::string key : {"getex", "expire", "source", "copied", "renamed", "multi1"})
    run({"SET", name + key, "v"});
  run({"GETEX", name + "getex", px, ms});
  for (const std::string key : {"expire", "copied", "renamed"}) run({pexpire, name + key, ms});
  run({"COPY", name + "copied", name + "copy"});
  run({"RENAME", name + "renamed", name + "name"});
  const std::string dump = run({"DUMP", name + "source"}).text;
  std::vector<std::string> restore = {"RESTORE", name + "restored", ms, dump};
  if (!relative) restore.emplace_back("absttl");
  run(restore);
  run({"MULTI"});
  run({"SET", name + "multi2", "v", px, ms});
  run({pexpire, name + "multi1", ms});
  run({"EXEC"});
  run({"EVAL", "redis.call('set',KEYS[1],'v',ARGV[1],ARGV[2]) return redis.call('incr',KEYS[2])",
       "2", name + "script", "counter", px, ms});
  run({"HSETEX", name + "hash", px, ms, "FIELDS", "1", "f", "v"});
  run({"HSET", name + "hash", "g", "v"});
  run({"H" + pexpire, name + "hash", ms, "FIELDS", "1", "g"});
  run({"HSET", name + "hash", "h", "v", "stays", "v"});
  run({"HGETEX", name + "hash", px, ms, "FIELDS", "1", "h"});
}

constexpr std::string_view kKeys[] = {"set",    "mset1",  "mset2",   "increx", "getex",
                                      "expire", "copied", "copy",    "name",   "multi1",
                                      "multi2", "script", "restored"};

// What can only be relative.
void WriteLimits(TestEngine& server) {
  TestClient& client = server.Connect();
  const std::string ms = std::to_string(kLeftMs);
  client.Run({"LIMIT.TAKE", "limiter", "WINDOW", "1", ms});
  client.Run({"LIMIT.TAKE", "gcra", "GCRA", "1", ms});
  client.Run({"LBUCKET.COUNT", "bucket", std::to_string(kLeftMs / 1000)});
  client.Run({"LOCK.ACQUIRE", "lock", "me", "LEASE", ms});
}

void Write(TestEngine& server) {
  WriteKeys(server, true);
  WriteKeys(server, false);
  WriteLimits(server);
}

void ExpectLeft(TestEngine& server, const std::string& name, int64_t ms) {
  TestClient& client = server.Connect();
  for (const std::string_view key : kKeys)
    EXPECT_EQ(client.Run({"PTTL", name + std::string(key)}).integer, ms) << name << key;
  for (const std::string field : {"f", "g", "h"}) {
    const Reply reply = client.Run({"HPTTL", name + "hash", "FIELDS", "1", field});
    EXPECT_EQ(reply.ToText(), "[:" + std::to_string(ms) + "]") << name << field;
  }
}

// How long all has left, at most so much: a wall clock that has gone on since moves none.
void ExpectRelative(TestEngine& server, int64_t left_ms) {
  server.Settle();
  ASSERT_FALSE(server.shutdown_code().has_value()) << server.log().back();
  ExpectLeft(server, "relative:", left_ms);
  TestClient& client = server.Connect();
  for (const std::string key : {"limiter", "gcra", "bucket"})
    EXPECT_EQ(client.Run({"PTTL", key}).integer, left_ms) << key;
  EXPECT_EQ(client.Run({"OBJECT", "IDLETIME", "relative:set"}).integer, 0);
}

// Nothing of what is relative ends before its time is over, and all does then.
void ExpectEnd(TestEngine& server, int64_t left_ms) {
  TestClient& client = server.Connect();
  const auto exists = [&] {
    int64_t count = 0;
    for (const std::string_view key : kKeys)
      count += client.Run({"EXISTS", "relative:" + std::string(key)}).integer;
    for (const std::string key : {"limiter", "gcra", "bucket", "lock"})
      count += client.Run({"EXISTS", key}).integer;
    return count + client.Run({"HLEN", "relative:hash"}).integer;
  };
  const auto all = static_cast<int64_t>(std::size(kKeys)) + 4 + 4;
  server.AdvanceTime(left_ms - 1);
  EXPECT_EQ(exists(), all);
  server.AdvanceTime(1);
  EXPECT_EQ(exists(), 1) << "the field that stays";
}

TEST(LogTime, OnTheSameBootTheMachinesTimeGoesOn) {
  MemoryDisk disk;
  {
    TestEngine server(First(disk));
    Write(server);
    server.clock().StepWall(-3'600'000);
    server.Connect().Run({"SET", "after", "the step"});
  }
  // 10 s later; the wall clock was put back by another hour meanwhile.
  TestEngine again(At(disk, kBoot, kUptimeMs + 10'000, kStartMs - 7'200'000 + 10'000));
  ExpectRelative(again, kLeftMs - 10'000);
  ExpectLeft(again, "absolute:", kLeftMs + 7'200'000 - 10'000);
  again.clock().StepWall(7'200'000);
  ExpectRelative(again, kLeftMs - 10'000);
  ExpectLeft(again, "absolute:", kLeftMs - 10'000);
  EXPECT_EQ(again.now().ms(), kUptimeMs + 10'000);
  ExpectEnd(again, kLeftMs - 10'000);
}

TEST(LogTime, AfterABootTheWallClockTells) {
  for (const int64_t uptime_ms : {int64_t{0}, 40 * kUptimeMs}) {
    MemoryDisk disk;
    {
      TestEngine server(First(disk));
      server.clock().StepWall(-5'000'000);
      Write(server);
      server.clock().StepWall(7'000'000);
      server.Connect().Run({"SET", "after", "the step"});
    }
    TestEngine again(At(disk, kNextBoot, uptime_ms, kStartMs + 2'000'000 + 10'000));
    ExpectRelative(again, kLeftMs - 10'000);
    EXPECT_EQ(again.Connect().Run({"EXISTS", "absolute:set"}).integer, 0) << "long over";
    again.clock().StepWall(50'000'000);
    ExpectRelative(again, kLeftMs - 10'000);
    ExpectEnd(again, kLeftMs - 10'000);
  }
}

TEST(LogTime, AWallClockThatIsBehindHasNotGoneOn) {
  MemoryDisk disk;
  {
    TestEngine server(First(disk));
    Write(server);
    server.AdvanceTime(1000);
    server.Connect().Run({"SET", "last", "turn"});
  }
  TestEngine again(At(disk, kNextBoot, 0, kStartMs - 86'400'000));
  ExpectRelative(again, kLeftMs - 1001);
  ExpectLeft(again, "absolute:", kLeftMs + 86'400'000);
  ExpectEnd(again, kLeftMs - 1001);
}

// A virtual machine that was restored, or another time namespace: the boot is the same.
TEST(LogTime, AMachineWhoseTimeIsBehindHasNotGoneOn) {
  for (const int64_t uptime_ms : {int64_t{0}, kUptimeMs + 999}) {
    MemoryDisk disk;
    {
      TestEngine server(First(disk));
      Write(server);
      server.AdvanceTime(1000);
      server.clock().AdvanceMicros(900);
      server.Connect().Run({"SET", "last", "turn"});
    }
    TestEngine again(At(disk, kBoot, uptime_ms, kStartMs + 10'000));
    ExpectRelative(again, kLeftMs - 1001);
    EXPECT_GT(again.now().steady_us, (kUptimeMs + 1000) * 1000 + 900);
    ExpectLeft(again, "absolute:", kLeftMs - 10'000);
    ExpectEnd(again, kLeftMs - 1001);
  }
}

// Of the last turn the ms is known, not how late in it that was.
TEST(LogTime, NeverGoesBackByAFractionOfAMs) {
  MemoryDisk disk;
  {
    TestEngine server(First(disk));
    server.clock().AdvanceMicros(900);
    server.Connect().Run({"SET", "last", "turn"});
  }
  TestEngine again(At(disk, kNextBoot, 0, kStartMs));
  again.Settle();
  EXPECT_EQ(again.now().ms(), kUptimeMs + 1);
}

// Each is told by the one before; the third server's machine has been booted twice since the first.
TEST(LogTime, GoesOnFromServerToServer) {
  MemoryDisk disk;
  {
    TestEngine server(First(disk));
    Write(server);
  }
  {
    TestEngine second(At(disk, kNextBoot, 7000, kStartMs + 10'000));
    ExpectRelative(second, kLeftMs - 10'000);
    second.clock().StepWall(-1'000'000);
    second.Connect().Run({"SET", "k", "v"});
  }
  {
    TestEngine third(At(disk, kNextBoot, 17'000, kStartMs));
    ExpectRelative(third, kLeftMs - 20'000);
    ExpectLeft(third, "absolute:", kLeftMs);
    third.Connect().Run({"SET", "k", "w"});
  }
  TestEngine last(At(disk, "third boot", 0, kStartMs + 5000));
  ExpectRelative(last, kLeftMs - 25'000);
  ExpectLeft(last, "absolute:", kLeftMs - 5000);
  ExpectEnd(last, kLeftMs - 25'000);
}

TEST(LogTime, ABaseKeepsTheKindsToo) {
  MemoryDisk disk;
  {
    TestEngine server(First(disk));
    Write(server);
    TestClient& client = server.Connect();
    client.Run({"CONFIG", "SET", "appendonly", "no"});
    client.Run({"CONFIG", "SET", "appendonly", "yes"});
    client.Run({"SET", "k", "v"});
    EXPECT_FALSE(disk.files.contains(kFirstIncrement)) << "all is in the base";
  }
  TestEngine again(At(disk, kNextBoot, 0, kStartMs + 10'000));
  ExpectRelative(again, kLeftMs - 10'000);
  ExpectLeft(again, "absolute:", kLeftMs - 10'000);
  again.clock().StepWall(20'000);
  ExpectRelative(again, kLeftMs - 10'000);
  ExpectLeft(again, "absolute:", kLeftMs - 30'000);
  ExpectEnd(again, kLeftMs - 10'000);
}

// The timer was set when the wall clock was another.
TEST(LogTime, WhatIsAbsoluteEndsOnTime) {
  MemoryDisk disk;
  {
    TestEngine server(First(disk));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "v", "PXAT", std::to_string(kStartMs + kLeftMs)});
    server.clock().StepWall(30'000);
    client.Run({"SET", "after", "the step"});
  }
  TestEngine again(At(disk, kBoot, kUptimeMs, kStartMs + 60'000));
  again.Settle();
  TestClient& client = again.Connect();
  again.AdvanceTime(kLeftMs - 60'001);
  EXPECT_EQ(client.Run({"DBSIZE"}).integer, 2);
  again.AdvanceTime(1);
  EXPECT_EQ(client.Run({"DBSIZE"}).integer, 1);
}

// A log without notes of a clock, as Redis writes it.
TEST(LogTime, WhatRedisWritesIsAbsolute) {
  MemoryDisk disk;
  disk.MakeFolder("appendonlydir");
  disk.files["/appendonlydir/appendonly.aof.manifest"] =
      "file appendonly.aof.1.incr.aof seq 1 type i\n";
  const std::string until = std::to_string(kStartMs + kLeftMs);
  disk.files[kFirstIncrement] =
      "#R\r\n*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$4\r\nPXAT\r\n$13\r\n" + until + "\r\n";
  TestEngine server(First(disk));
  server.Settle();
  EXPECT_EQ(server.now().ms(), kUptimeMs);
  server.clock().StepWall(30'000);
  EXPECT_EQ(server.Connect().Run({"PTTL", "k"}).integer, kLeftMs - 30'000);
}

// Played at a moment long before, which is no whole second.
TEST(LogTime, WhatIsLoadedCountsAsJustUsed) {
  for (const int64_t uptime_ms : {1, 500, 999}) {
    MemoryDisk disk;
    { TestEngine(First(disk)).Connect().Run({"SET", "k", "v"}); }
    TestEngine again(At(disk, kBoot, kUptimeMs + uptime_ms, kStartMs + uptime_ms));
    again.Settle();
    EXPECT_EQ(again.Connect().Run({"OBJECT", "IDLETIME", "k"}).integer, 0) << uptime_ms;
    again.AdvanceTime(2000);
    EXPECT_EQ(again.Connect().Run({"OBJECT", "IDLETIME", "k"}).integer, 2) << uptime_ms;
  }
}

// What was measured by the machine's time while the log was loaded is as long ago as it was.
TEST(LogTime, WhatHasBegunBeforeFeelsNoShift) {
  for (const int64_t uptime_ms : {int64_t{5000}, 40 * kUptimeMs}) {
    MemoryDisk disk;
    {
      TestEngine server(First(disk));
      for (int i = 0; i < 500; ++i) server.Connect().Run({"SET", std::to_string(i), "v"});
    }
    TestEngine again(At(disk, kNextBoot, uptime_ms, kStartMs + 10'000));
    again.set_tick_step(3'000'000);
    TestClient& client = again.ConnectOnly();
    again.engine().Receive(client.id(), "CLIENT PAUSE 30000 WRITE\r\n");
    again.Turn();
    EXPECT_EQ(client.TakeBytes(), "+OK\r\n");
    ASSERT_TRUE(again.engine().part<LogState>().loading);
    again.clock().Advance(2000);
    again.Settle();
    again.set_tick_step(0);
    EXPECT_EQ(again.now().ms(), kUptimeMs + 12'000);
    again.AdvanceTime(3000);
    EXPECT_NE(client.Run({"CLIENT", "LIST"}).text.find(" age=5 idle=0 "), std::string::npos);
    EXPECT_NE(client.Run({"INFO", "server"}).text.find("uptime_in_seconds:5\r\n"),
              std::string::npos);
    client.Send({"SET", "k", "v"});
    again.AdvanceTime(24'999);
    EXPECT_FALSE(client.has_received()) << "the pause is not over";
    again.AdvanceTime(1);
    EXPECT_EQ(client.TakeBytes(), "+OK\r\n");
  }
}

}  // namespace
}  // namespace sluice
