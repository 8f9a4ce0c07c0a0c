// Limits over restarts: servers with a log are stopped, killed, or lose their power under `always`,
// and start again at once or later, on the same boot or another one. What they answer then is what
// an exact model says that knows of no restart (limit_players.h): no more is let through than it
// says, and no less, and every moment it tells is the same. SLUICE_SEED plays one.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/simulation/history.h"
#include "tests/simulation/limit_players.h"

namespace sluice {
namespace {

constexpr uint64_t kLimitRestartSeeds = 3000;
constexpr int kLimitLives = 6;
constexpr int kLimitStepsPerLife = 60;

class LimitMachine {
 public:
  explicit LimitMachine(uint64_t seed) : chance_(seed), world_(seed, Options()) {
    world_.is_even = world_.OneIn(2);
  }

  void Live() {
    LimitPlayers limits(world_);
    for (int life = 1; life < kLimitLives; ++life) {
      const int steps = static_cast<int>(world_.Pick(0, kLimitStepsPerLife));
      PlaySteps(world_, {&limits}, steps / 2, kLimitStepsPerLife);
      if (world_.OneIn(2)) Rewrite();
      PlaySteps(world_, {&limits}, steps - steps / 2, kLimitStepsPerLife);
      if (testing::Test::HasFailure()) return;
      Restart();
      if (testing::Test::HasFatalFailure()) return;
      limits.Restarted();
    }
    PlayHistory(world_, {&limits}, kLimitStepsPerLife, kLimitStepsPerLife);
  }

 private:
  TestEngine::Options Options() {
    if (boots_ == 0) Boot();
    TestEngine::Options options;
    options.disk = &disk_;
    options.audits = false;
    options.config = {{"appendonly", "yes"}, {"appendfsync", is_synced_ ? "always" : "everysec"}};
    return options;
  }
  void Boot() { disk_.files["/proc/sys/kernel/random/boot_id"] = std::to_string(++boots_) + "\n"; }

  // At once, or while the limits go on: after each few keys it waits.
  void Rewrite() {
    TestClient& client = world_.server().Connect();
    client.Run({"CONFIG", "SET", "rdb-key-save-delay", world_.OneIn(2) ? "0" : "3000"});
    client.Run({"BGREWRITEAOF"});
  }

  void Restart() {
    if (world_.OneIn(3)) {
      ASSERT_TRUE(world_.server().engine().FinishLog());
    } else if (is_synced_ && world_.OneIn(2)) {
      disk_.PowerCut(chance_);
    }
    if (world_.OneIn(4)) world_.server().clock().Advance(world_.Pick(0, 3000));
    world_.server().clock().Advance(world_.OneIn(2) ? 1 : world_.Pick(1, 40));
    world_.Start(world_.OneIn(2) ? OnThisBoot() : OnAnother());
    ASSERT_EQ(world_.server().start_fault(), "");
    ASSERT_FALSE(world_.server().shutdown_code().has_value()) << world_.server().log().back();
  }

  // Servers start at a whole ms of their machine.
  TestEngine::Options OnThisBoot() {
    const Now now = world_.server().clock().Sample();
    TestEngine::Options options = Options();
    options.uptime_ms = (now.steady_us + 999) / 1000;
    options.unix_ms = now.unix_offset_ms;
    if (!world_.is_even) options.unix_ms += world_.Pick(-5000, 5000);
    return options;
  }
  TestEngine::Options OnAnother() {
    const Now now = world_.server().clock().Sample();
    Boot();
    TestEngine::Options options = Options();
    options.uptime_ms = world_.OneIn(2) ? 0 : world_.Pick(0, 1'000'000'000);
    options.unix_ms = (now.unix_us() + 999) / 1000 - options.uptime_ms;
    return options;
  }

  std::mt19937_64 chance_;
  const bool is_synced_ = chance_() % 2 == 0;
  MemoryDisk disk_;
  int boots_ = 0;
  World world_;
};

TEST(LimitRestarts, LimitsAnswerAsTheirModel) {
  RunSeeds(kLimitRestartSeeds, [](uint64_t seed) { LimitMachine(seed).Live(); });
}

}  // namespace
}  // namespace sluice
