// Effects say all: whatever a random run did, its recorded effects alone, played into an empty
// engine, make the same keyspace: keys, values, groups of streams, deadlines and of which kind they
// are, however the wall clock was stepped. The replay holds time back until it is through, as a
// loader must: what had a deadline then may be long past it when it is read.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/contents.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr uint64_t kEffectsReplaySeeds = 60;
constexpr int kEffectsReplaySteps = 400;

// Records what happened, with its database and the offset of the wall clock; groups are checked and
// flattened.
class Recorder final : public EffectSink {
 public:
  struct Recorded {
    int db;
    std::vector<std::string> command;
    bool is_relative;
    int64_t unix_offset_ms;
  };
  explicit Recorder(TestEngine& server) : server_(server) {}

  void Effect(int db, Args command, EffectTime time) override {
    effects_.push_back({db,
                        {command.begin(), command.end()},
                        time == EffectTime::kRelative,
                        server_.engine().now().unix_offset_ms});
    ++in_this_group_;
  }
  void GroupBegin() override {
    EXPECT_FALSE(in_group_) << "groups do not nest";
    in_group_ = true;
    in_this_group_ = 0;
  }
  void GroupEnd() override {
    EXPECT_TRUE(in_group_);
    EXPECT_GE(in_this_group_, 2) << "one stands alone";
    in_group_ = false;
  }
  const std::vector<Recorded>& effects() const { return effects_; }

 private:
  TestEngine& server_;
  std::vector<Recorded> effects_;
  bool in_group_ = false;
  int in_this_group_ = 0;
};

std::string Line(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  return line;
}

void Replay(const Recorder& recorded, TestEngine& server) {
  TestClient& client = server.Connect();
  client.PlayLog();
  int selected = 0;
  for (const auto& [db, command, is_relative, unix_offset_ms] : recorded.effects()) {
    server.clock().StepWall(unix_offset_ms - server.clock().Sample().unix_offset_ms);
    if (db != selected) client.Run({"SELECT", std::to_string(db)});
    selected = db;
    server.engine().Find(client.id())->replays_relative = is_relative;
    const std::string reply = client.Run(command).ToText();
    EXPECT_NE(reply.substr(0, 1), "-") << reply << " to the effect " << Line(command);
  }
}

void RunOnce(uint64_t seed) {
  SimulationRandom random(seed);
  TestEngine server({.seed = seed});
  Recorder recorder(server);
  server.engine().part<Effects>().set_sink(kToLog, &recorder);
  RandomClients clients(server);
  for (int step = 0; step < kEffectsReplaySteps; ++step) {
    clients.Step(random);
    if (Between(random, 0, 40) == 0) server.clock().StepWall(Between(random, -1000, 1000));
    server.AdvanceTime(Between(random, 0, 25));
  }
  server.engine().part<Effects>().set_sink(kToLog, nullptr);

  TestEngine later({.seed = seed + 1});
  Replay(recorder, later);
  const int64_t passed_ms = server.clock().Sample().ms();
  later.clock().StepWall(server.now().unix_offset_ms - later.now().unix_offset_ms);
  later.AdvanceTime(passed_ms);
  ASSERT_EQ(ContentsOf(server), ContentsOf(later));
}

TEST(Simulation, EffectsReplayToTheSameState) { RunSeeds(kEffectsReplaySeeds, RunOnce); }

}  // namespace
}  // namespace sluice
