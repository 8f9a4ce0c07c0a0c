// See pair.h.
#include "tests/simulation/cluster/pair.h"

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "server/replication/replicas.h"
#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/compare.h"
#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/rude_master.h"
#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kPairHarmUntil = 20 * kSecond;
constexpr int64_t kPairClientsUntil = 22 * kSecond;
constexpr int64_t kPairEnd = 60 * kSecond;

// --- orders

constexpr int64_t kOrderEvery = 1500 * kMs;  // at most
constexpr uint32_t kLinkHarm = Harm::kCuts | Harm::kBreaks | Harm::kPauses | Harm::kKills |
                               Harm::kSlowSyncs | Harm::kFullDisks;

struct LinkOrder {
  bool to_master;
  std::vector<std::string> words;
};
const LinkOrder kLinkOrders[] = {
    {false, {"REPLICAOF", "rude", "6379"}},
    {false, {"REPLICAOF", "rude", "6379"}},
    {false, {"REPLICAOF", "master", "6379"}},
    {false, {"REPLICAOF", "master", "6379"}},
    {false, {"REPLICAOF", "replica", "6379"}},
    {false, {"REPLICAOF", "NO", "ONE"}},
    {true, {"REPLICAOF", "replica", "6379"}},
    {true, {"REPLICAOF", "NO", "ONE"}},
    {true, {"FAILOVER", "TO", "replica", "6379", "TIMEOUT", "2000"}},
    {true, {"FAILOVER", "TO", "replica", "6379", "FORCE", "TIMEOUT", "500"}},
    {true, {"FAILOVER", "ABORT"}},
    {false, {"CONFIG", "SET", "replica-announce-port", "7000", "replica-announce-ip", "replica"}},
    {false, {"CONFIG", "SET", "masterauth", "secret"}},
    {false, {"CONFIG", "SET", "masterauth", ""}},
};

void GiveOrders(World& world, Machine& master, Machine& replica, int64_t until) {
  world.time().After(world.Pick(1, kOrderEvery), [&world, &master, &replica, until] {
    if (world.time().now() >= until) return;
    const LinkOrder& order = kLinkOrders[world.Pick(0, std::ssize(kLinkOrders) - 1)];
    (order.to_master ? master : replica).Order(order.words);
    GiveOrders(world, master, replica, until);
  });
}

// As a Sentinel, whatever they were told before.
void SetRight(Machine& master, Machine& replica) {
  master.Order({"FAILOVER", "ABORT"});
  master.Order({"REPLICAOF", "NO", "ONE"});
  replica.Order({"CONFIG", "SET", "masterauth", ""});
  replica.Order({"REPLICAOF", "master", "6379"});
}

}  // namespace

void PlayLinks(uint64_t seed, LinkSums& sums) {
  World world(seed);
  const std::vector<std::pair<std::string, std::string>> config = {
      {"appendonly", "yes"},
      {"repl-diskless-sync-delay", "0"},
      {"repl-ping-replica-period", "1"},
      {"repl-timeout", "3"}};
  Machine& master = world.Add({.name = "master", .config = config});
  Machine& replica = world.Add({.name = "replica", .config = config});
  RudeMaster rude(world, "rude");
  replica.set_config("replicaof", "master 6379");
  master.Start();
  replica.Start();
  for (int i = 0; i < 2; ++i) world.AddClient<AnyClient>(master);
  world.AddClient<LockClient>(master);
  world.set_clients_until(kPairClientsUntil);
  GiveOrders(world, master, replica, kPairHarmUntil);
  Harm harm(world, kLinkHarm);
  harm.Begin(2 * kSecond, kPairHarmUntil);
  for (int64_t at = 2; at < 6; ++at)
    world.time().At(kPairHarmUntil + at * kSecond, [&] { SetRight(master, replica); });
  world.time().RunUntil(kPairEnd);
  world.Audit();
  sums.keys += ExpectSame(master, replica, false);
  world.StartAnew();
  ExpectSame(master, replica, false);
  sums.images += rude.images();
  sums.nonsense += rude.nonsense();
  if (testing::Test::HasFailure()) ADD_FAILURE() << "what was done:\n" << world.time().Told();
}

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
  world.StartAnew();
  ExpectSame(master, replica, kind.is_wild);
  if (testing::Test::HasFailure()) ADD_FAILURE() << "what was done:\n" << world.time().Told();
}

}  // namespace sluice::cluster
