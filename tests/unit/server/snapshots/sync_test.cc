// Snapshots for replicas: what is in them, in which order they and others get their image, and that
// a reader that never reads holds nobody up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/dispatch/log_state.h"
#include "server/snapshots/snapshots.h"
#include "tests/support/rdb_world.h"
#include "tests/unit/server/snapshots/snapshot_world.h"

namespace sluice {
namespace {

Snapshots& SnapshotsOf(TestEngine& server) { return server.engine().part<Snapshots>(); }

// A replica that has asked for a snapshot.
struct SyncPeer {
  explicit SyncPeer(TestEngine& server, bool for_redis = false) {
    std::unique_ptr<SnapshotSpool> spool = SnapshotsOf(server).NewSpool();
    reader = spool->NewReader();
    SnapshotsOf(server).Enqueue(
        {.spool = std::move(spool), .for_redis = for_redis, .begun = [this] { ++begun; }});
  }
  SyncPeer(const SyncPeer&) = delete;
  // As much as there is.
  void Read() {
    for (std::string_view seen; !(seen = reader->Peek()).empty(); reader->Consume(seen.size()))
      bytes += seen;
  }

  std::unique_ptr<SpoolReader> reader;
  std::string bytes;
  int begun = 0;
};

std::string SyncOf(TestEngine& server, bool for_redis) {
  SyncPeer peer(server, for_redis);
  server.Turn();
  server.Settle();
  peer.Read();
  EXPECT_EQ(peer.begun, 1);
  EXPECT_TRUE(peer.reader->is_at_end());
  return peer.bytes;
}

// Images that last: one key in so many µs.
void Delay(TestClient& client, const std::string& micros) {
  client.Run({"CONFIG", "SET", "rdb-key-save-delay", micros});
}

// --- what is in them

TEST(Sync, IsWhatASnapshotIs) {
  MemoryDisk disk;
  TestEngine server(With(disk));
  TestClient& client = server.Connect();
  client.Run({"SET", "k", "v", "PX", "100000"});
  client.Run({"LOCK.ACQUIRE", "l", "me", "LEASE", "100000"});
  client.Run({"LIMIT.TAKE", "r", "WINDOW", "10", "60000"});
  disk.files["/dump.rdb"] = SyncOf(server, /*for_redis=*/false);
  TestEngine again(With(disk));
  again.Settle();
  EXPECT_EQ(again.Connect().Run({"DBSIZE"}).ToText(), ":3");
}

TEST(Sync, ForRedisLeavesOutWhatIsOursAndCountsIt) {
  MemoryDisk disk;
  TestEngine server(With(disk));
  TestClient& client = server.Connect();
  server.engine().part<LogState>().stream =
      StreamPosition{.id = *ReplicationId::Of(std::string(40, 'e')), .offset = 17, .db = 3};
  client.Run({"CONFIG", "SET", "hash-max-listpack-entries", "4"});
  client.Run({"SET", "k", "v", "PX", "100000"});
  client.Run({"HSET", "small", "f", "v", "g", "w"});
  client.Run({"HPEXPIRE", "small", "100000", "FIELDS", "1", "f"});
  for (int i = 0; i < 5000; ++i)
    client.Run({"HSET", "large", std::to_string(i), "value " + std::to_string(i)});
  client.Run({"HPEXPIRE", "large", "100000", "FIELDS", "1", "7"});
  client.Run({"LOCK.ACQUIRE", "l", "me", "LEASE", "100000"});
  client.Run({"LOCK.ACQUIRE", "gone", "me", "LEASE", "100000"});
  client.Run({"LOCK.RELEASE", "gone", "me"});
  client.Run({"LIMIT.POLICY", "SET", "api", "WINDOW", "10", "60000"});
  for (const std::string key : {"r1", "r2"})
    client.Run({"LIMIT.TAKE", key, "WINDOW", "10", "60000"});
  client.Run({"FUNCTION", "LOAD", "#!lua name=f\nredis.register_function('f', function() end)"});
  client.Run({"SELECT", "2"});
  client.Run({"LIMIT.TAKE", "r3", "WINDOW", "10", "60000"});
  const std::string bytes = SyncOf(server, /*for_redis=*/true);
  RdbWorld world;
  ASSERT_EQ(world.Load(bytes), "");
  EXPECT_EQ(world.functions.size(), 1u);
  EXPECT_EQ(std::ranges::count(world.types, RdbType::kModule), 0);
  EXPECT_EQ(world.types.size(), 3u);
  EXPECT_EQ(world.aux.count("sluice-clock") + world.aux.count("sluice-commands") +
                world.aux.count("sluice-relative"),
            0u);
  EXPECT_EQ(world.aux["repl-id"], std::string(40, 'e'));
  EXPECT_EQ(world.aux["repl-offset"], "17");
  EXPECT_EQ(world.aux["repl-stream-db"], "3");
  EXPECT_EQ(world.aux["aof-base"], "0");
  const auto& large = static_cast<const Hash&>(world.Find(0, "large")->value());
  EXPECT_EQ(large.size(), 5000u);
  EXPECT_FALSE(large.has_deadlines());
  FieldValue value;
  ASSERT_TRUE(large.Get("7", world.now(), value));
  EXPECT_EQ(value.text, "value 7");
  const LeftOut& left = SnapshotsOf(server).left_out();
  EXPECT_EQ(left.locks, 1u);
  EXPECT_EQ(left.tokens, 1u);
  EXPECT_EQ(left.limiters, 3u);
  EXPECT_EQ(left.policies, 1u);
  EXPECT_EQ(left.timed_hashes, 2u);
  EXPECT_EQ(left.keys(), 4u);
  EXPECT_TRUE(
      Logged(server,
             "It leaves out what Redis cannot hold: 1 lock, 1 token of a lock that was "
             "given back, 3 limiters, 1 policy of limits, deadlines of fields of 2 hashes"));
  SyncOf(server, /*for_redis=*/false);
  EXPECT_EQ(SnapshotsOf(server).left_out().keys(), 4u) << "of the last one for Redis";
}

// While the image is taken all goes on, and locks, limiters and fields end.
TEST(Sync, ForRedisIsOfOneInstant) {
  MemoryDisk disk;
  TestEngine server(With(disk));
  TestClient& client = server.Connect();
  for (int i = 0; i < 200; ++i) {
    const std::string number = std::to_string(i);
    client.Run({"SET", "k" + number, "old"});
    client.Run({"LOCK.ACQUIRE", "l" + number, "me", "LEASE", "30"});
    client.Run({"HSET", "h" + number, "f", "v", "g", "w"});
    client.Run({"HPEXPIRE", "h" + number, "30", "FIELDS", "1", "f"});
  }
  Delay(client, "1000");
  SyncPeer peer(server, /*for_redis=*/true);
  server.Turn();
  ASSERT_EQ(peer.begun, 1);
  for (int i = 0; i < 200; ++i) {
    client.Run({"SET", "k" + std::to_string(i), "new"});
    client.Run({"DEL", "h" + std::to_string(i)});
    client.Run({"SET", "l" + std::to_string(i), "of Redis"});
    server.AdvanceTime(1);
  }
  server.AdvanceTime(2000);
  peer.Read();
  ASSERT_TRUE(peer.reader->is_at_end());
  RdbWorld world;
  ASSERT_EQ(world.Load(peer.bytes), "");
  EXPECT_EQ(world.types.size(), 400u);
  for (int i = 0; i < 200; ++i) {
    char scratch[Entry::kTextScratch];
    const Entry* const text = world.Find(0, "k" + std::to_string(i));
    ASSERT_TRUE(text);
    EXPECT_EQ(text->Text(scratch), "old");
    const Entry* const hash = world.Find(0, "h" + std::to_string(i));
    ASSERT_TRUE(hash);
    EXPECT_EQ(static_cast<const Hash&>(hash->value()).size(), 2u);
  }
  EXPECT_EQ(SnapshotsOf(server).left_out().locks, 200u);
}

// --- who reads

// How many turns each request of a client waits beside an image, and the most memory that it takes.
struct Course {
  std::vector<int> turns;
  size_t memory_max = 0;
  bool is_spooled = false;  // a part of it went to the file
};

enum class Beside { kSave, kQuickReader, kReaderThatNeverReads };

// `disk_every`: the worker does a job in so many turns; 0: at once.
Course CourseBeside(Beside beside, int disk_every) {
  MemoryDisk disk;
  TestEngine::Options options = With(disk, {{"snapshot-memory-max", "1mb"},
                                            {"rdbcompression", "no"},
                                            {"hash-max-listpack-entries", "4"}});
  options.audits = false;
  TestEngine server(options);
  TestClient& client = server.Connect();
  TestClient& other = server.Connect();
  for (int i = 0; i < 400; ++i)
    client.Run({"SET", "key:" + std::to_string(i), std::string(10'000, 'x')});
  for (int i = 0; i < 20'000; ++i) client.Run({"HSET", "hash", std::to_string(i), "value"});
  server.set_aside_waits(disk_every > 0);
  server.set_tick_step(30'000);  // a slice is two steps long
  std::optional<SyncPeer> peer;
  if (beside == Beside::kSave) {
    client.Run({"BGSAVE"});
  } else {
    peer.emplace(server);
    server.Turn();
  }
  Snapshots& snapshots = SnapshotsOf(server);
  Course course;
  int turn = 0;
  const auto run_turn = [&] {
    server.Turn();
    if (beside == Beside::kQuickReader) peer->Read();
    course.memory_max = std::max(course.memory_max, snapshots.memory_bytes());
    course.is_spooled |= disk.nameless() > 0;
    if (disk_every > 0 && ++turn % disk_every == 0) server.RunBackgroundNow();
  };
  for (int i = 0; snapshots.busy() && i < 4000; ++i) {
    const std::string number = std::to_string(i * 7 % 400);
    const bool is_large = i % 3 == 0;
    // It lies there until its turn has run.
    const std::string request =
        is_large ? "HSET hash " + number + " new\r\n" : "SET key:" + number + " new\r\n";
    server.engine().Receive(other.id(), request);
    int turns = 0;
    do {
      run_turn();
    } while (++turns < 10'000 && !other.Next());
    course.turns.push_back(turns);
  }
  for (int i = 0; snapshots.busy() && i < 100'000; ++i) run_turn();
  EXPECT_FALSE(snapshots.busy());
  if (peer) {
    EXPECT_EQ(peer->reader->fault(), 0);
    EXPECT_TRUE(peer->reader->total());
    peer.reset();
  }
  server.set_aside_waits(false);
  while (server.RunBackgroundNow()) server.Settle();
  EXPECT_EQ(snapshots.memory_bytes(), 0u);
  EXPECT_EQ(disk.nameless(), 0u);
  EXPECT_FALSE(AnyTemporary(disk));
  return course;
}

TEST(Sync, AReaderThatNeverReadsHoldsNobodyUp) {
  constexpr size_t kMemoryMax = 1024 * 1024;
  constexpr size_t kStep = 32 * 1024;  // behind which the bound is looked at
  for (const int disk_every : {0, 3}) {
    SCOPED_TRACE(disk_every);
    const Course save = CourseBeside(Beside::kSave, disk_every);
    const Course quick = CourseBeside(Beside::kQuickReader, disk_every);
    const Course never = CourseBeside(Beside::kReaderThatNeverReads, disk_every);
    EXPECT_FALSE(quick.is_spooled);
    EXPECT_TRUE(never.is_spooled);
    EXPECT_LE(never.memory_max, kMemoryMax + kStep);
    EXPECT_GT(never.memory_max, kMemoryMax / 4) << "or nothing was put to the test";
    for (const Course* const without : {&save, &quick}) {
      if (without == &quick && disk_every > 0) continue;  // which waits for no disk
      for (size_t i = 0; i < never.turns.size(); ++i) {
        const int before = i < without->turns.size() ? without->turns[i] : 1;
        EXPECT_LE(never.turns[i], before + 1) << "request " << i;
      }
    }
  }
}

TEST(Sync, TheLastReaderThatLeavesEndsTheImage) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"snapshot-memory-max", "1mb"}, {"rdbcompression", "no"}}));
  TestClient& client = server.Connect();
  for (int i = 0; i < 300; ++i)
    client.Run({"SET", "key:" + std::to_string(i), std::string(10'000, 'x')});
  Delay(client, "1000");
  SyncPeer peer(server);
  for (int i = 0; i < 1000 && disk.nameless() == 0; ++i) server.AdvanceTime(1);
  EXPECT_TRUE(SnapshotsOf(server).syncing());
  EXPECT_EQ(disk.nameless(), 1u);
  const uint64_t keys = SnapshotsOf(server).keys_done();
  peer.reader.reset();
  EXPECT_EQ(disk.nameless(), 0u);
  server.AdvanceTime(5);
  EXPECT_FALSE(SnapshotsOf(server).syncing());
  EXPECT_LT(keys, 290u);
  EXPECT_TRUE(Logged(server, "A snapshot for replicas is given up: none reads it"));
  Delay(client, "0");
  server.AdvanceTime(10);
  EXPECT_EQ(client.Run({"BGSAVE"}).ToText(), "+Background saving started");
}

TEST(Sync, AFullDiskEndsItAndNothingElse) {
  MemoryDisk disk;
  TestEngine server(
      With(disk, {{"snapshot-memory-max", "1mb"}, {"rdbcompression", "no"}, {"save", "3600 1"}}));
  TestClient& client = server.Connect();
  for (int i = 0; i < 300; ++i)
    client.Run({"SET", "key:" + std::to_string(i), std::string(10'000, 'x')});
  disk.room = 300'000;
  SyncPeer peer(server);
  server.Turn();
  server.Settle();
  EXPECT_EQ(peer.begun, 1);
  EXPECT_EQ(peer.reader->fault(), ENOSPC);
  EXPECT_FALSE(SnapshotsOf(server).busy());
  EXPECT_TRUE(Logged(server, "A snapshot for replicas could not be made: No space left on device"));
  EXPECT_EQ(client.Run({"SET", "k", "v"}).ToText(), "+OK") << "no snapshot of its own has failed";
  EXPECT_EQ(Info(server, "rdb_last_bgsave_status"), "ok");
  EXPECT_EQ(disk.nameless(), 0u);
}

TEST(Sync, AServerThatEndsTellsItsReaders) {
  MemoryDisk disk;
  std::optional<TestEngine> server(std::in_place, With(disk));
  TestClient& client = server->Connect();
  for (int i = 0; i < 100; ++i) client.Run({"SET", "key:" + std::to_string(i), "v"});
  Delay(client, "1000");
  SyncPeer peer(*server);
  server->Turn();
  SnapshotsOf(*server).Abandon();
  EXPECT_EQ(peer.reader->fault(), ECANCELED);
  peer.reader.reset();
  server.reset();
  EXPECT_EQ(disk.nameless(), 0u);
}

// --- one image at a time

class SyncOrder : public ::testing::Test {
 protected:
  explicit SyncOrder(ConfigWords config = {})
      : server_(With(disk_, std::move(config))), client_(server_.Connect()) {
    for (int i = 0; i < 100; ++i) client_.Run({"SET", "key:" + std::to_string(i), "v"});
    Delay(client_, "1000");
  }
  // Notes in which order images begin, until none does any more.
  std::vector<std::string> Order(std::vector<std::pair<std::string, SyncPeer*>> peers) {
    std::vector<std::string> order;
    const auto note = [&](const std::string& name) {
      if (std::ranges::find(order, name) == order.end()) order.push_back(name);
    };
    for (int i = 0; i < 5000; ++i) {
      server_.AdvanceTime(1);
      if (snapshots().saving()) note("save");
      if (snapshots().writing_base()) note("log");
      for (const auto& [name, peer] : peers)
        if (peer->begun > 0) note(name);
    }
    EXPECT_FALSE(snapshots().busy());
    return order;
  }
  Snapshots& snapshots() { return SnapshotsOf(server_); }

  MemoryDisk disk_;
  TestEngine server_;
  TestClient& client_;
};

class LoggedSyncOrder : public SyncOrder {
 protected:
  LoggedSyncOrder() : SyncOrder({{"appendonly", "yes"}}) {}
};

using Names = std::vector<std::string>;

TEST_F(SyncOrder, IsThatInWhichTheyCame) {
  SyncPeer first(server_);
  server_.Turn();
  SyncPeer second(server_);
  EXPECT_EQ(client_.Run({"BGSAVE"}).ToText().substr(0, 38),
            "-ERR Another child process is active (");
  EXPECT_EQ(client_.Run({"BGSAVE", "SCHEDULE"}).ToText(), "+Background saving scheduled");
  SyncPeer third(server_);
  EXPECT_EQ(snapshots().waiting_syncs(), 2u);
  EXPECT_EQ(Order({{"first", &first}, {"second", &second}, {"third", &third}}),
            (Names{"first", "second", "save", "third"}));
}

TEST_F(SyncOrder, ARewritingOfTheLogComesFirst) {
  SyncPeer first(server_);
  server_.Turn();
  SyncPeer second(server_);
  EXPECT_EQ(client_.Run({"BGSAVE", "SCHEDULE"}).ToText(), "+Background saving scheduled");
  EXPECT_EQ(client_.Run({"BGREWRITEAOF"}).ToText(),
            "+Background append only file rewriting scheduled");
  EXPECT_EQ(Order({{"first", &first}, {"second", &second}}),
            (Names{"first", "log", "second", "save"}));
}

TEST_F(LoggedSyncOrder, ARewritingOfTheLogComesFirst) {
  SyncPeer first(server_);
  server_.Turn();
  SyncPeer second(server_);
  EXPECT_EQ(client_.Run({"BGREWRITEAOF"}).ToText(),
            "+Background append only file rewriting scheduled");
  EXPECT_EQ(Order({{"first", &first}, {"second", &second}}), (Names{"first", "log", "second"}));
}

// Replicas that come again and again keep no save from being made.
TEST_F(SyncOrder, ASavePointTakesItsPlace) {
  client_.Run({"CONFIG", "SET", "save", "1 1"});
  client_.Run({"SET", "k", "v"});
  server_.AdvanceTime(900);
  Delay(client_, "20000");
  std::vector<std::unique_ptr<SyncPeer>> peers;
  bool was_saving = false;
  for (int i = 0; i < 20'000 && !was_saving; ++i) {
    if (snapshots().waiting_syncs() == 0) peers.push_back(std::make_unique<SyncPeer>(server_));
    server_.AdvanceTime(1);
    was_saving = snapshots().saving();
  }
  EXPECT_TRUE(was_saving);
  EXPECT_GE(peers.size(), 2u);
}

TEST_F(SyncOrder, OneThatNobodyWaitsForIsNotBegun) {
  SyncPeer first(server_);
  server_.Turn();
  SyncPeer second(server_), third(server_);
  second.reader.reset();
  EXPECT_EQ(Order({{"first", &first}, {"second", &second}, {"third", &third}}),
            (Names{"first", "third"}));
  EXPECT_EQ(snapshots().waiting_syncs(), 0u);
}

TEST_F(SyncOrder, AScriptThatRunsIsNoInstant) {
  server_.set_tick_step(1'000'000'000);
  std::optional<SyncPeer> peer;
  int begun_inside = 0;
  server_.OnPoll([&] {
    if (!peer) peer.emplace(server_);
    client_.Send({"PING"});
    server_.Turn();
    begun_inside += peer->begun;
    client_.Send({"SCRIPT", "KILL"});
    server_.Turn();
  });
  server_.Connect().Send({"EVAL", "redis.call('SET','a',1) for i = 1, 1000000 do end", "0"});
  server_.set_tick_step(0);
  server_.OnPoll(nullptr);
  ASSERT_TRUE(peer);
  EXPECT_EQ(begun_inside, 0);
  server_.AdvanceTime(1);
  EXPECT_EQ(peer->begun, 1);
}

TEST_F(LoggedSyncOrder, MakesWayForALogThatTakesNoChanges) {
  Delay(client_, "100000");
  SyncPeer peer(server_);
  server_.Turn();
  ASSERT_EQ(peer.begun, 1);
  client_.Run({"SET", "k", "v"});
  EXPECT_EQ(peer.reader->fault(), 0);
  disk_.sync_fault = EIO;
  server_.AdvanceTime(3000);
  EXPECT_EQ(peer.reader->fault(), ECANCELED);
  TestClient& again = server_.Connect();
  EXPECT_EQ(again.Run({"SET", "k", "v"}).ToText().substr(0, 8), "-MISCONF");
  disk_.sync_fault = 0;
  Delay(again, "0");
  server_.AdvanceTime(30'000);  // the base has been delayed, too
  EXPECT_EQ(again.Run({"SET", "k", "v"}).ToText(), "+OK");
}

}  // namespace
}  // namespace sluice
