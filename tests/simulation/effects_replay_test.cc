// Effects say all: whatever a random run did, its recorded effects alone, played into an empty
// engine, make the same keyspace: keys, values, groups of streams, deadlines. The replay holds time
// back until it is through, as a loader must: what had a deadline then may be long past it when it
// is read.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/commands/admin/data_digest.h"
#include "storage/keyspace/packed_value.h"
#include "storage/limits/leaky_bucket.h"
#include "storage/limits/limiter.h"
#include "storage/types/streams/stream.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr uint64_t kSeeds = 60;
constexpr int kSteps = 400;

// Records what happened, with its database; groups are checked and flattened.
class Recorder final : public EffectSink {
 public:
  void Effect(int db, Args command) override {
    effects_.emplace_back(db, std::vector<std::string>(command.begin(), command.end()));
    ++in_this_group_;
  }
  void GroupBegin() override {
    EXPECT_FALSE(in_group_) << "groups do not nest";
    in_group_ = true;
    in_this_group_ = 0;
  }
  void GroupEnd() override {
    EXPECT_TRUE(in_group_);
    EXPECT_GE(in_this_group_, 2) << "one stands alone";
    in_group_ = false;
  }
  const std::vector<std::pair<int, std::vector<std::string>>>& effects() const { return effects_; }

 private:
  std::vector<std::pair<int, std::vector<std::string>>> effects_;
  bool in_group_ = false;
  int in_this_group_ = 0;
};

// Its entries are in the digest. When consumers were last seen is no state that is told.
std::string TextOf(const Stream& stream) {
  std::string text = " last " + stream.last_id().Text() + " first " + stream.first_id().Text() +
                     " deleted " + stream.max_deleted_id().Text() + " added " +
                     std::to_string(stream.entries_added());
  for (const auto& [name, group] : stream.groups()) {
    text += "\n  " + name + " at " + group->last_id.Text() + " read " +
            std::to_string(group->entries_read);
    for (const auto& [consumer, state] : group->consumers()) text += " " + consumer;
    for (const auto& [id, pending] : group->pending()) {
      text += "\n    " + id.Text() + " " + pending.consumer->name + " " +
              std::to_string(pending.delivered_ms) + " x" + std::to_string(pending.deliveries);
    }
  }
  return text;
}

// All there is to a value.
std::string TextOf(const Entry& entry, const Now& now) {
  char scratch[Entry::kTextScratch];
  if (entry.is_string()) return std::string(entry.Text(scratch));
  std::unique_ptr<Value> unpacked;
  if (entry.is_packed()) unpacked = UnpackValue(entry.type(), entry.packed());
  Value& value = entry.is_packed() ? *unpacked : entry.value();
  std::string text;
  if (entry.type() == ValueType::kLeakyBucket) {
    std::map<int64_t, uint64_t> drains;
    static_cast<LeakyBucket&>(value).ForEachDrain(
        now, [&](int64_t due_ms, uint64_t units) { drains[due_ms] += units; });
    for (const auto& [due_ms, units] : drains)
      text += std::to_string(due_ms) + ":" + std::to_string(units) + " ";
  } else if (entry.type() == ValueType::kLimiter) {
    const Limiter& limiter = static_cast<Limiter&>(value);
    if (!limiter.log()) return std::string(entry.packed());
    Now at = now;
    for (int step = 0; step < 500; ++step, at.steady_us += 1000)
      text += std::to_string(limiter.Info(at).remaining) + " ";
  } else {
    text = DigestOfValue(&entry, now);
  }
  if (entry.type() == ValueType::kStream) text += TextOf(static_cast<Stream&>(entry.value()));
  return text;
}

using Contents = std::map<std::pair<int, std::string>, std::string>;

Contents Walk(TestEngine& server) {
  Contents contents;
  Keyspace& keyspace = server.engine().keyspace();
  const Now now = server.clock().Sample();
  for (int db = 0; db < keyspace.databases(); ++db) {
    if (!keyspace.made(db)) continue;
    keyspace.db(db).ForEach([&](const Entry& entry) {
      if (entry.Expired(now)) return;
      std::string text = TextOf(entry, now);
      text += " until " +
              (entry.deadline().none() ? "ever" : std::to_string(entry.deadline().UnixMs(now)));
      contents[{db, std::string(entry.key())}] = text;
    });
  }
  return contents;
}

std::string Line(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  return line;
}

void Replay(const Recorder& recorded, TestEngine& server) {
  TestClient& client = server.Connect();
  client.PlayLog();
  int selected = 0;
  for (const auto& [db, command] : recorded.effects()) {
    if (db != selected) client.Run({"SELECT", std::to_string(db)});
    selected = db;
    const std::string reply = client.Run(command).ToText();
    EXPECT_NE(reply.substr(0, 1), "-") << reply << " to the effect " << Line(command);
  }
}

void RunOnce(uint64_t seed) {
  SimulationRandom random(seed);
  Recorder recorder;
  TestEngine server({.seed = seed});
  server.engine().part<Effects>().set_sink(&recorder);
  TestClient* clients[] = {&server.Connect(), &server.Connect()};
  clients[1]->Run({"SELECT", "1"});
  TestClient& waiting = server.Connect();
  for (int step = 0; step < kSteps; ++step) {
    TestClient& client = *clients[Between(random, 0, 1)];
    if (Between(random, 0, 9) == 0) {
      client.Run({"MULTI"});
      for (int64_t left = Between(random, 0, 4); left > 0; --left)
        client.Run(RandomCommand(random));
      client.Run({"EXEC"});
    } else {
      client.Run(RandomCommand(random));
    }
    while (waiting.Next()) {
    }
    if (!server.engine().Find(waiting.id())->blocked) waiting.Send(RandomWait(random));
    if (Between(random, 0, 30) == 0) client.Run({"SWAPDB", "0", "1"});
    if (Between(random, 0, 80) == 0) client.Run({"FLUSHDB"});
    server.AdvanceTime(Between(random, 0, 25));
  }
  server.engine().part<Effects>().set_sink(nullptr);

  TestEngine later({.seed = seed + 1});
  Replay(recorder, later);
  const int64_t passed_ms = server.clock().Sample().ms();
  later.AdvanceTime(passed_ms);
  ASSERT_EQ(Walk(server), Walk(later));
}

TEST(Simulation, EffectsReplayToTheSameState) {
  for (const uint64_t seed : SimulationSeeds(kSeeds)) {
    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    RunOnce(seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace sluice
