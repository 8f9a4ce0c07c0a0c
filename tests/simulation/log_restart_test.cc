// A server that comes back from its log is the server that went: after a random history its files
// alone, loaded at any later time on a machine that has lost all but what was synced, make the same
// keyspace; and what was relative goes on with the machine's time while it has not been booted,
// else with the wall clock, however that was stepped before. And on a disk that tears, forgets and
// answers late, what is found is always a beginning of what happened, whole turns only, that holds
// all that clients were told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <string>

#include "server/log/log_service.h"
#include "tests/simulation/contents.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr uint64_t kLogRestartSeeds = 60;
constexpr uint64_t kPowerSeeds = 10'000;
constexpr int kLogRestartSteps = 300;

TestEngine::Options With(MemoryDisk& disk, uint64_t seed, std::string fsync) {
  TestEngine::Options options;
  options.seed = seed;
  options.disk = &disk;
  options.audits = false;
  options.config = {{"appendonly", "yes"}, {"appendfsync", std::move(fsync)}};
  return options;
}

void Play(TestEngine& server, SimulationRandom& random) {
  RandomClients clients(server);
  for (int step = 0; step < kLogRestartSteps; ++step) {
    TestClient& client = clients.Step(random);
    // Late timers: what has ended stays until it is met, or they go on.
    if (Between(random, 0, 40) == 0) {
      client.Run({"DEBUG", "SET-ACTIVE-EXPIRE", Between(random, 0, 1) == 0 ? "0" : "1"});
    }
    // Beside what follows: a base of this instant.
    if (Between(random, 0, 60) == 0) {
      client.Run({"CONFIG", "SET", "rdb-key-save-delay", Between(random, 0, 1) == 0 ? "0" : "50"});
      client.Run({"BGREWRITEAOF"});
    }
    if (Between(random, 0, 200) == 0) {
      client.Run({"CONFIG", "SET", "appendonly", "no"});
      client.Run({"CONFIG", "SET", "appendonly", "yes"});
    }
    if (Between(random, 0, 40) == 0) server.clock().StepWall(Between(random, -1000, 1000));
    server.AdvanceTime(Between(random, 0, 25));
  }
  server.Connect().Run({"DEBUG", "SET-ACTIVE-EXPIRE", "1"});
  server.Connect().Run({"SET", "last", "turn"});
  // A log that was turned on has its base by the end.
  server.Connect().Run({"CONFIG", "SET", "rdb-key-save-delay", "0"});
  for (int i = 0; i < 100 && !server.engine().part<LogService>().stands(); ++i)
    server.AdvanceTime(100);
}

void SetBoot(MemoryDisk& disk, const std::string& id) {
  disk.files["/proc/sys/kernel/random/boot_id"] = id + "\n";
}

// Some time later, on the machine that goes on or on one that was booted since. `server` is moved
// to where it would be now if it had lived. The wall clock may be stepped meanwhile, which a
// machine that was booted cannot know; and the clock that tells may be behind: then a ms has
// passed. It is stepped first: `server` would see Unix times end that a step back undoes later.
TestEngine::Options Restarted(TestEngine& server, MemoryDisk& disk, SimulationRandom& random,
                              uint64_t seed) {
  TestEngine::Options options = With(disk, seed, "always");
  const bool is_behind = Between(random, 0, 3) == 0;
  const bool is_same_boot = Between(random, 0, 1) == 0;
  SetBoot(disk, is_same_boot ? "a boot" : "another boot");
  if (is_same_boot || is_behind) {
    server.clock().StepWall(Between(random, -5000, is_same_boot ? 5000 : -1));
    server.Settle();
  }
  if (is_behind || !is_same_boot) server.AdvanceTime(1);
  if (!is_behind && Between(random, 0, 1) == 0) server.AdvanceTime(Between(random, 0, 100'000));
  const Now now = server.clock().Sample();
  options.uptime_ms = now.ms();
  if (is_same_boot && is_behind) {
    options.uptime_ms = Between(random, 0, now.ms() - 2);
  } else if (!is_same_boot) {
    options.uptime_ms = Between(random, 0, 1) == 0 ? 0 : Between(random, 0, 1'000'000'000);
  }
  options.unix_ms = now.unix_ms() - options.uptime_ms;
  return options;
}

void Compare(uint64_t seed) {
  SimulationRandom random(seed);
  MemoryDisk disk;
  SetBoot(disk, "a boot");
  TestEngine server(With(disk, seed, "always"));
  Play(server, random);
  std::mt19937_64 chance(seed);
  MemoryDisk left = disk;
  left.PowerCut(chance);
  const TestEngine::Options options = Restarted(server, left, random, seed + 1);
  TestEngine again(options);
  ASSERT_EQ(again.start_fault(), "");
  again.Settle();
  ASSERT_FALSE(again.shutdown_code().has_value()) << again.log().back();
  ASSERT_FALSE(again.engine().part<LogState>().loading);
  ASSERT_EQ(ContentsOf(server), ContentsOf(again));
  EXPECT_EQ(again.Audit(), "");
}

TEST(LogSimulation, WhatIsLoadedIsWhatWas) { RunSeeds(kLogRestartSeeds, Compare); }

// --- power cuts

int64_t Number(TestEngine& server, const std::string& key) {
  const std::string text = server.Connect().Run({"GET", key}).ToText();
  return text == "(nil)" ? 0 : std::stoll(text.substr(1));
}

// What was asked for and what was acknowledged, of a counter.
struct Told {
  int64_t asked = 0;
  int64_t acknowledged = 0;
};

// Clients that write, on a disk that answers late, fails to sync, or loses its power at any call;
// meanwhile the log is turned off and on.
class Writers {
 public:
  Writers(MemoryDisk& disk, uint64_t seed, const std::string& fsync)
      : disk_(disk), random_(seed), server_(With(disk, seed, fsync)) {}

  Told Write() {
    server_.Settle();
    if (Between(random_, 0, 1) == 0) BeFast();
    server_.set_aside_waits(true);
    if (Between(random_, 0, 1) == 0) disk_.changes_left = Between(random_, 0, 40);
    for (int64_t step = Between(random_, 0, 40); step > 0; --step) {
      Step();
      Listen();
    }
    disk_.sync_fault = 0;
    if (Between(random_, 0, 3) == 0) server_.engine().FinishLog();
    disk_.trouble = nullptr;
    return told_;
  }

 private:
  // Syncs take so little that from now on they are made in place, under `always`.
  void BeFast() {
    disk_.trouble = [this](MemoryDisk::Call call, const std::string&) {
      if (call == MemoryDisk::Call::kSync) server_.clock().AdvanceMicros(20);
      return 0;
    };
    for (int i = 0; i < 30; ++i) admin_->Run({"SET", "warm", "up"});
  }
  void Step() {
    const int64_t choice = Between(random_, 0, 39);
    if (choice < 14) {
      if (choice < 7 || !server_.RunBackgroundNow(WorkerLane::kLog)) server_.RunBackgroundNow();
      server_.Settle();
    } else if (choice < 16) {
      server_.AdvanceTime(1000);
    } else if (choice == 16) {
      admin_->Send({"CONFIG", "SET", "appendonly", "no"});
      admin_->Send({"CONFIG", "SET", "appendonly", "yes"});
    } else if (choice < 19) {
      admin_->Send({"BGREWRITEAOF"});
    } else if (choice == 19) {
      disk_.sync_fault = disk_.sync_fault == 0 ? EIO : 0;
    } else {
      // Both or none.
      TestClient*& client = clients_[Between(random_, 0, 2)];
      if (client->closed()) client = &server_.Connect();
      client->Send({"EVAL", "redis.call('incr','a') return redis.call('incr','b')", "0"});
      ++told_.asked;
    }
  }
  // Without the log an answer promises nothing: it may be off because it could not be turned on,
  // or have no base yet.
  void Listen() {
    const auto& log = server_.engine().part<LogService>();
    const bool is_logged = log.is_on() && log.stands();
    for (TestClient* client : clients_) {
      while (const std::optional<Reply> reply = client->Next()) {
        const std::string text = reply->ToText();
        if (is_logged && text.starts_with(':'))
          told_.acknowledged = std::max<int64_t>(told_.acknowledged, std::stoll(text.substr(1)));
      }
    }
  }

  MemoryDisk& disk_;
  SimulationRandom random_;
  TestEngine server_;
  TestClient* admin_ = &server_.Connect();
  TestClient* clients_[3] = {&server_.Connect(), &server_.Connect(), &server_.Connect()};
  Told told_;
};

void CutPower(uint64_t seed) {
  std::mt19937_64 chance(seed);
  const std::string fsync = chance() % 2 == 0 ? "always" : "everysec";
  MemoryDisk disk;
  int64_t found = 0;
  for (int life = 0; life < 3; ++life) {
    const Told told = Writers(disk, seed * 3 + life, fsync).Write();
    disk.PowerCut(chance);
    TestEngine again(With(disk, seed, fsync));
    ASSERT_EQ(again.start_fault(), "");
    again.Settle();
    ASSERT_FALSE(again.shutdown_code().has_value()) << again.log().back();
    const int64_t count = Number(again, "a");
    EXPECT_EQ(count, Number(again, "b")) << "half of a script";
    if (fsync == "always") {
      EXPECT_GE(count, told.acknowledged) << "acknowledged, and lost";
    }
    EXPECT_LE(count, found + told.asked);
    found = count;
  }
}

TEST(LogSimulation, APowerCutLosesNothingThatWasAcknowledged) { RunSeeds(kPowerSeeds, CutPower); }

}  // namespace
}  // namespace sluice
