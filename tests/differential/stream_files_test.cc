// Files of a server with a stream to replicas, between Sluice and Redis's own programs: the log and
// its base say where the stream stands, and redis-check-aof finds them sound; a snapshot for a
// replica of Redis is loaded by redis-server.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/dispatch/log_state.h"
#include "server/snapshots/snapshots.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"
#include "tests/support/redis_process.h"
#include "tests/support/temporary_folder.h"

namespace sluice {
namespace {

StreamPosition At(int64_t offset) {
  return {.id = *ReplicationId::Of("0123456789abcdef0123456789abcdef01234567"),
          .offset = offset,
          .db = 3};
}

// What the program says, whose exit code is to be 0.
std::string Checked(const TemporaryFolder& folder, const std::string& command) {
  const std::string said = folder.path() + "/said";
  const int status = std::system((command + " > " + said + " 2>&1").c_str());
  EXPECT_EQ(status, 0) << command << '\n' << FileText(said);
  return FileText(said);
}

TEST(StreamFiles, TheLogIsSoundToRedisCheckAofAndLoadedByRedis) {
  MemoryDisk disk;
  {
    TestEngine::Options options;
    options.disk = &disk;
    options.config = {{"appendonly", "yes"}, {"appendfsync", "always"}};
    TestEngine server(options);
    TestClient& client = server.Connect();
    LogState& state = server.engine().part<LogState>();
    state.stream = At(1000);
    for (int i = 0; i < 100; ++i) client.Run({"SET", "before:" + std::to_string(i), "v"});
    client.Run({"BGREWRITEAOF"});
    server.Settle();
    for (int i = 0; i < 100; ++i) {
      state.stream->offset += 37;
      client.SendBytes("MULTI\r\nSELECT " + std::to_string(i % 16) +
                       "\r\nINCR n\r\nINCR m\r\nEXEC\r\n");
    }
    state.stream->offset = INT64_MAX;  // the longest line
    client.Send({"SHUTDOWN"});
    ASSERT_EQ(server.shutdown_code(), 0);
    ASSERT_TRUE(server.engine().FinishLog());
  }
  const TemporaryFolder folder;
  size_t lines = 0;
  for (const auto& [path, bytes] : disk.files) {
    folder.Write(path.substr(1), bytes);
    for (size_t at = 0; (at = bytes.find("\n#REPL:", at)) != bytes.npos; ++at) ++lines;
  }
  EXPECT_EQ(lines, 101u);
  const std::string manifest = folder.path() + "/appendonlydir/appendonly.aof.manifest";
  EXPECT_NE(
      Checked(folder, "redis-check-aof " + manifest).find("All AOF files and manifest are valid"),
      std::string::npos);
  const RedisProcess redis({"--dir", folder.path(), "--appendonly", "yes"});
  ASSERT_TRUE(redis.running());
  const auto client = redis.Connect();
  EXPECT_EQ(client->Run({"GET", "before:99"})->ToText(), "\"v\"");
  client->Run({"SELECT", "3"});
  EXPECT_EQ(client->Run({"GET", "m"})->ToText(), "\"7\"");
}

TEST(StreamFiles, ASnapshotForARedisReplicaIsLoadedByRedis) {
  TestEngine::Options options;
  options.audits = false;
  TestEngine server(options);
  TestClient& client = server.Connect();
  server.engine().part<LogState>().stream = At(1000);
  client.Run({"CONFIG", "SET", "hash-max-listpack-entries", "4"});
  for (int i = 0; i < 20'000; ++i) client.Run({"HSET", "large", std::to_string(i), "value"});
  client.Run({"HPEXPIRE", "large", "100000", "FIELDS", "1", "7"});
  client.Run({"HSET", "small", "f", "v"});
  client.Run({"HPEXPIRE", "small", "100000", "FIELDS", "1", "f"});
  client.Run({"SET", "k", "v", "PX", "4000000000000"});
  client.Run({"RPUSH", "list", std::string(100'000, 'x'), "y"});
  client.Run({"XADD", "stream", "1-1", "f", "v"});
  client.Run({"LOCK.ACQUIRE", "l", "me", "LEASE", "100000"});
  client.Run({"LIMIT.TAKE", "r", "WINDOW", "10", "60000"});
  const std::string digest = client.Run({"DEBUG", "DIGEST-VALUE", "large"}).ToText();
  client.Run({"SELECT", "5"});
  client.Run({"LIMIT.TAKE", "r", "WINDOW", "10", "60000"});
  client.Run({"FUNCTION", "LOAD",
              "#!lua name=one\nredis.register_function('f', function() return 1 end)"});
  auto& snapshots = server.engine().part<Snapshots>();
  std::unique_ptr<SnapshotSpool> spool = snapshots.NewSpool();
  const std::unique_ptr<SpoolReader> reader = spool->NewReader();
  snapshots.Enqueue({.spool = std::move(spool), .for_redis = true});
  server.Turn();
  server.Settle();
  std::string bytes;
  for (std::string_view seen; !(seen = reader->Peek()).empty(); reader->Consume(seen.size()))
    bytes += seen;
  ASSERT_TRUE(reader->is_at_end());

  const TemporaryFolder folder;
  const std::string path = folder.Write("dump.rdb", bytes);
  const std::string said = Checked(folder, "redis-check-rdb " + path);
  EXPECT_NE(said.find("RDB looks OK!"), said.npos) << said;
  EXPECT_NE(said.find("AUX FIELD repl-id = '" + std::string(At(0).id.text()) + "'"), said.npos)
      << said;
  EXPECT_NE(said.find("AUX FIELD repl-offset = '1000'"), said.npos) << said;
  const RedisProcess redis({"--dir", folder.path(), "--enable-debug-command", "yes"});
  ASSERT_TRUE(redis.running());
  const auto theirs = redis.Connect();
  EXPECT_EQ(theirs->Run({"DBSIZE"})->integer, 5);
  EXPECT_EQ(theirs->Run({"HLEN", "large"})->integer, 20'000);
  EXPECT_EQ(theirs->Run({"HGET", "small", "f"})->ToText(), "\"v\"");
  EXPECT_EQ(theirs->Run({"LLEN", "list"})->integer, 2);
  EXPECT_EQ(theirs->Run({"FCALL", "f", "0"})->integer, 1);
  EXPECT_EQ(theirs->Run({"DEBUG", "DIGEST-VALUE", "large"})->ToText(), digest);
  theirs->Run({"SELECT", "5"});
  EXPECT_EQ(theirs->Run({"DBSIZE"})->integer, 0);
}

}  // namespace
}  // namespace sluice
