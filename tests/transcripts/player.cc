// See player.h.
#include "tests/transcripts/player.h"

#include <poll.h>

#include <map>

#include "tests/support/engine_fixture.h"
#include "tests/support/redis_process.h"

namespace sluice {
namespace {

class EngineServer final : public TranscriptServer {
 public:
  explicit EngineServer(const TranscriptCase& played)
      : engine_({.config = played.config}), resp3_(played.resp3), replays_(played.replays) {}

  void Send(int client, const std::vector<std::string>& arguments) override {
    Client(client).Send(arguments);
  }
  std::optional<Reply> Next(int client) override { return Client(client).Next(); }
  std::optional<Reply> Unexpected(int client) override { return Next(client); }
  void Wait(int64_t ms) override { engine_.AdvanceTime(ms); }

 private:
  TestClient& Client(int number) {
    TestClient*& client = clients_[number];
    if (!client) {
      client = &engine_.Connect();
      if (resp3_) client->Run({"HELLO", "3"});
      if (replays_) client->PlayLog();
    }
    return *client;
  }

  TestEngine engine_;
  bool resp3_;
  bool replays_;
  std::map<int, TestClient*> clients_;
};

class EnginePlaceImpl final : public TranscriptPlace {
 public:
  std::unique_ptr<TranscriptServer> Open(const TranscriptCase& played) override {
    return std::make_unique<EngineServer>(played);
  }
};

class RedisServer final : public TranscriptServer {
 public:
  RedisServer(RedisProcess& process, bool resp3) : process_(process), resp3_(resp3) {}

  void Send(int client, const std::vector<std::string>& arguments) override {
    if (RedisClient* connection = Client(client)) connection->Send(arguments);
  }
  std::optional<Reply> Next(int client) override {
    RedisClient* connection = Client(client);
    return connection ? connection->Next() : std::nullopt;
  }
  std::optional<Reply> Unexpected(int client) override {
    RedisClient* connection = Client(client);
    return connection ? connection->Next(0) : std::nullopt;
  }
  void Wait(int64_t ms) override { poll(nullptr, 0, static_cast<int>(ms)); }

 private:
  RedisClient* Client(int number) {
    std::unique_ptr<RedisClient>& client = clients_[number];
    if (!client) {
      client = process_.Connect();
      if (client && resp3_) client->Run({"HELLO", "3"});
    }
    return client.get();
  }

  RedisProcess& process_;
  bool resp3_;
  std::map<int, std::unique_ptr<RedisClient>> clients_;
};

class RedisPlaceImpl final : public TranscriptPlace {
 public:
  explicit RedisPlaceImpl(int64_t wait_ms_max) : wait_ms_max_(wait_ms_max) {}

  std::unique_ptr<TranscriptServer> Open(const TranscriptCase& played) override {
    if (played.sluice_only || played.WaitMs() > wait_ms_max_) return nullptr;
    if (!process_ || traces_ || played.LeavesTraces()) Start(played);
    traces_ = played.LeavesTraces();
    std::unique_ptr<RedisClient> client = process_->Connect();
    if (client) client->Run({"FLUSHALL"});
    return std::make_unique<RedisServer>(*process_, played.resp3);
  }

 private:
  void Start(const TranscriptCase& played) {
    std::vector<std::string> options;
    for (const auto& [name, value] : played.config) {
      options.push_back("--" + name);
      options.push_back(value);
    }
    process_ = std::make_unique<RedisProcess>(options);
  }

  int64_t wait_ms_max_;
  std::unique_ptr<RedisProcess> process_;
  bool traces_ = false;
};

std::string Fault(const Transcript& transcript, const TranscriptCase& played,
                  const TranscriptStep& step, const std::string& command,
                  const std::optional<Reply>& got) {
  std::string text = transcript.name + ".txt:" + std::to_string(step.line) + ": " + command;
  if (step.kind == TranscriptStep::Kind::kReply) text += "\n  expected: " + step.text;
  text += "\n  got:      " + (got ? got->ToText() : "no reply");
  if (!played.why.empty()) text += "\n  the case: " + played.why;
  return text;
}

// Empty when every reply was the expected one and none was left.
std::string PlayCase(const Transcript& transcript, const TranscriptCase& played,
                     TranscriptServer& server) {
  std::map<int, std::string> commands;  // the last one of each client
  for (const TranscriptStep& step : played.steps) {
    if (step.kind == TranscriptStep::Kind::kWait) {
      server.Wait(step.wait_ms);
    } else if (step.kind == TranscriptStep::Kind::kCommand) {
      if (commands.contains(step.client)) {
        if (const auto left = server.Unexpected(step.client)) {
          return Fault(transcript, played, step, "a reply too many before " + step.text, left);
        }
      }
      commands[step.client] = step.text;
      server.Send(step.client, step.arguments);
    } else {
      const std::optional<Reply> reply = server.Next(step.client);
      if (!reply || !ReplyMatches(step.text, reply->ToText())) {
        return Fault(transcript, played, step, commands[step.client], reply);
      }
    }
  }
  for (const auto& [client, command] : commands) {
    if (const auto left = server.Unexpected(client)) {
      TranscriptStep last = played.steps.back();
      last.kind = TranscriptStep::Kind::kCommand;
      return Fault(transcript, played, last, "a reply too many after " + command, left);
    }
  }
  return "";
}

}  // namespace

std::unique_ptr<TranscriptPlace> EnginePlace() { return std::make_unique<EnginePlaceImpl>(); }

std::unique_ptr<TranscriptPlace> RedisPlace(int64_t wait_ms_max) {
  return std::make_unique<RedisPlaceImpl>(wait_ms_max);
}

std::vector<std::string> PlayTranscript(const Transcript& transcript, TranscriptPlace& place) {
  std::vector<std::string> faults;
  for (const TranscriptCase& played : transcript.cases) {
    const std::unique_ptr<TranscriptServer> server = place.Open(played);
    if (!server) continue;
    std::string fault = PlayCase(transcript, played, *server);
    if (!fault.empty()) faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace sluice
