// The Sentinels of a world, by themselves (sentinels.h): whom they promote, and when.
#include "tests/simulation/cluster/sentinels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/simulation/cluster/clients.h"
#include "tests/support/seed.h"

namespace sluice::cluster {
namespace {

constexpr int kSentinelsOfTest = 3;
constexpr int64_t kSettled = 10 * kSecond;
constexpr int64_t kDecided = 40 * kSecond;

// A master, a, and its replicas, b and c, under three Sentinels.
class SentinelsOfWorld : public testing::Test {
 protected:
  void Begin(const std::vector<std::string>& priorities) {
    for (size_t i = 0; i < priorities.size(); ++i) {
      Machine& machine = world_.Add(
          {.name = std::string(1, static_cast<char>('a' + i)),
           .config = {{"replica-priority", priorities[i]}, {"repl-diskless-sync-delay", "0"}}});
      if (i > 0) machine.set_config("replicaof", "a 6379");
      machine.Start();
    }
    first_site_ = world_.sites() + 1;
    sentinels_.emplace(world_, kSentinelsOfTest);
    sentinels_->Begin();
    Pass(kSettled);
  }
  void Pass(int64_t span) { world_.time().RunUntil(world_.time().now() + span); }
  Machine& at(size_t i) { return *world_.machines()[i]; }
  std::string AgreedName() {
    Machine* const master = sentinels_->Agreed();
    return master ? master->name() : "";
  }
  std::string RoleOf(Machine& machine) {
    return machine.engine().Connect().Run({"ROLE"}).elements.at(0).text;
  }
  std::string RunIdOf(Machine& machine) {
    const std::string info = machine.engine().Connect().Run({"INFO", "server"}).text;
    return info.substr(info.find("run_id:") + 7, 40);
  }
  std::string OffsetOf(Machine& machine) {
    return machine.engine().Connect().Run({"ROLE"}).elements.at(4).ToText();
  }
  // Neither hears of the other.
  void CutSentinel(int number, Machine& machine) {
    world_.network().Cut(first_site_ + number, machine.site());
    world_.network().Cut(machine.site(), first_site_ + number);
  }

  World world_{TestSeed(0)};
  Site first_site_ = 0;
  std::optional<Sentinels> sentinels_;
};

TEST_F(SentinelsOfWorld, PromoteTheLowestPriorityAndLetAllFollowIt) {
  Begin({"100", "100", "10"});
  EXPECT_EQ(AgreedName(), "a");
  at(0).Kill();
  Pass(kDecided);
  EXPECT_EQ(AgreedName(), "c");
  EXPECT_EQ(RoleOf(at(2)), "master");
  EXPECT_EQ(RoleOf(at(1)), "slave");
  at(0).Start();
  Pass(kDecided);
  EXPECT_EQ(RoleOf(at(0)), "slave");
  EXPECT_EQ(sentinels_->promotions(), 1);
}

TEST_F(SentinelsOfWorld, PromoteNoneWhosePriorityIsZero) {
  Begin({"100", "0", "0"});
  at(0).Kill();
  Pass(kDecided);
  EXPECT_EQ(AgreedName(), "a");
  EXPECT_EQ(sentinels_->promotions(), 0);
}

TEST_F(SentinelsOfWorld, PromoteTheOneThatHasMoreOfTheStream) {
  Begin({"100", "100", "100"});
  // The one that they would take by its run id lacks the end.
  const size_t lags = RunIdOf(at(1)) < RunIdOf(at(2)) ? 1 : 2;
  world_.network().Cut(at(0).site(), at(lags).site());
  at(0).Order({"SET", "k", std::string(100, 'v')});
  Pass(kSecond);
  at(0).Kill();
  Pass(kDecided);
  EXPECT_EQ(AgreedName(), at(3 - lags).name());
}

TEST_F(SentinelsOfWorld, PromoteByRunIdWhereAllElseIsEqual) {
  Begin({"100", "100", "100"});
  const size_t smaller = RunIdOf(at(1)) < RunIdOf(at(2)) ? 1 : 2;
  // Heartbeats are of the stream: neither may have one that the other lacks.
  while (OffsetOf(at(1)) != OffsetOf(at(2))) Pass(kMs);
  for (const size_t replica : {1, 2}) world_.network().Cut(at(0).site(), at(replica).site());
  at(0).Kill();
  Pass(kDecided);
  EXPECT_EQ(AgreedName(), at(smaller).name());
}

TEST_F(SentinelsOfWorld, LeaveAMasterThatMostOfThemReach) {
  Begin({"100", "100"});
  CutSentinel(0, at(0));
  Pass(kDecided);
  EXPECT_EQ(AgreedName(), "a");
  CutSentinel(1, at(0));
  Pass(kDecided);
  EXPECT_EQ(RoleOf(at(1)), "master") << "two of three do not reach it any more";
}

TEST_F(SentinelsOfWorld, PromoteNobodyWhileTheyDoNotReachEachOther) {
  Begin({"100", "100"});
  for (int one = 0; one < kSentinelsOfTest; ++one) {
    for (int other = 0; other < kSentinelsOfTest; ++other)
      if (one != other) world_.network().Cut(first_site_ + one, first_site_ + other);
  }
  at(0).Kill();
  Pass(kDecided);
  EXPECT_EQ(sentinels_->promotions(), 0);
}

// It says the commands of redis-sentinel, which leave their mark in the statistics of the replica.
TEST_F(SentinelsOfWorld, SayWhatARealOneSays) {
  Begin({"100", "100"});
  at(0).Kill();
  Pass(kDecided);
  const std::string stats = at(1).engine().Connect().Run({"INFO", "commandstats"}).text;
  for (const char* const command :
       {"info", "multi", "slaveof", "config|rewrite", "client|kill", "exec"})
    EXPECT_NE(stats.find(std::string("cmdstat_") + command + ":"), std::string::npos)
        << command << " is not in " << stats;
}

}  // namespace
}  // namespace sluice::cluster
