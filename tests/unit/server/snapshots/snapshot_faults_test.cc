// Snapshots that are given up while the worker has a part of them, and files that are none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/rdb_samples.h"
#include "tests/unit/server/snapshots/snapshot_world.h"

namespace sluice {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

TEST(SnapshotFaults, AWorkerThatIsLateSpoilsNoSaveThatFollows) {
  MemoryDisk disk;
  TestEngine server(With(disk));
  TestClient& client = server.Connect();
  client.Run({"SET", "k", "old"});
  server.set_aside_waits(true);
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
  server.Settle();  // all is with the worker
  client.Run({"SET", "k", "new"});
  EXPECT_EQ(client.Run({"BGSAVE", "CANCEL"}).ToText(), "+Background saving cancelled");
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
  server.Settle();
  ASSERT_TRUE(server.RunBackgroundNow());
  EXPECT_FALSE(disk.files.contains("/dump.rdb")) << "the cancelled one, or a mixture";
  while (server.RunBackgroundNow()) server.Settle();
  EXPECT_EQ(Get(disk, "k"), "\"new\"");
  EXPECT_FALSE(AnyTemporary(disk));
}

TEST(SnapshotFaults, AWorkerThatIsLateReplacesNoNewerFile) {
  MemoryDisk disk;
  TestEngine server(With(disk));
  TestClient& client = server.Connect();
  client.Run({"SET", "k", "old"});
  server.set_aside_waits(true);
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
  server.Settle();
  client.Run({"SET", "k", "new"});
  EXPECT_EQ(server.engine().End("save"), EndOutcome::kEnds);
  while (server.RunBackgroundNow()) server.Settle();
  EXPECT_EQ(Get(disk, "k"), "\"new\"");
  EXPECT_FALSE(AnyTemporary(disk));
}

TEST(SnapshotFaults, AServerThatEndsLeavesNoTemporaryFile) {
  MemoryDisk disk;
  {
    TestEngine server(With(disk));
    server.Connect().Run({"SET", "k", "v"});
    server.set_aside_waits(true);
    EXPECT_EQ(server.Connect().Run({"BGSAVE"}).ToText(), "+Background saving started");
    server.Settle();
    EXPECT_TRUE(AnyTemporary(disk));
  }
  EXPECT_FALSE(AnyTemporary(disk));
}

TEST(SnapshotFaults, LoadsAKeyWhoseNameWasALocks) {
  // It was given back by the time its name became that of something else.
  MemoryDisk disk;
  {
    TestEngine server(With(disk));
    TestClient& client = server.Connect();
    for (int i = 0; i < 300; ++i) {
      const std::string name = "l" + std::to_string(i);
      client.Run({"LOCK.ACQUIRE", name, "me", "LEASE", "1000"});
      client.Run({"LOCK.RELEASE", name, "me"});
    }
    client.Run({"SET", "l299", "old"});
    EXPECT_EQ(client.Run({"CONFIG", "SET", "rdb-key-save-delay", "100"}).ToText(), "+OK");
    server.set_tick_step(400'000);
    EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
    EXPECT_EQ(client.Run({"SET", "l299", "new"}).ToText(), "+OK");
    server.AdvanceTime(1000);
    EXPECT_TRUE(disk.files.contains("/dump.rdb"));
  }
  EXPECT_EQ(Get(disk, "l299"), "\"old\"");
}

TEST(SnapshotFaults, ChangesAreRefusedBesideALogThatIsTurnedOff) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"save", "3600 1"}, {"appendonly", "yes"}}));
  TestClient& client = server.Connect();
  disk.write_fault = EIO;
  client.Run({"BGSAVE"});
  disk.write_fault = 0;
  EXPECT_EQ(client.Run({"SET", "k", "v"}).ToText().substr(0, 8), "-MISCONF");
  EXPECT_EQ(client.Run({"CONFIG", "SET", "appendonly", "no"}).ToText(), "+OK");
  EXPECT_EQ(client.Run({"SET", "k", "v"}).ToText().substr(0, 8), "-MISCONF");
}

TEST(SnapshotFaults, AFileThatIsNoSnapshotIsRefusedAndKept) {
  const std::string command = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n";
  for (const std::string& bytes : {std::string("RED"), std::string(100, '\0'),
                                   std::string("REDIX0011"), command, std::string()}) {
    for (const std::string name : {"dump.rdb", "dump"}) {
      MemoryDisk disk;
      disk.files["/" + name] = bytes;
      TestEngine server(With(disk, {{"dbfilename", name}}));
      server.Settle();
      EXPECT_EQ(server.shutdown_code(), 1) << name << " " << bytes;
      EXPECT_EQ(disk.files["/" + name], bytes);
    }
  }
}

TEST(SnapshotFaults, ALogWhoseNextFileCannotBeMadeGoesOnInTheOld) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"appendonly", "yes"}, {"appendfsync", "always"}}));
  TestClient& client = server.Connect();
  client.Run({"SET", "k", "v"});
  disk.MakeFolder("/appendonlydir/appendonly.aof.2.incr.aof");
  client.Run({"BGREWRITEAOF"});
  server.Settle();
  EXPECT_EQ(client.Run({"SET", "k", "w"}).ToText(), "+OK");
}

// What goes wrong on the way to the next file, in what order, and whether the file of before is
// known to be the log's last.
struct Going {
  const char* name;
  void (*spoil)(MemoryDisk& disk);
  bool is_sure;
};

void Rotate(const std::string& fsync, const Going& going) {
  SCOPED_TRACE(fsync + ", " + going.name);
  MemoryDisk disk;
  {
    TestEngine server(With(disk, {{"appendonly", "yes"}, {"appendfsync", fsync}}));
    TestClient& client = server.Connect();
    client.Run({"SET", "before", "v"});
    server.set_aside_waits(true);
    client.Run({"BGREWRITEAOF"});
    TestClient& other = server.Connect();
    other.Send({"SET", "meanwhile", "v"});
    EXPECT_FALSE(other.has_received()) << "no file has it yet";
    going.spoil(disk);
    server.RunBackgroundNow();
    disk.replace_fault = disk.replaced_fault = disk.sync_fault = 0;
    server.set_aside_waits(false);
    while (server.RunBackgroundNow()) server.Settle();
    server.Settle();
    EXPECT_EQ(other.TakeBytes(), going.is_sure ? "+OK\r\n" : "");
    EXPECT_EQ(other.closed(), !going.is_sure);
    EXPECT_EQ(client.Run({"SET", "after", "v"}).ToText() == "+OK", going.is_sure);
    if (going.is_sure) {
      EXPECT_EQ(disk.Match("/appendonlydir/*.2.*").size(), 0) << "of no use";
    }
  }
  EXPECT_EQ(Get(disk, "before", {{"appendonly", "yes"}}), "\"v\"");
  if (!going.is_sure) return;
  std::mt19937_64 chance(1);
  if (fsync == "always") disk.PowerCut(chance);
  EXPECT_EQ(Get(disk, "meanwhile", {{"appendonly", "yes"}}), "\"v\"");
  EXPECT_EQ(Get(disk, "after", {{"appendonly", "yes"}}), "\"v\"");
}

TEST(SnapshotFaults, ALogThatCannotGoOverGoesOnInItsSoundFile) {
  const Going goings[] = {
      {"no room for the next file", [](MemoryDisk& disk) { disk.full_appends = 1; }, true},
      {"no new manifest", [](MemoryDisk& disk) { disk.replace_fault = ENOSPC; }, true},
      {"a manifest of which nothing is known", [](MemoryDisk& disk) { disk.replaced_fault = EIO; },
       false},
      {"a failed sync", [](MemoryDisk& disk) { disk.sync_fault = EIO; }, false},
  };
  for (const std::string fsync : {"always", "everysec"}) {
    for (const Going& going : goings) Rotate(fsync, going);
  }
}

TEST(SnapshotFaults, ASecondImageHasNoLocksThatWereSwappedAwayBeforeIt) {
  MemoryDisk disk;
  {
    TestEngine server(With(disk));
    TestClient& client = server.Connect();
    for (int i = 0; i < 4000; ++i)
      client.Run({"LOCK.ACQUIRE", "l" + std::to_string(i), "me", "LEASE", "600000"});
    server.engine().Receive(client.id(), "BGSAVE\r\nSWAPDB 0 1\r\nBGSAVE CANCEL\r\n");
    server.Turn();
    server.engine().Receive(client.id(), "BGSAVE\r\n");
    server.Turn();
    server.Settle();
    EXPECT_EQ(client.TakeBytes(),
              "+Background saving started\r\n+OK\r\n+Background saving cancelled\r\n"
              "+Background saving started\r\n");
    EXPECT_EQ(client.Run({"DBSIZE"}).ToText(), ":0");
    client.Run({"SELECT", "1"});
    EXPECT_EQ(client.Run({"DBSIZE"}).ToText(), ":0");
  }
  TestEngine again(With(disk));
  again.Settle();
  TestClient& client = again.Connect();
  client.Run({"SELECT", "1"});
  EXPECT_EQ(client.Run({"DBSIZE"}).ToText(), ":0");
}

TEST(SnapshotFaults, AnUnknownModuleRefusesTheFileByName) {
  MemoryDisk disk;
  disk.files["/dump.rdb"] = FileOfAModule();
  TestEngine server(With(disk));
  server.Settle();
  EXPECT_EQ(server.shutdown_code(), 1);
  EXPECT_TRUE(Logged(server, "/dump.rdb: offset 9: data of module type \"MBbloom--\""));
  EXPECT_TRUE(Logged(server, "rdb-skip-unknown yes leaves out what it has"));
}

TEST(SnapshotFaults, AnUnknownModuleIsLeftOutAndCounted) {
  MemoryDisk disk;
  disk.files["/dump.rdb"] = FileOfAModule();
  TestEngine server(With(disk, {{"rdb-skip-unknown", "yes"}}));
  server.Settle();
  EXPECT_FALSE(server.shutdown_code());
  EXPECT_EQ(server.Connect().Run({"KEYS", "*"}).ToText(), "[\"k\"]");
  EXPECT_TRUE(Logged(server,
                     "/dump.rdb: values of unknown modules were left out: 1 of "
                     "\"MBbloom--\", 1 of \"MBbloom--\" (data beside keys)"));
}

TEST(SnapshotFaults, WhatCannotBePassedOverIsRefusedInEitherCase) {
  MemoryDisk disk;
  disk.files["/dump.rdb"] = SealedRdb("REDIS0010\xfe\0\x1e\1k\1v"s);
  TestEngine server(With(disk, {{"rdb-skip-unknown", "yes"}}));
  server.Settle();
  EXPECT_EQ(server.shutdown_code(), 1);
  EXPECT_TRUE(Logged(server, "/dump.rdb: offset 11: 30 is neither a type nor an opcode"));
}

TEST(SnapshotFaults, AFolderInItsPlaceIsRefusedInWords) {
  MemoryDisk disk;
  disk.MakeFolder("/dump.rdb");
  TestEngine server(With(disk));
  EXPECT_EQ(server.start_fault(), "/dump.rdb (dbfilename): it is a folder, not a file");
}

TEST(SnapshotFaults, NoRoomInTheMiddleLeavesTheOldFile) {
  for (const std::string command : {"SAVE", "BGSAVE"}) {
    MemoryDisk disk;
    TestEngine server(With(disk));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "old"});
    EXPECT_EQ(client.Run({"SAVE"}).ToText(), "+OK");
    client.Run({"SET", "k", "new"});
    for (int i = 0; i < 100; ++i) client.Run({"SET", "k" + std::to_string(i), "v"});
    disk.room = 500;
    client.Run({command});
    server.Settle();
    EXPECT_TRUE(Logged(server, "The snapshot could not be saved: /dump.rdb: No space left"));
    EXPECT_FALSE(AnyTemporary(disk));
    disk.room = SIZE_MAX;
    EXPECT_EQ(Get(disk, "k"), "\"old\"");
    EXPECT_EQ(client.Run({"SAVE"}).ToText(), "+OK");
    EXPECT_EQ(client.Run({"SET", "k", "w"}).ToText(), "+OK");
  }
}

}  // namespace
}  // namespace sluice
