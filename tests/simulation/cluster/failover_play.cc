// See failover_play.h.
#include "tests/simulation/cluster/failover_play.h"

#include <algorithm>
#include <string>
#include <vector>

#include "server/locks/lock_service.h"
#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/sentinels.h"
#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kFailoverClientsUntil = 22 * kSecond;
constexpr int64_t kFailoverEnd = 30 * kSecond;
constexpr int64_t kUnderWay = 20 * kMs;  // so long before a cut all that was said has come through
constexpr int64_t kFailoversHarmUntil = 40 * kSecond;
constexpr int64_t kFailoversClientsUntil = 44 * kSecond;
constexpr int64_t kFailoversEnd = 90 * kSecond;
constexpr uint32_t kFailoversHarm = Harm::kRestarts | Harm::kPauses | Harm::kWallSteps |
                                    Harm::kCuts | Harm::kBreaks | Harm::kSlowSyncs;

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

// Both follow what the first of them says, and grant where k replicas have it.
Machine::Options ServerOf(const char* name, int min_replicas, bool do_changes_wait = false) {
  return {.name = name,
          .config = {{"appendonly", "yes"},
                     {"appendfsync", "always"},
                     {"repl-diskless-sync-delay", "0"},
                     {"repl-timeout", "10"},
                     {"replicas-required", do_changes_wait ? "all" : "grants"},
                     {"lock-min-replicas", std::to_string(min_replicas)}}};
}

LockService& LocksOf(Machine& machine) { return machine.engine().engine().part<LockService>(); }

// The word on the end of all leases that the master has for its replica.
int64_t HorizonOf(Machine& master) { return LocksOf(master).horizon().wanted_by_replicas_ms(); }

// What the master in the end has kept. What was read before may be old, or of one that was the
// master no more.
void ReadInTheEnd(World& world, Machine& master) {
  const std::string key = "c:alone";
  std::vector<CounterOperation>& counter = world.records().counters[key];
  std::erase_if(counter, [](const CounterOperation& operation) {
    return operation.kind == CounterOperation::Kind::kRead;
  });
  const Reply value = master.engine().Connect().Run({"GET", key});
  const int64_t now = world.time().now();
  counter.push_back({.span = {now, now + 1},
                     .kind = CounterOperation::Kind::kRead,
                     .value = value.text.empty() ? 0 : std::stoll(value.text)});
}

std::optional<std::string> JudgeFailover(World& world, Promise::Kept kept, FailoverSums& sums) {
  for (const auto& [key, lock] : world.records().locks) {
    sums.grants += static_cast<size_t>(
        std::ranges::count(lock.attempts, LockAttempt::Answer::kGranted, &LockAttempt::answer));
  }
  for (const auto& [key, operations] : world.records().counters) {
    for (const CounterOperation& operation : operations) sums.fenced += operation.token != 0;
  }
  for (const auto& [key, limit] : world.records().limits) {
    sums.limited += static_cast<size_t>(std::ranges::count(
        limit.operations, LimitOperation::Answer::kAllowed, &LimitOperation::answer));
  }
  for (const auto& [key, attempts] : world.records().plain_locks) {
    sums.plain += static_cast<size_t>(
        std::ranges::count(attempts, LockAttempt::Answer::kGranted, &LockAttempt::answer));
  }
  const Promise promise{.drift_ppm = world.drift_ppm(), .kept = kept};
  std::optional<std::string> complaint = Judge(world.records(), promise);
  if (complaint) *complaint += "what was done:\n" + world.time().Told();
  return complaint;
}

}  // namespace

std::optional<std::string> PlayFailover(uint64_t seed, const FailoverKind& kind,
                                        FailoverSums& sums) {
  World world(seed);
  Machine& master = world.Add(ServerOf("a", kind.min_replicas, kind.do_changes_wait));
  Machine& replica = world.Add(ServerOf("b", kind.min_replicas, kind.do_changes_wait));
  replica.set_config("replicaof", "a 1");  // it grants nothing before it follows
  master.Start();
  replica.Start();
  for (int i = 0; i < 3 && kind.has_locks; ++i) world.AddClient<LockClient>(master);
  for (int i = 0; i < 3 && kind.has_locks; ++i) world.AddClient<LockClient>(replica);
  for (const auto& machine : world.machines()) {
    for (int i = 0; i < 2 && kind.min_replicas > 0; ++i) world.AddClient<LimitClient>(*machine);
    if (kind.do_changes_wait) world.AddClient<PlainLockClient>(*machine);
  }
  world.set_clients_until(kFailoverClientsUntil);
  Timeline& time = world.time();
  const int64_t away_at = world.Pick(4 * kSecond, 10 * kSecond);
  // One that is to die is cut off for a while before, and grants what the replica never hears of.
  const int64_t dead_at = away_at + (kind.is_dead ? time.PickSpan(kMs, kSecond) : 0);
  const int64_t promoted_at = dead_at + time.PickSpan(kMs, 3 * kSecond);
  const int64_t back_at = kind.is_dead ? kFailoverClientsUntil + kSecond
                                       : promoted_at + time.PickSpan(kMs, 5 * kSecond);
  int64_t told_ms = 0;
  bool is_horizon_known = true;
  time.At(away_at - kUnderWay, [&] { told_ms = HorizonOf(master); });
  time.At(away_at, [&] {
    if (!kind.is_dead) return TakeAway(world, master, replica);
    CutApart(world, master, replica);
  });
  if (kind.is_dead) {
    time.At(dead_at, [&] {
      is_horizon_known = HorizonOf(master) == told_ms;
      master.Kill();
    });
  }
  uint64_t before = 0;
  time.At(promoted_at, [&] {
    before = LocksOf(replica).counts().granted;
    Tell(world, replica, {"REPLICAOF", "NO", "ONE"});
  });
  time.At(back_at, [&] { BringBack(world, master, replica); });
  // As a Sentinel, which comes some time after.
  time.At(back_at + time.PickSpan(kMs, 2 * kSecond), [&] {
    Tell(world, master, {"REPLICAOF", "b", "1"});
  });
  time.RunUntil(kFailoverEnd);
  world.Audit();
  ++sums.plays;
  // No name is held back for a lease that the replica could not know of.
  if (!is_horizon_known) return std::nullopt;
  ++sums.judged;
  sums.after += LocksOf(replica).counts().granted - before;
  if (kind.min_replicas == 0) return JudgeFailover(world, Promise::Kept::kGrants, sums);
  ReadInTheEnd(world, replica);
  return JudgeFailover(
      world, kind.do_changes_wait ? Promise::Kept::kChanges : Promise::Kept::kFenced, sums);
}

std::optional<std::string> PlaySentinelFailovers(uint64_t seed, FailoverSums& sums) {
  World world(seed);
  Machine& first = world.Add(ServerOf("a", 1));
  world.Add(ServerOf("b", 1)).set_config("replicaof", "a 6379");
  for (const auto& machine : world.machines()) machine->Start();
  Sentinels sentinels(world, 3);
  sentinels.Begin();
  for (const auto& machine : world.machines()) {
    for (int i = 0; i < 3; ++i) world.AddClient<LockClient>(*machine);
    world.AddClient<LimitClient>(*machine);
  }
  world.set_finder([&]() -> Machine& {
    return world.OneIn(4) ? *world.machines()[static_cast<size_t>(world.Pick(0, 1))]
                          : sentinels.MasterAsSaid();
  });
  world.set_clients_until(kFailoversClientsUntil);
  Harm harm(world, kFailoversHarm);
  harm.Begin(2 * kSecond, kFailoversHarmUntil);
  world.time().RunUntil(kFailoversEnd);
  world.Audit();
  ++sums.plays;
  sums.promotions += sentinels.promotions();
  Machine* const master = sentinels.Agreed();
  if (!master || !master->is_up() || !first.is_up())
    return "no master in the end\n" + world.time().Told();
  ++sums.judged;
  ReadInTheEnd(world, *master);
  return JudgeFailover(world, Promise::Kept::kFenced, sums);
}

}  // namespace sluice::cluster
