// A server that comes back from its log is the server that went: after a random history its files
// alone, loaded at any later time on a machine that has lost all but what was synced, make the same
// keyspace. And on a disk that tears, forgets and answers late, what is found is always a beginning
// of what happened, whole turns only, that holds all that clients were told.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>

#include "tests/simulation/contents.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr uint64_t kSeeds = 60;
constexpr uint64_t kPowerSeeds = 1500;
constexpr int kSteps = 300;

TestEngine::Options With(MemoryDisk& disk, uint64_t seed, std::string fsync) {
  TestEngine::Options options;
  options.seed = seed;
  options.disk = &disk;
  options.audits = false;
  options.config = {{"appendonly", "yes"}, {"appendfsync", std::move(fsync)}};
  return options;
}

void Play(TestEngine& server, SimulationRandom& random) {
  TestClient* clients[] = {&server.Connect(), &server.Connect()};
  clients[1]->Run({"SELECT", "1"});
  TestClient& waiting = server.Connect();
  for (int step = 0; step < kSteps; ++step) {
    TestClient& client = *clients[Between(random, 0, 1)];
    const bool in_multi = Between(random, 0, 9) == 0;
    if (in_multi) client.Run({"MULTI"});
    client.Run(RandomCommand(random));
    if (in_multi) client.Run(RandomCommand(random));
    if (in_multi) client.Run({"EXEC"});
    while (waiting.Next()) {
    }
    if (!server.engine().Find(waiting.id())->blocked) waiting.Send(RandomWait(random));
    if (Between(random, 0, 60) == 0) client.Run({"SWAPDB", "0", "1"});
    if (Between(random, 0, 80) == 0) client.Run({"FLUSHDB"});
    // Late timers: what has ended stays until it is met, or they go on.
    if (Between(random, 0, 40) == 0) {
      client.Run({"DEBUG", "SET-ACTIVE-EXPIRE", Between(random, 0, 1) == 0 ? "0" : "1"});
    }
    if (Between(random, 0, 200) == 0) {
      client.Run({"CONFIG", "SET", "appendonly", "no"});
      client.Run({"CONFIG", "SET", "appendonly", "yes"});
    }
    server.AdvanceTime(Between(random, 0, 25));
  }
  clients[0]->Run({"DEBUG", "SET-ACTIVE-EXPIRE", "1"});
}

void Compare(uint64_t seed) {
  SimulationRandom random(seed);
  MemoryDisk disk;
  TestEngine server(With(disk, seed, "always"));
  Play(server, random);
  std::mt19937_64 chance(seed);
  disk.PowerCut(chance);
  const int64_t later_ms = Between(random, 0, 1) == 0 ? 0 : Between(random, 0, 100'000);
  server.AdvanceTime(later_ms);
  TestEngine::Options options = With(disk, seed + 1, "always");
  options.uptime_ms = server.clock().Sample().ms();
  TestEngine again(options);
  ASSERT_EQ(again.start_fault(), "");
  again.Settle();
  ASSERT_FALSE(again.shutdown_code().has_value()) << again.log().back();
  ASSERT_FALSE(again.engine().part<LogState>().loading);
  ASSERT_EQ(ContentsOf(server), ContentsOf(again));
  EXPECT_EQ(again.Audit(), "");
}

TEST(LogSimulation, WhatIsLoadedIsWhatWas) {
  for (const uint64_t seed : SimulationSeeds(kSeeds)) {
    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    Compare(seed);
    if (testing::Test::HasFailure()) return;
  }
}

// --- power cuts

int64_t Number(TestEngine& server, const std::string& key) {
  const std::string text = server.Connect().Run({"GET", key}).ToText();
  return text == "(nil)" ? 0 : std::stoll(text.substr(1));
}

// Clients write while the disk answers late, until the power goes. The number acknowledged last.
int64_t WriteUntilPowerCut(MemoryDisk& disk, uint64_t seed, const std::string& fsync,
                           int64_t& asked) {
  SimulationRandom random(seed);
  TestEngine server(With(disk, seed, fsync));
  server.Settle();
  TestClient* clients[] = {&server.Connect(), &server.Connect(), &server.Connect()};
  server.set_aside_waits(true);
  int64_t acknowledged = 0;
  const auto listen = [&] {
    for (TestClient* client : clients) {
      while (const std::optional<Reply> reply = client->Next()) {
        acknowledged = std::max<int64_t>(acknowledged, std::stoll(reply->ToText().substr(1)));
      }
    }
  };
  for (int64_t step = Between(random, 0, 40); step > 0; --step) {
    if (Between(random, 0, 2) == 0) {
      server.RunAsideNow();
      server.Settle();
    } else if (Between(random, 0, 20) == 0) {
      server.AdvanceTime(1000);
    } else {
      // Both or none.
      clients[Between(random, 0, 2)]->Send(
          {"EVAL", "redis.call('incr','a') return redis.call('incr','b')", "0"});
      ++asked;
    }
    listen();
  }
  if (Between(random, 0, 3) == 0) server.engine().FinishLog();
  return acknowledged;
}

void CutPower(uint64_t seed) {
  std::mt19937_64 chance(seed);
  const std::string fsync = chance() % 2 == 0 ? "always" : "everysec";
  MemoryDisk disk;
  int64_t asked = 0, found = 0;
  for (int life = 0; life < 3; ++life) {
    const int64_t before = asked;
    const int64_t acknowledged = WriteUntilPowerCut(disk, seed * 3 + life, fsync, asked);
    disk.PowerCut(chance);
    TestEngine again(With(disk, seed, fsync));
    ASSERT_EQ(again.start_fault(), "");
    again.Settle();
    ASSERT_FALSE(again.shutdown_code().has_value()) << again.log().back();
    const int64_t count = Number(again, "a");
    EXPECT_EQ(count, Number(again, "b")) << "half of a script";
    if (fsync == "always") {
      EXPECT_GE(count, acknowledged) << "acknowledged, and lost";
    }
    EXPECT_LE(count, found + asked - before);
    found = count;
  }
}

TEST(LogSimulation, APowerCutLosesNothingThatWasAcknowledged) {
  for (const uint64_t seed : SimulationSeeds(kPowerSeeds)) {
    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    CutPower(seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace sluice
