// See group.h.
#include "tests/simulation/cluster/group.h"

#include <gtest/gtest.h>

#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/compare.h"
#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/sentinels.h"
#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kGroupHarmUntil = 40 * kSecond;
constexpr int64_t kGroupClientsUntil = 42 * kSecond;
constexpr int64_t kGroupEnd = 120 * kSecond;
constexpr uint32_t kGroupHarm =
    Harm::kRestarts | Harm::kPauses | Harm::kCuts | Harm::kBreaks | Harm::kSlowSyncs;

}  // namespace

void PlayGroup(uint64_t seed, int64_t skew_ms, GroupSums& sums) {
  World world(seed, false, skew_ms);
  for (const char* const name : {"a", "b", "c"}) {
    Machine& machine = world.Add(
        {.name = name,
         .config = {
             {"appendonly", "yes"}, {"repl-diskless-sync-delay", "0"}, {"repl-timeout", "10"}}});
    if (world.machines().size() > 1) machine.set_config("replicaof", "a 6379");
    machine.Start();
  }
  Sentinels sentinels(world, 3);
  world.set_finder([&sentinels]() -> Machine& { return sentinels.MasterAsSaid(); });
  sentinels.Begin();
  Machine& first = *world.machines().front();
  for (int i = 0; i < 2; ++i) world.AddClient<AnyClient>(first);
  for (int i = 0; i < 4; ++i) world.AddClient<LockClient>(first);
  world.AddClient<RegisterClient>(first);
  world.set_clients_until(kGroupClientsUntil);
  Harm harm(world, kGroupHarm);
  harm.Begin(3 * kSecond, kGroupHarmUntil);
  world.time().RunUntil(kGroupEnd);
  world.Audit();
  if (Machine* const master = sentinels.Agreed()) {
    for (const auto& machine : world.machines()) {
      if (machine.get() != master) sums.keys += ExpectSame(*master, *machine, false);
    }
  } else {
    ADD_FAILURE() << "the Sentinels do not agree on a master";
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << "what was done:\n" << world.time().Told();
  sums.promotions += sentinels.promotions();
  const Promise promise{.drift_ppm = world.drift_ppm(), .kept = Promise::Kept::kGrants};
  sums.splits += Judge(world.records(), promise) ? 1 : 0;
}

}  // namespace sluice::cluster
