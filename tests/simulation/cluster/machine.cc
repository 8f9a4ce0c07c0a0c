// See machine.h.
#include "tests/simulation/cluster/machine.h"

#include <algorithm>
#include <cmath>

#include "protocol/text/concat.h"
#include "server/config/settings.h"
#include "storage/time/timer_wheel.h"

namespace sluice::cluster {
namespace {

constexpr char kBootIdFile[] = "/proc/sys/kernel/random/boot_id";
constexpr int64_t kTurnAtOnce = 20;     // what a turn takes, when another one follows
constexpr int64_t kBacklogAgain = kMs;  // for what a session did not take
constexpr size_t kToldBytesMax = 40;    // of a word

}  // namespace

// --- one connection's end here

class Machine::Session final : public End {
 public:
  explicit Session(Machine& machine) : machine_(machine) {}
  // One whose process ends before it is told that the link stands goes without a word.
  ~Session() override {
    if (connection_) machine_.network_.Detach(connection_, side_);
  }

  void Arrived(std::string_view bytes) override {
    arrived_ += bytes;
    machine_.PlanTurn(machine_.time_.now() + machine_.time_.Pick(0, 100));
  }
  void Ended() override {
    has_ended_ = true;
    machine_.PlanTurn(machine_.time_.now());
  }

  void Stand(Network::Handle connection, Connection::Side side) {
    connection_ = std::move(connection);
    side_ = side;
  }
  void Use(TestClient& client) { client_ = &client; }

  // Hands the engine what has come. `given` keeps it until the turn. False: some is left.
  bool Take(TestEngine& engine, std::deque<std::string>& given) {
    if (!client_) client_ = &engine.ConnectOnly({.address = PeerAddress()});
    if (!arrived_.empty() && !client_->closed()) {
      if (engine.engine().HasBacklog(client_->id())) return false;
      given.push_back(std::exchange(arrived_, {}));
      client_->Arrive(given.back());
    }
    if (has_ended_) client_->Leave();
    return true;
  }
  // False: it is over.
  bool Send(Network& network) {
    if (!client_) return true;
    const std::string said = client_->TakeBytes();
    if (!has_ended_) network.Say(connection_, side_, said);
    if (!client_->closed()) return true;
    if (!has_ended_) network.Close(connection_, side_);
    return false;
  }
  void Lose(Network& network, bool is_told) {
    if (has_ended_ || !connection_) return;
    is_told ? network.Close(connection_, side_) : network.Detach(connection_, side_);
  }
  const Network::Handle& connection() const { return connection_; }

 private:
  std::string PeerAddress() const {
    return Concat("10.0.0.", connection_->site_of(Connection::Other(side_)), ":40000");
  }

  Machine& machine_;
  Network::Handle connection_;
  Connection::Side side_ = Connection::Side::kCalled;
  TestClient* client_ = nullptr;  // null: not accepted yet
  std::string arrived_;
  bool has_ended_ = false;
};

// --- the process

struct Machine::Process {
  explicit Process(const TestEngine::Options& options) : engine(options) {}
  TestEngine engine;
  std::vector<std::unique_ptr<Session>> sessions;
  std::deque<std::function<void()>> tasks;  // between two turns
  std::vector<LinkListener*> opening;
  std::optional<int64_t> turn_at;
  size_t asides = 0;  // that are planned
};

Machine::Machine(Timeline& time, Network& network, CalleeNames& names, Options options)
    : time_(time),
      network_(network),
      names_(names),
      options_(std::move(options)),
      chance_(static_cast<uint64_t>(time.Pick(1, INT32_MAX))),
      unix_at_boot_ms_(options_.unix_ms) {
  names_[options_.name] = this;
}

Machine::~Machine() {
  if (process_) EndProcess(false);
  names_.erase(options_.name);
}

TestEngine& Machine::engine() { return process_->engine; }

void Machine::Start() {
  if (process_) return;
  if (!has_power_) {
    // The wall clock has gone on, by a battery.
    unix_at_boot_ms_ += local_us() / 1000;
    booted_at_ = time_.now();
    has_power_ = true;
    disk_.files[kBootIdFile] = std::to_string(++boots_) + "\n";
  }
  ++lives_;
  TestEngine::Options options;
  options.seed = static_cast<uint64_t>(time_.Pick(1, INT64_MAX - 1));  // its run id, for one
  options.entropy = static_cast<uint64_t>(time_.Pick(1, INT64_MAX - 1));
  options.disk = &disk_;
  options.audits = false;
  options.config = options_.config;
  options.unix_ms = unix_at_boot_ms_;
  options.uptime_ms = local_us() / 1000;
  process_ = std::make_unique<Process>(options);
  process_->engine.set_network(this);
  process_->engine.set_aside_waits(options_.waits_for_asides);
  is_paused_ = false;
  time_.Tell(Concat(name(), " starts"));
  const std::string& fault = process_->engine.start_fault();
  if (!fault.empty()) {
    EXPECT_NE(disk_.write_fault + disk_.sync_fault, 0) << name() << " cannot start: " << fault;
    return EndProcess(true);
  }
  PlanTurn(time_.now());
}

void Machine::Kill() {
  if (!process_) return;
  time_.Tell(Concat(name(), " is killed"));
  EndProcess(true);
}

void Machine::Stop() {
  if (!process_) return;
  time_.Tell(Concat(name(), " is stopped"));
  PassTime();
  process_->engine.engine().FinishLog();
  EndProcess(true);
}

void Machine::CutPower() {
  if (!has_power_) return;
  time_.Tell(Concat(name(), " loses its power"));
  if (process_) EndProcess(false);
  disk_.PowerCut(chance_);
  has_power_ = false;
}

void Machine::EndProcess(bool is_told) {
  // As if each change of roles were followed by a CONFIG REWRITE.
  const Settings::Master& master = process_->engine.config().settings().replicaof;
  set_config("replicaof", master.host.empty() ? "no one" : Concat(master.host, " ", master.port));
  for (const auto& session : process_->sessions) session->Lose(network_, is_told);
  process_.reset();
  is_paused_ = false;
  if (!stands_since_) stands_since_ = time_.now();
}

void Machine::Pause() {
  if (!process_ || is_paused_) return;
  time_.Tell(Concat(name(), " stands still"));
  is_paused_ = true;
  if (!stands_since_) stands_since_ = time_.now();
}

void Machine::Resume() {
  if (!process_ || !is_paused_) return;
  time_.Tell(Concat(name(), " goes on"));
  is_paused_ = false;
  process_->turn_at.reset();
  PlanTurn(time_.now());
}

void Machine::StepWall(int64_t ms) {
  time_.Tell(Concat(name(), "'s wall clock is set by ", ms, " ms"));
  unix_at_boot_ms_ += ms;
  if (process_) process_->engine.clock().StepWall(ms);
}

void Machine::Order(const std::vector<std::string>& words) { OrderAll({words}); }

void Machine::OrderAll(const std::vector<std::vector<std::string>>& requests) {
  if (!process_ || is_paused_) return;
  PassTime();
  TestClient& operator_client = process_->engine.Connect();
  for (const std::vector<std::string>& words : requests) {
    std::string line = name() + ":";
    for (const std::string& word : words) line += " " + word.substr(0, kToldBytesMax);
    time_.Tell(line);
    operator_client.Send(words);
  }
  PlanTurn(time_.now());
}

void Machine::set_config(const std::string& name, const std::string& value) {
  for (auto& [option, set] : options_.config) {
    if (option != name) continue;
    set = value;
    return;
  }
  options_.config.emplace_back(name, value);
}

void Machine::Later(int64_t span, std::function<void()> event) {
  time_.After(span, [this, life = lives_, event = std::move(event)] {
    if (process_ && lives_ == life) event();
  });
}

// --- turns

int64_t Machine::local_us() const {
  return std::llround(static_cast<double>(time_.now() - booted_at_) * options_.rate);
}

void Machine::PassTime() {
  ManualClock& clock = process_->engine.clock();
  const int64_t shown_us = clock.Sample().steady_us - clock.shift_ms() * 1000;
  clock.AdvanceMicros(std::max<int64_t>(0, local_us() - shown_us));
}

void Machine::PlanTurn(int64_t moment) {
  if (!process_ || is_paused_ || (process_->turn_at && *process_->turn_at <= moment)) return;
  process_->turn_at = std::max(moment, time_.now());
  Later(*process_->turn_at - time_.now(), [this, planned = *process_->turn_at] {
    if (!is_paused_ && process_->turn_at == planned) Turn();
  });
}

void Machine::Turn() {
  Process& process = *process_;
  process.turn_at.reset();
  PassTime();
  for (auto tasks = std::exchange(process.tasks, {}); !tasks.empty(); tasks.pop_front())
    tasks.front()();
  std::deque<std::string> given;
  bool has_left = false;
  for (const auto& session : process.sessions) has_left |= !session->Take(process.engine, given);
  const bool has_work = process.engine.Turn();
  if (stands_since_ && !process.engine.engine().loading())
    standstills_.push_back({*std::exchange(stands_since_, std::nullopt), time_.now()});
  std::erase_if(process.sessions, [this](const auto& session) { return !session->Send(network_); });
  if (process.engine.shutdown_code()) {
    EXPECT_NE(disk_.write_fault + disk_.sync_fault, 0)
        << name() << " ends by itself: " << process.engine.log().back();
    return EndProcess(true);
  }
  PlanAsides();
  PlanNext(has_work, has_left);
}

void Machine::PlanNext(bool has_work, bool has_left) {
  if (has_work) PlanTurn(time_.now() + kTurnAtOnce);
  if (has_left) PlanTurn(time_.now() + kBacklogAgain);
  const int64_t next_ms = process_->engine.engine().NextWork();
  if (next_ms == TimerWheel::kNever) return;
  const int64_t wait_us = next_ms * 1000 - process_->engine.now().steady_us;
  PlanTurn(time_.now() + std::max<int64_t>(1, std::llround(std::ceil(static_cast<double>(wait_us) /
                                                                     options_.rate))));
}

// A job takes its time; they end in their order.
void Machine::PlanAsides() {
  for (; process_->asides < process_->engine.background_tasks(); ++process_->asides)
    Later(time_.PickSpan(50, aside_max_), [this] { RunAside(); });
}

void Machine::RunAside() {
  if (is_paused_) return Later(10 * kMs, [this] { RunAside(); });
  --process_->asides;
  PassTime();
  process_->engine.RunBackgroundNow();
  PlanAsides();
  PlanTurn(time_.now());
}

// --- connections

Network::Handle Machine::Accept(Site caller, End& caller_end) {
  if (!process_) return nullptr;
  process_->sessions.push_back(std::make_unique<Session>(*this));
  Session& session = *process_->sessions.back();
  session.Stand(network_.Connect(caller, caller_end, site(), session), Connection::Side::kCalled);
  PlanTurn(time_.now());
  return session.connection();
}

Fault Machine::Open(TestEngine&, const LinkTarget& target, LinkListener& listener) {
  process_->opening.push_back(&listener);
  const auto found = names_.find(target.host);
  const int64_t delay =
      found == names_.end() ? -1 : network_.DelayBetween(site(), found->second->site());
  const bool is_dark = delay < 0 || !found->second->has_power();
  if (is_dark) {
    Later(std::max<int64_t>(1, target.timeout_ms) * kMs,
          [this, &listener] { FailLink(listener, "Connection timed out"); });
  } else {
    Later(delay, [this, host = target.host, &listener] { OpenAt(host, listener); });
  }
  return {};
}

void Machine::GiveUp(LinkListener& listener) {
  if (process_) std::erase(process_->opening, &listener);
}

bool Machine::TakeAttempt(LinkListener& listener) {
  return std::erase(process_->opening, &listener) > 0;
}

// The end of an attempt is told between two turns.
void Machine::FailLink(LinkListener& listener, const std::string& why) {
  process_->tasks.push_back([this, &listener, why] {
    if (TakeAttempt(listener)) process_->engine.engine().LinkFailed(listener, why);
  });
  PlanTurn(time_.now());
}

void Machine::OpenAt(const std::string& host, LinkListener& listener) {
  const auto found = names_.find(host);
  auto session = std::make_unique<Session>(*this);
  const Network::Handle connection =
      found == names_.end() ? nullptr : found->second->Accept(site(), *session);
  if (!connection) return FailLink(listener, "Connection refused");
  session->Stand(connection, Connection::Side::kCaller);
  auto shared = std::make_shared<std::unique_ptr<Session>>(std::move(session));
  process_->tasks.push_back([this, shared, host, &listener] {
    if (!TakeAttempt(listener)) return (*shared)->Lose(network_, true);
    TestClient& client = process_->engine.ConnectOnly({.address = host + ":6379"});
    (*shared)->Use(client);
    process_->sessions.push_back(std::move(*shared));
    process_->engine.engine().LinkOpened(client.id(), listener);
  });
  PlanTurn(time_.now());
}

}  // namespace sluice::cluster
