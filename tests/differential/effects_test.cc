// What is written down of a command: each line of effects.txt on the engine, and what redis-server
// 7.0.15 appends to its log for the same. With --stream: what replicas are sent, of stream.txt.
// With --beside: what replicas of both are sent for the same, whatever the file expects of a log.
//
//   effects file [--stream] [--redis | --beside]
//
// The file is a transcript (tests/transcripts/transcript.h) whose `<` lines are the effects of the
// command above, in their order; none when nothing is written down. `T` stands for a moment of the
// run, as a Unix time in ms or a stream id. An effect outside database 0 begins with its number.
#include <gtest/gtest.h>
#include <poll.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_reader.h"
#include "server/dispatch/command_table.h"
#include "server/replication/replication_stream.h"
#include "tests/support/command_line.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/made_up_replica.h"
#include "tests/support/redis_process.h"
#include "tests/transcripts/transcript.h"

namespace sluice {
namespace {

// Words of bytes that no line can show are spelled as in a transcript.
std::string WordText(const std::string& word) {
  if (word.empty()) return "\"\"";
  if (word.find('\0') == std::string::npos) return word;
  std::string text;
  for (const char byte : word) {
    char spelled[8];
    const bool is_shown = byte >= ' ' && byte <= '~';
    std::snprintf(spelled, sizeof spelled, "\\x%02x", static_cast<unsigned char>(byte));
    text += is_shown ? std::string(1, byte) : spelled;
  }
  return text;
}

// "[1] SET k v"; moments blurred.
std::string EffectText(int db, const std::vector<std::string>& command) {
  static const std::regex kMoment("\\b1[6-9][0-9]{11}(-[0-9]+)?\\b");
  std::string line = db == 0 ? "" : "[" + std::to_string(db) + "] ";
  for (const std::string& word : command) {
    line += (&word == &command.front() ? "" : " ") + WordText(word);
  }
  return std::regex_replace(line, kMoment, "T");
}

// A server that says what it writes down.
class Scribe {
 public:
  virtual ~Scribe() = default;
  // The effects of the request, one a line. It may be left waiting.
  virtual std::string Effects(int client, const std::vector<std::string>& arguments) = 0;
  virtual void Wait(int64_t ms) = 0;
};

// Bytes of commands as text, and which database is selected meanwhile. What is said to a Sluice
// alone is left out, and so is what keeps a link awake.
class CommandText {
 public:
  std::string Of(std::string_view bytes) {
    std::string text;
    ReplyReader reader;
    for (; !bytes.empty(); bytes.remove_prefix(reader.consumed())) {
      const std::optional<Reply> command = reader.Read(bytes);
      if (!command) {
        ADD_FAILURE() << "a piece of a command: " << bytes;
        break;
      }
      std::vector<std::string> words;
      for (const Reply& word : command->elements) words.push_back(word.text);
      if (words[0] == "PING" || words[0] == "ping") continue;
      if (words[0] == "SELECT") {
        db_ = std::stoi(words[1]);
      } else {
        const bool bracket = words[0] == "MULTI" || words[0] == "EXEC";
        text += EffectText(bracket ? 0 : db_, words) + "\n";
      }
    }
    return text;
  }

 private:
  int db_ = 0;
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
  void Wait(int64_t ms) override { engine_.AdvanceTime(ms); }

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

class EngineStreamScribe final : public Scribe {
 public:
  EngineStreamScribe() : stream_(part<sluice::Effects>(), part<TurnClock>(), part<CommandTable>()) {
    stream_.Open(kBacklogBytes);
    reader_.emplace(*stream_.backlog(), 1);
  }
  ~EngineStreamScribe() override { reader_.reset(); }
  std::string Effects(int client, const std::vector<std::string>& arguments) override {
    TestClient*& connection = clients_[client];
    if (!connection) connection = &engine_.Connect();
    connection->Send(arguments);
    connection->TakeBytes();
    engine_.AdvanceTime(1);
    stream_.EndTurn();
    std::string bytes;
    for (std::string_view part; !(part = reader_->Take(SIZE_MAX)).empty();) bytes += part;
    return text_.Of(bytes);
  }
  void Wait(int64_t ms) override { engine_.AdvanceTime(ms); }

 private:
  static constexpr size_t kBacklogBytes = 1 << 20;
  template <typename Part>
  Part& part() {
    return engine_.engine().part<Part>();
  }

  TestEngine engine_;
  ReplicationStream stream_;
  std::optional<BacklogReader> reader_;
  std::map<int, TestClient*> clients_;
  CommandText text_;
};

class RedisScribe : public Scribe {
 public:
  explicit RedisScribe(const RedisProcess& redis) : redis_(redis), control_(redis.Connect()) {}
  std::string Effects(int client, const std::vector<std::string>& arguments) override {
    Client& asking = clients_[client];
    if (!asking.connection) {
      asking.connection = redis_.Connect();
      asking.id = std::to_string(asking.connection->Run({"CLIENT", "ID"})->integer);
    }
    if (std::exchange(asking.waits, false)) asking.connection->Next();
    asking.connection->Send(arguments);
    // Log and stream are written before the replies of a turn; a client that waits has none.
    while (!asking.waits && !asking.connection->Next(kAskEveryMs)) {
      const std::string shown = control_->Run({"CLIENT", "LIST", "ID", asking.id})->text;
      asking.waits = shown.find("flags=b") != std::string::npos;
    }
    return text_.Of(ReadBytes());
  }
  void Wait(int64_t ms) override { poll(nullptr, 0, static_cast<int>(ms)); }

 protected:
  // What has been written since.
  virtual std::string ReadBytes() = 0;
  RedisClient& control() { return *control_; }

 private:
  static constexpr int kAskEveryMs = 10;
  struct Client {
    std::unique_ptr<RedisClient> connection;
    std::string id;
    bool waits = false;
  };

  const RedisProcess& redis_;
  std::unique_ptr<RedisClient> control_;
  std::map<int, Client> clients_;
  CommandText text_;
};

class RedisLogScribe final : public RedisScribe {
 public:
  explicit RedisLogScribe(const RedisProcess& redis)
      : RedisScribe(redis), log_(LogOf(redis), std::ios::binary) {
    control().Run({"FLUSHALL"});
    ReadBytes();
  }

 private:
  static std::string LogOf(const RedisProcess& redis) {
    return std::filesystem::path(redis.socket_path()).parent_path() /
           "appendonlydir/appendonly.aof.1.incr.aof";
  }
  std::string ReadBytes() override {
    log_.clear();
    return std::string(std::istreambuf_iterator<char>(log_), {});
  }

  std::ifstream log_;
};

class RedisStreamScribe final : public RedisScribe {
 public:
  explicit RedisStreamScribe(const RedisProcess& redis) : RedisScribe(redis) {
    control().Run({"FLUSHALL"});
    EXPECT_TRUE(replica_.Follow(redis.socket_path()));
    ReadBytes();
  }

 private:
  // A message that nobody else sends stands behind all that was written before.
  std::string ReadBytes() override {
    const std::vector<std::string> message = {"PUBLISH", "behind", std::to_string(++messages_)};
    control().Run(message);
    const std::optional<std::string> bytes = replica_.ReadBehind(EncodeRequest(message));
    EXPECT_TRUE(bytes);
    return bytes.value_or("");
  }

  MadeUpReplica replica_;
  int messages_ = 0;
};

void Play(const TranscriptCase& played, Scribe& scribe) {
  for (size_t i = 0; i < played.steps.size();) {
    const TranscriptStep& command = played.steps[i++];
    if (command.kind == TranscriptStep::Kind::kWait) {
      scribe.Wait(command.wait_ms);
      continue;
    }
    ASSERT_EQ(command.kind, TranscriptStep::Kind::kCommand) << "line " << command.line;
    std::string expected;
    for (; i < played.steps.size() && played.steps[i].kind == TranscriptStep::Kind::kReply; ++i) {
      expected += played.steps[i].text + "\n";
    }
    EXPECT_EQ(scribe.Effects(command.client, command.arguments), expected)
        << "line " << command.line << ": " << command.text << "\n  the case: " << played.why;
  }
}

// Both are sent the same, for each step.
void PlayBeside(const TranscriptCase& played, Scribe& ours, Scribe& theirs) {
  for (const TranscriptStep& step : played.steps) {
    if (step.kind == TranscriptStep::Kind::kWait) {
      ours.Wait(step.wait_ms);
      theirs.Wait(step.wait_ms);
    } else if (step.kind == TranscriptStep::Kind::kCommand) {
      const std::string expected = theirs.Effects(step.client, step.arguments);
      EXPECT_EQ(ours.Effects(step.client, step.arguments), expected)
          << "line " << step.line << ": " << step.text << "\n  the case: " << played.why;
    }
  }
}

// Which of them is asked.
struct Asked {
  bool stream = false;
  bool redis = false;
  bool beside = false;
};

class EffectsTest final : public testing::Test {
 public:
  EffectsTest(const Transcript& transcript, Asked asked) : transcript_(transcript), asked_(asked) {}

  void TestBody() override {
    ASSERT_EQ(transcript_.error, "");
    if (asked_.beside) return AskBoth();
    if (asked_.redis) return AskRedis();
    for (const TranscriptCase& played : transcript_.cases) {
      asked_.stream ? PlayOn<EngineStreamScribe>(played) : PlayOn<EngineScribe>(played);
    }
  }

 private:
  template <typename Scribe, typename... Where>
  static void PlayOn(const TranscriptCase& played, const Where&... where) {
    Scribe scribe(where...);
    Play(played, scribe);
  }

  void AskBoth() {
    const RedisProcess redis({"--repl-diskless-sync", "no"});
    ASSERT_TRUE(redis.running());
    for (const TranscriptCase& played : transcript_.cases) {
      if (played.sluice_only) continue;
      EngineStreamScribe ours;
      RedisStreamScribe theirs(redis);
      PlayBeside(played, ours, theirs);
    }
  }

  void AskRedis() {
    // A write is put off while the file is being synced.
    const std::vector<std::string> for_log = {"--appendonly", "yes", "--appendfsync", "no"};
    const RedisProcess redis(asked_.stream ? std::vector<std::string>{"--repl-diskless-sync", "no"}
                                           : for_log);
    ASSERT_TRUE(redis.running());
    for (const TranscriptCase& played : transcript_.cases) {
      if (played.sluice_only) continue;
      asked_.stream ? PlayOn<RedisStreamScribe>(played, redis)
                    : PlayOn<RedisLogScribe>(played, redis);
    }
  }

  const Transcript& transcript_;
  const Asked asked_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const sluice::Transcript transcript = sluice::ReadTranscript(argc > 1 ? argv[1] : "");
  sluice::Asked asked;
  for (int i = 2; i < argc; ++i) {
    asked.stream |= std::string(argv[i]) == "--stream";
    asked.redis |= std::string(argv[i]) == "--redis";
    asked.beside |= std::string(argv[i]) == "--beside";
  }
  const char* const name = asked.beside ? "Beside" : asked.redis ? "Redis" : "Engine";
  testing::RegisterTest(
      "Effects", name, nullptr, nullptr, __FILE__, __LINE__,
      [&]() -> testing::Test* { return new sluice::EffectsTest(transcript, asked); });
  return RUN_ALL_TESTS();
}
