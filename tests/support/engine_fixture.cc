// See engine_fixture.h.
#include "tests/support/engine_fixture.h"

#include <sys/uio.h>

#include <algorithm>
#include <chrono>

#include "server/clients/current_client.h"
#include "server/clients/host.h"
#include "server/commands/families.h"
#include "server/core/log_level.h"
#include "server/system/zone_files.h"
#include "tests/support/command_line.h"

namespace sluice {
namespace {

// More turns than any test needs without time moving: beyond it the engine goes round in circles.
constexpr int kTurnsMax = 100'000;

std::vector<std::string> Words(const std::string& text) {
  return SplitCommandLine(text).value_or(std::vector<std::string>{text});
}

}  // namespace

Reply TestClient::Run(const std::vector<std::string>& arguments) {
  EXPECT_EQ(received_, "") << "an earlier reply was not read";
  Send(arguments);
  std::optional<Reply> reply = Next();
  if (!reply) {
    ADD_FAILURE() << "no reply to " << (arguments.empty() ? "nothing" : arguments[0])
                  << (closed_ ? ": the connection is closed" : "");
    return {};
  }
  return *std::move(reply);
}

Reply TestClient::Line(std::string_view line) {
  auto arguments = SplitCommandLine(line);
  EXPECT_TRUE(arguments) << "quotes: " << line;
  return arguments ? Run(*arguments) : Reply();
}

void TestClient::Send(const std::vector<std::string>& arguments) {
  SendBytes(EncodeRequest(arguments));
}

void TestClient::SendBytes(std::string_view bytes) {
  if (closed_) return;
  engine_.engine().Receive(id_, bytes);
  engine_.Settle();
}

std::optional<Reply> TestClient::Next() {
  ReplyReader reader;
  std::optional<Reply> reply = reader.Read(received_);
  if (reply) {
    received_.erase(0, reader.consumed());
  } else if (reader.failed()) {
    ADD_FAILURE() << "not RESP: " << received_;
  }
  return reply;
}

void TestClient::Disconnect() {
  if (closed_) return;
  closed_ = true;
  engine_.engine().Drop(id_);
  engine_.Settle();
}

void TestClient::Arrive(std::string_view bytes) {
  if (!closed_) engine_.engine().Receive(id_, bytes);
}

void TestClient::Leave() {
  if (closed_) return;
  closed_ = true;
  engine_.engine().Drop(id_);
}

void TestClient::PlayLog() { engine_.engine().Find(id_)->replays = true; }

void TestClient::set_reading(bool on) {
  reading_ = on;
  Session* session = on ? engine_.engine().Find(id_) : nullptr;
  if (!session || session->output.empty()) return;
  engine_.Send(*session);
  engine_.engine().Sent(id_);
  engine_.Settle();
}

TestEngine::TestEngine(const Options& options)
    : Host(static_cast<ProcessServices&>(*this), static_cast<Background&>(*this)),
      disk_(options.disk ? *options.disk : own_disk_),
      audits_(options.audits),
      clock_(options.unix_ms) {
  clock_.Advance(options.uptime_ms);
  if (options.entropy) entropy_.emplace(*options.entropy);
  config_.Preset("enable-debug-command", {"yes"});
  config_.Preset("save", {""});
  for (const auto& [name, value] : options.config) {
    // A user's line is no option.
    const std::string error = name == "user" ? config_.LoadText("user " + value, "test.conf")
                                             : config_.SetAtStart(name, Words(value));
    EXPECT_EQ(error, "") << name << " " << value;
  }
  if (!options.families.empty()) {
    std::vector<CommandFamily> families(AllFamilies().begin(), AllFamilies().end());
    families.insert(families.end(), options.families.begin(), options.families.end());
    own_commands_.emplace(families);
  }
  const CommandTable& served = options.test_double ? CommandsOfTestDouble() : AllCommands();
  EngineOptions engine_options;
  engine_options.zones = std::make_shared<ZoneFiles>(kZonePatienceOfDoubles);
  engine_options.seed = options.seed;
  engine_options.process =
      std::make_shared<const ProcessFacts>(ProcessFacts{.executable = "sluice", .process_id = 1});
  if (options.test_double) engine_options.movable_clock = &movable_;
  engine_options.spaces = options.spaces;
  Clock& clock = options.test_double ? static_cast<Clock&>(movable_) : ticks_;
  Host& host = *this;
  engine_ = std::make_unique<Engine>(config_, clock, host, own_commands_ ? *own_commands_ : served,
                                     engine_options);
  start_fault_ = engine_->StartLog();
  bytes_at_start_ = engine_->UsedMemory();
}

uint64_t TestEngine::Run(WorkerLane lane, std::function<void()> work, std::function<void()> done) {
  const uint64_t number = ++last_aside_;
  background_.push_back({number, lane, std::move(work), std::move(done)});
  if (!aside_waits_) Finish();
  return number;
}

// What stands before it in its lane is done in its order, but followed up later.
void TestEngine::Await(uint64_t number) {
  const auto awaited = std::ranges::find(background_, number, &BackgroundTask::number);
  if (awaited == background_.end()) return;
  const WorkerLane lane = awaited->lane;
  for (auto task = background_.begin(); task != background_.end(); ++task) {
    if (task->lane != lane) continue;
    if (task->work) std::exchange(task->work, nullptr)();
    if (task->number != number) continue;
    const std::function<void()> done = std::move(task->done);
    background_.erase(task);
    return done();
  }
}

Fault TestEngine::OpenLink(const LinkTarget& target, LinkListener& listener) {
  return network_ ? network_->Open(*this, target, listener) : Host::OpenLink(target, listener);
}

void TestEngine::CloseLink(LinkListener& listener) {
  if (network_) network_->GiveUp(listener);
}

bool TestEngine::RunBackgroundNow() { return RunOne(background_.begin()); }

bool TestEngine::RunBackgroundNow(WorkerLane lane) {
  return RunOne(std::ranges::find(background_, lane, &BackgroundTask::lane));
}

bool TestEngine::RunOne(BackgroundTasks::iterator found) {
  if (found == background_.end()) return false;
  const BackgroundTask task = std::move(*found);
  background_.erase(found);
  if (task.work) task.work();
  task.done();
  return true;
}

TestEngine::~TestEngine() {
  if (unaudited_steps_ > 0) {
    EXPECT_EQ(Audit(), "");
  }
  if (network_) network_->Forget(*this);
}

TestClient& TestEngine::Connect() {
  Peer peer;
  peer.address = "127.0.0.1:" + std::to_string(50'000 + clients_.size());
  peer.local_address = "127.0.0.1:6379";
  peer.descriptor = static_cast<int>(8 + clients_.size());
  return Connect(std::move(peer));
}

TestClient& TestEngine::Connect(Peer peer) {
  TestClient& client = ConnectOnly(std::move(peer));
  Settle();
  return client;
}

TestClient& TestEngine::ConnectOnly(Peer peer) {
  clients_.push_back(std::make_unique<TestClient>(*this, engine_->Open(std::move(peer))));
  return *clients_.back();
}

void TestEngine::AdvanceTime(int64_t ms) {
  if (movable_.frozen()) {
    clock_.Advance(ms);
    return Settle();
  }
  const int64_t target = now().ms() + ms;
  while (true) {
    const int64_t here = now().ms();
    const int64_t step = std::clamp(engine_->NextWork(), here, target) - here;
    // The engine may name a moment too early, but never one that it then does not move past.
    clock_.Advance(std::max<int64_t>(step, here < target ? 1 : 0));
    Settle();
    if (now().ms() >= target || movable_.frozen()) return;  // a client that waited may freeze it
  }
}

// A fault may split a long reply into as many turns as it has bytes: turns that send are not
// counted.
void TestEngine::Settle() {
  idle_turns_ = 0;
  while (!shutdown_code_ && engine_->RunTurn()) {
    if (++idle_turns_ < kTurnsMax) continue;
    restless_ = "work is left after " + std::to_string(idle_turns_) + " turns";
    break;
  }
  const size_t bytes = engine_->UsedMemory();
  const size_t steps = bytes > bytes_at_start_ ? (bytes - bytes_at_start_) / kBytesAStep : 0;
  if (!audits_ || ++unaudited_steps_ <= steps) return;
  unaudited_steps_ = 0;
  EXPECT_EQ(Audit(), "");
}

std::string TestEngine::Audit() {
  if (!restless_.empty()) return restless_;
  std::string fault = engine_->keyspace().Audit(engine_->now());
  // Sessions and lists are whole between turns, not inside a command that serves others.
  return fault.empty() && !engine_->part<CurrentClient>().serving_from_within() ? engine_->Audit()
                                                                                : fault;
}

void TestEngine::Send(Session& session) {
  TestClient* client = FindClient(session.id);
  if (client && !client->reading_) return;
  while (session.output.sendable() > 0) {
    iovec vectors[16];
    const size_t count = session.output.Peek(vectors, 16);
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      if (client)
        client->received_.append(static_cast<char*>(vectors[i].iov_base), vectors[i].iov_len);
      bytes += vectors[i].iov_len;
    }
    session.output.Consume(bytes);
    idle_turns_ = 0;
  }
}

void TestEngine::Closed(SessionId id) {
  if (TestClient* client = FindClient(id)) client->closed_ = true;
}

void TestEngine::Log(LogLevel level, std::string_view line) {
  log_.push_back(std::to_string(static_cast<int>(level)) + " " + std::string(line));
}

TestClient* TestEngine::FindClient(SessionId id) {
  // The latest are those that are told most.
  const auto found = std::find_if(clients_.rbegin(), clients_.rend(),
                                  [id](const auto& client) { return client->id_ == id; });
  return found == clients_.rend() ? nullptr : found->get();
}

}  // namespace sluice
