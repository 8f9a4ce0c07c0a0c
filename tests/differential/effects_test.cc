// What is written down of a command: each line of effects.txt on the engine, and what redis-server
// 7.0.15 appends to its log for the same.
//
//   effects file [--redis]
//
// The file is a transcript (tests/transcripts/transcript.h) whose `<` lines are the effects of the
// command above, in their order; none when nothing is written down. `T` stands for a moment of the
// run, as a Unix time in ms or a stream id. An effect outside database 0 begins with its number.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/engine_fixture.h"
#include "tests/support/redis_process.h"
#include "tests/transcripts/transcript.h"

namespace sluice {
namespace {

// "[1] SET k v"; moments blurred.
std::string EffectText(int db, const std::vector<std::string>& command) {
  static const std::regex kMoment("\\b1[6-9][0-9]{11}(-[0-9]+)?\\b");
  std::string line = db == 0 ? "" : "[" + std::to_string(db) + "] ";
  for (const std::string& word : command) {
    line += (&word == &command.front() ? "" : " ") + (word.empty() ? "\"\"" : word);
  }
  return std::regex_replace(line, kMoment, "T");
}

// A server that says what it writes down.
class Scribe {
 public:
  virtual ~Scribe() = default;
  // The effects of the request, one a line. It may be left waiting.
  virtual std::string Effects(int client, const std::vector<std::string>& arguments) = 0;
};

class EngineScribe final : public Scribe, private EffectSink {
 public:
  EngineScribe() { engine_.engine().part<sluice::Effects>().set_sink(kToLog, this); }
  std::string Effects(int client, const std::vector<std::string>& arguments) override {
    TestClient*& connection = clients_[client];
    if (!connection) connection = &engine_.Connect();
    connection->Send(arguments);
    connection->TakeBytes();
    // As on a real clock, the next request comes later.
    engine_.AdvanceTime(1);
    return std::exchange(told_, {});
  }

 private:
  void Effect(int db, Args command, EffectTime) override {
    told_ += EffectText(db, {command.begin(), command.end()}) + "\n";
  }
  void GroupBegin() override { told_ += "MULTI\n"; }
  void GroupEnd() override { told_ += "EXEC\n"; }

  std::string told_;
  TestEngine engine_;
  std::map<int, TestClient*> clients_;
};

class RedisScribe final : public Scribe {
 public:
  explicit RedisScribe(const RedisProcess& redis)
      : redis_(redis), control_(redis.Connect()), log_(LogOf(redis), std::ios::binary) {
    control_->Run({"FLUSHALL"});
    Read();
  }
  std::string Effects(int client, const std::vector<std::string>& arguments) override {
    Client& asking = clients_[client];
    if (!asking.connection) {
      asking.connection = redis_.Connect();
      asking.id = std::to_string(asking.connection->Run({"CLIENT", "ID"})->integer);
    }
    if (std::exchange(asking.waits, false)) asking.connection->Next();
    asking.connection->Send(arguments);
    // The log is written before the replies of a turn; a client that waits has none.
    while (!asking.waits && !asking.connection->Next(kAskEveryMs)) {
      const std::string shown = control_->Run({"CLIENT", "LIST", "ID", asking.id})->text;
      asking.waits = shown.find("flags=b") != std::string::npos;
    }
    return Read();
  }

 private:
  static constexpr int kAskEveryMs = 10;
  struct Client {
    std::unique_ptr<RedisClient> connection;
    std::string id;
    bool waits = false;
  };

  static std::string LogOf(const RedisProcess& redis) {
    return std::filesystem::path(redis.socket_path()).parent_path() /
           "appendonlydir/appendonly.aof.1.incr.aof";
  }
  // What has been appended since.
  std::string Read() {
    log_.clear();
    const std::string bytes(std::istreambuf_iterator<char>(log_), {});
    std::string text;
    ReplyReader reader;
    for (std::string_view rest = bytes; !rest.empty(); rest.remove_prefix(reader.consumed())) {
      const std::optional<Reply> command = reader.Read(rest);
      if (!command) {
        ADD_FAILURE() << "a piece of a command in Redis's log: " << rest;
        break;
      }
      std::vector<std::string> words;
      for (const Reply& word : command->elements) words.push_back(word.text);
      if (words[0] == "SELECT") {
        db_ = std::stoi(words[1]);
      } else {
        const bool bracket = words[0] == "MULTI" || words[0] == "EXEC";
        text += EffectText(bracket ? 0 : db_, words) + "\n";
      }
    }
    return text;
  }

  const RedisProcess& redis_;
  std::unique_ptr<RedisClient> control_;
  std::ifstream log_;
  std::map<int, Client> clients_;
  int db_ = 0;
};

void Play(const TranscriptCase& played, Scribe& scribe) {
  for (size_t i = 0; i < played.steps.size();) {
    const TranscriptStep& command = played.steps[i++];
    ASSERT_EQ(command.kind, TranscriptStep::Kind::kCommand) << "line " << command.line;
    std::string expected;
    for (; i < played.steps.size() && played.steps[i].kind == TranscriptStep::Kind::kReply; ++i) {
      expected += played.steps[i].text + "\n";
    }
    EXPECT_EQ(scribe.Effects(command.client, command.arguments), expected)
        << "line " << command.line << ": " << command.text << "\n  the case: " << played.why;
  }
}

class EffectsTest final : public testing::Test {
 public:
  EffectsTest(const Transcript& transcript, bool on_redis)
      : transcript_(transcript), on_redis_(on_redis) {}

  void TestBody() override {
    ASSERT_EQ(transcript_.error, "");
    if (!on_redis_) {
      for (const TranscriptCase& played : transcript_.cases) {
        EngineScribe engine;
        Play(played, engine);
      }
      return;
    }
    // A write is put off while the file is being synced.
    const RedisProcess redis({"--appendonly", "yes", "--appendfsync", "no"});
    ASSERT_TRUE(redis.running());
    for (const TranscriptCase& played : transcript_.cases) {
      if (played.sluice_only) continue;
      RedisScribe scribe(redis);
      Play(played, scribe);
    }
  }

 private:
  const Transcript& transcript_;
  const bool on_redis_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const sluice::Transcript transcript = sluice::ReadTranscript(argc > 1 ? argv[1] : "");
  const bool on_redis = argc > 2 && std::string(argv[2]) == "--redis";
  testing::RegisterTest(
      "Effects", on_redis ? "Redis" : "Engine", nullptr, nullptr, __FILE__, __LINE__,
      [&]() -> testing::Test* { return new sluice::EffectsTest(transcript, on_redis); });
  return RUN_ALL_TESTS();
}
