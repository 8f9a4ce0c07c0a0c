// The effects of locks say all: played into an empty engine, at one moment and before all their
// leases, they make the same holders, with the same tokens and the same ends, whatever had
// happened: waits, hand-overs, expiries, clients that went, keys that were deleted or renamed,
// databases that were flushed or swapped. And FENCED passes the same tokens.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/locks/lock_service.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr uint64_t kLockEffectsSeeds = 150;
constexpr int kLockEffectsSteps = 150;
constexpr size_t kLockEffectsClients = 4;

class LockRecorder final : public EffectSink {
 public:
  void Effect(int db, Args command, EffectTime) override {
    if (db != db_) effects.push_back({"SELECT", std::to_string(db)});
    db_ = db;
    effects.emplace_back(command.begin(), command.end());
  }
  void GroupBegin() override {}
  void GroupEnd() override {}
  std::vector<std::vector<std::string>> effects;

 private:
  int db_ = 0;
};

std::vector<std::string> LockCommand(SimulationRandom& random) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[Between(random, 0, static_cast<int64_t>(words.size()) - 1)]);
  };
  const std::string key = pick({"a", "b", "c"});
  const std::string owner = pick({"ann", "bob", "cyd"});
  switch (Between(random, 0, 14)) {
    case 0:
      return {"LOCK.RELEASE", key, owner};
    case 1:
      return {"LOCK.RELEASE", key, owner, "ALL"};
    case 2:
      return {"LOCK.RENEW", key, owner, "LEASE", std::to_string(Between(random, 1, 80))};
    case 3:
      return {"LOCK.BREAK", key};
    case 4:
      return {pick({"DEL", "UNLINK"}), key};
    case 5:
      return {"RENAME", key, pick({"a", "b", "d"})};
    case 6:
      return {"LOCK.MACQUIRE", "2", "a", "b", owner, "LEASE", "30", "WAIT", "10"};
    case 7:
      return {"LOCK.ACQUIRE", key, owner, "SESSION", "LABEL", "mine", "WAIT", "10"};
    case 8:
      return {"LOCK.ACQUIRE", key, owner, "LEASE", "40", "PERMITS", "1", "OF", "3"};
    case 9:
      return {"LOCK.ACQUIRE", key, owner, "LEASE", "40", "SHARED", "MINHOLD", "20"};
    case 10:
      return {"LOCK.MRELEASE", "3", "a", "b", "c", owner};
    case 11:
      return {"LOCK.ACQUIRE", key, owner, "LEASE", std::to_string(kLeaseMsMax), "MINHOLD", "30"};
    case 12:
      switch (Between(random, 0, 7)) {
        case 0:
          return {"FLUSHALL"};
        case 1:
          return {"FLUSHDB"};
        case 2:
          return {"SWAPDB", "0", "1"};
        case 3:
          return {"MOVE", key, "1"};
        case 4:
          return {"COPY", key, pick({"a", "b", "d"}), "REPLACE"};
        case 5:
          return {"SET", key, "text"};
        default:
          return {"DEL", "a", "b"};
      }
    default:
      return {"LOCK.ACQUIRE",
              key,
              owner,
              "LEASE",
              std::to_string(Between(random, 1, 80)),
              "WAIT",
              std::to_string(Between(random, 0, 40))};
  }
}

std::string Holders(TestEngine& server) {
  std::string text;
  const Now now = server.clock().Sample();
  for (const std::string key : {"a", "b", "c", "d"}) {
    const Lock* lock = server.engine().part<LockService>().FindLock({0, key});
    if (!lock) continue;
    text += key + ":";
    for (const LockHolder& holder : lock->holders()) {
      const bool leased = holder.lease_until_ms != kNoDeadline;
      const bool kept = holder.minhold_until_ms() > now.ms();
      text += " " + std::to_string(holder.token) + " " + std::string(holder.owner) + " " +
              std::string(holder.label()) + " " + std::to_string(static_cast<int>(lock->mode())) +
              " " + std::to_string(holder.permits()) + "/" + std::to_string(lock->permits_of()) +
              " x" + std::to_string(holder.holds) + " until " +
              (leased ? std::to_string(holder.lease_until_ms) : "ever") + " kept " +
              (kept ? std::to_string(holder.minhold_until_ms()) : "not") + " since " +
              std::to_string(holder.since_ms) + " lease " + std::to_string(holder.lease_ms);
    }
    text += "\n";
  }
  return text;
}

// Which tokens FENCED passes of all that were given.
std::string Valid(TestEngine& server, const LockRecorder& recorder) {
  std::set<int64_t> tokens;
  for (const std::vector<std::string>& effect : recorder.effects) {
    if (effect[0] == "LOCK.RESTORE") tokens.insert(std::stoll(effect[2]));
  }
  std::string text;
  LockService& service = server.engine().part<LockService>();
  Locks& locks = service.Enter();
  for (const std::string key : {"a", "b", "c", "d"}) {
    for (const int64_t token : tokens) {
      OpenLock lock(service.held_locks(), LockNameView{0, key});
      const bool valid = locks.CheckToken(lock, token, server.engine().now()) == TokenCheck::kValid;
      if (valid) text += key + " " + std::to_string(token) + "\n";
    }
  }
  return text;
}

void RunLocksOnce(uint64_t seed) {
  SimulationRandom random(seed);
  LockRecorder recorder;
  TestEngine server({.seed = seed});
  server.engine().part<Effects>().set_sink(kToLog, &recorder);
  std::vector<TestClient*> clients;
  for (size_t i = 0; i < kLockEffectsClients; ++i) clients.push_back(&server.Connect());
  for (int step = 0; step < kLockEffectsSteps; ++step) {
    TestClient*& client = clients[static_cast<size_t>(Between(random, 0, kLockEffectsClients - 1))];
    if (Between(random, 0, 19) == 0) {
      client->Disconnect();
      client = &server.Connect();
    }
    client->Send(LockCommand(random));
    while (client->Next()) {
    }
    server.AdvanceTime(Between(random, 0, 12));
  }
  for (TestClient* client : clients) {
    if (server.engine().Find(client->id())->blocked) client->Disconnect();
  }
  server.engine().part<Effects>().set_sink(kToLog, nullptr);

  TestEngine later({.seed = seed + 1});
  TestClient& client = later.Connect();
  client.PlayLog();
  for (const std::vector<std::string>& effect : recorder.effects) {
    const std::string reply = client.Run(effect).ToText();
    EXPECT_NE(reply.substr(0, 1), "-")
        << reply << " to the effect " << effect[0] << " " << effect[1];
  }
  later.AdvanceTime(server.clock().Sample().ms() - later.clock().Sample().ms());
  ASSERT_EQ(Holders(server), Holders(later));
  ASSERT_EQ(Valid(server, recorder), Valid(later, recorder));
  EXPECT_GE(later.engine().part<LockService>().tokens().last(),
            server.engine().part<LockService>().tokens().last());
}

TEST(Simulation, LockEffectsReplayToTheSameHolders) { RunSeeds(kLockEffectsSeeds, RunLocksOnce); }

}  // namespace
}  // namespace sluice
