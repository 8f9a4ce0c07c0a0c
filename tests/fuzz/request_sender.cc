// The requests of command_fuzz, sent to a server that runs: tests/smoke/replicas.py has others
// follow it meanwhile. What ends the server, holds it up or shuts everybody out is left out, and so
// are options, as the test has chosen them.
//
//   request_sender SOCKET SECONDS SEED
//
// Ends with status 1 when the server cannot be reached any more.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/letters.h"
#include "server/dispatch/command_table.h"
#include "tests/fuzz/request_maker.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/redis_process.h"

namespace sluice {
namespace {

constexpr std::string_view kLeftOut[] = {
    "ACL",      "AUTH",    "BGREWRITEAOF", "BGSAVE", "CONFIG",    "DEBUG",        "FAILOVER",
    "LATENCY",  "MIGRATE", "MONITOR",      "PSYNC",  "REPLICAOF", "SAVE",         "REPLCONF",
    "SHUTDOWN", "SLAVEOF", "SYNC",         "WAIT",   "WAITAOF",   "SLUICE.CLOCK",
};
constexpr size_t kClients = 4;
constexpr int kAnswerMs = 20;  // a request without an answer by then waits: its client leaves
constexpr int kFocusSteps = 400;

bool IsLeftOut(const FuzzRequest& request) {
  if (request.empty()) return true;
  if (std::ranges::any_of(kLeftOut,
                          [&](std::string_view word) { return IsSameInAnyCase(word, request[0]); }))
    return true;
  // A script that tells replicas nothing.
  if (std::ranges::any_of(request, [](const std::string& word) {
        return word.find("set_repl") != std::string::npos;
      }))
    return true;
  // What holds writes back, or stops the answers.
  return request.size() > 1 && IsSameInAnyCase(request[0], "CLIENT") &&
         (IsSameInAnyCase(request[1], "PAUSE") || IsSameInAnyCase(request[1], "REPLY"));
}

class Sender {
 public:
  Sender(const CommandTable& table, std::string socket)
      : maker_(table), socket_(std::move(socket)) {}

  // False: the server is gone.
  bool SendFor(double seconds, uint64_t seed) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (uint64_t step = 0; Clock::now() < end; ++step) {
      if (step % kFocusSteps == 0) maker_.Begin(seed + step);
      std::unique_ptr<RedisClient>& client = clients_[maker_.random()() % kClients];
      for (const FuzzRequest& request : maker_.Make()) {
        if (!IsLeftOut(request) && !Ask(client, request)) return false;
      }
    }
    return true;
  }
  uint64_t sent() const { return sent_; }

 private:
  bool Ask(std::unique_ptr<RedisClient>& client, const FuzzRequest& request) {
    if (!client) client = RedisClient::Connect(socket_);
    if (!client) return false;
    ++sent_;
    const std::optional<Reply> reply =
        client->Send(request) ? client->Next(kAnswerMs) : std::nullopt;
    if (reply) {
      maker_.Learn(*reply);
    } else {
      client.reset();
    }
    return true;
  }

  RequestMaker maker_;
  const std::string socket_;
  std::array<std::unique_ptr<RedisClient>, kClients> clients_;
  uint64_t sent_ = 0;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "request_sender SOCKET SECONDS SEED\n");
    return 2;
  }
  sluice::TestEngine engine;
  sluice::Sender sender(engine.engine().part<sluice::CommandTable>(), argv[1]);
  const bool is_there =
      sender.SendFor(std::strtod(argv[2], nullptr), std::strtoull(argv[3], nullptr, 10));
  std::printf("%llu requests\n", static_cast<unsigned long long>(sender.sent()));
  return is_there ? 0 : 1;
}
