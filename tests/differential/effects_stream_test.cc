// What replicas are sent, played to a redis-server 7.0.15 that follows: it takes every command of
// it, and has then what this server has, but for what no Redis can hold.
//
//   effects_stream effects.txt
//
// Each line of effects.txt that is said to a server, and random commands, go to the engine; its
// stream goes to the redis-server through a made-up master.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/dispatch/command_table.h"
#include "server/replication/replication_stream.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/made_up_master.h"
#include "tests/support/redis_process.h"
#include "tests/transcripts/transcript.h"

namespace sluice {
namespace {

constexpr int kDatabases = 3;  // that the lines use
constexpr size_t kBacklogBytes = 16 << 20;

// The replica's clock is the machine's. Keys that end soon here must not look over there before the
// stream says so.
int64_t FarUnixMs() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch() + hours(24)).count();
}

// A key as both servers tell of it.
struct KeyState {
  std::string digest;   // of its value
  std::string ends_at;  // its Unix time in ms
  bool operator==(const KeyState&) const = default;
};
using DatabaseState = std::map<std::string, KeyState>;

bool IsOfOurs(const std::string& type) {
  return type == "limiter" || type == "leakybucket" || type == "lock";
}

// What Redis can hold of a database. `run` sends a command to the server and gives its reply.
template <typename Run>
DatabaseState StateOf(const Run& run, int db) {
  DatabaseState state;
  run({"SELECT", std::to_string(db)});
  for (const Reply& key : run({"KEYS", "*"}).elements) {
    if (IsOfOurs(run({"TYPE", key.text}).text)) continue;
    state[key.text] = {run({"DEBUG", "DIGEST-VALUE", key.text}).ToText(),
                       run({"PEXPIRETIME", key.text}).ToText()};
  }
  return state;
}

std::string TextOf(const DatabaseState& state) {
  std::string text;
  for (const auto& [key, value] : state)
    text += "  " + key + " " + value.digest + " " + value.ends_at + "\n";
  return text;
}

// A redis-server that follows the made-up master.
class Follower {
 public:
  Follower() : client_(redis_.Connect()) {
    client_->Run({"REPLICAOF", "127.0.0.1", std::to_string(master_.port())});
    is_following_ = master_.Accept();
  }
  bool is_following() const { return is_following_; }
  RedisClient& client() { return *client_; }
  MadeUpMaster& master() { return master_; }

  // Errors that commands of the stream have had.
  std::string Errors() {
    const std::string info = client_->Run({"INFO", "stats"})->text;
    const std::string field = "unexpected_error_replies:";
    const size_t at = info.find(field);
    if (at == std::string::npos) return "none such field";
    const size_t begin = at + field.size();
    return info.substr(begin, info.find('\r', begin) - begin);
  }
  DatabaseState State(int db) {
    return StateOf([this](const std::vector<std::string>& words) { return *client_->Run(words); },
                   db);
  }

 private:
  RedisProcess redis_;
  std::unique_ptr<RedisClient> client_;
  MadeUpMaster master_;
  bool is_following_ = false;
};

// An engine whose stream the follower gets, which begins with nothing.
class Leader {
 public:
  explicit Leader(Follower& follower)
      : follower_(follower),
        server_({.unix_ms = FarUnixMs()}),
        stream_(server_.engine().part<Effects>(), server_.engine().part<TurnClock>(),
                server_.engine().part<CommandTable>()) {
    stream_.Open(kBacklogBytes);
    reader_ = std::make_unique<BacklogReader>(*stream_.backlog(), 1);
    watcher_ = &server_.Connect();
    watcher_->Run({"FLUSHALL"});
    watcher_->Run({"FUNCTION", "FLUSH"});
  }
  ~Leader() { reader_.reset(); }

  TestEngine& server() { return server_; }

  // What has been told so far goes to the follower, which then has the same; the first difference.
  std::string Deliver() {
    stream_.EndTurn();
    std::string bytes;
    for (std::string_view part; !(part = reader_->Take(SIZE_MAX)).empty();) bytes += part;
    MadeUpMaster& master = follower_.master();
    if (!master.Send(bytes) || !master.AwaitApplied()) return "the link is closed: " + bytes;
    if (const std::string errors = follower_.Errors(); errors != "0")
      return errors + " errors so far, behind " + bytes;
    for (int db = 0; db < kDatabases; ++db) {
      const DatabaseState there = follower_.State(db);
      const DatabaseState here = State(db);
      if (here == there) continue;
      return "database " + std::to_string(db) + " is here\n" + TextOf(here) + "and there\n" +
             TextOf(there) + "behind " + bytes;
    }
    return "";
  }

 private:
  DatabaseState State(int db) {
    return StateOf([this](const std::vector<std::string>& words) { return watcher_->Run(words); },
                   db);
  }

  Follower& follower_;
  TestEngine server_;
  ReplicationStream stream_;
  std::unique_ptr<BacklogReader> reader_;
  TestClient* watcher_;
};

const Transcript* played_transcript;

class EffectsStream : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(follower_.is_following()); }
  Follower follower_;
};

TEST_F(EffectsStream, EveryLineIsUnderstood) {
  ASSERT_EQ(played_transcript->error, "");
  for (const TranscriptCase& played : played_transcript->cases) {
    Leader leader(follower_);
    std::map<int, TestClient*> clients;
    for (const TranscriptStep& step : played.steps) {
      if (step.kind != TranscriptStep::Kind::kCommand) continue;
      TestClient*& client = clients[step.client];
      if (!client) client = &leader.server().Connect();
      client->Send(step.arguments);
      client->TakeBytes();
      leader.server().AdvanceTime(1);
      ASSERT_EQ(leader.Deliver(), "") << "line " << step.line << ": " << step.text;
    }
  }
}

// What dumps hold, which no transcript can spell.
TEST_F(EffectsStream, RestoredValuesAreThereWhereRedisCanHoldThem) {
  Leader leader(follower_);
  TestClient& client = leader.server().Connect();
  client.Line("LIMIT.TAKE user WINDOW 5 100000");
  client.Line("HSET hash a 1 b 2 c 3");
  client.Line("HPEXPIRE hash 50 FIELDS 1 b");
  client.Line("RPUSH list 1 2 3");
  for (const char* const source : {"user", "hash", "list"}) {
    const std::string dump = client.Run({"DUMP", source}).text;
    int64_t count = 0;
    const std::vector<std::vector<std::string>> ways = {
        {"0"},
        {"0", "REPLACE"},
        {"100000", "REPLACE"},
        {std::to_string(FarUnixMs() + 100'000), "REPLACE", "ABSTTL"},
        {"0", "REPLACE", "IDLETIME", "5"}};
    for (const std::vector<std::string>& way : ways) {
      const std::string key = std::string(source) + std::to_string(count++);
      if (way.size() > 1) client.Run({"SADD", key, "a"});
      std::vector<std::string> words = {"RESTORE", key, way[0], dump};
      words.insert(words.end(), way.begin() + 1, way.end());
      ASSERT_EQ(client.Run(words).ToText(), "+OK") << key;
      ASSERT_EQ(leader.Deliver(), "") << key;
    }
  }
  leader.server().AdvanceTime(100);  // a field of each of the hashes ends
  ASSERT_EQ(client.Line("HLEN hash0").ToText(), ":2");
  ASSERT_EQ(leader.Deliver(), "");
}

TEST_F(EffectsStream, LibrariesAreRestored) {
  Leader leader(follower_);
  TestClient& client = leader.server().Connect();
  client.Run({"FUNCTION", "LOAD",
              "#!lua name=lib\nredis.register_function('f', function() return 1 end)"});
  const std::string dump = client.Run({"FUNCTION", "DUMP"}).text;
  client.Run({"FUNCTION", "FLUSH"});
  ASSERT_EQ(client.Run({"FUNCTION", "RESTORE", dump}).ToText(), "+OK");
  ASSERT_EQ(leader.Deliver(), "");
  EXPECT_EQ(follower_.client().Run({"FUNCTION", "LIST"})->elements.size(), 1u);
}

// Random commands in two databases, of which one swaps them and flushes them.
TEST_F(EffectsStream, RandomCommandsAreUnderstood) {
  constexpr int kSteps = 3000;
  constexpr int kLookEvery = 10;
  RunSeeds(2, [this](uint64_t seed) {
    SimulationRandom random(seed);
    Leader leader(follower_);
    RandomClients clients(leader.server());
    for (int step = 1; step <= kSteps; ++step) {
      clients.Step(random);
      leader.server().AdvanceTime(Between(random, 0, 25));
      if (step % kLookEvery != 0) continue;
      ASSERT_EQ(leader.Deliver(), "") << "step " << step;
    }
  });
}

// The flag of a row is a fact about redis-server 7.0, which is asked.
TEST_F(EffectsStream, RowsSayWhatRedisDoesNotKnow) {
  TestEngine server;
  const auto check = [this](const Command& command) {
    if (!command.spec->run || !(command.spec->flags & (kWrite | kMayReplicate))) return;
    const Reply info = *follower_.client().Run({"COMMAND", "INFO", command.full_name});
    const bool is_unknown = info.elements.at(0).elements.empty();
    EXPECT_EQ(is_unknown, (command.spec->flags & kNotInRedis70) != 0) << command.full_name;
  };
  for (const Command* const command : server.engine().part<CommandTable>().all()) {
    check(*command);
    for (const Command* const inner : command->subcommands) check(*inner);
  }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const sluice::Transcript transcript = sluice::ReadTranscript(argc > 1 ? argv[1] : "");
  sluice::played_transcript = &transcript;
  return RUN_ALL_TESTS();
}
