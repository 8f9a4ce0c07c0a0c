// Snapshots of a server: when they are saved, what becomes of failures, and what a second server
// finds in the file. That the file is of one instant is told by tests/simulation/snapshot_test.cc.
#include "server/snapshots/snapshots.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "storage/types/hash.h"
#include "tests/unit/server/snapshots/snapshot_world.h"

namespace sluice {
namespace {

TEST(Snapshots, AreSavedAtASavePoint) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"save", "60 2"}}));
  TestClient& client = server.Connect();
  client.Run({"SET", "k", "v"});
  server.AdvanceTime(200'000);
  EXPECT_FALSE(disk.files.contains("/dump.rdb")) << "one change is too few";
  client.Run({"SET", "k", "w"});
  server.AdvanceTime(2000);
  EXPECT_TRUE(disk.files.contains("/dump.rdb"));
  EXPECT_EQ(Info(server, "rdb_changes_since_last_save"), "0");
  EXPECT_EQ(Info(server, "rdb_saves"), "1");
  client.Run({"SET", "k", "x"});
  client.Run({"SET", "k", "y"});
  server.AdvanceTime(50'000);
  EXPECT_EQ(Info(server, "rdb_saves"), "1") << "the last one is not that long ago";
  server.AdvanceTime(20'000);
  EXPECT_EQ(Info(server, "rdb_saves"), "2");
  EXPECT_EQ(Get(disk, "k"), "\"y\"");
}

TEST(Snapshots, AFailedOneLeavesTheOldFileAndStopsChanges) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"save", "3600 1"}}));
  TestClient& client = server.Connect();
  client.Run({"SET", "k", "old"});
  EXPECT_EQ(client.Run({"SAVE"}).ToText(), "+OK");
  client.Run({"SET", "k", "new"});
  disk.sync_fault = EIO;
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
  server.Settle();
  EXPECT_EQ(Info(server, "rdb_last_bgsave_status"), "err");
  EXPECT_FALSE(AnyTemporary(disk));
  EXPECT_EQ(Get(disk, "k"), "\"old\"");
  EXPECT_EQ(client.Run({"SET", "k", "x"}).ToText().substr(0, 56),
            "-MISCONF Redis is configured to save RDB snapshots, but ");
  EXPECT_EQ(client.Run({"EVAL", "return redis.call('SET','k','x')", "0"}).ToText().substr(0, 9),
            "-MISCONF ");
  EXPECT_EQ(client.Run({"GET", "k"}).ToText(), "\"new\"");
  EXPECT_EQ(client.Run({"PING"}).ToText().substr(0, 9), "-MISCONF ");
  EXPECT_EQ(client.Run({"SAVE"}).ToText(), "-ERR");

  client.Run({"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"});
  EXPECT_EQ(client.Run({"SET", "k", "x"}).ToText(), "+OK");
  client.Run({"CONFIG", "SET", "stop-writes-on-bgsave-error", "yes"});
  EXPECT_EQ(client.Run({"SET", "k", "y"}).ToText().substr(0, 9), "-MISCONF ");
  disk.sync_fault = 0;
  client.Run({"BGSAVE"});
  server.Settle();
  EXPECT_EQ(client.Run({"SET", "k", "z"}).ToText(), "+OK");
  EXPECT_EQ(Info(server, "rdb_last_bgsave_status"), "ok");
}

TEST(Snapshots, OneThatCannotBeginIsAFailure) {
  MemoryDisk disk;
  TestEngine server(With(disk));
  TestClient& client = server.Connect();
  disk.write_fault = EROFS;
  EXPECT_EQ(client.Run({"SAVE"}).ToText(), "-ERR");
  EXPECT_EQ(Info(server, "rdb_last_bgsave_status"), "ok") << "its caller has been told";
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
  EXPECT_EQ(Info(server, "rdb_last_bgsave_status"), "err");
  EXPECT_EQ(Info(server, "rdb_saves"), "2") << "those that were begun";
  client.Run({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(Info(server, "rdb_saves"), "0");
  EXPECT_EQ(client.Run({"PING"}).ToText(), "+PONG");
  EXPECT_EQ(client.Run({"SET", "k", "x"}).ToText(), "+OK") << "there are no save points";
}

// What is copied because its memory was too small is copied in the midst of a turn.
TEST(Snapshots, NoBlockForTheDiskGrows) {
  MemoryDisk disk;
  TestEngine server(With(disk));
  TestClient& client = server.Connect();
  for (size_t i = 0; i < 400; ++i)
    client.Run({"SET", "key:" + std::to_string(i), std::string(5'000 + 37 * i, 'x')});
  client.Run({"CONFIG", "SET", "rdbcompression", "no"});
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
  server.Settle();
  EXPECT_EQ(Info(server, "rdb_last_bgsave_status"), "ok");
  EXPECT_GT(disk.largest_append, 200U << 10);
  EXPECT_LE(disk.largest_append, 256U << 10);
}

TEST(Snapshots, AreGivenUpByCancel) {
  MemoryDisk disk;
  TestEngine server(With(disk));
  TestClient& client = server.Connect();
  for (int i = 0; i < 5000; ++i) client.Run({"SET", "key:" + std::to_string(i), "v"});
  client.Run({"CONFIG", "SET", "rdb-key-save-delay", "1000"});
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
  EXPECT_EQ(client.Run({"BGSAVE", "CANCEL"}).ToText(), "+Background saving cancelled");
  EXPECT_EQ(Info(server, "rdb_bgsave_in_progress"), "0");
  server.Settle();
  EXPECT_FALSE(AnyTemporary(disk));
  EXPECT_FALSE(disk.files.contains("/dump.rdb"));
  client.Run({"CONFIG", "SET", "rdb-key-save-delay", "0"});
  client.Run({"SET", "key:7", "w"});
  server.AdvanceTime(10);
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
  server.Settle();
  EXPECT_EQ(Get(disk, "key:7"), "\"w\"");
  EXPECT_EQ(Get(disk, "key:4999"), "\"v\"");
}

// A server whose snapshot has begun, and has not come to `hash`, which is large.
class LargeValueTest : public ::testing::Test {
 protected:
  LargeValueTest()
      : server_(WithoutAudits(disk_)), client_(server_.Connect()), other_(server_.Connect()) {
    client_.Run({"CONFIG", "SET", "hash-max-listpack-entries", "4"});
    for (int i = 0; i < 20'000; ++i) client_.Run({"HSET", "hash", std::to_string(i), "value"});
    client_.Run({"CONFIG", "SET", "rdb-key-save-delay", "1000"});
    EXPECT_EQ(client_.Run({"BGSAVE"}).ToText(), "+Background saving started");
  }
  static TestEngine::Options WithoutAudits(MemoryDisk& disk) {
    TestEngine::Options options = With(disk);
    options.audits = false;
    return options;
  }
  void SaveAll() {
    for (int i = 0; i < 10'000 && server_.engine().part<Snapshots>().saving(); ++i)
      server_.AdvanceTime(10);
    EXPECT_FALSE(server_.engine().part<Snapshots>().saving());
  }
  bool Waits(const std::vector<std::string>& request) {
    other_.Send(request);
    server_.Settle();
    return !other_.Next().has_value();
  }

  MemoryDisk disk_;
  TestEngine server_;
  TestClient& client_;
  TestClient& other_;
};

TEST_F(LargeValueTest, WhoWouldChangeItWaitsUntilItIsSaved) {
  EXPECT_TRUE(Waits({"HSET", "hash", "0", "new"}));
  EXPECT_EQ(client_.Run({"HGET", "hash", "0"}).ToText(), "\"value\"") << "to read is no change";
  EXPECT_EQ(client_.Run({"SET", "small", "1"}).ToText(), "+OK") << "others go on";
  SaveAll();
  EXPECT_EQ(other_.Next()->ToText(), ":0");
  EXPECT_EQ(client_.Run({"HGET", "hash", "0"}).ToText(), "\"new\"");
  TestEngine again(With(disk_));
  again.Settle();
  EXPECT_EQ(again.Connect().Run({"HGET", "hash", "0"}).ToText(), "\"value\"");
}

TEST_F(LargeValueTest, TransactionsScriptsAndInnerCommandsWaitToo) {
  EXPECT_TRUE(Waits({"EVAL", "return redis.call('HDEL', KEYS[1], '0')", "1", "hash"}));
  SaveAll();
  EXPECT_EQ(other_.Next()->ToText(), ":1");
  client_.Run({"BGSAVE"});
  client_.Run({"LOCK.ACQUIRE", "door", "me", "LEASE", "600000"});
  const std::string token = client_.Run({"LOCK.ACQUIRE", "door", "me", "LEASE", "600000"}).ToText();
  other_.Run({"MULTI"});
  other_.Run({"HDEL", "hash", "1"});
  EXPECT_TRUE(Waits({"EXEC"}));
  SaveAll();
  EXPECT_EQ(other_.Next()->ToText(), "[:1]");
}

TEST_F(LargeValueTest, WhoGoesLeavesNothing) {
  EXPECT_TRUE(Waits({"HSET", "hash", "0", "new"}));
  other_.Disconnect();
  server_.Settle();
  SaveAll();
  EXPECT_EQ(client_.Run({"HGET", "hash", "0"}).ToText(), "\"value\"");
}

TEST_F(LargeValueTest, AFlushedOneIsSavedInPiecesToo) {
  client_.Run({"FLUSHDB"});  // which ends no save, as in Redis
  EXPECT_EQ(client_.Run({"SET", "behind", "1"}).ToText(), "+OK");
  SaveAll();
  EXPECT_EQ(client_.Run({"DBSIZE"}).ToText(), ":1");
  TestEngine again(With(disk_));
  again.Settle();
  EXPECT_EQ(again.Connect().Run({"HLEN", "hash"}).ToText(), ":20000");
}

TEST_F(LargeValueTest, WhatTracksIsToldOfWhatItReadThen) {
  other_.Run({"HELLO", "3"});
  other_.Run({"CLIENT", "TRACKING", "ON", "OPTIN"});
  other_.Run({"CLIENT", "CACHING", "YES"});
  EXPECT_TRUE(Waits({"EVAL", "return redis.call('HGET', KEYS[1], '0')", "1", "hash"}));
  SaveAll();
  EXPECT_EQ(other_.Next()->ToText(), "\"value\"");
  client_.Run({"HSET", "hash", "0", "new"});
  server_.Settle();
  const std::optional<Reply> told = other_.Next();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->kind, Reply::Kind::kPush);
}

TEST_F(LargeValueTest, WhatNoSnapshotNeedsWaitsNoMore) {
  EXPECT_TRUE(Waits({"DEL", "hash"}));
  EXPECT_EQ(client_.Run({"BGSAVE", "CANCEL"}).ToText(), "+Background saving cancelled");
  server_.Settle();
  EXPECT_EQ(other_.Next()->ToText(), ":1");
}

TEST_F(LargeValueTest, ItsTimeIsOverButItStaysUntilItIsSaved) {
  client_.Run({"BGSAVE", "CANCEL"});
  client_.Run({"PEXPIRE", "hash", "20"});
  server_.AdvanceTime(1);  // the image of before is given up
  EXPECT_EQ(client_.Run({"BGSAVE"}).ToText(), "+Background saving started");
  server_.AdvanceTime(25);
  EXPECT_EQ(client_.Run({"EXISTS", "hash"}).ToText(), ":0");
  EXPECT_EQ(client_.Run({"DBSIZE"}).ToText(), ":1") << "it was saved at once";
  EXPECT_TRUE(Waits({"HSET", "hash", "0", "new"}));
  SaveAll();
  EXPECT_EQ(other_.Next()->ToText(), ":1");
  EXPECT_EQ(client_.Run({"HLEN", "hash"}).ToText(), ":1");
  TestEngine again(With(disk_));
  again.Settle();
  EXPECT_EQ(again.Connect().Run({"HLEN", "hash"}).ToText(), ":20000");
}

TEST_F(LargeValueTest, FieldsEndOnceItIsSaved) {
  client_.Run({"BGSAVE", "CANCEL"});
  client_.Run({"HPEXPIRE", "hash", "20", "FIELDS", "3", "7", "8", "9"});
  server_.AdvanceTime(1);
  EXPECT_EQ(client_.Run({"BGSAVE"}).ToText(), "+Background saving started");
  server_.AdvanceTime(25);
  EXPECT_EQ(client_.Run({"HEXISTS", "hash", "8"}).ToText(), ":0");
  Keyspace& keyspace = server_.engine().keyspace();
  const auto fields_there = [&keyspace] {
    const Entry* const entry = keyspace.db(0).FindEvenExpired(keyspace.Hash("hash"));
    return static_cast<Hash&>(entry->value()).size();
  };
  EXPECT_EQ(fields_there(), 20'000u) << "it was saved at once";
  SaveAll();
  server_.AdvanceTime(1);
  EXPECT_EQ(fields_there(), 19'997u);
  TestEngine again(With(disk_));
  again.Settle();
  EXPECT_EQ(again.Connect().Run({"HLEN", "hash"}).ToText(), ":20000");
}

// A server whose snapshot has begun, and has not come to a lock of many holders: with leases of
// 100 ms, and one of a session. The pieces are small: it takes some hundred ms.
class LargeLockTest : public ::testing::Test {
 protected:
  static constexpr int kHolders = 3000;

  LargeLockTest() : server_(WithoutAudits(disk_)), client_(server_.Connect()) {
    server_.engine().part<Snapshots>().set_pieces(1000, 100);
    for (int i = 0; i < kHolders; ++i)
      client_.Run(
          {"LOCK.ACQUIRE", "crowd", "owner:" + std::to_string(i), "LEASE", "100", "SHARED"});
  }
  static TestEngine::Options WithoutAudits(MemoryDisk& disk) {
    TestEngine::Options options = With(disk);
    options.audits = false;
    return options;
  }
  void Begin() {
    client_.Run({"CONFIG", "SET", "rdb-key-save-delay", "5000"});
    EXPECT_EQ(client_.Run({"BGSAVE"}).ToText(), "+Background saving started");
  }
  bool is_saving() { return server_.engine().part<Snapshots>().saving(); }
  void SaveAll() {
    for (int i = 0; i < 100'000 && is_saving(); ++i) server_.AdvanceTime(1);
    EXPECT_FALSE(is_saving());
  }
  size_t HoldersOf(TestClient& client) {
    const Reply info = client.Run({"LOCK.INFO", "crowd"});
    return info.elements.empty() ? 0 : info.elements[3].elements.size();
  }
  size_t HoldersInFile() {
    TestEngine again(With(disk_));
    again.Settle();
    return HoldersOf(again.Connect());
  }

  MemoryDisk disk_;
  TestEngine server_;
  TestClient& client_;
};

TEST_F(LargeLockTest, LeasesEndOnceItIsSaved) {
  TestClient& waiter = server_.Connect();
  waiter.Send({"LOCK.ACQUIRE", "crowd", "me", "LEASE", "60000", "WAIT", "60000"});
  Begin();
  server_.AdvanceTime(150);
  EXPECT_TRUE(is_saving());
  EXPECT_FALSE(waiter.Next().has_value());
  EXPECT_EQ(HoldersOf(client_), size_t{kHolders});
  SaveAll();
  server_.AdvanceTime(10);
  ASSERT_TRUE(waiter.Next().has_value());
  EXPECT_EQ(HoldersOf(client_), 1u);
  EXPECT_EQ(HoldersInFile(), size_t{kHolders});
}

TEST_F(LargeLockTest, TokensEndWithTheirLeases) {
  const std::string token =
      client_.Run({"LOCK.ACQUIRE", "crowd", "short", "LEASE", "50", "SHARED"}).elements[0].ToText();
  client_.Run({"LOCK.ACQUIRE", "crowd", "long", "LEASE", "60000", "SHARED"});
  Begin();
  const std::vector<std::string> fenced = {"FENCED", "crowd", token.substr(1), "PING"};
  EXPECT_EQ(client_.Run(fenced).ToText(), "+PONG");
  server_.AdvanceTime(60);
  EXPECT_TRUE(is_saving());
  EXPECT_EQ(client_.Run(fenced).ToText().substr(0, 7), "-STALE ");
  EXPECT_EQ(HoldersOf(client_), size_t{kHolders + 2});
  SaveAll();
}

TEST_F(LargeLockTest, SessionsEndOnceItIsSaved) {
  TestClient& gone = server_.Connect();
  gone.Run({"LOCK.ACQUIRE", "crowd", "gone", "SESSION", "SHARED"});
  TestClient& reset = server_.Connect();
  reset.Run({"LOCK.ACQUIRE", "crowd", "reset", "SESSION", "SHARED"});
  TestClient& waiter = server_.Connect();
  waiter.Send({"LOCK.ACQUIRE", "crowd", "me", "LEASE", "60000", "WAIT", "60000"});
  Begin();
  gone.Disconnect();
  server_.AdvanceTime(20);
  EXPECT_TRUE(is_saving());
  EXPECT_EQ(HoldersOf(client_), size_t{kHolders + 2});
  SaveAll();
  server_.AdvanceTime(100);
  EXPECT_FALSE(waiter.Next().has_value());
  EXPECT_EQ(HoldersOf(client_), 1u);
  reset.Run({"RESET"});
  server_.AdvanceTime(1);
  EXPECT_TRUE(waiter.Next().has_value());
  EXPECT_EQ(HoldersInFile(), size_t{kHolders + 2});
}

TEST_F(LargeLockTest, ASnapshotThatIsGivenUpHoldsNothingUp) {
  TestClient& waiter = server_.Connect();
  waiter.Send({"LOCK.ACQUIRE", "crowd", "me", "LEASE", "60000", "WAIT", "60000"});
  Begin();
  server_.AdvanceTime(150);
  EXPECT_FALSE(waiter.Next().has_value());
  client_.Run({"BGSAVE", "CANCEL"});
  server_.AdvanceTime(10);
  EXPECT_TRUE(waiter.Next().has_value());
  EXPECT_EQ(server_.Audit(), "");
}

TEST_F(LargeLockTest, SwappedAndFlushedOnesAreSaved) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"SWAPDB", "0", "1"}, {"FLUSHALL"}}) {
    Begin();
    client_.Run(command);
    SaveAll();
    server_.AdvanceTime(10);
    EXPECT_EQ(HoldersOf(client_), 0u);
    EXPECT_EQ(HoldersInFile(), size_t{kHolders});
    EXPECT_EQ(server_.Audit(), "");
    for (int i = 0; i < kHolders; ++i)
      client_.Run(
          {"LOCK.ACQUIRE", "crowd", "owner:" + std::to_string(i), "LEASE", "100", "SHARED"});
  }
}

TEST_F(LargeValueTest, AScriptThatDeclaresNoKeysDoesNotWait) {
  EXPECT_EQ(client_.Run({"EVAL", "return redis.call('HDEL', 'hash', '0')", "0"}).ToText(), ":1");
  SaveAll();
  TestEngine again(With(disk_));
  again.Settle();
  EXPECT_EQ(again.Connect().Run({"HLEN", "hash"}).ToText(), ":20000");
}

TEST(Snapshots, WhoWritesWaitsForADiskThatIsSlow) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"snapshot-memory-max", "3mb"}}));
  TestClient& client = server.Connect();
  TestClient& other = server.Connect();
  const std::string text(100'000, 'x');
  for (int i = 0; i < 80; ++i) client.Run({"SET", std::to_string(i), text + std::to_string(i)});
  client.Run({"CONFIG", "SET", "rdbcompression", "no"});
  server.set_aside_waits(true);
  client.Run({"BGSAVE"});
  int written = 0;
  for (; written < 80; ++written) {
    other.Send({"SET", std::to_string(written), "new"});
    server.Settle();
    if (!other.Next()) break;
  }
  EXPECT_GE(written, 5);
  EXPECT_LT(written, 80) << "what waits for the disk has no bound";
  EXPECT_EQ(client.Run({"GET", "39"}).kind, Reply::Kind::kBulk) << "readers go on";
  while (server.RunBackgroundNow()) server.Settle();
  EXPECT_EQ(other.Next()->ToText(), "+OK");
}

TEST(Snapshots, WaitForTheDisk) {
  MemoryDisk disk;
  TestEngine server(With(disk));
  TestClient& client = server.Connect();
  for (int i = 0; i < 300; ++i)
    client.Run({"SET", "key:" + std::to_string(i), std::string(100'000, static_cast<char>(i))});
  client.Run({"CONFIG", "SET", "rdbcompression", "no"});
  server.set_aside_waits(true);
  client.Send({"BGSAVE"});
  server.AdvanceTime(100);
  EXPECT_EQ(Info(server, "rdb_bgsave_in_progress"), "1");
  const int64_t done = std::stoll(Info(server, "current_save_keys_processed"));
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 300) << "all of it is in memory";
  while (server.RunBackgroundNow()) server.AdvanceTime(10);
  EXPECT_EQ(Info(server, "rdb_bgsave_in_progress"), "0");
  EXPECT_EQ(Info(server, "rdb_last_bgsave_status"), "ok");
}

TEST(Snapshots, AreSavedAtTheEndWhereThereAreSavePoints) {
  MemoryDisk disk;
  {
    TestEngine server(With(disk, {{"save", "3600 1"}}));
    server.Connect().Run({"SET", "k", "v"});
    server.Connect().Send({"SHUTDOWN"});
    EXPECT_EQ(server.shutdown_code(), 0);
  }
  EXPECT_EQ(Get(disk, "k"), "\"v\"");
  {
    TestEngine server(With(disk, {{"save", "3600 1"}}));
    server.Settle();
    server.Connect().Run({"SET", "k", "w"});
    disk.sync_fault = EIO;
    EXPECT_EQ(server.Connect().Run({"SHUTDOWN"}).ToText(),
              "-ERR Errors trying to SHUTDOWN. Check logs.");
    EXPECT_FALSE(server.shutdown_code().has_value());
    server.Connect().Send({"SHUTDOWN", "FORCE"});
    EXPECT_EQ(server.shutdown_code(), 0);
    disk.sync_fault = 0;
  }
  EXPECT_EQ(Get(disk, "k"), "\"v\"");
  {
    TestEngine server(With(disk));
    server.Settle();
    server.Connect().Run({"SET", "k", "x"});
    server.Connect().Send({"SHUTDOWN", "SAVE"});
  }
  EXPECT_EQ(Get(disk, "k"), "\"x\"");
}

TEST(Snapshots, ADamagedFileKeepsTheServerFromStarting) {
  MemoryDisk disk;
  {
    TestEngine server(With(disk));
    server.Connect().Run({"SET", "k", "v"});
    server.Connect().Run({"SAVE"});
  }
  std::string& bytes = disk.files["/dump.rdb"];
  bytes[bytes.size() / 2] ^= 1;
  TestEngine again(With(disk));
  again.Settle();
  EXPECT_EQ(again.shutdown_code(), 1);
  EXPECT_NE(again.log().back().find("/dump.rdb"), std::string::npos) << again.log().back();
}

// What stands beside the keys, and locks, limits and fields with deadlines.
TEST(Snapshots, KeepAllThatTheServerKnows) {
  MemoryDisk disk;
  std::string token, old_token;
  {
    TestEngine server(With(disk));
    TestClient& client = server.Connect();
    client.Run({"FUNCTION", "LOAD",
                "#!lua name=l\nredis.register_function('f', function() return 7 end)"});
    client.Run({"LIMIT.POLICY", "SET", "p", "GCRA", "10", "60000", "BURST", "3"});
    token = client.Run({"LOCK.ACQUIRE", "door", "me", "LEASE", "600000"}).elements[0].ToText();
    old_token = client.Run({"LOCK.ACQUIRE", "gate", "me", "LEASE", "600000"}).elements[0].ToText();
    client.Run({"LOCK.RELEASE", "gate", "me"});
    client.Run({"LIMIT.TAKE", "user", "LOG", "5", "600000", "COST", "2"});
    client.Run({"BGSAVE"});
    server.Settle();
  }
  TestEngine again(With(disk));
  again.Settle();
  TestClient& client = again.Connect();
  EXPECT_EQ(client.Run({"FCALL", "f", "0"}).ToText(), ":7");
  EXPECT_EQ(client.Run({"LIMIT.POLICY", "LIST"}).ToText(), "[\"p\"]");
  EXPECT_EQ(client.Run({"FENCED", "door", token.substr(1), "SET", "k", "v"}).ToText(), "+OK");
  EXPECT_EQ(client.Run({"FENCED", "gate", old_token.substr(1), "SET", "k", "v"}).ToText(), "+OK");
  EXPECT_EQ(client.Run({"LIMIT.TAKE", "user", "LOG", "5", "600000", "PEEK"}).elements[2].ToText(),
            ":3");
}

}  // namespace
}  // namespace sluice
