// What FLUSHALL has answered never comes back, whatever happens behind its answer; and what other
// commands do to a save that runs.
#include <gtest/gtest.h>

#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include "server/clients/host.h"
#include "tests/unit/server/snapshots/snapshot_world.h"

namespace sluice {
namespace {

constexpr char kOld[] = "\"v\"";
const ConfigWords kWithSavePoints = {{"save", "3600 1000"}};

// A key that is in the file of before.
void SaveOne(TestEngine& server) {
  TestClient& client = server.Connect();
  client.Run({"SET", "k", "v"});
  EXPECT_EQ(client.Run({"SAVE"}).ToText(), "+OK");
}

// Of a server that starts after this one was killed.
std::string Found(const MemoryDisk& disk, const std::string& key = "k") {
  MemoryDisk left = disk;
  return Get(left, key);
}

TEST(Flush, IsAnsweredWhenTheFileOfBeforeIsReplaced) {
  MemoryDisk disk;
  TestEngine server(With(disk, kWithSavePoints));
  SaveOne(server);
  TestClient& client = server.Connect();
  TestClient& other = server.Connect();
  server.set_aside_waits(true);
  client.Send({"FLUSHALL"});
  client.Send({"SET", "later", "1"});
  EXPECT_FALSE(client.has_received());
  EXPECT_EQ(other.Run({"DBSIZE"}).ToText(), ":0") << "others are served, and see what is so";
  EXPECT_EQ(Found(disk), kOld) << "nothing was promised yet";
  ASSERT_TRUE(server.RunBackgroundNow(WorkerLane::kSnapshot));
  EXPECT_EQ(Found(disk), "(nil)");
  server.Settle();
  EXPECT_EQ(client.Next()->ToText(), "+OK");
  EXPECT_EQ(client.Next()->ToText(), "+OK");
  EXPECT_EQ(other.Run({"GET", "later"}).ToText(), "\"1\"");
}

TEST(Flush, LeavesFilesAloneWithoutSavePoints) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"save", ""}}));
  SaveOne(server);
  server.AdvanceTime(100);  // the first mark of tokens is written
  server.set_aside_waits(true);
  EXPECT_EQ(server.Connect().Run({"FLUSHALL"}).ToText(), "+OK");
  server.AdvanceTime(2000);
  EXPECT_EQ(server.background_tasks(), 0U);
  EXPECT_EQ(Found(disk), kOld);
}

TEST(Flush, HoldsOverAPowerCut) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    MemoryDisk disk;
    TestEngine server(With(disk, kWithSavePoints));
    SaveOne(server);
    EXPECT_EQ(server.Connect().Run({"FLUSHALL"}).ToText(), "+OK");
    std::mt19937_64 chance(seed);
    disk.PowerCut(chance);
    EXPECT_EQ(Found(disk), "(nil)") << seed;
  }
}

// Where nobody may wait it is done before the answer.
TEST(Flush, IsOnDiskBeforeTheAnswerOfTransactionsAndScripts) {
  const std::vector<std::vector<std::string>> requests = {
      {"EVAL", "return redis.call('FLUSHALL')", "0"},
      {"EVAL", "return redis.call('FLUSHALL', 'ASYNC')", "0"},
      {"EXEC"}};
  for (const auto& request : requests) {
    MemoryDisk disk;
    TestEngine server(With(disk, kWithSavePoints));
    SaveOne(server);
    TestClient& client = server.Connect();
    server.set_aside_waits(true);
    if (request[0] == "EXEC") {
      client.Run({"MULTI"});
      client.Run({"FLUSHALL"});
    }
    const std::string answer = client.Run(request).ToText();
    EXPECT_NE(answer.find("OK"), std::string::npos) << answer;
    EXPECT_EQ(Found(disk), "(nil)") << request[0];
  }
}

TEST(Flush, GivesUpASaveThatRuns) {
  for (const bool has_save_points : {true, false}) {
    MemoryDisk disk;
    TestEngine server(With(disk, {{"save", has_save_points ? "3600 1000" : ""}}));
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "v"});
    server.set_aside_waits(true);
    EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
    server.Settle();  // all of it is with the worker
    client.Send({"FLUSHALL"});
    EXPECT_EQ(Info(server, "rdb_bgsave_in_progress"), "0");
    server.set_aside_waits(false);
    while (server.RunBackgroundNow()) server.Settle();
    EXPECT_EQ(client.Next()->ToText(), "+OK");
    EXPECT_EQ(Found(disk), "(nil)");
    EXPECT_EQ(Info(server, "rdb_last_bgsave_status"), "ok");
    EXPECT_FALSE(AnyTemporary(disk));
    EXPECT_EQ(disk.files.contains("/dump.rdb"), has_save_points);
  }
}

TEST(Flush, OneThatWalksIsGivenUpToo) {
  MemoryDisk disk;
  TestEngine server(With(disk, kWithSavePoints));
  TestClient& client = server.Connect();
  for (int i = 0; i < 5000; ++i) client.Run({"SET", "key:" + std::to_string(i), "v"});
  client.Run({"CONFIG", "SET", "rdb-key-save-delay", "1000"});
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
  EXPECT_EQ(client.Run({"FLUSHALL"}).ToText(), "+OK");
  EXPECT_EQ(Found(disk, "key:7"), "(nil)");
  server.AdvanceTime(10'000);
  EXPECT_EQ(Found(disk, "key:7"), "(nil)");
  EXPECT_FALSE(AnyTemporary(disk));
  client.Run({"CONFIG", "SET", "rdb-key-save-delay", "0"});
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
}

TEST(Flush, CountsAsASave) {
  MemoryDisk disk;
  TestEngine server(With(disk, kWithSavePoints));
  SaveOne(server);
  server.Connect().Run({"SET", "k", "w"});
  EXPECT_EQ(Info(server, "rdb_changes_since_last_save"), "1");
  server.Connect().Run({"FLUSHALL"});
  EXPECT_EQ(Info(server, "rdb_changes_since_last_save"), "0");
  EXPECT_EQ(Info(server, "rdb_saves"), "1") << "those that were asked for, as Redis counts";
}

TEST(Flush, RemovesTheFileOfBeforeWhereNoneCanBeWritten) {
  for (const bool in_script : {false, true}) {
    MemoryDisk disk;
    TestEngine server(With(disk, kWithSavePoints));
    SaveOne(server);
    disk.write_fault = ENOSPC;
    const std::vector<std::string> script = {"EVAL", "return redis.call('FLUSHALL')", "0"};
    EXPECT_EQ(
        server.Connect().Run(in_script ? script : std::vector<std::string>{"FLUSHALL"}).ToText(),
        "+OK");
    EXPECT_FALSE(disk.files.contains("/dump.rdb"));
    std::mt19937_64 chance(1);
    disk.write_fault = 0;
    disk.PowerCut(chance);
    EXPECT_EQ(Found(disk), "(nil)");
  }
}

TEST(Flush, SaysSoWhereTheOldDataWouldComeBack) {
  MemoryDisk disk;
  TestEngine server(With(disk, kWithSavePoints));
  SaveOne(server);
  disk.changes_left = 0;
  const std::string answer = server.Connect().Run({"FLUSHALL"}).ToText();
  EXPECT_EQ(answer.substr(0, 28), "-MISCONF The keys are gone, ") << answer;
  EXPECT_NE(server.log().back().find("a start would bring them back"), std::string::npos);
}

TEST(Flush, IsOverwrittenByNothingOlderAndOverwritesNothingNewer) {
  MemoryDisk disk;
  TestEngine server(With(disk, kWithSavePoints));
  SaveOne(server);
  TestClient& client = server.Connect();
  TestClient& other = server.Connect();
  server.set_aside_waits(true);
  client.Send({"FLUSHALL"});
  other.Run({"SET", "k", "new"});
  EXPECT_EQ(other.Run({"SAVE"}).ToText(), "+OK");
  while (server.RunBackgroundNow()) server.Settle();
  EXPECT_EQ(client.Next()->ToText(), "+OK");
  EXPECT_EQ(Found(disk), "\"new\"");
  client.Send({"FLUSHALL"});
  other.Run({"SET", "k", "newer"});
  EXPECT_EQ(other.Run({"BGSAVE"}).ToText(), "+Background saving started");
  server.Settle();
  while (server.RunBackgroundNow()) server.Settle();
  EXPECT_EQ(Found(disk), "\"newer\"");
}

TEST(Flush, ItsClientMayGoMeanwhile) {
  MemoryDisk disk;
  TestEngine server(With(disk, kWithSavePoints));
  SaveOne(server);
  TestClient& gone = server.Connect();
  TestClient& unblocked = server.Connect();
  TestClient& admin = server.Connect();
  server.set_aside_waits(true);
  const std::string unblocked_id = unblocked.Run({"CLIENT", "ID"}).ToText().substr(1);
  gone.Send({"FLUSHALL"});
  unblocked.Send({"FLUSHALL"});
  gone.Disconnect();
  EXPECT_EQ(admin.Run({"CLIENT", "UNBLOCK", unblocked_id}).ToText(), ":1");
  EXPECT_EQ(unblocked.Next()->ToText().substr(0, 10), "-UNBLOCKED");
  while (server.RunBackgroundNow()) server.Settle();
  EXPECT_EQ(Found(disk), "(nil)");
  EXPECT_EQ(admin.Run({"DBSIZE"}).ToText(), ":0");
}

// The log tells of the flush. The snapshot is for a start without it.
TEST(Flush, BesideALogAndItsNewBase) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"save", "3600 1000"}, {"appendonly", "yes"}}));
  SaveOne(server);
  TestClient& client = server.Connect();
  client.Run({"CONFIG", "SET", "rdb-key-save-delay", "1000"});
  client.Run({"BGREWRITEAOF"});
  EXPECT_EQ(client.Run({"FLUSHALL"}).ToText(), "+OK");
  EXPECT_EQ(Found(disk), "(nil)");
  server.AdvanceTime(5000);
  EXPECT_EQ(Info(server, "aof_last_bgrewrite_status"), "ok");
  EXPECT_EQ(Get(disk, "k", {{"appendonly", "yes"}}), "(nil)");
}

// --- beside a save that runs, as Redis does it

class BesideASave : public testing::Test {
 protected:
  BesideASave()
      : server_(With(disk_, {{"save", "3600 1000"}, {"enable-protected-configs", "yes"}})) {
    client_.Run({"SET", "k", "v"});
    server_.set_aside_waits(true);
    EXPECT_EQ(client_.Run({"BGSAVE"}).ToText(), "+Background saving started");
    server_.Settle();
  }
  void End() {
    while (server_.RunBackgroundNow()) server_.Settle();
  }
  MemoryDisk disk_;
  TestEngine server_;
  TestClient& client_ = server_.Connect();
};

TEST_F(BesideASave, FlushDbAndSwapDbChangeNothingOfIt) {
  EXPECT_EQ(client_.Run({"FLUSHDB"}).ToText(), "+OK");
  EXPECT_EQ(client_.Run({"SWAPDB", "0", "1"}).ToText(), "+OK");
  End();
  EXPECT_EQ(Found(disk_), kOld) << "the file is of the instant of BGSAVE";
  EXPECT_EQ(Info(server_, "rdb_changes_since_last_save"), "2");
}

TEST_F(BesideASave, OptionsAreForTheNextOne) {
  EXPECT_EQ(client_.Run({"CONFIG", "SET", "dbfilename", "other.rdb"}).ToText(), "+OK");
  EXPECT_EQ(client_.Run({"CONFIG", "SET", "save", ""}).ToText(), "+OK");
  End();
  EXPECT_TRUE(disk_.files.contains("/dump.rdb"));
  EXPECT_FALSE(disk_.files.contains("/other.rdb"));
}

TEST_F(BesideASave, AFlushIsForTheFileThatItFoundNamed) {
  End();
  EXPECT_EQ(client_.Run({"CONFIG", "SET", "dbfilename", "other.rdb"}).ToText(), "+OK");
  TestClient& other = server_.Connect();
  other.Send({"FLUSHALL"});
  EXPECT_EQ(client_.Run({"CONFIG", "SET", "dbfilename", "third.rdb"}).ToText(), "+OK");
  End();
  EXPECT_EQ(other.Next()->ToText(), "+OK");
  EXPECT_TRUE(disk_.files.contains("/other.rdb"));
  EXPECT_FALSE(disk_.files.contains("/third.rdb"));
  EXPECT_EQ(Found(disk_), kOld) << "as in Redis: files under other names are not the server's";
}

TEST_F(BesideASave, ReloadingSavesByItself) {
  client_.Run({"SET", "k", "new"});
  EXPECT_EQ(client_.Run({"DEBUG", "RELOAD"}).ToText(), "+OK");
  EXPECT_EQ(client_.Run({"GET", "k"}).ToText(), "\"new\"");
  End();
  EXPECT_EQ(Found(disk_), "\"new\"") << "the older image must not take its place";
  EXPECT_FALSE(AnyTemporary(disk_));
}

}  // namespace
}  // namespace sluice
