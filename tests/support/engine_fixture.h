// A whole server inside a test: the engine with a clock that is moved by hand and clients without
// sockets. Nothing sleeps, nothing is random but the seed, and after every step the keyspace is
// audited.
//
//   TEST_F(EngineFixture, LeaseEnds) {
//     EXPECT_EQ(Run({"set", "lock", "me", "nx", "px", "1000"}).ToText(), "+OK");
//     AdvanceTime(1000);
//     EXPECT_EQ(Run({"get", "lock"}).ToText(), "(nil)");
//   }
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/reply_reader.h"
#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/core/log_level.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/command_table.h"
#include "server/engine/engine.h"
#include "server/test_double/spaces.h"
#include "storage/time/clock.h"
#include "storage/time/movable_clock.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_disk.h"

namespace sluice {

class TestEngine;

// Where the links of engines go: TestNetwork (test_network.h), or the network of a simulation.
class EngineNetwork {
 public:
  virtual ~EngineNetwork() = default;

 private:
  friend class TestEngine;
  // What TestEngine is asked as a Host.
  virtual Fault Open(TestEngine& from, const LinkTarget& target, LinkListener& listener) = 0;
  virtual void GiveUp(LinkListener& listener) = 0;
  // The engine is about to go.
  virtual void Forget(const TestEngine& engine) = 0;
};

// One connection. Owned by its TestEngine, also after it was closed.
class TestClient {
 public:
  TestClient(TestEngine& engine, SessionId id) : engine_(engine), id_(id) {}

  // Sends one request and returns its reply; a failure of the test, and a null, when there is none.
  Reply Run(const std::vector<std::string>& arguments);
  // The same from a line in redis-cli's quoting.
  Reply Line(std::string_view line);
  // Sends a request and reads nothing; the reply, if one comes, is for Next().
  void Send(const std::vector<std::string>& arguments);
  // Any bytes, whole requests or not.
  void SendBytes(std::string_view bytes);
  // The next unread reply or push; null when there is none (yet).
  std::optional<Reply> Next();
  // All unread bytes, forgotten by it.
  bool has_received() const { return !received_.empty(); }
  std::string TakeBytes() { return std::exchange(received_, {}); }
  // The connection breaks.
  void Disconnect();
  // The same two without a turn: the caller runs one, and keeps the bytes until then.
  void Arrive(std::string_view bytes);
  void Leave();

  bool closed() const { return closed_; }  // by the server, or by Disconnect
  SessionId id() const { return id_; }
  // From here on its commands are effects, as those of what plays a log: see Session::replays.
  void PlayLog();
  // While false, the client takes no bytes: they stay in the session's output.
  void set_reading(bool on);
  // The server has asked the system to gather small packets to it.
  bool gathers_packets() const { return gathers_packets_; }

 private:
  friend class TestEngine;
  TestEngine& engine_;
  SessionId id_;
  std::string received_;
  bool closed_ = false;
  bool reading_ = true;
  bool gathers_packets_ = false;
};

class TestEngine final : private ProcessServices, private Background, private Host {
 public:
  struct Options {
    uint64_t seed = 1;
    // As on the command line: {"maxclients", "10"}. Debug commands are allowed unless said
    // otherwise.
    std::vector<std::pair<std::string, std::string>> config;
    std::vector<CommandFamily> families;  // the test's own, besides the server's
    // After every step, and rarer where there is much; without, the test calls Audit().
    bool audits = true;
    MemoryDisk* disk = nullptr;           // where another server's files are; none: its own
    int64_t unix_ms = 1'700'000'000'000;  // when the machine started
    int64_t uptime_ms = 0;                // and how long before the server
    bool test_double = false;             // SLUICE.CLOCK and its kin are served
    Spaces* spaces = nullptr;             // and what SLUICE.SPACE and SLUICE.RESET ask
    // Where the process's random bytes come from; without, they count up.
    std::optional<uint64_t> entropy;
  };
  TestEngine() : TestEngine(Options()) {}
  explicit TestEngine(const Options& options);
  ~TestEngine() override;

  TestClient& Connect();
  TestClient& Connect(Peer peer);
  // Runs no turn: the log may be loading.
  TestClient& ConnectOnly(Peer peer = {});
  // Moves the clock, stopping wherever the engine has work, as a loop that waits for it would.
  void AdvanceTime(int64_t ms);
  // From here on every reading of the tick that times commands moves it on by so much: a script
  // takes long without any waiting.
  void set_tick_step(int64_t nanos) { ticks_.step = nanos; }
  // What happens when a command that takes long lets others be served.
  void OnPoll(std::function<void()> serve) { serve_ = std::move(serve); }
  // Runs turns until no work is left, then audits: that walks everything, and so it is done once in
  // so many steps as there are kBytesAStep of data.
  void Settle();
  // Walks all state of keyspace and engine: what is wrong with it, or empty.
  std::string Audit();
  // One turn without an audit; true when work is left.
  bool Turn() { return engine_->RunTurn(); }

  // What the server runs beside itself waits from here on, until RunBackgroundNow.
  void set_aside_waits(bool on) { aside_waits_ = on; }
  // The oldest of that, or of its lane; false: there was none.
  bool RunBackgroundNow();
  bool RunBackgroundNow(WorkerLane lane);
  size_t background_tasks() const { return background_.size(); }  // what waits
  // What the server wants called when so many ms of real time have passed: tests call it by hand.
  using RealCalls = std::vector<std::pair<int64_t, std::function<void()>>>;
  RealCalls TakeRealCalls() { return std::exchange(real_calls_, {}); }
  // Where its links go; null: nowhere. See TestNetwork::Add.
  void set_network(EngineNetwork* network) { network_ = network; }
  // Why the log could not be opened at the start, or empty.
  const std::string& start_fault() const { return start_fault_; }

  Engine& engine() { return *engine_; }
  ManualClock& clock() { return clock_; }
  // The clock as the engine sees it: with a log that was loaded, the time of who wrote that goes
  // on.
  Now now() { return engine_->part<TurnClock>().clock().Sample(); }
  Config& config() { return config_; }
  MemoryDisk& disk() { return disk_; }
  std::optional<int> shutdown_code() const { return shutdown_code_; }
  const std::vector<std::string>& log() const { return log_; }

 private:
  friend class TestClient;
  void Send(Session& session) override;
  void Closed(SessionId id) override;
  void GatherPackets(Session& session) override { FindClient(session.id)->gathers_packets_ = true; }
  void Poll() override {
    if (serve_) serve_();
  }
  uint64_t Run(WorkerLane lane, std::function<void()> work, std::function<void()> done) override;
  void CallAfter(int64_t real_ms, std::function<void()> call) override {
    real_calls_.emplace_back(real_ms, std::move(call));
  }
  Fault OpenLink(const LinkTarget& target, LinkListener& listener) override;
  void CloseLink(LinkListener& listener) override;
  void Await(uint64_t number) override;
  void Finish() override {
    while (RunBackgroundNow()) {
    }
  }
  void FillWithRandom(std::span<uint8_t> bytes) override {
    for (uint8_t& byte : bytes)
      byte = entropy_ ? static_cast<uint8_t>((*entropy_)()) : ++random_byte_;
  }
  void Shutdown(int code) override { shutdown_code_ = code; }
  bool Stopping() const override { return shutdown_code_.has_value(); }
  void Sleep(int64_t micros) override { clock_.AdvanceMicros(micros); }
  void Log(LogLevel level, std::string_view line) override;
  TestClient* FindClient(SessionId id);
  struct BackgroundTask {
    uint64_t number;
    WorkerLane lane;
    std::function<void()> work;  // empty: it is done
    std::function<void()> done;
  };
  using BackgroundTasks = std::deque<BackgroundTask>;
  bool RunOne(BackgroundTasks::iterator found);

  MemoryDisk own_disk_;
  MemoryDisk& disk_;
  static constexpr size_t kBytesAStep = 16 * 1024;
  bool audits_;
  size_t bytes_at_start_ = 0;
  size_t unaudited_steps_ = 0;
  bool aside_waits_ = false;
  BackgroundTasks background_;
  RealCalls real_calls_;
  uint64_t last_aside_ = 0;
  std::string start_fault_;
  int idle_turns_ = 0;    // of Settle, since bytes were sent
  std::string restless_;  // work never ended: what Audit says from then on
  Config config_{disk_};
  ManualClock clock_;
  // The manual clock with a tick that can run.
  struct Ticks final : Clock {
    explicit Ticks(ManualClock& manual) : manual(manual) {}
    Now Read() override { return manual.Sample(); }
    int64_t TickNanos() override { return manual.TickNanos() + (passed += step); }
    int64_t WorkNanos() const override { return manual.WorkNanos(); }
    ManualClock& manual;
    int64_t passed = 0;
    int64_t step = 0;
  };
  Ticks ticks_{clock_};
  MovableClock movable_{ticks_};  // the engine's, when it is a test double
  std::function<void()> serve_;
  EngineNetwork* network_ = nullptr;
  std::optional<CommandTable> own_commands_;  // where a test has families of its own
  std::vector<std::unique_ptr<TestClient>> clients_;
  std::vector<std::string> log_;
  std::optional<int> shutdown_code_;
  uint8_t random_byte_ = 0;
  std::optional<std::mt19937_64> entropy_;
  std::unique_ptr<Engine> engine_;
};

// For tests with one engine and mostly one client.
class EngineFixture : public testing::Test {
 protected:
  Reply Run(const std::vector<std::string>& arguments) { return client().Run(arguments); }
  Reply Line(std::string_view line) { return client().Line(line); }
  void AdvanceTime(int64_t ms) { server_.AdvanceTime(ms); }
  TestClient& Connect() { return server_.Connect(); }
  Engine& engine() { return server_.engine(); }
  TestEngine& server() { return server_; }
  TestClient& client() {
    if (!client_) client_ = &server_.Connect();
    return *client_;
  }

 private:
  TestEngine server_;
  TestClient* client_ = nullptr;
};

}  // namespace sluice
