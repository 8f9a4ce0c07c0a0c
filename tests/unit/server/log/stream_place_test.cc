// What a server's files say of the stream to replicas, and what a start takes from them: a position
// is taken up only where all that was done since is of it.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/dispatch/log_state.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

using Config = std::vector<std::pair<std::string, std::string>>;

const Config kLogged = {{"appendonly", "yes"}, {"appendfsync", "always"}};
const Config kSaved = {{"save", "3600 1"}};

TestEngine::Options Starting(MemoryDisk& disk, const Config& config) {
  TestEngine::Options options;
  options.disk = &disk;
  options.config = config;
  return options;
}

StreamPosition Position(int64_t offset, int db = 2) {
  return {.id = *ReplicationId::Of("0123456789abcdef0123456789abcdef01234567"),
          .offset = offset,
          .db = db};
}

LogState& StateOf(TestEngine& server) { return server.engine().part<LogState>(); }

// What the next start takes from the files.
std::optional<StreamPosition> Loaded(MemoryDisk& disk, const Config& config) {
  TestEngine again(Starting(disk, config));
  again.Settle();
  EXPECT_EQ(again.start_fault(), "");
  return StateOf(again).loaded_stream;
}

// Its offset; -1: there is none.
int64_t OffsetOf(MemoryDisk& disk, const Config& config) {
  const std::optional<StreamPosition> loaded = Loaded(disk, config);
  return loaded ? loaded->offset : -1;
}

void End(TestEngine& server) {
  server.Connect().Send({"SHUTDOWN"});
  ASSERT_EQ(server.shutdown_code(), 0);
  EXPECT_TRUE(server.engine().FinishLog());
}

TEST(StreamPlace, IsInNoFileWhereThereIsNoStream) {
  for (const Config& config : {kLogged, kSaved}) {
    MemoryDisk disk;
    {
      TestEngine server(Starting(disk, config));
      server.Connect().Run({"SET", "k", "v"});
      server.Connect().Run({"BGREWRITEAOF"});
      server.Settle();
      End(server);
    }
    for (const auto& [path, bytes] : disk.files) {
      EXPECT_EQ(bytes.find("#REPL"), bytes.npos) << path;
      EXPECT_EQ(bytes.find("repl-"), bytes.npos) << path;
    }
    EXPECT_EQ(OffsetOf(disk, config), -1);
  }
}

TEST(StreamPlace, IsThatOfTheLastTurnAfterACrash) {
  MemoryDisk disk;
  TestEngine server(Starting(disk, kLogged));
  TestClient& client = server.Connect();
  for (int64_t offset : {100, 200}) {
    StateOf(server).stream = Position(offset);
    client.Run({"SET", "k", std::to_string(offset)});
  }
  StateOf(server).stream = Position(250);  // by what is in no file, as PUBLISH
  client.Run({"GET", "k"});
  MemoryDisk crashed;
  crashed.MakeFolder("/appendonlydir");
  crashed.files = disk.files;
  const std::optional<StreamPosition> loaded = Loaded(crashed, kLogged);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->id, Position(0).id);
  EXPECT_EQ(loaded->offset, 200);
}

TEST(StreamPlace, IsThatOfTheEndAfterACleanStop) {
  MemoryDisk disk;
  {
    TestEngine server(Starting(disk, kLogged));
    StateOf(server).stream = Position(100);
    server.Connect().Run({"SET", "k", "v"});
    StateOf(server).stream = Position(250);
    End(server);
  }
  EXPECT_EQ(OffsetOf(disk, kLogged), 250);
  const size_t bytes = disk.files[kFirstIncrement].size();
  EXPECT_EQ(OffsetOf(disk, kLogged), 250) << "a server without a stream has changed nothing";
  EXPECT_GT(disk.files[kFirstIncrement].size(), bytes) << "its headers are no turns";
}

// Its replicas have these keys, and go on where they were.
TEST(StreamPlace, KeysThatEndedMeanwhileAreDeletedInTheStream) {
  const Config config = {{"save", "3600 1"}, {"enable-debug-command", "yes"}};
  MemoryDisk disk;
  {
    TestEngine server(Starting(disk, config));
    StateOf(server).stream = Position(100);
    TestClient& client = server.Connect();
    client.Run({"DEBUG", "SET-ACTIVE-EXPIRE", "0"});
    client.Run({"SET", "ends", "v", "PX", "10"});
    client.Run({"SET", "stays", "v"});
    server.AdvanceTime(100);
    End(server);
  }
  TestEngine again(Starting(disk, config));
  again.AdvanceTime(100);
  TestClient& client = again.Connect();
  EXPECT_EQ(client.Line("DBSIZE").ToText(), ":1");
  const std::string info = client.Line("INFO persistence").ToText();
  EXPECT_NE(info.find("rdb_last_load_keys_expired:1"), info.npos);
  EXPECT_NE(info.find("rdb_last_load_keys_loaded:1"), info.npos);
  EXPECT_GT(StateOf(again).stream->offset, 100);
}

TEST(StreamPlace, IsVoidOnceDataHaveGoneOnWithoutIt) {
  MemoryDisk disk;
  {
    TestEngine server(Starting(disk, kLogged));
    StateOf(server).stream = Position(100);
    server.Connect().Run({"SET", "k", "v"});
    End(server);
  }
  {
    TestEngine server(Starting(disk, kLogged));
    server.Settle();
    server.Connect().Run({"CONFIG", "SET", "repl-backlog-ttl", "1"});
    server.AdvanceTime(3000);  // no replica has come
    server.Connect().Run({"SET", "k", "w"});
  }
  EXPECT_EQ(OffsetOf(disk, kLogged), -1);
}

TEST(StreamPlace, OfABaseIsThatOfItsInstant) {
  MemoryDisk disk;
  {
    TestEngine server(Starting(disk, kLogged));
    TestClient& client = server.Connect();
    StateOf(server).stream = Position(100, 7);
    client.Run({"SET", "k", "v"});
    EXPECT_EQ(client.Run({"BGREWRITEAOF"}).kind, Reply::Kind::kStatus);
    server.Settle();
    End(server);
  }
  {
    TestEngine again(Starting(disk, kLogged));
    again.Settle();
    EXPECT_EQ(StateOf(again).loaded_stream, Position(100, 7)) << "with the database, from the base";
    again.Connect().Run({"SET", "k", "w"});
  }
  const std::optional<StreamPosition> loaded = Loaded(disk, kLogged);
  ASSERT_TRUE(loaded);
  EXPECT_GT(loaded->offset, 100) << "of the turns behind it";
  EXPECT_NE(loaded->id, Position(0).id) << "a start begins another history";
}

TEST(StreamPlace, IsInASnapshotAndInNoneOfAFlush) {
  for (const std::string command : {"SAVE", "BGSAVE"}) {
    MemoryDisk disk;
    TestEngine server(Starting(disk, kSaved));
    TestClient& client = server.Connect();
    StateOf(server).stream = Position(100, 7);
    client.Run({"SET", "k", "v"});
    client.Run({command});
    server.Settle();
    {
      TestEngine again(Starting(disk, kSaved));
      again.Settle();
      EXPECT_EQ(StateOf(again).loaded_stream, Position(100, 7)) << command;
    }
    // The file is of behind the flush, the position of before it.
    client.Run({"FLUSHALL"});
    server.Settle();
    EXPECT_EQ(OffsetOf(disk, kSaved), -1);
  }
}

TEST(StreamPlace, OfAnotherServersFilesIsNotTaken) {
  MemoryDisk disk;
  {
    TestEngine server(Starting(disk, kSaved));
    StateOf(server).stream = Position(100);
    server.Connect().Run({"SET", "k", "v"});
    server.Connect().Run({"SAVE"});
  }
  disk.files["/theirs.rdb"] = disk.files["/dump.rdb"];
  disk.RemoveFile("/dump.rdb");
  TestEngine server(Starting(disk, kSaved));
  server.engine().Import({"/theirs.rdb"}, /*is_snapshot=*/true, /*keeps_ended=*/false);
  server.Settle();
  EXPECT_EQ(server.Connect().Run({"GET", "k"}).ToText(), "\"v\"");
  EXPECT_FALSE(StateOf(server).loaded_stream);
}

// A turn inside a script has what came before the script, while the stream has the half of it, too.
TEST(StreamPlace, IsNotSaidOfATurnInsideAGroup) {
  MemoryDisk disk;
  TestEngine server(Starting(disk, kLogged));
  TestClient& client = server.Connect();
  TestClient& other = server.Connect();
  StateOf(server).stream = Position(100);
  server.set_tick_step(1'000'000'000);
  std::string inside;  // the log, as it is in the midst of the script
  server.OnPoll([&] {
    StateOf(server).stream = Position(150);
    other.Send({"GET", "k"});
    server.Turn();
    inside = disk.files[kFirstIncrement];
    StateOf(server).stream = Position(200);
    other.Send({"SCRIPT", "KILL"});
    server.Turn();
  });
  client.SendBytes(
      "SET ahead 1\r\n"
      "EVAL \"redis.call('SET','a',1) redis.call('SET','b',1) for i = 1, 1000000 do end\" 0\r\n");
  server.set_tick_step(0);
  server.OnPoll(nullptr);
  server.Settle();
  EXPECT_NE(inside.find("ahead"), inside.npos);
  EXPECT_EQ(inside.find("#REPL"), inside.npos);
  const std::string& log = disk.files[kFirstIncrement];
  EXPECT_NE(log.find(" 200\r\n", inside.size()), log.npos);
}

}  // namespace
}  // namespace sluice
