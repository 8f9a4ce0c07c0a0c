// A full sync: all data of a master take the place of a server's own, if their file is whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "storage/rdb/rdb_file_writer.h"
#include "tests/support/byte_strings.h"
#include "tests/support/rdb_samples.h"
#include "tests/support/seed.h"
#include "tests/unit/server/following/follower_world.h"

namespace sluice {
namespace {

constexpr char kLibrary[] =
    "#!lua name=of_the_master\nredis.register_function('f', function() return 1 end)";

std::string TokenOf(const Reply& grant) { return std::to_string(grant.elements.at(0).integer); }

void Fill(TestClient& client, const std::string& name, int keys = 10) {
  for (int i = 0; i < keys; ++i) client.Run({"SET", Concat(name, ":", i), "v"});
}

// The bytes of a file that `write` writes.
template <typename Write>
std::string FileOf(const Write& write) {
  StringSink sink;
  const RdbContext context;
  RdbFileWriter writer(sink, context);
  write(writer);
  EXPECT_TRUE(writer.End());
  return sink.bytes;
}

// Sound as a file, but its library does not run.
std::string BadLibrary() {
  return FileOf([](RdbFileWriter& writer) { writer.Function("#!lua name=bad\nerror('no')"); });
}

class FullSync : public testing::Test {
 protected:
  FullSync() { Fill(of_replica(), "old"); }
  TestClient& of_master() { return master_client_; }
  TestClient& of_replica() { return replica_client_; }
  std::string KeysOfReplica() { return of_replica().Run({"DBSIZE"}).ToText(); }

  TestEngine master_;
  TestEngine replica_;
  TestClient& master_client_ = master_.Connect();
  TestClient& replica_client_ = replica_.Connect();
  Follower follower_{replica_};
};

// --- what comes

TEST_F(FullSync, BringsAllThatTheMasterHas) {
  of_master().Run({"SET", "k", "v", "PX", "100000"});
  of_master().Run({"HSET", "h", "f", "v"});
  of_master().Run({"HPEXPIRE", "h", "50000", "FIELDS", "1", "f"});
  of_master().Run({"LOCK.ACQUIRE", "held", "me", "LEASE", "70000"});
  const std::string token = TokenOf(of_master().Run({"LOCK.ACQUIRE", "past", "me", "LEASE", "1"}));
  of_master().Run({"LOCK.RELEASE", "past", "me"});
  of_master().Run({"LIMIT.TAKE", "user", "ROLLING", "10", "3600000", "COST", "4"});
  of_master().Run({"LIMIT.POLICY", "SET", "plan", "WINDOW", "5", "1000"});
  of_master().Run({"FUNCTION", "LOAD", kLibrary});
  of_master().Run({"SELECT", "3"});
  of_master().Run({"SET", "other", "database"});

  EXPECT_EQ(follower_.Take(ImageOf(master_)), "");
  EXPECT_TRUE(follower_.outcome()->facts.is_of_sluice);
  EXPECT_EQ(KeysOfReplica(), ":4");
  EXPECT_EQ(of_replica().Run({"PTTL", "k"}).ToText(), ":100000");
  EXPECT_EQ(of_replica().Run({"HPTTL", "h", "FIELDS", "1", "f"}).ToText(), "[:50000]");
  of_master().Run({"SELECT", "0"});
  EXPECT_EQ(of_replica().Run({"LOCK.INFO", "held"}).ToText(),
            of_master().Run({"LOCK.INFO", "held"}).ToText());
  EXPECT_EQ(of_replica().Run({"FENCED", "past", token, "SET", "k", "w"}).ToText(), "+OK");
  EXPECT_EQ(of_replica()
                .Run({"LIMIT.TAKE", "user", "ROLLING", "10", "3600000", "PEEK"})
                .elements.at(2)
                .integer,
            6);
  EXPECT_EQ(of_replica().Run({"LIMIT.POLICY", "LIST"}).ToText(),
            of_master().Run({"LIMIT.POLICY", "LIST"}).ToText());
  EXPECT_EQ(of_replica().Run({"FCALL", "f", "0"}).ToText(), ":1");
  of_replica().Run({"SELECT", "3"});
  EXPECT_EQ(of_replica().Run({"GET", "other"}).ToText(), "\"database\"");
}

TEST_F(FullSync, LeavesNothingOfBefore) {
  const std::string token = TokenOf(of_replica().Run({"LOCK.ACQUIRE", "l", "me", "LEASE", "9000"}));
  of_replica().Run({"LOCK.RELEASE", "l", "me"});
  of_replica().Run({"LOCK.ACQUIRE", "held", "me", "LEASE", "9000"});
  of_replica().Run({"LIMIT.POLICY", "SET", "plan", "WINDOW", "5", "1000"});
  of_replica().Run({"FUNCTION", "LOAD", kLibrary});
  of_replica().Run({"SELECT", "5"});
  Fill(of_replica(), "old");

  EXPECT_EQ(follower_.Take(ImageOf(master_)), "");
  EXPECT_EQ(KeysOfReplica(), ":0");
  of_replica().Run({"SELECT", "0"});
  EXPECT_EQ(KeysOfReplica(), ":0");
  EXPECT_EQ(of_replica().Run({"LOCK.LIST"}).ToText(),
            master_.Connect().Run({"LOCK.LIST"}).ToText());
  EXPECT_NE(of_replica().Run({"FENCED", "l", token, "SET", "k", "w"}).ToText(), "+OK");
  EXPECT_EQ(of_replica().Run({"LIMIT.POLICY", "LIST"}).ToText(), "[]");
  EXPECT_EQ(of_replica().Run({"FUNCTION", "LIST"}).ToText(), "[]");
}

// The master's engine time, whatever the clocks of the two machines say.
TEST(FullSyncTime, IsTheMasters) {
  constexpr int64_t kYearMs = 31'536'000'000;
  for (const int64_t skew_ms :
       {int64_t{0}, int64_t{5000}, int64_t{-5000}, 10 * kYearMs, -10 * kYearMs}) {
    for (const int64_t uptime_ms : {int64_t{0}, int64_t{7'000'000}, 3 * kYearMs}) {
      SCOPED_TRACE(Concat("skew ", skew_ms, ", uptime ", uptime_ms));
      TestEngine master(TestEngine::Options{.uptime_ms = kYearMs});
      TestEngine replica(
          TestEngine::Options{.unix_ms = 1'700'000'000'000 + skew_ms, .uptime_ms = uptime_ms});
      TestClient& client = replica.Connect();
      TestClient& waiter = replica.Connect();
      waiter.Send({"XREAD", "BLOCK", "5000", "STREAMS", "s", "$"});
      Follower follower(replica);
      TestClient& of_master = master.Connect();
      of_master.Run({"SET", "k", "v", "PX", "100000"});
      of_master.Run({"LOCK.ACQUIRE", "l", "me", "LEASE", "2000"});
      const std::string image = ImageOf(master);
      const int64_t made_ms = follower.loader().OwnMs();
      master.AdvanceTime(300);
      replica.AdvanceTime(300);
      EXPECT_EQ(follower.Take(image, made_ms), "");
      EXPECT_EQ(replica.now().ms(), master.now().ms());
      EXPECT_EQ(client.Run({"PTTL", "k"}).ToText(), ":99700");
      EXPECT_EQ(client.Run({"LOCK.INFO", "l"}).ToText(),
                of_master.Run({"LOCK.INFO", "l"}).ToText());
      replica.AdvanceTime(4000);
      EXPECT_FALSE(waiter.Next());
      replica.AdvanceTime(800);
      EXPECT_TRUE(waiter.Next());
      EXPECT_EQ(replica.Audit(), "");
    }
  }
}

// Redis's data have no engine time; and a key stays until the master says that it is over.
TEST_F(FullSync, OfRedisLeavesEngineTimeAlone) {
  of_master().Run({"SET", "long", "v", "PX", "100000"});
  of_master().Run({"SET", "over", "v", "PX", "10"});
  const std::string image = ImageOf(master_, /*for_redis=*/true);
  const int64_t before_ms = replica_.now().ms();
  replica_.AdvanceTime(1000);
  EXPECT_EQ(follower_.Take(image, 17), "");
  EXPECT_FALSE(follower_.outcome()->facts.is_of_sluice);
  EXPECT_EQ(replica_.now().ms(), before_ms + 1000);
  EXPECT_EQ(of_replica().Run({"PTTL", "long"}).ToText(), ":99000");
  EXPECT_EQ(of_replica().Run({"GET", "over"}).ToText(), "(nil)");
  EXPECT_EQ(KeysOfReplica(), ":2");
  replica_.AdvanceTime(10);
  EXPECT_EQ(KeysOfReplica(), ":2");
  EXPECT_EQ(of_replica().Run({"DEL", "over"}).ToText(), ":1") << "as of redis-server";
  EXPECT_EQ(KeysOfReplica(), ":1");
}

TEST_F(FullSync, SaysWhatTheFileSaysOfItself) {
  const StreamPosition place{.id = *ReplicationId::Of(std::string(40, 'e')), .offset = 17, .db = 3};
  master_.engine().part<LogState>().stream = place;
  Fill(of_master(), "new", 3);
  EXPECT_EQ(follower_.Take(ImageOf(master_)), "");
  EXPECT_EQ(follower_.outcome()->facts.stream, place);
  EXPECT_EQ(follower_.outcome()->facts.keys, 3u);
  EXPECT_EQ(follower_.outcome()->facts.version, "7.0.15");
}

TEST_F(FullSync, KeepsScriptsOfAnOldRedis) {
  const std::string image = FileOf([](RdbFileWriter& writer) {
    writer.Aux("lua", "return 1");
    writer.Aux("lua", "return 2");
  });
  EXPECT_EQ(follower_.Take(image), "");
  EXPECT_EQ(follower_.outcome()->facts.scripts, (std::vector<std::string>{"return 1", "return 2"}));
}

// --- others meanwhile

TEST_F(FullSync, OthersAreToldThatItLoads) {
  Fill(of_master(), "new", 300);
  const std::string image = ImageOf(master_);
  TestClient& other = replica_.Connect();
  other.Run({"WATCH", "old:1"});
  TestClient& tracking = replica_.Connect();
  tracking.Run({"HELLO", "3"});
  tracking.Run({"CLIENT", "TRACKING", "ON"});
  tracking.Run({"GET", "old:1"});
  replica_.set_tick_step(1'000'000);
  follower_.Begin(image);
  replica_.Turn();
  std::vector<std::string> answers;
  while (replica_.engine().loading()) {
    replica_.engine().Receive(other.id(), "GET new:1\r\nPING\r\nEXISTS old:1\r\n");
    replica_.Turn();
    if (!replica_.engine().loading()) break;  // these were served
    while (auto reply = other.Next()) answers.push_back(reply->ToText());
  }
  replica_.set_tick_step(0);
  replica_.Settle();
  other.TakeBytes();
  EXPECT_GT(follower_.slices(), 2);
  ASSERT_GE(answers.size(), 6u);
  for (const std::string& answer : answers)
    EXPECT_EQ(answer, "-LOADING Redis is loading the dataset in memory");
  EXPECT_EQ(KeysOfReplica(), ":300");
  EXPECT_EQ(Info(replica_, "loading"), "0");
  other.Run({"MULTI"});
  other.Run({"GET", "new:1"});
  EXPECT_EQ(other.Run({"EXEC"}).ToText(), "(nil-array)") << "a watched key is gone";
  EXPECT_EQ(tracking.Next()->ToText(), ">[\"invalidate\", (nil)]");
}

TEST_F(FullSync, TheOldDataAreFreedInSlicesIfTheyAreToBe) {
  const std::string image = ImageOf(master_);
  EXPECT_EQ(follower_.Take(image), "");
  EXPECT_EQ(replica_.engine().statistics().freed_lazily, 0u);
  Fill(of_replica(), "old");
  of_replica().Run({"CONFIG", "SET", "replica-lazy-flush", "yes"});
  EXPECT_EQ(follower_.Take(image), "");
  EXPECT_GT(replica_.engine().statistics().freed_lazily, 0u);
}

TEST_F(FullSync, ALateScriptEndsFirst) {
  const std::string image = ImageOf(master_);
  of_replica().Run({"CONFIG", "SET", "busy-reply-threshold", "1"});
  bool is_inside = false;
  replica_.OnPoll([&] {
    if (!std::exchange(is_inside, true)) follower_.Begin(image);
    replica_.Turn();
  });
  replica_.set_tick_step(6'000'000);
  EXPECT_EQ(
      of_replica()
          .Run({"EVAL", "for i = 1, 3000000 do local x = i end return redis.call('GET', 'old:1')",
                "0"})
          .ToText(),
      "\"v\"");
  replica_.set_tick_step(0);
  replica_.OnPoll({});
  EXPECT_TRUE(is_inside);
  replica_.Settle();
  EXPECT_EQ(follower_.outcome()->fault, "");
  EXPECT_EQ(KeysOfReplica(), ":0");
}

// --- files that are not whole

TEST_F(FullSync, ATornFileChangesNothing) {
  Fill(of_master(), "new", 20);
  of_master().Run({"LOCK.ACQUIRE", "held", "me", "LEASE", "9000"});
  const std::string image = ImageOf(master_);
  for (size_t bytes = 0; bytes < image.size(); bytes += 7) {
    EXPECT_NE(follower_.Take(image.substr(0, bytes)), "") << bytes;
    EXPECT_TRUE(follower_.outcome()->kept_old_data) << bytes;
  }
  EXPECT_EQ(KeysOfReplica(), ":10");
  EXPECT_EQ(follower_.slices(), 0);
  EXPECT_EQ(follower_.Take(image), "");
  EXPECT_EQ(KeysOfReplica(), ":21");
}

TEST_F(FullSync, ADamagedFileChangesNothing) {
  Fill(of_master(), "new", 20);
  const std::string image = ImageOf(master_);
  for (size_t at = 0; at < image.size(); ++at) {
    std::string damaged = image;
    damaged[at] ^= 0x10;
    EXPECT_NE(follower_.Take(damaged), "") << at;
  }
  EXPECT_EQ(KeysOfReplica(), ":10");
}

TEST_F(FullSync, AFileWithMoreBehindItsEndChangesNothing) {
  EXPECT_THAT(follower_.Take(ImageOf(master_) + "*1"), testing::HasSubstr("2 bytes stand behind"));
  EXPECT_TRUE(follower_.outcome()->kept_old_data);
  EXPECT_EQ(KeysOfReplica(), ":10");
}

TEST_F(FullSync, AFileThatIsNotThereChangesNothing) {
  follower_.Begin("");
  EXPECT_TRUE(follower_.outcome()->kept_old_data);
  EXPECT_EQ(KeysOfReplica(), ":10");
}

TEST_F(FullSync, MoreDatabasesThanThereAreChangeNothing) {
  of_master().Run({"SELECT", "15"});
  Fill(of_master(), "new", 1);
  TestEngine small(TestEngine::Options{.config = {{"databases", "4"}}});
  Fill(small.Connect(), "old");
  Follower follower(small);
  EXPECT_THAT(follower.Take(ImageOf(master_)), testing::HasSubstr("(databases)"));
  EXPECT_EQ(small.Connect().Run({"DBSIZE"}).ToText(), ":10");
}

// What only a run of it shows: the old data are gone by then, and the half of the new ones too.
TEST_F(FullSync, ALibraryThatDoesNotRunLeavesNothing) {
  EXPECT_THAT(follower_.Take(BadLibrary()), testing::HasSubstr("no"));
  EXPECT_FALSE(follower_.outcome()->kept_old_data);
  EXPECT_EQ(KeysOfReplica(), ":0");
  Fill(of_master(), "new", 20);
  EXPECT_EQ(follower_.Take(ImageOf(master_)), "");
  EXPECT_EQ(KeysOfReplica(), ":20");
}

// A redis-server may have modules that are unknown here: with rdb-skip-unknown the rest is loaded.
TEST_F(FullSync, WhatIsOfAnUnknownModuleIsLeftOutIfItIsToBe) {
  EXPECT_THAT(follower_.Take(FileOfAModule()), testing::HasSubstr("rdb-skip-unknown yes"));
  EXPECT_TRUE(follower_.outcome()->kept_old_data);
  EXPECT_EQ(KeysOfReplica(), ":10");
  of_replica().Run({"CONFIG", "SET", "rdb-skip-unknown", "yes"});
  EXPECT_EQ(follower_.Take(FileOfAModule()), "");
  EXPECT_EQ(of_replica().Run({"KEYS", "*"}).ToText(), "[\"k\"]");
  EXPECT_TRUE(std::ranges::any_of(replica_.log(), [](const std::string& line) {
    return line.find("values of unknown modules were left out: 1 of \"MBbloom--\"") != line.npos;
  }));
}

// Files whose checksum is right and whose content is not. What has passed the look is loaded, or it
// is of the few things that only a run shows.
TEST_F(FullSync, WhatHasPassedIsLoaded) {
  of_master().Run({"SET", "k", "v", "PX", "100000"});
  of_master().Run({"HSET", "h", "f", "v", "g", "w"});
  of_master().Run({"HPEXPIRE", "h", "50000", "FIELDS", "1", "f"});
  of_master().Run({"RPUSH", "list", "a", "1", std::string(100, 'x')});
  of_master().Run({"ZADD", "z", "1", "a", "2.5", "b"});
  of_master().Run({"SADD", "s", "1", "2", "3"});
  of_master().Run({"XADD", "x", "1-1", "f", "v"});
  of_master().Run({"XGROUP", "CREATE", "x", "g", "0"});
  of_master().Run({"LOCK.ACQUIRE", "held", "me", "LEASE", "70000"});
  of_master().Run({"LIMIT.TAKE", "user", "LOG", "10", "3600000", "COST", "4"});
  of_master().Run({"LIMIT.POLICY", "SET", "plan", "WINDOW", "5", "1000"});
  of_master().Run({"FUNCTION", "LOAD", kLibrary});
  const std::string image = ImageOf(master_);
  const std::string body = image.substr(0, image.size() - 9);  // the end mark, and the checksum
  const uint64_t seed = TestSeed(1);
  std::mt19937_64 random(seed);
  int kept = 0, loaded = 0, lost = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string lying = body;
    for (uint64_t bytes = 1 + random() % 3; bytes > 0; --bytes)
      lying[9 + random() % (lying.size() - 9)] = static_cast<char>(random());
    const std::string fault = follower_.Take(SealedRdb(lying));
    const bool is_kept = follower_.outcome()->kept_old_data;
    kept += is_kept;
    loaded += fault.empty();
    lost += !is_kept && !fault.empty();
    if (is_kept || fault.empty()) continue;
    const bool only_a_run_shows = fault.find("library") != std::string::npos ||
                                  fault.find("sluice-") != std::string::npos ||
                                  fault.find("twice") != std::string::npos;
    EXPECT_TRUE(only_a_run_shows) << "seed " << seed << ", file " << i << ": " << fault;
    EXPECT_EQ(KeysOfReplica(), ":0");
  }
  EXPECT_EQ(replica_.Audit(), "");
  EXPECT_GT(kept, 300);
  EXPECT_GT(loaded, 300);
  EXPECT_LT(lost, 1000);
}

// --- one after the other

TEST_F(FullSync, AnotherOneTakesThePlaceOfTheFirst) {
  Fill(of_master(), "new", 20);
  of_master().Run({"LOCK.ACQUIRE", "held", "me", "LEASE", "9000"});
  EXPECT_EQ(follower_.Take(ImageOf(master_)), "");
  of_master().Run({"DEL", "new:1", "held"});
  of_master().Run({"LOCK.ACQUIRE", "held", "another", "LEASE", "9000"});
  EXPECT_EQ(follower_.Take(ImageOf(master_)), "");
  EXPECT_EQ(KeysOfReplica(), ":20");
  EXPECT_EQ(of_replica().Run({"LOCK.INFO", "held"}).ToText(),
            of_master().Run({"LOCK.INFO", "held"}).ToText());
}

TEST_F(FullSync, OneThatIsCancelledChangesNothing) {
  Fill(of_master(), "new", 20);
  const std::string image = ImageOf(master_);
  replica_.set_aside_waits(true);
  follower_.Begin(image);
  EXPECT_TRUE(follower_.loader().busy());
  EXPECT_TRUE(follower_.loader().Cancel());
  EXPECT_FALSE(follower_.loader().busy());
  while (replica_.RunBackgroundNow()) continue;
  replica_.Settle();
  EXPECT_FALSE(follower_.outcome());
  EXPECT_EQ(KeysOfReplica(), ":10");
  replica_.set_aside_waits(false);
  EXPECT_EQ(follower_.Take(image), "");
  EXPECT_EQ(KeysOfReplica(), ":20");
}

// --- the log

class LoggedFullSync : public testing::Test {
 protected:
  static std::vector<std::pair<std::string, std::string>> Config() {
    return {{"appendonly", "yes"}, {"appendfsync", "always"}};
  }
  LoggedFullSync() {
    Fill(master_.Connect(), "new", 20);
    image_ = ImageOf(master_);
    Fill(replica_.Connect(), "old");
  }
  // Of a server that starts from what is on disk now.
  std::string KeysAfterAStart() const {
    MemoryDisk disk = disk_;
    TestEngine again(With(disk, Config()));
    again.Settle();
    if (again.shutdown_code()) return "does not start";
    return again.Connect().Run({"DBSIZE"}).ToText();
  }

  TestEngine master_;
  MemoryDisk disk_;
  TestEngine replica_{With(disk_, Config())};
  std::string image_;
};

TEST_F(LoggedFullSync, StandsInTheLogBehindIt) {
  Follower follower(replica_);
  EXPECT_EQ(follower.Take(image_), "");
  replica_.AdvanceTime(1000);
  EXPECT_EQ(KeysAfterAStart(), ":20");
  replica_.Connect().Run({"SET", "more", "v"});
  EXPECT_EQ(KeysAfterAStart(), ":21");
}

TEST_F(LoggedFullSync, ACrashBeforeItsBaseFindsTheDataOfBefore) {
  Follower follower(replica_);
  replica_.set_tick_step(1'000'000);
  follower.Begin(image_);
  while (replica_.engine().loading()) {
    replica_.Turn();
    EXPECT_EQ(KeysAfterAStart(), ":10");
  }
  replica_.set_tick_step(0);
}

TEST_F(LoggedFullSync, OneThatHasFailedLeavesTheFilesAsTheyWere) {
  Follower follower(replica_);
  EXPECT_NE(follower.Take(BadLibrary()), "");
  replica_.AdvanceTime(3000);
  EXPECT_EQ(KeysAfterAStart(), ":10");
  EXPECT_EQ(follower.Take(image_), "");
  replica_.AdvanceTime(1000);
  EXPECT_EQ(KeysAfterAStart(), ":20");
}

TEST_F(LoggedFullSync, OneThatHasFailedIsNotSavedAtTheEnd) {
  MemoryDisk disk;
  TestEngine server(With(disk, {{"save", "1 1"}}));
  Fill(server.Connect(), "old");
  server.Connect().Run({"SAVE"});
  const std::string before = disk.files.at("/dump.rdb");
  Follower follower(server);
  EXPECT_NE(follower.Take(BadLibrary()), "");
  server.AdvanceTime(5000);
  EXPECT_TRUE(server.engine().SaveForHandOver());
  EXPECT_EQ(disk.files.at("/dump.rdb"), before);
  EXPECT_EQ(follower.Take(image_), "");
  EXPECT_TRUE(server.engine().SaveForHandOver());
  EXPECT_NE(disk.files.at("/dump.rdb"), before);
}

TEST_F(LoggedFullSync, WithoutAnotherOneWhatThereIsCounts) {
  Follower follower(replica_);
  EXPECT_NE(follower.Take(BadLibrary()), "");
  replica_.engine().part<LogService>().Promoted();
  replica_.Connect().Run({"SET", "k", "v"});
  replica_.AdvanceTime(3000);
  EXPECT_EQ(KeysAfterAStart(), ":1");
}

TEST_F(LoggedFullSync, OnAFullDiskTheBaseIsTriedAgain) {
  Follower follower(replica_);
  disk_.room = 100;
  EXPECT_EQ(follower.Take(image_), "");
  replica_.AdvanceTime(3000);
  EXPECT_EQ(KeysAfterAStart(), ":10");
  disk_.room = SIZE_MAX;
  replica_.AdvanceTime(3000);
  EXPECT_EQ(KeysAfterAStart(), ":20");
}

TEST_F(LoggedFullSync, GivesUpWhatIsBeingWrittenOfTheOldData) {
  Follower follower(replica_);
  TestClient& client = replica_.Connect();
  client.Run({"CONFIG", "SET", "rdb-key-save-delay", "100000"});
  client.Run({"BGREWRITEAOF"});
  follower.Begin(image_);
  client.Run({"CONFIG", "SET", "rdb-key-save-delay", "0"});
  replica_.AdvanceTime(3000);
  EXPECT_EQ(follower.outcome()->fault, "");
  EXPECT_EQ(KeysAfterAStart(), ":20");
}

}  // namespace
}  // namespace sluice
