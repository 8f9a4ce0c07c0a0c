// A world by itself (world.h): one seed is one run, clocks are wrong by so much and no more, and
// machines do what is done to them.
#include "tests/simulation/cluster/world.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/harm.h"
#include "tests/support/seed.h"

namespace sluice::cluster {
namespace {

constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";
constexpr int64_t kWorldPatience = 300 * kSecond;

// --- one seed

struct WorldRun {
  std::string told;
  uint64_t events = 0;
  size_t operations = 0;
  std::map<std::string, std::string> files;
  bool operator==(const WorldRun&) const = default;
};

WorldRun RunWorld(uint64_t seed) {
  World world(seed);
  Machine& server = world.Add({.name = "a", .config = {{"appendonly", "yes"}}});
  Machine& replica = world.Add(
      {.name = "b", .config = {{"replicaof", "a 6379"}, {"repl-diskless-sync-delay", "0"}}});
  server.Start();
  replica.Start();
  world.AddClient<AnyClient>(server);
  world.AddClient<LockClient>(server);
  world.AddClient<LimitClient>(server);
  Harm harm(world, Harm::kAll);
  harm.Begin(kSecond, 20 * kSecond);
  world.set_clients_until(20 * kSecond);
  world.time().RunUntil(25 * kSecond);
  return {world.time().Told(), world.time().events(), world.records().operations(),
          server.disk().files};
}

TEST(World, OneSeedIsOneRun) {
  const WorldRun run = RunWorld(TestSeed(0));
  EXPECT_GT(run.operations, 0u);
  EXPECT_EQ(RunWorld(TestSeed(0)), run);
  EXPECT_NE(RunWorld(TestSeed(1)), run);
}

// --- clocks

// How wrong the clocks of machines are, by what their servers say: of their wall clocks in ms at
// the start, and of their rates in millionths.
struct Wrongness {
  int64_t wall_ms;
  int64_t ppm;
};

Wrongness WrongnessOf(uint64_t seed, bool is_wild) {
  constexpr int64_t kSpan = 1000 * kSecond;
  World world(seed, is_wild);
  Machine& machine = world.Add({.name = "a"});
  machine.Start();
  const int64_t wall_ms = machine.engine().now().unix_ms() - Machine::Options().unix_ms;
  const int64_t from_us = machine.engine().now().steady_us;
  world.time().RunUntil(kSpan);
  machine.PassTime();
  const int64_t span_us = machine.engine().now().steady_us - from_us;
  EXPECT_LE(std::abs(span_us - kSpan), kSpan / 1'000'000 * world.drift_ppm());
  return {wall_ms, (span_us - kSpan) / (kSpan / 1'000'000)};
}

TEST(World, ClocksAreWrongByHoursAndRunAtRatesOfTheirOwn) {
  for (const bool is_wild : {false, true}) {
    const int64_t ppm_max = is_wild ? 50'000 : 200;
    int64_t most_ms = 0;
    int64_t most_ppm = 0;
    for (uint64_t number = 0; number < 100; ++number) {
      const Wrongness wrong = WrongnessOf(TestSeed(number), is_wild);
      most_ms = std::max(most_ms, std::abs(wrong.wall_ms));
      most_ppm = std::max(most_ppm, std::abs(wrong.ppm));
    }
    EXPECT_LE(most_ms, World::kSkewMs);
    EXPECT_GT(most_ms, World::kSkewMs / 2);
    EXPECT_LE(most_ppm, ppm_max);
    EXPECT_GT(most_ppm, ppm_max / 2);
  }
}

// --- machines

struct OneMachine {
  explicit OneMachine(uint64_t number) : world(TestSeed(number)) {
    machine.Start();
    caller.set_callee(machine);
  }
  // The answer, once there is one.
  void Ask(const std::vector<std::string>& words) {
    answer.reset();
    caller.Ask(words, kWorldPatience, [this](const auto& reply) {
      if (reply) answer = reply->ToText();
    });
  }
  void Pass(int64_t span) { world.time().RunUntil(world.time().now() + span); }

  World world;
  Machine& machine =
      world.Add({.name = "a", .config = {{"appendonly", "yes"}, {"appendfsync", "everysec"}}});
  Caller caller{world.time(), world.network(), world.NewSite()};
  std::optional<std::string> answer;
};

TEST(World, AMachineThatStandsStillTakesAMinuteToAnswer) {
  OneMachine one(0);
  one.Ask({"SET", "k", "v"});
  one.Pass(kSecond);
  EXPECT_EQ(one.answer, "+OK");
  one.machine.Pause();
  one.Ask({"GET", "k"});
  one.Pass(60 * kSecond);
  EXPECT_EQ(one.answer, std::nullopt);
  one.machine.Resume();
  one.Pass(kSecond);
  EXPECT_EQ(one.answer, "\"v\"");
  ASSERT_EQ(one.machine.standstills().size(), 2u) << "the time before its start is the first";
  EXPECT_GE(one.machine.standstills().back().answer - one.machine.standstills().back().call,
            60 * kSecond);
}

TEST(World, AProcessThatIsKilledLeavesItsMachineAndOneWithoutPowerDoesNot) {
  OneMachine one(0);
  const std::string boot = one.machine.disk().files[kBootId];
  one.machine.Kill();
  EXPECT_FALSE(one.machine.is_up());
  EXPECT_TRUE(one.machine.has_power());
  one.machine.Start();
  EXPECT_EQ(one.machine.disk().files[kBootId], boot);
  one.machine.CutPower();
  EXPECT_FALSE(one.machine.has_power());
  one.machine.Start();
  EXPECT_NE(one.machine.disk().files[kBootId], boot);
}

// What was written and not synced outlives a process, and not always the power.
TEST(World, AnAnswerThatWasNotSyncedOutlivesItsProcessAndNotItsMachine) {
  std::set<std::string> behind_power_cuts;
  for (uint64_t number = 0; number < 40; ++number) {
    for (const bool has_power : {true, false}) {
      OneMachine one(number);
      one.Pass(100 * kMs);
      one.Ask({"SET", "k", "v"});
      one.Pass(10 * kMs);
      ASSERT_EQ(one.answer, "+OK");
      has_power ? one.machine.Kill() : one.machine.CutPower();
      one.machine.Start();
      one.caller.HangUp();
      one.Pass(kSecond);
      one.Ask({"GET", "k"});
      one.Pass(kSecond);
      ASSERT_TRUE(one.answer.has_value());
      if (!has_power) {
        behind_power_cuts.insert(*one.answer);
        continue;
      }
      EXPECT_EQ(one.answer, "\"v\"");
    }
  }
  EXPECT_TRUE(behind_power_cuts.contains("(nil)"));
}

TEST(World, AStepOfTheWallClockMovesNoLease) {
  OneMachine one(0);
  one.Ask({"SET", "k", "v", "PX", "10000"});
  one.Pass(kSecond);
  const int64_t before_ms = one.machine.engine().now().unix_ms();
  one.machine.StepWall(3'600'000);
  one.Pass(kSecond);
  EXPECT_GE(one.machine.engine().now().unix_ms() - before_ms, 3'600'000);
  one.Ask({"GET", "k"});
  one.Pass(kSecond);
  EXPECT_EQ(one.answer, "\"v\"");
}

// --- harm

struct HarmLine {
  Harm::Kind kind;
  const char* told;
};
constexpr HarmLine kHarmLines[] = {
    {Harm::kStops, "is stopped"},
    {Harm::kKills, "is killed"},
    {Harm::kPowerCuts, "loses its power"},
    {Harm::kPauses, "stands still"},
    {Harm::kWallSteps, "wall clock is set by"},
    {Harm::kFullDisks, "disk is full"},
    {Harm::kFailingSyncs, "disk fails to sync"},
    {Harm::kSlowSyncs, "disk is slow"},
    {Harm::kCuts, "nothing comes from"},
    {Harm::kBreaks, "a connection breaks"},
};

TEST(World, EachKindOfHarmIsDoneAndHeals) {
  uint32_t seen = 0;
  for (const HarmLine& line : kHarmLines) {
    SCOPED_TRACE(line.told);
    seen |= line.kind;
    World world(TestSeed(0));
    for (const char* const name : {"a", "b"}) world.Add({.name = name}).Start();
    world.AddClient<RegisterClient>(*world.machines().front());
    Harm harm(world, line.kind);
    harm.Begin(kSecond, 20 * kSecond);
    world.time().RunUntil(40 * kSecond);
    EXPECT_NE(world.time().Told().find(line.told), std::string::npos) << world.time().Told();
    for (const auto& machine : world.machines()) {
      EXPECT_TRUE(machine->is_up());
      EXPECT_FALSE(machine->is_paused());
      EXPECT_EQ(machine->disk().write_fault + machine->disk().sync_fault, 0);
    }
    for (Site from = 1; from <= world.sites(); ++from) {
      for (Site to = 1; to <= world.sites(); ++to) EXPECT_FALSE(world.network().is_cut(from, to));
    }
  }
  EXPECT_EQ(seen, static_cast<uint32_t>(Harm::kAll));
}

}  // namespace
}  // namespace sluice::cluster
