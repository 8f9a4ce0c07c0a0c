// See counted_replicas.h.
#include "tests/simulation/cluster/counted_replicas.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/harm.h"
#include "tests/simulation/cluster/stream_follower.h"
#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kCountedHarmUntil = 20 * kSecond;
constexpr int64_t kCountedClientsUntil = 22 * kSecond;
constexpr int64_t kCountedEnd = 50 * kSecond;
constexpr int64_t kWaitPatience = 3 * kSecond;
constexpr size_t kFollowers = 3;

using Followers = std::vector<std::unique_ptr<StreamFollower>>;

// Writes, and waits for some of them to have it.
class WaitClient final : public Client {
 public:
  WaitClient(World& world, Callee& callee, const Followers& followers)
      : Client(world, callee), followers_(followers) {}
  int counted() const { return counted_; }

 private:
  void Act() override {
    if (!written_.empty()) return Wait();
    const std::string value = std::to_string(world_.NewNumber());
    Ask({"SET", "w", value}, kWaitPatience, [this, value](const auto& reply, const Span& span) {
      if (!reply || reply->kind != Reply::Kind::kStatus) return;
      written_ = value;
      written_at_ = span.call;
    });
  }
  void Wait() {
    const std::string wanted = std::to_string(world_.Pick(1, kFollowers));
    const bool is_still_there = caller().is_connected();
    Ask({"WAIT", wanted, std::to_string(world_.Pick(1, 1000))}, kWaitPatience,
        [this, is_still_there](const auto& reply, const Span&) {
          if (is_still_there && reply && reply->kind == Reply::Kind::kInteger)
            Check(reply->integer);
          written_.clear();
        });
  }
  void Check(int64_t said) {
    int64_t have = 0;
    for (const auto& follower : followers_) have += follower->Has(written_, written_at_) ? 1 : 0;
    EXPECT_LE(said, have) << "have value " << written_ << " of " << written_at_ / kMs << " ms at "
                          << world_.time().now() / kMs << " ms: " << ShowFollowers();
    counted_ += static_cast<int>(said);
  }

  std::string ShowFollowers() const {
    std::string text;
    for (const auto& follower : followers_)
      text +=
          Concat("\n", follower->Show(), follower->Has(written_, written_at_) ? "" : ": not it");
    return text;
  }

  const Followers& followers_;
  std::string written_;
  int64_t written_at_ = 0;
  int counted_ = 0;
};

// Read by a client of its own, when nobody writes any more.
void CompareAtRest(Machine& master, const Followers& followers) {
  TestClient& reader = master.engine().Connect();
  for (const auto& follower : followers) {
    EXPECT_GT(follower->counts().full, 0);
    for (const auto& [key, value] : follower->registers())
      EXPECT_EQ(reader.Run({"GET", key}).text, value) << key;
  }
}

}  // namespace

void PlayCounted(uint64_t seed, uint32_t harm_kinds, CountedSums& sums) {
  World world(seed);
  Machine& master = world.Add(
      {.name = "master",
       .config = {
           {"appendonly", "yes"}, {"repl-diskless-sync-delay", "0"}, {"repl-timeout", "10"}}});
  master.set_config("appendfsync", world.OneIn(2) ? "always" : "everysec");
  master.Start();
  StreamLedger ledger;
  Followers followers;
  for (size_t i = 0; i < kFollowers; ++i) {
    followers.push_back(std::make_unique<StreamFollower>(world, master, ledger));
    followers.back()->Begin();
  }
  for (int i = 0; i < 2; ++i) world.AddClient<RegisterClient>(master);
  world.AddClient<LockClient>(master);
  WaitClient& waits = world.AddClient<WaitClient>(master, followers);
  world.set_clients_until(kCountedClientsUntil);
  Harm harm(world, harm_kinds);
  harm.Begin(2 * kSecond, kCountedHarmUntil);
  world.time().RunUntil(kCountedEnd);
  world.Audit();
  CompareAtRest(master, followers);
  if (testing::Test::HasFailure()) ADD_FAILURE() << "what was done:\n" << world.time().Told();
  sums.counted += waits.counted();
  for (const auto& follower : followers) {
    sums.full += follower->counts().full;
    sums.partial += follower->counts().partial;
  }
}

}  // namespace sluice::cluster
