// A log on a disk that is full for a moment, or fails at one step of a rewriting: it goes on in
// files that the next start loads, and nothing is lost, or there twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/clients/host.h"
#include "server/log/log_service.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

using TroubleConfig = std::vector<std::pair<std::string, std::string>>;

TestEngine::Options OnTroubledDisk(MemoryDisk& disk, TroubleConfig config) {
  TestEngine::Options options;
  options.disk = &disk;
  options.config = std::move(config);
  return options;
}

TroubleConfig LoggedWith(const std::string& fsync) {
  return {{"appendonly", "yes"}, {"appendfsync", fsync}};
}

void RunAllBackground(TestEngine& server) {
  while (server.RunBackgroundNow()) server.Settle();
  server.Settle();
}

// What a start with these files finds; a sentence where it does not start.
std::string FoundBy(MemoryDisk& disk, const std::string& key,
                    const TroubleConfig& config = LoggedWith("always")) {
  TestEngine again(OnTroubledDisk(disk, config));
  if (!again.start_fault().empty()) return again.start_fault();
  again.Settle();
  if (again.shutdown_code()) return again.log().back();
  const std::string text = again.Connect().Run({"GET", key}).ToText();
  return text.starts_with('"') ? text.substr(1, text.size() - 2) : text;
}

TEST(DiskTrouble, WithRoomAgainNothingIsWrittenTwice) {
  MemoryDisk disk;
  std::string count;
  {
    TestEngine server(OnTroubledDisk(disk, LoggedWith("always")));
    server.AdvanceTime(100);  // the first mark of tokens is written
    server.set_aside_waits(true);
    TestClient& first = server.Connect();
    disk.full_appends = 1;
    first.Send({"INCR", "n"});
    RunAllBackground(server);
    EXPECT_TRUE(first.closed());
    server.AdvanceTime(1000);  // it is written, and on its way to the disk
    TestClient& second = server.Connect();
    for (int i = 0; i < 4; ++i) {
      second.Send({"INCR", "n"});
      server.RunBackgroundNow();
      server.Settle();
    }
    RunAllBackground(server);
    second.Send({"INCR", "n"});
    RunAllBackground(server);
    const std::string told = second.TakeBytes();
    ASSERT_TRUE(told.ends_with("\r\n"));
    const size_t last = told.rfind(':') + 1;
    count = told.substr(last, told.size() - last - 2);
    EXPECT_GE(count, "5");
  }
  EXPECT_EQ(FoundBy(disk, "n"), count);
}

// The base fails while the log is on its way to the increment beside it.
TEST(DiskTrouble, ABaseThatFailsLeavesTheIncrementAlone) {
  MemoryDisk disk;
  {
    TestEngine server(OnTroubledDisk(disk, LoggedWith("always")));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "1"});
    server.set_aside_waits(true);
    client.Send({"BGREWRITEAOF"});
    server.AdvanceTime(10);
    disk.room = 0;
    while (server.RunBackgroundNow(WorkerLane::kSnapshot)) server.Settle();
    disk.room = SIZE_MAX;
    RunAllBackground(server);
    EXPECT_EQ(client.Next()->ToText(), "+Background append only file rewriting started");
    client.Send({"SET", "k", "2"});
    RunAllBackground(server);
    EXPECT_EQ(client.TakeBytes(), "+OK\r\n");
    client.Send({"BGREWRITEAOF"});
    RunAllBackground(server);
    client.Send({"SET", "l", "3"});
    RunAllBackground(server);
  }
  EXPECT_EQ(FoundBy(disk, "k"), "2");
  EXPECT_EQ(FoundBy(disk, "l"), "3");
}

// And the other way round: the base is there, and the increment beside it is not the log's.
TEST(DiskTrouble, ABaseWithoutItsIncrementIsNotNamed) {
  MemoryDisk disk;
  {
    TestEngine server(OnTroubledDisk(disk, LoggedWith("always")));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "1"});
    server.set_aside_waits(true);
    client.Send({"BGREWRITEAOF"});
    server.AdvanceTime(10);
    while (server.RunBackgroundNow(WorkerLane::kSnapshot)) server.Settle();
    disk.replace_fault = ENOSPC;
    server.RunBackgroundNow(WorkerLane::kLog);
    server.Settle();
    disk.replace_fault = 0;
    RunAllBackground(server);
    client.TakeBytes();
    client.Send({"SET", "k", "2"});
    RunAllBackground(server);
    EXPECT_EQ(client.TakeBytes(), "+OK\r\n");
  }
  EXPECT_EQ(FoundBy(disk, "k"), "2");
}

// As docs/durability.md says: a start finds what it would have found without the log.
TEST(DiskTrouble, AServerThatIsKilledBeforeItsFirstBaseStandsFindsItsSnapshot) {
  MemoryDisk disk;
  {
    TestEngine server(OnTroubledDisk(disk, {}));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "saved"});
    client.Run({"SAVE"});
    server.set_aside_waits(true);
    client.Send({"CONFIG", "SET", "appendonly", "yes"});
    client.Send({"SET", "k", "in the log"});
    while (server.RunBackgroundNow(WorkerLane::kLog)) server.Settle();
    EXPECT_EQ(client.TakeBytes(), "+OK\r\n+OK\r\n");
  }
  MemoryDisk without = disk;
  EXPECT_EQ(FoundBy(without, "k", {}), "saved");
  EXPECT_EQ(FoundBy(disk, "k"), "saved");
  EXPECT_EQ(FoundBy(disk, "k"), "saved") << "and from then on it has a log";
  EXPECT_TRUE(disk.files.contains("/appendonlydir/appendonly.aof.manifest"));
}

// The same where there is no log: what it has left is in nobody's way.
TEST(DiskTrouble, AServerThatIsKilledWhileItWritesALogForALaterStartFindsItsSnapshot) {
  MemoryDisk disk;
  {
    TestEngine server(OnTroubledDisk(disk, {}));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "saved"});
    client.Run({"SAVE"});
    server.set_aside_waits(true);
    client.Send({"BGREWRITEAOF"});
    server.AdvanceTime(10);
    while (server.RunBackgroundNow(WorkerLane::kSnapshot)) server.Settle();
  }
  EXPECT_EQ(FoundBy(disk, "k"), "saved");
}

// A log that was turned on and off again before its base stood is none.
TEST(DiskTrouble, ALogThatNeverStoodCanBeBegunAgain) {
  MemoryDisk disk;
  TestEngine server(OnTroubledDisk(disk, {{"rdb-key-save-delay", "1000000"}}));
  TestClient& client = server.Connect();
  for (const std::string key : {"a", "b", "c"}) client.Run({"SET", key, "1"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "yes"}).ToText(), "+OK");
    client.Run({"INCR", "a"});
    EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "no"}).ToText(), "+OK");
  }
  EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "yes"}).ToText(), "+OK");
  server.AdvanceTime(9000);
  EXPECT_EQ(client.Run({"INCR", "a"}).ToText(), ":5");
  EXPECT_TRUE(server.engine().part<LogService>().stands());
  EXPECT_FALSE(disk.files.contains("/appendonlydir/sluice.begun"));
  EXPECT_EQ(FoundBy(disk, "a"), "5");
}

// A sync has failed, and the server ends before it has begun the base that is needed.
TEST(DiskTrouble, AServerThatEndsBehindAFailedSyncWritesABase) {
  for (const std::string fsync : {"always", "everysec"}) {
    MemoryDisk disk;
    {
      TestEngine server(OnTroubledDisk(disk, LoggedWith(fsync)));
      TestClient& client = server.Connect();
      client.Run({"SET", "k", "1"});
      disk.sync_fault = EIO;
      server.Connect().Send({"SET", "k", "2"});
      server.AdvanceTime(1000);
      disk.sync_fault = 0;
      EXPECT_TRUE(server.engine().FinishLog());
    }
    std::mt19937_64 random(1);
    disk.PowerCut(random);
    EXPECT_EQ(FoundBy(disk, "k"), "2") << fsync;
  }
}

// --- somebody removes, replaces or moves what the log consists of

constexpr char kTroubleManifest[] = "/appendonlydir/appendonly.aof.manifest";
constexpr char kTroubleLock[] = "/appendonlydir/sluice.lock";

// Within a second it is noticed, changes are refused, and all is written anew.
void ExpectNoticed(const std::string& fsync, const std::function<void(MemoryDisk&)>& remove) {
  MemoryDisk disk;
  {
    TestEngine server(OnTroubledDisk(disk, LoggedWith(fsync)));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "1"});
    client.Run({"BGREWRITEAOF"});
    client.Run({"SET", "l", "1"});
    server.AdvanceTime(1000);
    remove(disk);
    client.Run({"SET", "k", "2"});
    server.AdvanceTime(1000);
    const std::string refusal = client.Run({"SET", "k", "3"}).ToText();
    EXPECT_TRUE(refusal.starts_with("-MISCONF Errors writing to the AOF file: /appendonlydir/"))
        << refusal;
    EXPECT_EQ(client.Run({"GET", "k"}).ToText(), "\"2\"");
    server.AdvanceTime(2000);
    EXPECT_EQ(client.Run({"SET", "l", "4"}).ToText(), "+OK");
    server.AdvanceTime(5000);
    EXPECT_EQ(server.engine().part<LogService>().rewrites(), 2u) << "once is enough";
    EXPECT_TRUE(disk.files.contains(kTroubleLock));
  }
  EXPECT_EQ(FoundBy(disk, "k"), "2") << fsync;
  EXPECT_EQ(FoundBy(disk, "l"), "4") << fsync;
}

TEST(DiskTrouble, ALogThatIsRemovedUnderItsServerIsWrittenAnew) {
  for (const std::string fsync : {"always", "everysec", "no"}) {
    ExpectNoticed(fsync, [](MemoryDisk& disk) { disk.RemoveFolder("/appendonlydir"); });
    for (const std::string file : {"manifest", "2.incr.aof", "1.base.rdb"}) {
      ExpectNoticed(fsync, [&](MemoryDisk& disk) {
        disk.RemoveFile("/appendonlydir/appendonly.aof." + file);
      });
    }
    ExpectNoticed(fsync, [](MemoryDisk& disk) { disk.RemoveFile(kTroubleLock); });
  }
}

TEST(DiskTrouble, ALogThatIsReplacedUnderItsServerIsWrittenAnew) {
  ExpectNoticed("everysec", [](MemoryDisk& disk) {
    disk.Replace(kTroubleManifest, disk.files[kTroubleManifest]);
  });
  ExpectNoticed("always", [](MemoryDisk& disk) {
    disk.Rename("/appendonlydir/appendonly.aof.2.incr.aof", "/moved.aof");
    disk.files["/appendonlydir/appendonly.aof.2.incr.aof"] = "another";
  });
}

// The file is the same one: what it holds is not.
TEST(DiskTrouble, ALogThatIsWrittenOverIsWrittenAnew) {
  for (const std::string fsync : {"always", "everysec", "no"}) {
    for (const std::string file : {"manifest", "1.base.rdb"}) {
      ExpectNoticed(fsync, [&](MemoryDisk& disk) {
        disk.files["/appendonlydir/appendonly.aof." + file].clear();
      });
    }
  }
}

// It is no log's, and stays: numbers of new files are above all that are there.
TEST(DiskTrouble, WhatSomebodyPutsThereIsNotWrittenOver) {
  MemoryDisk disk;
  {
    TestEngine server(OnTroubledDisk(disk, LoggedWith("everysec")));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "1"});
    disk.RemoveFolder("/appendonlydir");
    disk.MakeFolder("/appendonlydir");
    for (const std::string file : {"1.incr.aof", "2.incr.aof", "7.base.rdb"})
      disk.files["/appendonlydir/appendonly.aof." + file] = "theirs";
    server.AdvanceTime(3000);
    EXPECT_EQ(client.Run({"SET", "k", "2"}).ToText(), "+OK");
  }
  for (const std::string file : {"1.incr.aof", "2.incr.aof", "7.base.rdb"})
    EXPECT_EQ(disk.files["/appendonlydir/appendonly.aof." + file], "theirs");
  EXPECT_EQ(FoundBy(disk, "k"), "2");
}

// As long as that cannot be, nothing is accepted, and the log of the server says why, once.
TEST(DiskTrouble, AFolderThatCannotBeMadeAgainIsWaitedFor) {
  MemoryDisk disk;
  {
    TestEngine server(OnTroubledDisk(disk, LoggedWith("everysec")));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "1"});
    disk.RemoveFolder("/appendonlydir");
    disk.trouble = [](MemoryDisk::Call call, const std::string&) {
      return call == MemoryDisk::Call::kMakeFolder ? EACCES : 0;
    };
    server.AdvanceTime(10'000);
    EXPECT_TRUE(client.Run({"SET", "k", "2"}).ToText().starts_with("-MISCONF "));
    EXPECT_EQ(std::ranges::count_if(
                  server.log(),
                  [](const std::string& line) { return line.find("cannot be made") != line.npos; }),
              1);
    disk.trouble = {};
    server.AdvanceTime(2000);
    EXPECT_EQ(client.Run({"SET", "k", "3"}).ToText(), "+OK");
  }
  EXPECT_EQ(FoundBy(disk, "k"), "3");
}

// --- the mark of tokens

// A start without a mark begins far ahead of the clock; but the tokens in the log may lie beyond,
// where a start with a mark has gone on above it.
TEST(DiskTrouble, AMarkThatIsRemovedAgainCostsNoCallerItsLock) {
  MemoryDisk disk;
  int64_t last = 0;
  for (int start = 0; start < 5; ++start) {
    const bool is_missing = start % 2 == 0;
    if (is_missing) disk.RemoveFile("/fence.mark");
    TestEngine server(OnTroubledDisk(disk, LoggedWith("always")));
    server.set_aside_waits(true);
    server.Settle();
    TestClient& client = server.Connect();
    client.Send({"LOCK.ACQUIRE", "l" + std::to_string(start), "me", "LEASE", "60000"});
    RunAllBackground(server);
    const std::optional<Reply> grant = client.Next();
    ASSERT_TRUE(grant && !grant->elements.empty()) << start << (grant ? grant->ToText() : "");
    EXPECT_GT(grant->elements[0].integer, last);
    last = grant->elements[0].integer;
    const bool is_told = std::ranges::any_of(server.log(), [](const std::string& line) {
      return line.find("fence.mark is missing, and there are data") != line.npos;
    });
    EXPECT_EQ(is_told, is_missing && start > 0);
  }
}

}  // namespace
}  // namespace sluice
