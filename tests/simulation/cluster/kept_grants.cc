// See kept_grants.h.
#include "tests/simulation/cluster/kept_grants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "server/following/following.h"
#include "storage/keyspace/keyspace.h"
#include "storage/locks/lock.h"
#include "tests/simulation/cluster/compare.h"
#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kKeptHarmUntil = 20 * kSecond;
constexpr int64_t kKeptClientsUntil = 22 * kSecond;
constexpr int64_t kKeptEnd = 60 * kSecond;
constexpr int64_t kOptionEvery = 3 * kSecond;
constexpr int kKeptClients = 5;
constexpr int64_t kReplicasMax = 3;  // one more than there are
constexpr const char* kKeptLocks[] = {"one", "two", "three"};
// None of them loses what a replica has.
constexpr uint32_t kKeptHarm = Harm::kCuts | Harm::kBreaks | Harm::kPauses | Harm::kSlowSyncs;

// A request for locks, as others may repeat it.
struct KeptRequest {
  std::vector<std::string> words;
  std::vector<std::string> keys;
  std::string owner;
  int64_t replicas = 0;
  bool has_id = false;
};

// The clients of a world share this.
struct KeptWorld {
  Machine& master;
  std::vector<Machine*> replicas;
  std::optional<KeptRequest> last;  // that has an ID
  KeptSums& sums;
};

// This owner of a lock there, until the next turn; null: he does not hold it. A client would have
// to wait for the answer.
const LockHolder* HolderAt(Machine& machine, const std::string& key, const std::string& owner) {
  Keyspace& keyspace = machine.engine().engine().keyspace();
  const LockHolder* found = nullptr;
  if (!keyspace.made(0)) return found;
  keyspace.db(0).ForEach([&](const Entry& entry) {
    if (entry.key() != key || entry.type() != ValueType::kLock) return;
    for (const LockHolder& holder : static_cast<const Lock&>(entry.value()).holders())
      if (holder.owner == owner) found = &holder;
  });
  return found;
}

bool HasToken(Machine& machine, const std::string& key, const std::string& owner, int64_t token) {
  const LockHolder* const holder = HolderAt(machine, key, owner);
  return holder && holder->token == token;
}

class AskingClient final : public Client {
 public:
  AskingClient(World& world, Callee& callee, KeptWorld& kept)
      : Client(world, callee), kept_(kept) {}

 private:
  void Act() override {
    switch (world_.Pick(0, 12)) {
      case 0:
        return Say({"LOCK.BREAK", OneLock()});
      case 1:
        return Say({"DEL", OneLock()});
      case 2:
        return Say({"LOCK.INFO", OneLock()});
      case 3:
      case 4:
        return last_ ? Release() : Acquire(New());
      case 5:
      case 6:
        return last_ ? Renew() : Acquire(New());
      case 7:
        return last_ ? Write() : Acquire(New());
      case 8:
        return Acquire(kept_.last ? *kept_.last : New());
      default:
        return Acquire(New());
    }
  }

  std::string OneLock() { return kKeptLocks[world_.Pick(0, std::ssize(kKeptLocks) - 1)]; }
  void Say(const std::vector<std::string>& words) {
    Ask(words, 2 * kSecond, [](const auto&, const Span&) {});
  }

  KeptRequest New() {
    const std::string number = std::to_string(world_.NewNumber());
    KeptRequest request{.owner = "o" + number};
    if (world_.OneIn(3)) {
      request.keys = {kKeptLocks[0], kKeptLocks[1]};
      request.words = {"LOCK.MACQUIRE", "2", kKeptLocks[0], kKeptLocks[1], request.owner};
    } else {
      request.keys = {OneLock()};
      request.words = {"LOCK.ACQUIRE", request.keys.front(), request.owner};
    }
    const auto add = [&](const std::vector<std::string>& words) {
      request.words.insert(request.words.end(), words.begin(), words.end());
    };
    add({"LEASE", std::to_string(world_.time().PickSpan(20, 4000))});
    if (world_.OneIn(2)) add({"WAIT", std::to_string(world_.Pick(1, 1500))});
    if (world_.OneIn(2)) request.replicas = world_.Pick(1, kReplicasMax);
    if (request.replicas > 0)
      add({"REPLICAS", std::to_string(request.replicas), std::to_string(world_.Pick(1, 1000))});
    if (!world_.OneIn(3)) return request;
    add({"ID", "id" + number});
    request.has_id = true;
    kept_.last = request;
    return request;
  }

  // Some have little patience, and hang up while the grant waits.
  void Acquire(const KeptRequest& request) {
    last_ = request;
    token_ = 0;
    Ask(request.words, world_.OneIn(3) ? 20 * kMs : 3 * kSecond,
        [this, request](const auto& reply, const Span&) {
          if (!reply) return;
          if (reply->text.starts_with("NOREPLICAS")) Refused(request);
          if (reply->kind == Reply::Kind::kArray) Granted(request, *reply);
        });
  }

  // Answers that tell of a grant, and wait for the replicas at the gate.
  void Renew() {
    Ask({"LOCK.RENEW", last_->keys.front(), last_->owner, "LEASE", "500"},
        world_.OneIn(3) ? 20 * kMs : 2 * kSecond, [](const auto&, const Span&) {});
  }
  void Write() {
    Ask({"FENCED", last_->keys.front(), std::to_string(token_), "INCR", "written"},
        world_.OneIn(3) ? 20 * kMs : 2 * kSecond, [](const auto&, const Span&) {});
  }

  void Release() {
    std::vector<std::string> words = {"LOCK.RELEASE", last_->keys.front(), last_->owner};
    if (last_->keys.size() > 1)
      words = {"LOCK.MRELEASE", "2", last_->keys[0], last_->keys[1], last_->owner};
    last_.reset();
    Say(words);
  }

  // Nothing is held for a request that was refused. What others have repeated may be, and a pause
  // keeps leases from ending.
  void Refused(const KeptRequest& request) {
    ++kept_.sums.refused;
    for (const std::string& key : request.keys) {
      const LockHolder* const holder = HolderAt(kept_.master, key, request.owner);
      const bool is_over = !holder || holder->EndsAtMs() <= kept_.master.engine().now().ms();
      EXPECT_TRUE(is_over || request.has_id) << key << " is held by " << request.owner;
    }
  }

  // A replica that was told of the grant has it as long as the master has.
  void Granted(const KeptRequest& request, const Reply& reply) {
    ++kept_.sums.grants;
    token_ = reply.elements.at(0).integer;
    for (size_t i = 0; i < request.keys.size() && request.replicas > 0; ++i) {
      const int64_t token = reply.elements.at(i).integer;
      if (!HasToken(kept_.master, request.keys[i], request.owner, token)) continue;
      const auto have = std::ranges::count_if(kept_.replicas, [&](Machine* replica) {
        return HasToken(*replica, request.keys[i], request.owner, token);
      });
      EXPECT_GE(have, request.replicas)
          << "have token " << token << " of " << request.keys[i] << " at "
          << world_.time().now() / kMs << " ms: " << ShowReplicas(request, i);
      ++kept_.sums.kept;
    }
  }

  // For readers.
  std::string ShowReplicas(const KeptRequest& request, size_t lock) const {
    std::string text;
    for (Machine* const replica : kept_.replicas) {
      const LockHolder* const holder = HolderAt(*replica, request.keys[lock], request.owner);
      const Following& following = replica->engine().engine().part<Following>();
      text += Concat("\n", replica->name(), " has token ", holder ? holder->token : 0,
                     ", and has applied ", following.applied());
    }
    return text;
  }

  KeptWorld& kept_;
  std::optional<KeptRequest> last_;
  int64_t token_ = 0;  // that was granted last
};

// From time to time, under those who wait.
void ChangeOption(World& world, Machine& master) {
  world.time().After(world.Pick(1, kOptionEvery), [&world, &master] {
    if (world.clients_rest()) return;
    master.Order({"CONFIG", "SET", "lock-min-replicas", std::to_string(world.Pick(0, 2)),
                  "lock-replicas-timeout", std::to_string(world.Pick(20, 1000))});
    if (world.OneIn(2))
      master.Order({"CLIENT", "PAUSE", std::to_string(world.Pick(1, 1500)), "WRITE"});
    ChangeOption(world, master);
  });
}

}  // namespace

void PlayKept(uint64_t seed, KeptSums& sums) {
  World world(seed);
  KeptWorld kept{.master = world.Add({.name = "master"}), .sums = sums};
  for (const char* const name : {"b", "c"}) kept.replicas.push_back(&world.Add({.name = name}));
  for (const auto& machine : world.machines()) {
    machine->set_config("appendonly", "yes");
    machine->set_config("repl-diskless-sync-delay", "0");
    machine->set_config("repl-timeout", "10");
    if (machine.get() != &kept.master) machine->set_config("replicaof", "master 6379");
    machine->Start();
  }
  for (int i = 0; i < kKeptClients; ++i) world.AddClient<AskingClient>(kept.master, kept);
  world.set_clients_until(kKeptClientsUntil);
  ChangeOption(world, kept.master);
  Harm harm(world, kKeptHarm);
  harm.Begin(2 * kSecond, kKeptHarmUntil);
  world.time().RunUntil(kKeptEnd);
  world.Audit();
  for (Machine* const replica : kept.replicas) ExpectSame(kept.master, *replica, false);
  if (testing::Test::HasFailure()) ADD_FAILURE() << "what was done:\n" << world.time().Told();
}

}  // namespace sluice::cluster
