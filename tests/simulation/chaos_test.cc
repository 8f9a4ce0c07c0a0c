// Clients that say whatever they like, all commands and every sort of mischief, cut anywhere, from
// one seed. No model: the keyspace is audited after every step, what comes back is RESP, no client
// is stuck at the end, and when all have left and all deadlines have passed nothing is left of
// them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/simulation/random_commands.h"
#include "tests/support/command_line.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr uint64_t kChaosSeeds = 60;
constexpr int kChaosSteps = 500;
constexpr size_t kClientsMax = 6;
constexpr int64_t kLongestDeadlineMs = 20'000;  // of anything that random_commands.cc asks for

struct Talker {
  TestClient* client;
  std::string under_way;
};

class Chaos {
 public:
  explicit Chaos(uint64_t seed) : random_(seed), server_({.seed = seed}) {}

  void Step() {
    const int64_t roll = Between(random_, 0, 99);
    if (talkers_.empty() || (roll < 6 && talkers_.size() < kClientsMax)) {
      talkers_.push_back({&server_.Connect(), ""});
    } else if (roll < 80) {
      Talk(talkers_[Pick()]);
    } else if (roll < 83) {
      talkers_[Pick()].client->Disconnect();
    } else if (roll < 86) {
      talkers_[Pick()].client->set_reading(Between(random_, 0, 1) == 1);
    } else if (roll < 88) {
      server_.clock().StepWall(Between(random_, -500, 500));
      server_.Settle();
    } else {
      server_.AdvanceTime(Between(random_, 0, roll < 98 ? 30 : 1500));
    }
    Collect();
  }

  void Finish() {
    for (Talker& talker : talkers_) talker.client->set_reading(true);
    server_.AdvanceTime(kLongestDeadlineMs);
    TestClient& last = server_.Connect();
    EXPECT_EQ(last.Run({"PING"}).ToText(), "+PONG");
    for (Talker& talker : talkers_) talker.client->Disconnect();
    EXPECT_EQ(last.Run({"FLUSHALL"}).ToText(), "+OK");
    server_.AdvanceTime(kLongestDeadlineMs);
    EXPECT_EQ(server_.engine().session_count(), 1u);
    EXPECT_EQ(last.Run({"DBSIZE"}).ToText(), ":0");
  }

 private:
  size_t Pick() {
    return static_cast<size_t>(Between(random_, 0, static_cast<int64_t>(talkers_.size()) - 1));
  }

  void Talk(Talker& talker) {
    for (int64_t left = Between(random_, 0, 5); left > 0; --left) {
      talker.under_way +=
          EncodeRequest(Between(random_, 0, 4) ? RandomCommand(random_) : RandomMischief(random_));
    }
    const auto bytes =
        static_cast<size_t>(Between(random_, 0, static_cast<int64_t>(talker.under_way.size())));
    const std::string arrived = talker.under_way.substr(0, bytes);
    talker.under_way.erase(0, bytes);
    if (!arrived.empty()) talker.client->SendBytes(arrived);
  }

  // Reads everything (TestClient fails the test on what is not RESP) and forgets who was closed.
  void Collect() {
    std::vector<Talker> open;
    for (Talker& talker : talkers_) {
      while (talker.client->Next()) continue;
      if (!talker.client->closed()) open.push_back(std::move(talker));
    }
    talkers_ = std::move(open);
  }

  SimulationRandom random_;
  TestEngine server_;
  std::vector<Talker> talkers_;
};

TEST(Simulation, NothingBreaksWhateverClientsDo) {
  RunSeeds(kChaosSeeds, [](uint64_t seed) {
    Chaos chaos(seed);
    for (int step = 0; step < kChaosSteps && !testing::Test::HasFailure(); ++step) chaos.Step();
    chaos.Finish();
  });
}

// The same seed gives the same run, down to the last byte.
TEST(Simulation, OneSeedIsOneRun) {
  const auto run = [&](uint64_t seed) {
    SimulationRandom random(seed);
    TestEngine server({.seed = seed});
    TestClient& client = server.Connect();
    std::string all;
    for (int step = 0; step < kChaosSteps; ++step) {
      const std::vector<std::string> command = RandomCommand(random);
      client.Send(command);
      all += client.TakeBytes();
      server.AdvanceTime(Between(random, 0, 20));
    }
    return all;
  };
  for (const uint64_t seed : SimulationSeeds(kChaosSeeds)) {
    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    EXPECT_TRUE(run(seed) == run(seed));
    EXPECT_FALSE(run(seed) == run(seed + 1));
  }
}

}  // namespace
}  // namespace sluice
