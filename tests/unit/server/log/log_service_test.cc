// A server with a log: answers leave when what they show is safe, a second server finds in the
// files what the first had, and nothing is acknowledged that the disk did not take.
#include "server/log/log_service.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "storage/log/log_check.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"
#include "tests/unit/server/log/scripted_log.h"

namespace sluice {
namespace {

using Config = std::vector<std::pair<std::string, std::string>>;

TestEngine::Options WithFsync(MemoryDisk& disk, std::string fsync = "always", Config more = {}) {
  TestEngine::Options options;
  options.disk = &disk;
  options.config = {{"appendonly", "yes"}, {"appendfsync", std::move(fsync)}};
  options.config.insert(options.config.end(), more.begin(), more.end());
  return options;
}

// Later, and without a word to the one before.
TestEngine::Options Again(MemoryDisk& disk, int64_t later_ms = 1000) {
  TestEngine::Options options = WithFsync(disk);
  options.unix_ms += later_ms;
  return options;
}

std::string Get(TestEngine& server, const std::string& key) {
  server.Settle();
  const std::string text = server.Connect().Run({"GET", key}).ToText();
  return text.starts_with('"') ? text.substr(1, text.size() - 2) : text;
}

// Keys and their values: what a server that starts with these files has.
void ExpectFound(MemoryDisk& disk,
                 const std::vector<std::pair<std::string, std::string>>& expected) {
  TestEngine again(Again(disk));
  for (const auto& [key, value] : expected) EXPECT_EQ(Get(again, key), value) << key;
}

bool Logged(const TestEngine& server, const std::string& text) {
  for (const std::string& line : server.log()) {
    if (line.find(text) != line.npos) return true;
  }
  return false;
}

TEST(Log, KeepsWhatWasAnswered) {
  MemoryDisk disk;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "v"});
    client.Run({"SELECT", "3"});
    client.Run({"RPUSH", "l", "a", "b"});
    client.Run({"EVAL", "redis.call('set','x',1) redis.call('incr','x')", "0"});
  }
  TestEngine again(Again(disk));
  EXPECT_EQ(again.start_fault(), "");
  EXPECT_EQ(Get(again, "k"), "v");
  TestClient& client = again.Connect();
  client.Run({"SELECT", "3"});
  EXPECT_EQ(client.Run({"GET", "x"}).ToText(), "\"2\"");
  EXPECT_EQ(client.Run({"LLEN", "l"}).ToText(), ":2");
}

// SWAPDB cuts locks loose, and takes them apart in slices; whatever is played next finds none.
TEST(Log, NamesOfLocksAreFreeBehindASwap) {
  MemoryDisk disk;
  constexpr int kLocks = 2000;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    const auto run = [&](const std::vector<std::string>& words) {
      EXPECT_NE(client.Run(words).kind, Reply::Kind::kError) << words[0];
    };
    for (int i = 0; i < kLocks; ++i)
      run({"LOCK.ACQUIRE", "name" + std::to_string(i), "me", "LEASE", "60000"});
    run({"SWAPDB", "0", "1"});
    run({"SELECT", "1"});
    server.Settle();
    for (int i = 0; i < kLocks; ++i)
      run({"LIMIT.TAKE", "name" + std::to_string(i), "GCRA", "5", "60000"});
  }
  TestEngine again(Again(disk));
  again.Settle();
  EXPECT_EQ(again.start_fault(), "");
  TestClient& client = again.Connect();
  client.Run({"SELECT", "1"});
  EXPECT_EQ(client.Run({"DBSIZE"}).integer, kLocks);
}

TEST(Log, AnswersWaitForTheDiskUnderAlways) {
  MemoryDisk disk;
  TestEngine server(WithFsync(disk));
  TestClient& writer = server.Connect();
  TestClient& reader = server.Connect();
  server.set_aside_waits(true);
  writer.Send({"SET", "k", "v"});
  EXPECT_FALSE(writer.has_received());
  reader.Send({"GET", "k"});
  EXPECT_FALSE(reader.has_received()) << "it would show what can still be lost";
  ASSERT_TRUE(server.RunBackgroundNow());
  server.Settle();
  EXPECT_EQ(writer.TakeBytes(), "+OK\r\n");
  EXPECT_EQ(reader.TakeBytes(), "$1\r\nv\r\n");
}

TEST(Log, OneSyncIsForAllThatCameMeanwhile) {
  MemoryDisk disk;
  TestEngine server(WithFsync(disk));
  TestClient* clients[] = {&server.Connect(), &server.Connect(), &server.Connect()};
  server.set_aside_waits(true);
  const uint64_t before = disk.syncs;
  for (TestClient* client : clients) client->Send({"INCR", "n"});
  clients[0]->Send({"INCR", "n"});
  ASSERT_TRUE(server.RunBackgroundNow());
  server.Settle();
  EXPECT_EQ(clients[0]->TakeBytes(), ":1\r\n");
  EXPECT_FALSE(clients[1]->has_received());
  ASSERT_TRUE(server.RunBackgroundNow());
  server.Settle();
  EXPECT_EQ(clients[0]->TakeBytes(), ":4\r\n");
  EXPECT_EQ(clients[1]->TakeBytes(), ":2\r\n");
  EXPECT_EQ(clients[2]->TakeBytes(), ":3\r\n");
  EXPECT_EQ(disk.syncs, before + 2);
}

TEST(Log, UnderEverySecondAnswersWaitForTheWriteAlone) {
  MemoryDisk disk;
  TestEngine server(WithFsync(disk, "everysec"));
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Run({"SET", "k", "1"}).ToText(), "+OK");
  EXPECT_NE(disk.files[kFirstIncrement].find("SET"), std::string::npos);
  server.AdvanceTime(100);  // the first mark of tokens is written
  server.set_aside_waits(true);
  server.AdvanceTime(1000);  // a sync runs: a write beside it could stand still
  client.Send({"SET", "k", "2"});
  EXPECT_FALSE(client.has_received());
  ASSERT_TRUE(server.RunBackgroundNow());
  server.Settle();
  EXPECT_EQ(client.TakeBytes(), "+OK\r\n");
}

TEST(Log, AClientCanWaitUntilItsWritesAreOnDisk) {
  MemoryDisk disk;
  for (const std::string fsync : {"everysec", "no"}) {
    disk.files.clear();
    TestEngine server(WithFsync(disk, fsync));
    TestClient& client = server.Connect();
    TestClient& other = server.Connect();
    EXPECT_EQ(client.Run({"WAITAOF", "1", "0", "0"}).ToText(), "[:1, :0]");
    server.AdvanceTime(100);  // the first mark of tokens is written
    server.set_aside_waits(true);
    client.Run({"SET", "k", "v"});
    client.Send({"WAITAOF", "1", "0", "0"});
    other.Send({"MULTI"});
    other.Send({"WAITAOF", "1", "0", "0"});
    other.Send({"EXEC"});
    EXPECT_NE(other.TakeBytes().find("*2\r\n:0\r\n:0\r\n"), std::string::npos) << "does not wait";
    EXPECT_FALSE(server.RunBackgroundNow()) << "clients could keep the disk busy";
    server.AdvanceTime(1000);
    EXPECT_FALSE(client.has_received());
    ASSERT_TRUE(server.RunBackgroundNow());
    server.Settle();
    EXPECT_EQ(client.TakeBytes(), "*2\r\n:1\r\n:0\r\n");
  }
}

TEST(Log, AWaitForTheDiskEndsWithTheLogOrWithItsTime) {
  MemoryDisk disk;
  TestEngine server(WithFsync(disk, "everysec"));
  TestClient& client = server.Connect();
  TestClient& other = server.Connect();
  server.set_aside_waits(true);
  client.Run({"SET", "k", "v"});
  client.Send({"WAITAOF", "1", "0", "100"});
  server.AdvanceTime(100);
  EXPECT_EQ(client.TakeBytes(), "*2\r\n:0\r\n:0\r\n");
  client.Send({"WAITAOF", "1", "0", "0"});
  client.Disconnect();
  other.Send({"WAITAOF", "1", "0", "0"});
  TestClient& asks_more = server.Connect();
  TestClient& asks_others = server.Connect();
  asks_more.Send({"WAITAOF", "1", "1", "0"});
  asks_others.Send({"WAITAOF", "0", "1", "200"});
  server.Connect().Send({"CONFIG", "SET", "appendonly", "no"});
  server.Settle();
  EXPECT_TRUE(other.TakeBytes().starts_with("-ERR WAITAOF cannot be used"));
  EXPECT_TRUE(asks_more.TakeBytes().starts_with("-ERR WAITAOF cannot be used"));
  EXPECT_FALSE(asks_others.has_received()) << "the log is none of its affair";
  server.AdvanceTime(200);
  EXPECT_EQ(asks_others.TakeBytes(), "*2\r\n:0\r\n:0\r\n");
}

TEST(Log, PushesWaitToo) {
  MemoryDisk disk;
  TestEngine server(WithFsync(disk));
  TestClient& waiting = server.Connect();
  TestClient& holder = server.Connect();
  holder.Run({"LOCK.ACQUIRE", "l", "a", "LEASE", "5000"});
  waiting.Send({"LOCK.ACQUIRE", "l", "b", "LEASE", "5000", "WAIT", "60000"});
  server.set_aside_waits(true);
  holder.Send({"LOCK.RELEASE", "l", "a"});
  EXPECT_FALSE(waiting.has_received()) << "the grant is not safe yet";
  while (server.RunBackgroundNow()) server.Settle();
  EXPECT_TRUE(waiting.has_received());
}

TEST(Log, TimeComesBackWhenItIsLoaded) {
  MemoryDisk disk;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    client.Run({"SET", "short", "v", "PX", "500"});
    client.Run({"SET", "long", "v", "PX", "50000"});
    client.Run({"SET", "kept", "v", "PX", "500"});
    client.Run({"PERSIST", "kept"});
  }
  {
    TestEngine again(Again(disk));
    EXPECT_EQ(Get(again, "short"), "(nil)");
    EXPECT_EQ(Get(again, "long"), "v");
    EXPECT_EQ(Get(again, "kept"), "v");
    const std::string left = again.Connect().Run({"PTTL", "long"}).ToText();
    EXPECT_EQ(left, ":49000");
    EXPECT_EQ(again.Connect().Run({"OBJECT", "IDLETIME", "kept"}).ToText(), ":0");
  }
  const std::string& bytes = disk.files[kFirstIncrement];
  EXPECT_NE(bytes.find("DEL\r\n$5\r\nshort"), bytes.npos);
}

TEST(Log, GoesOnBehindItsEnd) {
  for (const std::string fsync : {"always", "everysec"}) {
    MemoryDisk disk;
    {
      TestEngine server(WithFsync(disk, fsync));
      TestClient& client = server.Connect();
      client.Run({"SET", "a", "1"});
      for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(server.engine().FinishLog());
        EXPECT_EQ(server.engine().part<LogService>().Resume(), "");
        EXPECT_EQ(client.Run({"INCR", "a"}).ToText(), ":" + std::to_string(i + 2));
      }
      EXPECT_FALSE(Logged(server, "written anew"));
      EXPECT_EQ(server.engine().part<LogService>().rewrites(), 0u);
    }
    ExpectFound(disk, {{"a", "4"}});
  }
}

// Another server has been there, and is gone: what it wrote is not what this one has.
TEST(Log, IsWrittenAnewBehindItsEndWhereItHasChanged) {
  MemoryDisk disk;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    client.Run({"SET", "a", "1"});
    ASSERT_TRUE(server.engine().FinishLog());
    disk.files[kFirstIncrement] += "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n9\r\n";
    EXPECT_EQ(server.engine().part<LogService>().Resume(), "");
    EXPECT_TRUE(Logged(server, "written anew"));
    client.Run({"SET", "b", "2"});
    server.Settle();
    EXPECT_TRUE(server.engine().part<LogService>().stands());
    client.Run({"SET", "c", "3"});
  }
  ExpectFound(disk, {{"a", "1"}, {"b", "2"}, {"c", "3"}});
}

TEST(Log, OthersAreToldWhileItLoads) {
  MemoryDisk disk;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    for (int i = 0; i < 500; ++i) client.Run({"SET", "k" + std::to_string(i), "v"});
  }
  TestEngine again(Again(disk));
  again.set_tick_step(3'000'000);
  TestClient& client = again.ConnectOnly();
  const auto ask = [&](std::string_view line) {
    again.engine().Receive(client.id(), line);
    again.Turn();
    return client.TakeBytes();
  };
  EXPECT_EQ(ask("GET k1\r\n"), "-LOADING Redis is loading the dataset in memory\r\n");
  EXPECT_EQ(ask("PING\r\n"), "-LOADING Redis is loading the dataset in memory\r\n");
  EXPECT_NE(ask("INFO persistence\r\n").find("loading:1\r\n"), std::string::npos);
  again.Settle();
  EXPECT_EQ(ask("GET k499\r\n"), "$1\r\nv\r\n");
}

TEST(Log, AScriptInItKeepsNobodyWaiting) {
  MemoryDisk disk = DiskWithScript();
  TestEngine server(Again(disk));
  TestClient& client = server.ConnectOnly();
  std::vector<std::string> answers;
  server.OnPoll([&] {
    if (answers.size() >= 2) return;
    server.engine().Receive(client.id(), answers.empty() ? "PING\r\n" : "CLIENT LIST\r\n");
    server.Turn();
    answers.push_back(client.TakeBytes());
  });
  server.set_tick_step(kScriptTickNanos);  // the script is over before it counts as slow
  server.Turn();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0], "-LOADING Redis is loading the dataset in memory\r\n");
  EXPECT_NE(answers[1].find(" idle=0 "), std::string::npos) << "it has the time of now";
  server.Settle();
  EXPECT_EQ(client.Run({"GET", "k"}).ToText(), "\"v\"");
}

TEST(Log, TheServerMayEndInsideOfAScriptInIt) {
  MemoryDisk disk = DiskWithScript();
  TestEngine server(Again(disk));
  TestClient& client = server.ConnectOnly();
  server.OnPoll([&] {
    if (server.shutdown_code()) return;
    server.engine().Receive(client.id(), "SHUTDOWN NOSAVE\r\n");
    server.Turn();
  });
  server.set_tick_step(kScriptTickNanos);
  server.Turn();
  EXPECT_EQ(server.shutdown_code(), 0);
  EXPECT_FALSE(Logged(server, "cannot be loaded"));
}

TEST(Log, WhatTheDiskDoesNotTakeIsNotAcknowledged) {
  for (const std::string fsync : {"always", "everysec", "no"}) {
    MemoryDisk disk;
    {
      TestEngine server(WithFsync(disk, fsync));
      TestClient& first = server.Connect();
      TestClient& reader = server.Connect();
      first.Run({"SET", "k", "1"});
      disk.room = 10;
      first.Send({"SET", "k", "2"});
      EXPECT_TRUE(first.closed());
      EXPECT_FALSE(first.has_received());
      EXPECT_EQ(reader.Run({"SET", "k", "3"}).ToText(),
                "-MISCONF Errors writing to the AOF file: No space left on device");
      EXPECT_EQ(reader.Run({"EVAL", "return redis.call('set','k','4')", "0"}).ToText().substr(0, 9),
                "-MISCONF ");
      reader.Run({"MULTI"});
      EXPECT_EQ(reader.Run({"SET", "k", "5"}).ToText().substr(0, 9), "-MISCONF ");
      EXPECT_EQ(reader.Run({"EXEC"}).ToText().substr(0, 10), "-EXECABORT");
      EXPECT_EQ(reader.Run({"GET", "k"}).ToText(), "\"2\"") << "reads go on";
      EXPECT_EQ(reader.Run({"PING"}).ToText().substr(0, 9), "-MISCONF ") << "as Redis's";
      disk.room = SIZE_MAX;
      server.AdvanceTime(1100);
      EXPECT_EQ(reader.Run({"SET", "l", "6"}).ToText(), "+OK");
    }
    ExpectFound(disk, {{"k", "2"}, {"l", "6"}});
  }
}

// The caller is told in Redis's words, and the log has the reason.
TEST(Log, ThatCannotBeWrittenAnewAnswersAsRedis) {
  MemoryDisk disk;
  TestEngine server({.disk = &disk});
  disk.write_fault = EROFS;
  EXPECT_EQ(server.Connect().Run({"BGREWRITEAOF"}).ToText(),
            "-ERR Can't execute an AOF background rewriting. Please check the server logs for more "
            "information.");
  EXPECT_TRUE(std::ranges::any_of(server.log(), [](const std::string& line) {
    return line.find("Read-only file system") != std::string::npos;
  }));
}

TEST(Log, AfterAFailedSyncOnlyANewBaseHelps) {
  MemoryDisk disk;
  {
    TestEngine server(WithFsync(disk));
    TestClient& first = server.Connect();
    first.Run({"SET", "k", "1"});
    disk.sync_fault = EIO;
    first.Send({"SET", "k", "2"});
    EXPECT_TRUE(first.closed());
    EXPECT_FALSE(first.has_received());
    TestClient& second = server.Connect();
    server.AdvanceTime(1100);
    EXPECT_EQ(second.Run({"SET", "k", "3"}).ToText(),
              "-MISCONF Errors writing to the AOF file: Input/output error");
    disk.sync_fault = 0;
    server.AdvanceTime(1100);
    EXPECT_EQ(second.Run({"SET", "l", "4"}).ToText(), "+OK");
    EXPECT_FALSE(disk.files.contains(kFirstIncrement)) << "it cannot be trusted";
  }
  ExpectFound(disk, {{"k", "2"}, {"l", "4"}});
}

TEST(Log, AFailedSyncMayEndTheServer) {
  MemoryDisk disk;
  TestEngine server(WithFsync(disk, "always", {{"appendfsync-failure", "exit"}}));
  TestClient& client = server.Connect();
  disk.sync_fault = EIO;
  client.Send({"SET", "k", "2"});
  EXPECT_FALSE(client.has_received());
  EXPECT_EQ(server.shutdown_code(), 1);
}

TEST(Log, TheEndIsMadeDurable) {
  MemoryDisk disk;
  TestEngine server(WithFsync(disk, "no"));
  server.Connect().Run({"SET", "k", "v"});
  EXPECT_TRUE(server.engine().FinishLog());
  std::mt19937_64 random(1);
  disk.PowerCut(random);
  ExpectFound(disk, {{"k", "v"}});
}

TEST(Log, ATornEndIsCutOffAndDamageIsRefused) {
  MemoryDisk disk;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    client.Run({"SET", "a", "1"});
    client.Run({"SET", "b", "2"});
    client.Run({"SET", "c", "3"});
  }
  std::string& bytes = disk.files[kFirstIncrement];
  const std::string whole = bytes;
  bytes.resize(bytes.size() - 3);
  {
    TestEngine::Options options = Again(disk);
    options.config.emplace_back("aof-load-truncated", "no");
    TestEngine again(options);
    again.Turn();
    EXPECT_EQ(again.shutdown_code(), 1);
    EXPECT_TRUE(Logged(again, "aof-load-truncated is no"));
  }
  {
    TestEngine again(Again(disk));
    EXPECT_EQ(Get(again, "b"), "2");
    EXPECT_EQ(Get(again, "c"), "(nil)");
    EXPECT_TRUE(Logged(again, "cut back"));
  }
  bytes = whole;
  bytes[whole.find("b\r\n") + 4] ^= 1;
  TestEngine again(Again(disk));
  again.Turn();
  EXPECT_EQ(again.shutdown_code(), 1);
  EXPECT_TRUE(Logged(again, std::string(kFirstIncrement) + ", offset "));
}

// What a power cut leaves of a log that nobody synced. That much was written behind it is no
// reason to cut it off unseen.
TEST(Log, AHoleInWhatWasNeverSyncedIsForAPersonToCut) {
  MemoryDisk disk;
  {
    TestEngine server(WithFsync(disk, "no"));
    for (int i = 0; i < 3; ++i) server.Connect().Run({"SET", "k", std::to_string(i)});
  }
  std::string& bytes = disk.files[kFirstIncrement];
  const size_t hole = bytes.find("SET", bytes.find("SET") + 1);
  bytes.replace(hole, 20, 20, '\0');
  {
    TestEngine again(Again(disk));
    again.Settle();
    EXPECT_EQ(again.shutdown_code(), 1);
    EXPECT_TRUE(Logged(again,
                       "sluice --check-aof /appendonlydir says what can be saved, and with "
                       "--fix cuts the rest off (a copy stays)"))
        << again.log().back();
  }
  std::string report;
  EXPECT_TRUE(CheckLog(disk, "/appendonlydir", /*fix=*/true, SipKey{}, report)) << report;
  EXPECT_TRUE(disk.files.contains(std::string(kFirstIncrement) + ".before-fix"));
  ExpectFound(disk, {{"k", "0"}});
}

// Commands are looked up and fetched some at a time, before the first of them runs: what that
// makes of the keys of the others is seen by them.
TEST(Log, WhatWasFetchedAheadMayHaveMoved) {
  MemoryDisk disk;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    for (int i = 0; i < 20; ++i) client.Run({"SET", "k", std::to_string(i)});
    client.Run({"DEL", "k"});
    client.Run({"SET", "k", "short"});
    client.Run({"SET", "k", std::string(300, 'x')});  // another block
    client.Run({"RPUSH", "list", "a"});
    client.Run({"RENAME", "list", "other"});
    client.Run({"RPUSH", "other", "b"});
    client.Run({"SET", "moved", "0"});
    client.Run({"SWAPDB", "0", "1"});
    client.Run({"SET", "moved", "1"});
    client.Run({"SWAPDB", "0", "1"});
    client.Run({"FLUSHDB"});
    client.Run({"SET", "k", "last"});
  }
  TestEngine again(Again(disk));
  EXPECT_EQ(again.start_fault(), "");
  EXPECT_EQ(Get(again, "k"), "last");
  TestClient& client = again.Connect();
  EXPECT_EQ(client.Run({"DBSIZE"}).ToText(), ":1");
  client.Run({"SELECT", "1"});
  EXPECT_EQ(client.Run({"GET", "moved"}).ToText(), "\"1\"");
  EXPECT_EQ(client.Run({"DBSIZE"}).ToText(), ":1");
}

TEST(Log, RefusesCommandsThatDoNotBelongThere) {
  const std::pair<std::string, std::string> kCases[] = {
      {"*1\r\n$6\r\nNOSUCH\r\n", "unknown command"},
      {"*1\r\n$3\r\nSET\r\n", "wrong number of arguments"},
      {"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "does not belong in a log"},
      {"*2\r\n$8\r\nSHUTDOWN\r\n$3\r\nNOW\r\n", "does not belong in a log"},
      {"*3\r\n$4\r\nINCR\r\n$1\r\nk\r\n$1\r\nk\r\n", "wrong number of arguments"},
      {"*3\r\n$5\r\nBLPOP\r\n$1\r\nk\r\n$1\r\nx\r\n", "timeout is not a float"},
      {"*2\r\n$6\r\nSELECT\r\n$2\r\n99\r\n*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n", "no database 99"},
      {"REDIS0010xxxx", "offset 9: 120 is neither a type nor an opcode"},
      {std::string(100'000, '\0') + "x", "offset 0"},
  };
  for (const auto& [bytes, why] : kCases) {
    MemoryDisk disk;
    disk.MakeFolder("appendonlydir");
    disk.files["/appendonlydir/appendonly.aof.manifest"] =
        "file appendonly.aof.1.incr.aof seq 1 type i\n";
    disk.files[kFirstIncrement] = bytes;
    TestEngine server(Again(disk));
    server.Turn();
    EXPECT_EQ(server.shutdown_code(), 1) << why;
    EXPECT_TRUE(Logged(server, why)) << why << " " << server.log().back();
    EXPECT_EQ(disk.files[kFirstIncrement], bytes);
  }
}

TEST(Log, RefusesAFolderThatIsNotItsOwn) {
  MemoryDisk disk;
  disk.MakeFolder("appendonlydir");
  disk.files["/appendonlydir/sluice.lock"] = "4711\n";
  disk.locked.insert("/appendonlydir/sluice.lock");
  EXPECT_NE(TestEngine(WithFsync(disk)).start_fault().find("process 4711, has the log"),
            std::string::npos);
  disk.locked.clear();
  disk.files[kFirstIncrement] = "x";
  EXPECT_NE(TestEngine(WithFsync(disk)).start_fault().find("manifest is missing"),
            std::string::npos);
  disk.files.erase(kFirstIncrement);
  disk.files["/appendonlydir/appendonly.aof.manifest"] = "";
  EXPECT_NE(TestEngine(WithFsync(disk)).start_fault().find("manifest is empty"), std::string::npos);

  disk.files["/appendonlydir/appendonly.aof.manifest"] = "file /etc/passwd seq 1 type i\n";
  EXPECT_NE(TestEngine(WithFsync(disk)).start_fault().find("line 1"), std::string::npos);
  disk.write_fault = EACCES;
  EXPECT_NE(TestEngine(WithFsync(disk)).start_fault().find("Permission denied"), std::string::npos);
}

TEST(Log, CanBeTurnedOnAndOff) {
  MemoryDisk disk;
  TestEngine::Options options;
  options.disk = &disk;
  {
    TestEngine server(options);
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "v"});
    client.Run({"SADD", "s", "1", "x"});
    client.Run({"LIMIT.POLICY", "SET", "p", "GCRA", "5", "1000", "BURST", "2"});
    client.Run({"FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f',function() end)"});
    disk.write_fault = EROFS;
    EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "yes"}).ToText(),
              "-ERR CONFIG SET failed (possibly related to argument 'appendonly') - Unable to turn "
              "on AOF. Check server logs.");
    disk.write_fault = 0;
    EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "yes"}).ToText(), "+OK");
    client.Run({"INCR", "after"});
    client.Run({"CONFIG", "SET", "appendonly", "no"});
    client.Run({"INCR", "after"});
  }
  TestEngine again(Again(disk));
  EXPECT_EQ(again.start_fault(), "");
  EXPECT_EQ(Get(again, "k"), "v");
  EXPECT_EQ(Get(again, "after"), "1");
  TestClient& client = again.Connect();
  EXPECT_EQ(client.Run({"SCARD", "s"}).ToText(), ":2");
  EXPECT_NE(client.Run({"LIMIT.POLICY", "GET", "p"}).ToText().find("GCRA"), std::string::npos);
  EXPECT_NE(client.Run({"FUNCTION", "LIST"}).ToText().find("library_name"), std::string::npos);
}

// Keys, of which a walk gives one after the other, some 10 ms each.
void FillSlowly(TestClient& client) {
  for (int i = 0; i < 30; ++i) client.Run({"SET", "k" + std::to_string(i), "v"});
  client.Run({"CONFIG", "SET", "rdb-key-save-delay", "10000"});
}

bool IsWriting(TestClient& client) {
  return client.Run({"INFO", "persistence"}).text.find("aof_rewrite_in_progress:1\r\n") !=
         std::string::npos;
}

TestEngine::Options Without(MemoryDisk& disk) {
  TestEngine::Options options = WithFsync(disk);
  options.config.erase(options.config.begin());
  return options;
}

constexpr char kManifest[] = "/appendonlydir/appendonly.aof.manifest";

TEST(Log, ItsFirstBaseIsWrittenBesideClients) {
  MemoryDisk disk;
  {
    TestEngine server(Without(disk));
    TestClient& client = server.Connect();
    FillSlowly(client);
    EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "yes"}).ToText(), "+OK");
    EXPECT_TRUE(IsWriting(client));
    EXPECT_EQ(client.Run({"SET", "k29", "w"}).ToText(), "+OK");
    EXPECT_EQ(client.Run({"BGREWRITEAOF"}).ToText(),
              "-ERR Background append only file rewriting already in progress");
    TestClient& waits = server.Connect();
    waits.Send({"WAITAOF", "1", "0", "0"});
    server.AdvanceTime(100);
    EXPECT_FALSE(disk.files.contains(kManifest));
    EXPECT_FALSE(waits.has_received()) << "a start would not find it";
    server.AdvanceTime(2000);
    EXPECT_FALSE(IsWriting(client));
    EXPECT_EQ(waits.TakeBytes(), "*2\r\n:1\r\n:0\r\n");
  }
  ExpectFound(disk, {{"k0", "v"}, {"k29", "w"}});
}

TEST(Log, AServerThatEndsWithoutABaseWritesItFirst) {
  MemoryDisk disk;
  {
    TestEngine server(Without(disk));
    TestClient& client = server.Connect();
    FillSlowly(client);
    client.Run({"CONFIG", "SET", "appendonly", "yes"});
    client.Run({"SET", "k29", "w"});
    EXPECT_TRUE(server.engine().FinishLog());
  }
  ExpectFound(disk, {{"k0", "v"}, {"k29", "w"}});
}

TEST(Log, CanBeTurnedOffBeforeItHasABase) {
  MemoryDisk disk;
  {
    TestEngine server(Without(disk));
    TestClient& client = server.Connect();
    FillSlowly(client);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "yes"}).ToText(), "+OK");
      EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "no"}).ToText(), "+OK");
      EXPECT_FALSE(IsWriting(client));
      EXPECT_EQ(client.Run({"SET", "k", std::to_string(i)}).ToText(), "+OK");
    }
    // Beside a snapshot it waits for that.
    client.Run({"BGSAVE"});
    EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "yes"}).ToText(), "+OK");
    EXPECT_FALSE(IsWriting(client));
    server.AdvanceTime(3000);
  }
  ExpectFound(disk, {{"k", "2"}});
}

TEST(Log, ANewBaseIsWrittenBesideReaders) {
  MemoryDisk disk;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    FillSlowly(client);
    disk.sync_fault = EIO;
    server.Connect().Send({"SET", "k0", "w"});
    disk.sync_fault = 0;
    server.AdvanceTime(1100);
    EXPECT_TRUE(IsWriting(client));
    EXPECT_EQ(client.Run({"GET", "k0"}).ToText(), "\"w\"");
    EXPECT_EQ(client.Run({"SET", "k1", "w"}).ToText(),
              "-MISCONF Errors writing to the AOF file: Input/output error");
    server.AdvanceTime(1000);
    EXPECT_FALSE(IsWriting(client));
    EXPECT_EQ(client.Run({"SET", "k2", "w"}).ToText(), "+OK");
  }
  ExpectFound(disk, {{"k0", "w"}, {"k1", "v"}, {"k2", "w"}});
}

// What was remembered of it before is nothing to be written down.
TEST(Log, ABaseTakesALockThatIsHeldAgain) {
  MemoryDisk disk;
  std::string token;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    client.Run({"LOCK.ACQUIRE", "again", "a", "LEASE", "60000"});
    client.Run({"LOCK.RELEASE", "again", "a"});
    client.Run({"LOCK.ACQUIRE", "again", "b", "LEASE", "60000"});
    token = std::to_string(client.Run({"LOCK.INFO", "again"}).elements.at(2).integer);
    client.Run({"CONFIG", "SET", "appendonly", "no"});
    EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "yes"}).ToText(), "+OK");
  }
  TestEngine again(Again(disk));
  again.Settle();
  ASSERT_FALSE(again.shutdown_code().has_value()) << again.log().back();
  TestClient& client = again.Connect();
  EXPECT_EQ(client.Run({"LOCK.ACQUIRE", "again", "a", "LEASE", "1"}).ToText(), "(nil-array)");
  EXPECT_EQ(client.Run({"LOCK.RENEW", "again", "b", "LEASE", "60000"}).ToText(), ":60000");
  EXPECT_EQ(client.Run({"FENCED", "again", token, "SET", "k", "v"}).ToText(), "+OK");
}

TEST(Log, LocksComeBackWithTheirTokens) {
  MemoryDisk disk;
  std::string token;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    token = client.Run({"LOCK.ACQUIRE", "leased", "me", "LEASE", "50000"}).ToText();
    client.Run({"LOCK.ACQUIRE", "bound", "me", "SESSION"});
    client.Run({"LOCK.ACQUIRE", "back", "me", "SESSION"});
  }
  TestEngine again(Again(disk));
  again.Settle();
  TestClient& client = again.Connect();
  EXPECT_EQ(client.Run({"TYPE", "leased"}).ToText(), "+lock");
  EXPECT_EQ(client.Run({"TYPE", "bound"}).ToText(), "+lock");
  client.Run({"LOCK.ACQUIRE", "back", "me", "SESSION"});
  EXPECT_EQ(client.Run({"LOCK.RELEASE", "back", "me"}).ToText(), ":0") << "held once, as before";
  again.AdvanceTime(9'900);
  EXPECT_EQ(client.Run({"TYPE", "bound"}).ToText(), "+lock") << "session-grace-ms is not over";
  again.AdvanceTime(200);
  EXPECT_EQ(client.Run({"TYPE", "bound"}).ToText(), "+none");
  EXPECT_EQ(client.Run({"TYPE", "leased"}).ToText(), "+lock");
  again.AdvanceTime(50'000);
  EXPECT_EQ(client.Run({"TYPE", "leased"}).ToText(), "+none");
}

// A crowd of holders that ends as a whole is one record, before that of the next holder.
TEST(Log, ACrowdOfHoldersEndsInOneRecord) {
  MemoryDisk disk;
  {
    TestEngine server(WithFsync(disk));
    TestClient& client = server.Connect();
    for (const std::string key : {"broken", "over", "deleted"}) {
      for (int i = 0; i < 200; ++i)
        client.Run({"LOCK.ACQUIRE", key, std::to_string(i), "SHARED", "LEASE", "100"});
    }
    EXPECT_EQ(client.Run({"LOCK.BREAK", "broken"}).ToText(), ":200");
    client.Run({"LOCK.ACQUIRE", "broken", "next", "LEASE", "50000"});
    client.Run({"DEL", "deleted"});
    server.AdvanceTime(200);
    client.Run({"LOCK.ACQUIRE", "over", "next", "LEASE", "50000"});
    EXPECT_EQ(client.Run({"DBSIZE"}).ToText(), ":2");
  }
  const std::string log = disk.files[kFirstIncrement];
  EXPECT_NE(log.find("*2\r\n$10\r\nLOCK.BREAK\r\n$6\r\nbroken\r\n"), log.npos);
  EXPECT_NE(log.find("LOCK.RESTORE\r\n$4\r\nover\r\n$1\r\n0\r\n"), log.npos);
  TestEngine again(Again(disk));
  again.Settle();
  TestClient& client = again.Connect();
  EXPECT_EQ(client.Run({"DBSIZE"}).ToText(), ":2");
  EXPECT_EQ(client.Run({"LOCK.RELEASE", "broken", "next"}).ToText(), ":0");
  EXPECT_EQ(client.Run({"LOCK.RELEASE", "over", "next"}).ToText(), ":0");
}

}  // namespace
}  // namespace sluice
