// Snapshots that are given up while the worker has a part of them, and files that are none.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server/snapshots/snapshot_world.h"

namespace sluice {
namespace {

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
  ASSERT_TRUE(server.RunAsideNow());
  EXPECT_FALSE(disk.files.contains("/dump.rdb")) << "the cancelled one, or a mixture";
  while (server.RunAsideNow()) server.Settle();
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
  EXPECT_TRUE(server.engine().PrepareEnd("save"));
  while (server.RunAsideNow()) server.Settle();
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
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "-ERR");
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

}  // namespace
}  // namespace sluice
