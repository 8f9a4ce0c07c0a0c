// See pair.h.
#include "tests/simulation/cluster/pair.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/replication/replicas.h"
#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/compare.h"
#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kPairHarmUntil = 20 * kSecond;
constexpr int64_t kPairClientsUntil = 22 * kSecond;
constexpr int64_t kPairEnd = 60 * kSecond;

}  // namespace

void PlayPair(uint64_t seed, const PairKind& kind, PairSums& sums) {
  World world(seed, kind.is_wild, kind.skew_ms);
  const std::vector<std::pair<std::string, std::string>> config = {
      {"appendonly", "yes"},
      {"appendfsync", world.OneIn(2) ? "always" : "everysec"},
      {"repl-diskless-sync-delay", "0"},
      {"repl-timeout", "10"}};
  Machine& master = world.Add({.name = "master", .config = config});
  Machine& replica = world.Add({.name = "replica", .config = config});
  replica.set_config("replicaof", "master 6379");
  master.Start();
  replica.Start();
  for (int i = 0; i < 2; ++i) world.AddClient<AnyClient>(master);
  for (int i = 0; i < 2; ++i) world.AddClient<LockClient>(master);
  world.AddClient<RegisterClient>(master);
  world.AddClient<LimitClient>(master);
  world.set_clients_until(kPairClientsUntil);
  Harm harm(world, kind.harm);
  harm.Begin(2 * kSecond, kPairHarmUntil);
  world.time().RunUntil(kPairEnd);
  world.Audit();
  sums.keys += ExpectSame(master, replica, kind.is_wild);
  if (master.is_up()) {
    const Replicas::Counts& counts = master.engine().engine().part<Replicas>().counts();
    sums.full += static_cast<int>(counts.full);
    sums.partial += static_cast<int>(counts.partial);
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << "what was done:\n" << world.time().Told();
}

}  // namespace sluice::cluster
