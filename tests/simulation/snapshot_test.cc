// A snapshot is of one instant: after a random history, and with any number of changes while it is
// written, what a server loads from it is what the server held that began it; and its log, written
// anew at any moment, holds what the server holds.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/snapshots/snapshots.h"
#include "tests/simulation/contents.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr uint64_t kSnapshotSeeds = 100;

TestEngine::Options With(MemoryDisk& disk, uint64_t seed) {
  TestEngine::Options options;
  options.seed = seed;
  options.disk = &disk;
  options.audits = false;
  return options;
}

// About what many use: a bucket, logs of requests, a lock. They outgrow their entries.
std::vector<std::string> OfACrowd(SimulationRandom& random) {
  const auto number = [&random](int64_t low, int64_t high) {
    return std::to_string(Between(random, low, high));
  };
  const std::string owner = "owner:" + number(0, 60);
  switch (Between(random, 0, 8)) {
    case 0:
      return {"LBUCKET.GET", "bucket"};
    case 1:
      return {"LIMIT.TAKE", "log", "LOG", "5000", "2000"};
    case 2:
      return {"LIMIT.TAKE", "leaky", "LEAKY", number(4000, 5000), "2000", "COST", number(1, 9)};
    case 3:
      return {"LIMIT.REFUND", "log", number(1, 3)};
    case 4:
    case 5:
      return {"LOCK.ACQUIRE", "crowd", owner, "LEASE", number(1, 900), "SHARED"};
    case 6:
      return {"LOCK.RELEASE", "crowd", owner};
    default:
      return {"LBUCKET.COUNT", "bucket", number(0, 4)};
  }
}

void Play(TestEngine& server, RandomClients& clients, SimulationRandom& random, int64_t steps) {
  TestClient& crowd = server.Connect();
  for (; steps > 0; --steps) {
    for (int i = 0; i < 3; ++i) clients.Say(crowd, OfACrowd(random));
    TestClient& client = clients.Step(random);
    if (Between(random, 0, 40) == 0)
      client.Run({"DEBUG", "SET-ACTIVE-EXPIRE", Between(random, 0, 1) == 0 ? "0" : "1"});
    server.AdvanceTime(Between(random, 0, 25));
  }
  crowd.Disconnect();
}

// On the machine as it was at that instant.
void ExpectLoaded(const MemoryDisk& files, const Now& instant, const Contents& contents,
                  uint64_t seed) {
  MemoryDisk disk = files;
  TestEngine::Options options = With(disk, seed);
  options.uptime_ms = instant.ms();
  options.unix_ms = instant.unix_offset_ms;
  TestEngine again(options);
  ASSERT_EQ(again.start_fault(), "");
  again.Settle();
  ASSERT_FALSE(again.shutdown_code().has_value()) << again.log().back();
  ASSERT_EQ(ContentsOf(again), contents);
  EXPECT_EQ(again.Audit(), "");
}

void CompareImages(uint64_t seed) {
  SimulationRandom random(seed);
  MemoryDisk disk;
  disk.files["/proc/sys/kernel/random/boot_id"] = "a boot\n";
  TestEngine server(With(disk, seed));
  // In pieces of an element or a few, all but the smallest values.
  server.engine().part<Snapshots>().set_pieces(100, 1 + seed % 50);
  // For nearly all values waits, then, what would change them.
  if (seed % 3 == 0) server.engine().keyspace().set_image_large_bytes(100);
  if (seed % 2 == 0) {
    for (const std::string type : {"hash", "set", "zset"})
      server.Connect().Run({"CONFIG", "SET", type + "-max-listpack-entries", "3"});
    server.Connect().Run({"CONFIG", "SET", "list-max-listpack-size", "2"});
  }
  RandomClients clients(server);
  Play(server, clients, random, 200);
  for (int image = 0; image < 2; ++image) {
    TestClient& admin = server.Connect();
    // After each few keys it waits for time to pass.
    admin.Run({"CONFIG", "SET", "rdb-key-save-delay", "100"});
    admin.Run({"DEBUG", "SET-ACTIVE-EXPIRE", "1"});
    server.Settle();
    const Now instant = server.now();
    const Contents contents = ContentsOf(server);
    ASSERT_EQ(admin.Run({"BGSAVE"}).ToText(), "+Background saving started");
    for (int left = 300; left > 0 && server.engine().part<Snapshots>().saving(); --left) {
      Play(server, clients, random, 1);
    }
    for (int left = 1000; left > 0 && server.engine().part<Snapshots>().saving(); --left)
      server.AdvanceTime(100);
    ASSERT_FALSE(server.engine().part<Snapshots>().saving());
    ASSERT_FALSE(server.engine().part<Snapshots>().last_failed());
    ExpectLoaded(disk, instant, contents, seed + 1);
  }
}

TEST(SnapshotSimulation, IsOfOneInstant) { RunSeeds(kSnapshotSeeds, CompareImages); }

}  // namespace
}  // namespace sluice
