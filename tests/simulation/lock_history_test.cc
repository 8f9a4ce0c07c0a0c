// Histories of locks through the whole command layer: clients that take, renew, break, wait, delete
// keys and crash, while time passes in small steps and the wall clock in wild ones. After every
// step the rules must hold:
//   at most one exclusive holder; readers never with a writer; permits never above m;
//   tokens grow with every grant of the server; waiters with nothing in common but the key are
//   served in the order in which they came; every waiter is granted, timed out, turned away or
//   gone; FENCED lets no stale token through, whatever was forgotten, and lets every holder's
//   through; and of a client that is gone nothing is left.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/locks/lock_service.h"
#include "server/waiting/waiters.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr uint64_t kLockHistorySeeds = 1500;
constexpr int kLockHistorySteps = 90;
constexpr int kLockHistoryClients = 6;
const std::vector<std::string> kLockHistoryKeys = {"a", "b", "c"};

class LockHistory {
 public:
  explicit LockHistory(uint64_t seed)
      : random_(seed),
        // In every other history each request has an owner of its own: then FIFO is strict.
        own_owners_(seed % 2 == 0),
        server_({.seed = seed,
                 .config = {{"fence-retention", seed % 3 == 0 ? "20" : "3600000"},
                            {"fence-memory-max", seed % 5 == 0 ? "300" : "1000000"}}}) {
    for (int i = 0; i < kLockHistoryClients; ++i)
      players_.push_back({.client = &server_.Connect()});
  }

  void Run() {
    for (int step = 0; step < kLockHistorySteps && !testing::Test::HasFailure(); ++step) {
      Step();
      CollectReplies();
      CheckLocks();
    }
    for (int i = 0; i < 20; ++i) {  // all waits and leases end, step by step
      server_.AdvanceTime(20);
      CollectReplies();
    }
    for (const Player& player : players_) EXPECT_FALSE(player.waits) << "a waiter was forgotten";
    EXPECT_EQ(server_.engine().part<Waiters>().blocked_clients().size(), 0u);
    EXPECT_FALSE(server_.engine().part<LockService>().listens());
  }

 private:
  struct Player {
    TestClient* client;
    bool waits = false;
    std::vector<std::string> keys;  // of its wait
    bool exclusive = true;
    uint64_t order = 0;
    bool strict = false;  // this wait takes part in the test of FIFO
  };

  int64_t Pick(int64_t low, int64_t high) { return Between(random_, low, high); }
  const std::string& AnyKey() { return kLockHistoryKeys[static_cast<size_t>(Pick(0, 2))]; }
  std::string Owner(size_t player) {
    if (own_owners_) return "o" + std::to_string(++owners_);
    return "o" + std::to_string(player % 4);
  }

  void Step() {
    const auto index = static_cast<size_t>(Pick(0, kLockHistoryClients - 1));
    Player& player = players_[index];
    const int64_t what = Pick(0, 99);
    if (what < 8) return Crash(player);
    if (what < 27) return server_.AdvanceTime(Pick(0, 15));
    if (what < 30) return StepWall();
    if (what < 34) return Mischief();
    if (what < 44) return CheckFence();
    if (player.waits) return;
    if (what < 80) return Acquire(index);
    if (what < 83) return Send(player, {"LOCK.BREAK", AnyKey()});
    if (what < 87) return Send(player, {"LOCK.RENEW", AnyKey(), Owner(index), "LEASE", "12"});
    const auto [key, owner] = SomeHolder(index);
    if (what < 90) return Send(player, {"LOCK.MRELEASE", "2", "a", "b", owner});
    Send(player, {"LOCK.RELEASE", key, owner});
  }

  // An NTP step, or an administrator's: no lease feels it, and tokens grow all the same.
  void StepWall() {
    const std::string before = Holders();
    server_.clock().StepWall(Pick(-5'000, 5'000));
    server_.AdvanceTime(0);
    EXPECT_EQ(Holders(), before);
  }

  std::string Holders() {
    std::string text;
    for (const std::string& key : kLockHistoryKeys) {
      const Lock* const lock = server_.engine().part<LockService>().FindLock({0, key});
      if (!lock) continue;
      for (const LockHolder& holder : lock->holders()) {
        text += key + " " + std::to_string(holder.token) + " " + std::string(holder.owner) + " " +
                std::to_string(holder.EndsAtMs()) + "\n";
      }
    }
    return text;
  }

  void Send(Player& player, const std::vector<std::string>& command) {
    player.client->Send(command);
    while (player.client->Next()) {
    }
  }

  // Of a holder, more often than not.
  std::pair<std::string, std::string> SomeHolder(size_t index) {
    const std::string& key = AnyKey();
    const Lock* lock = server_.engine().part<LockService>().FindLock({0, key});
    if (!lock || lock->empty()) return {key, Owner(index)};
    return {key, std::string(lock->holders().begin()->owner.view())};
  }

  void Acquire(size_t index) {
    Player& player = players_[index];
    std::vector<std::string> command{"LOCK.ACQUIRE"};
    player.keys = {AnyKey()};
    player.exclusive = true;
    const int64_t shape = Pick(0, 9);
    if (shape == 0) {
      player.keys = {"a", "b"};
      command = {"LOCK.MACQUIRE", "2"};
    }
    command.insert(command.end(), player.keys.begin(), player.keys.end());
    command.push_back(Owner(index));
    const int64_t lease = Pick(0, 3);
    if (lease != 0) command.insert(command.end(), {"LEASE", std::to_string(Pick(1, 30))});
    if (lease == 0) command.push_back("SESSION");
    if (shape == 1 || shape == 2) {
      command.push_back("SHARED");
      player.exclusive = false;
    } else if (shape == 3 || shape == 4) {
      command.insert(command.end(), {"PERMITS", std::to_string(Pick(1, 3)), "OF", "3"});
      player.exclusive = false;
    }
    if (Pick(0, 9) == 0) command.insert(command.end(), {"MINHOLD", std::to_string(Pick(1, 10))});
    if (Pick(0, 2) != 0) command.insert(command.end(), {"WAIT", std::to_string(Pick(1, 60))});
    player.order = ++order_;
    player.strict = own_owners_ && player.keys.size() == 1 && player.exclusive;
    player.client->Send(command);
    if (const std::optional<Reply> reply = player.client->Next()) return Answered(player, *reply);
    player.waits = true;
  }

  // A reply to ACQUIRE or MACQUIRE.
  void Answered(Player& player, const Reply& reply) {
    const bool waited = std::exchange(player.waits, false);
    if (reply.kind != Reply::Kind::kArray) return;
    const bool many = player.keys.size() > 1;
    const bool reentrant = !many && reply.elements.at(2).integer > 1;
    for (size_t i = 0; i < player.keys.size(); ++i) {
      const int64_t token = reply.elements.at(many ? i : 0).integer;
      tokens_[player.keys[i]].insert(token);
      granted_.push_back({token, waited || reentrant || !own_owners_});
    }
    if (!player.strict) return;
    for (const Player& other : players_) {
      const bool overtaken =
          other.waits && other.strict && other.order < player.order && other.keys == player.keys;
      EXPECT_FALSE(overtaken) << "a later request was served first";
    }
  }

  void CollectReplies() {
    // In the order of their requests: FIFO is checked against the waits that are left.
    std::vector<Player*> in_order;
    for (Player& player : players_) in_order.push_back(&player);
    std::ranges::sort(in_order, {}, &Player::order);
    for (Player* player : in_order) {
      if (!player->waits) continue;
      if (const std::optional<Reply> reply = player->client->Next()) Answered(*player, *reply);
    }
  }

  void Crash(Player& player) {
    player.client->Disconnect();
    player = {.client = &server_.Connect()};
  }

  void Mischief() {
    const std::string& key = AnyKey();
    TestClient& client = *Idle().client;
    const Lock* const lock = server_.engine().part<LockService>().FindLock({0, key});
    switch (Pick(0, 4)) {
      case 0:
        client.Run({"DEL", key});
        break;
      case 1:
        client.Run({"FLUSHALL"});
        for (const std::string& name : kLockHistoryKeys) Drop(name);
        return;
      case 2:
        client.Run({"SET", key, "x"});
        CollectReplies();
        if (lock) Drop(key);
        client.Run({"DEL", key});  // so that it can be a lock again
        return;
      case 3:
        client.Run({"COPY", key, "d", "REPLACE"});
        return;
      default:
        client.Run({"RENAME", key, "d"});
    }
    if (lock) Drop(key);
  }

  // Nothing that had been given before may pass again; a client that had waited may hold it by now.
  void Drop(const std::string& key) { dropped_[key] = Newest(key); }

  Player& Idle() {
    for (Player& player : players_) {
      if (!player.waits) return player;
    }
    Crash(players_.front());
    return players_.front();
  }

  int64_t Newest(const std::string& key) {
    return tokens_[key].empty() ? 0 : *tokens_[key].rbegin();
  }

  // A token passes if it is held, or the newest of its lock; a holder's always does.
  void CheckFence() {
    const std::string& key = AnyKey();
    if (tokens_[key].empty()) return;
    auto place = tokens_[key].begin();
    std::advance(place, Pick(0, static_cast<int64_t>(tokens_[key].size()) - 1));
    const int64_t token = *place;
    TestClient& client = *Idle().client;
    CollectReplies();
    const Reply reply = client.Run({"FENCED", key, std::to_string(token), "INCR", "n"});
    const Lock* lock = server_.engine().part<LockService>().FindLock({0, key});
    const bool held = lock && lock->Holds(token);
    const bool passed = reply.kind == Reply::Kind::kInteger;
    EXPECT_TRUE(passed || !held) << "a holder was refused: " << reply.ToText();
    const bool newest = token == Newest(key) && token > dropped_[key];
    EXPECT_TRUE(!passed || held || newest) << "a stale token passed";
    EXPECT_TRUE(passed || reply.text.starts_with("STALE")) << reply.ToText();
  }

  void CheckLocks() {
    for (const std::string& key : kLockHistoryKeys) {
      const Lock* lock = server_.engine().part<LockService>().FindLock({0, key});
      if (!lock) continue;
      EXPECT_EQ(lock->Audit(), "");
      for (const LockHolder& holder : lock->holders()) {
        EXPECT_LE(holder.token, server_.engine().part<LockService>().tokens().last());
        for (const uint64_t session : holder.sessions()) {
          EXPECT_TRUE(server_.engine().part<LockService>().FindConnection(session))
              << "held by no player";
        }
      }
    }
    // Every grant that was answered at once has a number above all that were known before it.
    int64_t highest = 0;
    for (const auto& [token, loose] : granted_) {
      EXPECT_TRUE(loose || token > highest) << "tokens must grow";
      highest = std::max(highest, token);
    }
    granted_.clear();
    granted_.push_back({highest, true});
  }

  SimulationRandom random_;
  const bool own_owners_;
  TestEngine server_;
  std::vector<Player> players_;
  std::map<std::string, std::set<int64_t>> tokens_;
  std::map<std::string, int64_t> dropped_;  // tokens up to it are dead
  std::vector<std::pair<int64_t, bool>> granted_;
  uint64_t order_ = 0;
  uint64_t owners_ = 0;
};

TEST(Simulation, LockHistoriesKeepTheRules) {
  RunSeeds(kLockHistorySeeds, [](uint64_t seed) { LockHistory(seed).Run(); });
}

}  // namespace
}  // namespace sluice
