// See failover_play.h.
#include "tests/simulation/cluster/failover_play.h"

#include <string>
#include <vector>

#include "server/locks/lock_service.h"
#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kFailoverClientsUntil = 22 * kSecond;
constexpr int64_t kFailoverEnd = 30 * kSecond;

// By an operator's own connection, which is there at once.
void Tell(World& world, Machine& machine, const std::vector<std::string>& words) {
  if (!machine.is_up()) return;
  machine.PassTime();
  machine.engine().Connect().Send(words);
  world.time().Tell(machine.name() + ": " + words.front());
}

void CutApart(World& world, Machine& master, Machine& replica) {
  world.time().Tell("the two are cut apart");
  world.network().Cut(master.site(), replica.site());
  world.network().Cut(replica.site(), master.site());
}

// What takes the master away, and how long it is away at least.
void TakeAway(World& world, Machine& master, Machine& replica) {
  switch (world.Pick(0, 2)) {
    case 0:
      world.time().Tell("the master is killed");
      return master.Kill();
    case 1:
      world.time().Tell("the master stands still");
      return master.Pause();
    default:
      CutApart(world, master, replica);
  }
}

void BringBack(World& world, Machine& master, Machine& replica) {
  world.network().Heal(master.site(), replica.site());
  world.network().Heal(replica.site(), master.site());
  if (master.is_paused()) master.Resume();
  if (!master.is_up()) master.Start();
}

}  // namespace

std::optional<std::string> PlayFailover(uint64_t seed, const FailoverKind& kind,
                                        FailoverSums& sums) {
  World world(seed);
  const std::string k = std::to_string(kind.min_replicas);
  const auto with = [&k](const char* name) {
    return Machine::Options{.name = name,
                            .config = {{"appendonly", "yes"},
                                       {"appendfsync", "always"},
                                       {"repl-diskless-sync-delay", "0"},
                                       {"lock-min-replicas", k}}};
  };
  Machine& master = world.Add(with("a"));
  Machine& replica = world.Add(with("b"));
  replica.set_config("replicaof", "a 1");  // it grants nothing before it follows
  master.Start();
  replica.Start();
  for (int i = 0; i < 3; ++i) world.AddClient<LockClient>(master);
  for (int i = 0; i < 3; ++i) world.AddClient<LockClient>(replica);
  world.set_clients_until(kFailoverClientsUntil);
  Timeline& time = world.time();
  const int64_t away_at = world.Pick(4 * kSecond, 10 * kSecond);
  // One that is to die is cut off for a while before, and grants what the replica never hears of.
  const int64_t dead_at = away_at + (kind.is_dead ? time.PickSpan(kMs, kSecond) : 0);
  const int64_t promoted_at = dead_at + time.PickSpan(kMs, 3 * kSecond);
  const int64_t back_at = kind.is_dead ? kFailoverClientsUntil + kSecond
                                       : promoted_at + time.PickSpan(kMs, 5 * kSecond);
  time.At(away_at, [&] {
    if (!kind.is_dead) return TakeAway(world, master, replica);
    CutApart(world, master, replica);
  });
  if (kind.is_dead) time.At(dead_at, [&] { master.Kill(); });
  uint64_t before = 0;
  time.At(promoted_at, [&] {
    before = replica.engine().engine().part<LockService>().counts().granted;
    Tell(world, replica, {"REPLICAOF", "NO", "ONE"});
  });
  time.At(back_at, [&] { BringBack(world, master, replica); });
  // As a Sentinel, which comes some time after.
  time.At(back_at + time.PickSpan(kMs, 2 * kSecond), [&] {
    Tell(world, master, {"REPLICAOF", "b", "1"});
  });
  time.RunUntil(kFailoverEnd);
  world.Audit();
  const Promise promise{.drift_ppm = world.drift_ppm(), .kept = Promise::Kept::kGrants};
  std::optional<std::string> complaint = Judge(world.records(), promise);
  if (complaint) *complaint += "what was done:\n" + time.Told();
  sums.after += replica.engine().engine().part<LockService>().counts().granted - before;
  for (const auto& [key, lock] : world.records().locks) {
    for (const LockAttempt& attempt : lock.attempts)
      sums.grants += attempt.answer == LockAttempt::Answer::kGranted ? 1 : 0;
  }
  return complaint;
}

}  // namespace sluice::cluster
