// See handed_over.h.
#include "tests/simulation/plays/handed_over.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

#include "server/following/following.h"
#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/compare.h"
#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kOrdersUntil = 20 * kSecond;
constexpr int64_t kHandedClientsUntil = 22 * kSecond;
constexpr int64_t kHandedEnd = 80 * kSecond;
constexpr int64_t kOrderAfterMax = 1500 * kMs;
constexpr int64_t kLookEvery = 20 * kMs;
constexpr int64_t kTroubleAtFirst = 3 * kSecond;
constexpr int kRightings = 5;
constexpr size_t kBulkBytes = 5 * 1024 * 1024;
constexpr uint32_t kHandedHarm = Harm::kCuts | Harm::kBreaks | Harm::kPauses | Harm::kKills |
                                 Harm::kSlowSyncs | Harm::kFullDisks;

using Orders = std::vector<std::vector<std::string>>;

// As redis-sentinel puts it.
Orders RoleBySentinel(const std::string& host, const std::string& port) {
  return {{"MULTI"},
          {"SLAVEOF", host, port},
          {"CLIENT", "KILL", "TYPE", "normal"},
          {"CLIENT", "KILL", "TYPE", "pubsub"},
          {"EXEC"}};
}

class HandedOver {
 public:
  explicit HandedOver(uint64_t seed) : world_(seed) {}

  std::optional<std::string> Play(HandedOverSums& sums);

 private:
  Machine& Server(const std::string& name);
  Machine& Other(const Machine& machine) { return &machine == one_ ? *other_ : *one_; }
  static bool Follows(Machine& machine) {
    return machine.engine().engine().part<Following>().is_on();
  }
  Machine& Asked();
  void TroubleAtFirst();
  void Look();
  static bool MayBePromoted(Machine& machine);
  void Order();
  void OrderOf(Machine& machine, const Machine& peer);
  void SetRight();
  void ReadInTheEnd();

  World world_;
  Machine* one_ = nullptr;
  Machine* other_ = nullptr;
  Machine* master_ = nullptr;  // that was one when it was looked at last
  int64_t new_parts_ = 0;
};

Machine& HandedOver::Server(const std::string& name) {
  return world_.Add({.name = name,
                     .config = {{"appendonly", "yes"},
                                {"appendfsync", "always"},
                                {"replica-announce-ip", name},
                                {"rdbcompression", "no"},
                                {"repl-diskless-sync", world_.OneIn(2) ? "yes" : "no"},
                                {"repl-diskless-sync-delay", "0"},
                                {"repl-ping-replica-period", "1"},
                                {"repl-timeout", "3"},
                                {"lock-min-replicas", "1"}},
                     .waits_for_asides = !world_.OneIn(4)});
}

// Some clients believe what is no more.
Machine& HandedOver::Asked() { return world_.OneIn(4) ? Other(*master_) : *master_; }

// The disk of the other one is slow, or full, while the first image comes.
void HandedOver::TroubleAtFirst() {
  const auto heal = [this](std::function<void()> how) {
    world_.time().After(world_.Pick(1, kTroubleAtFirst), std::move(how));
  };
  if (world_.OneIn(2)) {
    other_->set_aside_max(kTroubleAtFirst / 4);
    heal([this] { other_->set_aside_max(kMs); });
  }
  if (world_.OneIn(4)) {
    other_->disk().write_fault = ENOSPC;
    heal([this] { other_->disk().write_fault = 0; });
  }
}

// Where both are masters neither grants, and each has what was granted. Where none is, the one that
// was has it.
void HandedOver::Look() {
  Machine& peer = Other(*master_);
  const bool is_master = !master_->is_up() || !Follows(*master_);
  if (!is_master && peer.is_up() && !Follows(peer)) {
    master_ = &peer;
    ++new_parts_;
  }
  world_.time().After(kLookEvery, [this] { Look(); });
}

// One whose data are not whole says slave_priority:0, and a Sentinel passes it over. So it is with
// one that was killed before its first image was on its disk: it has started empty, and lacks what
// it had acknowledged.
bool HandedOver::MayBePromoted(Machine& machine) {
  if (!machine.is_up() || !Follows(machine)) return true;
  return machine.engine().engine().part<Following>().is_whole();
}

// To one of the two, whatever it is.
void HandedOver::OrderOf(Machine& machine, const Machine& peer) {
  const std::string timeout = std::to_string(world_.Pick(1, 2000));
  switch (world_.Pick(0, 9)) {
    case 0:
      return machine.Order({"FAILOVER"});
    case 1:
    case 2:
      return machine.Order({"FAILOVER", "TO", peer.name(), "6379", "TIMEOUT", timeout});
    case 3:
      return machine.Order({"FAILOVER", "TO", peer.name(), "6379", "FORCE", "TIMEOUT", timeout});
    case 4:
      return machine.Order({"FAILOVER", "ABORT"});
    case 5:
      if (MayBePromoted(machine)) machine.OrderAll(RoleBySentinel("NO", "ONE"));
      return;
    case 6:
    case 7:
      return machine.OrderAll(RoleBySentinel(peer.name(), "6379"));
    default:
      return machine.Order({"CONFIG", "SET", "tls-replication", world_.OneIn(3) ? "yes" : "no"});
  }
}

void HandedOver::Order() {
  if (world_.time().now() >= kOrdersUntil) return;
  Machine& machine = world_.OneIn(3) ? Other(*master_) : *master_;
  OrderOf(machine, Other(machine));
  world_.time().After(world_.Pick(1, kOrderAfterMax), [this] { Order(); });
}

void HandedOver::SetRight() {
  for (const auto& machine : world_.machines()) {
    machine->Order({"FAILOVER", "ABORT"});
    machine->Order({"CONFIG", "SET", "tls-replication", "no"});
  }
  master_->Order({"REPLICAOF", "NO", "ONE"});
  Other(*master_).Order({"REPLICAOF", master_->name(), "6379"});
}

// What the master in the end has kept: what was read before may be old.
void HandedOver::ReadInTheEnd() {
  const std::string key = "c:alone";
  std::vector<CounterOperation>& counter = world_.records().counters[key];
  std::erase_if(counter, [](const CounterOperation& operation) {
    return operation.kind == CounterOperation::Kind::kRead;
  });
  const Reply value = master_->engine().Connect().Run({"GET", key});
  const int64_t now = world_.time().now();
  counter.push_back({.span = {now, now + 1},
                     .kind = CounterOperation::Kind::kRead,
                     .value = value.text.empty() ? 0 : std::stoll(value.text)});
}

std::optional<std::string> HandedOver::Play(HandedOverSums& sums) {
  one_ = master_ = &Server("a");
  other_ = &Server("b");
  Timeline& time = world_.time();
  one_->Start();
  if (world_.OneIn(8)) one_->Order({"SET", "bulk", std::string(kBulkBytes, 'b')});
  other_->set_config("replicaof", "a 6379");
  other_->Start();
  TroubleAtFirst();
  world_.set_finder([this]() -> Machine& { return Asked(); });
  for (int i = 0; i < 5; ++i) world_.AddClient<LockClient>(*one_);
  world_.AddClient<LimitClient>(*one_);
  world_.set_clients_until(kHandedClientsUntil);
  Harm harm(world_, kHandedHarm);
  harm.Begin(3 * kSecond, kOrdersUntil);
  Look();
  Order();
  for (int64_t i = 0; i < kRightings; ++i)
    time.At(kHandedClientsUntil + (i + 2) * kSecond, [this] { SetRight(); });
  time.RunUntil(kHandedEnd);
  world_.Audit();
  ExpectSame(*master_, Other(*master_), false);
  if (testing::Test::HasFailure()) ADD_FAILURE() << "what was done:\n" << time.Told();
  sums.new_parts += new_parts_;
  for (const auto& [key, lock] : world_.records().locks) {
    sums.grants += static_cast<size_t>(
        std::ranges::count(lock.attempts, LockAttempt::Answer::kGranted, &LockAttempt::answer));
  }
  for (const auto& [key, limit] : world_.records().limits) {
    sums.limited += static_cast<size_t>(std::ranges::count(
        limit.operations, LimitOperation::Answer::kAllowed, &LimitOperation::answer));
  }
  if (!master_->is_up()) return "no master in the end\n" + time.Told();
  for (const CounterOperation& operation : world_.records().counters["c:alone"])
    sums.fenced += operation.token != 0;
  ReadInTheEnd();
  const Promise promise{.drift_ppm = world_.drift_ppm(), .kept = Promise::Kept::kFenced};
  std::optional<std::string> complaint = Judge(world_.records(), promise);
  if (complaint) *complaint += "what was done:\n" + time.Told();
  return complaint;
}

}  // namespace

std::optional<std::string> PlayHandedOver(uint64_t seed, HandedOverSums& sums) {
  return HandedOver(seed).Play(sums);
}

}  // namespace sluice::cluster
