// See server.h. Any handler may close any connection: a SessionId is looked up again after whatever
// may have done so, and broken connections are dropped at fixed moments (DropBroken).
#include "server/net/server.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/words.h"
#include "server/clients/clients.h"
#include "server/net/certified_login.h"
#include "server/net/process/process.h"

namespace sluice {
namespace {

// No client has sent anything for so long: the moment to tidy up.
constexpr std::chrono::seconds kQuiet{1};
constexpr size_t kPollsMax = 8;
// Beyond that the first space of a test double, whose time may go on by hand, needs no timer.
constexpr int64_t kFarMs = int64_t{1} << 40;
// Rounds of one Work: others of the loop around this one want their turn, too.
constexpr int kWorkRoundsMax = 16;
constexpr std::string_view kHttpSocket = "http";  // of LISTEN_FDNAMES

// Adds the facts of this host for INFO.
EngineOptions WithFacts(EngineOptions options) {
  auto facts = std::make_shared<ProcessFacts>(*options.process);
  facts->machine_memory = MachineMemory();
  facts->multiplexing_api = "epoll";
  options.process = std::move(facts);
  return options;
}

}  // namespace

Server::Server(Config& config, const CommandTable& commands, EngineOptions options, Around around)
    : config_(config),
      around_(std::move(around)),
      process_(log_, around_.owns_process),
      options_(WithFacts(std::move(options))),
      tls_(
          config, loop_.poller(), clock_, log_,
          [this](boost::intrusive_ptr<Connection> connection, Peer peer) {
            AdmitSecured(std::move(connection), std::move(peer));
          },
          [this] { turn_due_ = true; }),
      links_(MakeLinks()),
      first_(*this, workers_),
      acceptor_(
          config, first_, log_, loop_.poller(), sources_, tls_,
          [this] { return clients() + tls_.handshakes().size(); },
          {.plain = [this](int fd, Peer peer) { Admit(fd, std::move(peer)); },
           .tls = [this](int fd, Peer peer) { BeginTls(fd, std::move(peer)); }},
          around_.owns_process ? RaiseDescriptorLimit : [](int64_t) { return DescriptorLimit(); }),
      idle_watchdog_(
          loop_, alarms_, config.settings(), [this] { return programs(); },
          [this](std::string_view why) { EndAnyway(why); }),
      manager_([this](std::chrono::microseconds time, std::function<void()> call) {
        alarms_.Set(time, std::move(call));
      }),
      hand_over_(ForHandOver()),
      // Inside Poll, too, it waits for a turn of its own: nothing of it belongs into a command.
      workers_(loop_, [this] { turn_due_ = true; }) {
  ready_.set_is_lost([this](SpaceConnection& connection) { return IsLost(connection); });
  if (config.settings().test_double) {
    MakeSpaces(commands);
  } else {
    first_.MakeEngine(config, clock_, commands, options_);
  }
}

namespace {

class ListenerOfSpace final : public SpacePort {
 public:
  explicit ListenerOfSpace(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}
  int number() const override { return listener_->Port(); }
  bool AcceptConnections() override { return listener_->AcceptConnections(); }

 private:
  const std::unique_ptr<Listener> listener_;
};

}  // namespace

std::unique_ptr<SpacePort> Server::ListenForSpace(SpacePort::Admit admit, std::string& fault) {
  const auto accepted = [this, admit = std::move(admit)](int descriptor, Peer peer) {
    boost::intrusive_ptr<SpaceConnection> connection = Connect(descriptor);
    if (connection->open()) admit(std::move(connection), std::move(peer));
  };
  std::unique_ptr<Listener> listener = acceptor_.ListenForSpace(accepted, fault);
  return listener ? std::make_unique<ListenerOfSpace>(std::move(listener)) : nullptr;
}

void Server::MakeSpaces(const CommandTable& commands) {
  const auto listen = [this](SpacePort::Admit admit, std::string& fault) {
    return ListenForSpace(std::move(admit), fault);
  };
  spaces_ = std::make_unique<SpaceTable>(SpaceTable::Uses{.owner = *this,
                                                          .config = config_,
                                                          .clock = clock_,
                                                          .commands = commands,
                                                          .options = options_,
                                                          .first = first_,
                                                          .first_clock = movable_clock_,
                                                          .listen = listen});
  ready_.set_spaces(spaces_.get());
  EngineOptions options = options_;
  options.movable_clock = &movable_clock_;
  options.spaces = &spaces_->ViewOfFirst();
  first_.MakeEngine(config_, movable_clock_, commands, options);
}

Server::~Server() { config_.Unfollow(*this); }

std::optional<std::string> Server::OptionChanged(std::string_view option) {
  if (option == "loglevel") {
    log_.set_level(config_.settings().loglevel);
  } else if (option == "tcp-keepalive") {
    first_.KeepAliveChanged();
  } else {
    return std::nullopt;
  }
  return std::string();
}

Fault Server::OpenLog() {
  const Settings& settings = config_.settings();
  return log_.Open(settings.logfile, settings.loglevel, around_.log);
}

Fault Server::Start() {
  const Settings& settings = config_.settings();
  config_.Follow(*this);
  if (around_.owns_process) {
    predecessor_.Begin();
    const auto warn = [this](std::string_view line) { log_.Write(LogLevel::kWarning, line); };
    if (std::string error = manager_.Begin(settings.supervised, warn); !error.empty()) return error;
  }
  if (!loop_.open() || !alarms_.open() || !workers_.open())
    return Concat("can't wait for clients: ", std::strerror(errno));
  // The data of a server that makes way are its own until this one is sure to start.
  const bool has_predecessor = predecessor_.is_there();
  Fault error = has_predecessor ? Fault() : first_.engine().StartLog();
  if (error.empty()) error = OpenDoors();
  if (error.empty() && has_predecessor) {
    predecessor_.AwaitData();
    error = first_.engine().StartLog();
  }
  if (!error.empty()) return error;
  if (spaces_) ArmHousekeeping();
  idle_watchdog_.Start();
  // Data may have a long script in them, beside which others are served: that is the loop's work.
  if (first_.engine().loading()) {
    manager_.Loading();
    WantTurn();
  } else {
    Turn();
  }
  return {};
}

Fault Server::OpenDoors() {
  if (tls_.is_wanted()) {
    if (std::string error = tls_.Load(); !error.empty()) return Concat("can't serve TLS: ", error);
  }
  return OpenPorts();
}

// Sockets that were handed over under the name `http` are for the pages, all others for clients.
Fault Server::OpenPorts() {
  std::vector<InheritedSocket> inherited, for_http;
  if (around_.owns_process) inherited = TakeInheritedSockets(predecessor_.is_there());
  const auto is_http = [](const InheritedSocket& socket) { return socket.name == kHttpSocket; };
  std::ranges::copy_if(inherited, std::back_inserter(for_http), is_http);
  std::erase_if(inherited, is_http);
  if (std::string error = acceptor_.Open(inherited); !error.empty()) return error;
  const bool is_wanted = config_.settings().http_port != 0 || !for_http.empty();
  if (!is_wanted || !around_.make_http) return {};
  http_ = around_.make_http({.config = config_,
                             .clock = clock_,
                             .log = log_,
                             .poller = loop_.poller(),
                             .alarms = alarms_,
                             .tls = tls_,
                             .engine = [this]() -> Engine& { return first_.engine(); },
                             .want_advance = [this] { turn_due_ = true; }});
  return http_->Open(for_http);
}

void Server::FollowSignals() {
  signals_.emplace(loop_, [this](int signal) { return EndBySignal(signal); });
}

void Server::Run() {
  while (goes_on()) Round(/*may_wait=*/true);
}

std::shared_ptr<const LoopDescriptor> Server::Driver() {
  if (driver_) return driver_;
  auto driver = std::make_shared<LoopDescriptor>();
  if (!driver->open() || !driver->Watch(loop_.descriptor())) return nullptr;
  driver->Ring();
  return driver_ = std::move(driver);
}

bool Server::Work() {
  bool any = true;
  for (int i = 0; i < kWorkRoundsMax && any && goes_on(); ++i) any = Round(/*may_wait=*/false);
  if (driver_) {
    // A turn that is due cannot be seen from outside.
    goes_on() && !turn_due_ ? driver_->Still() : driver_->Ring();
  }
  return goes_on();
}

void Server::Post(std::function<void()> call) { loop_.Post(std::move(call)); }

// False: there was nothing to do.
bool Server::Round(bool may_wait) {
  bool any = loop_.Round(may_wait && !turn_due_);
  if (stopped_) return any;
  // Newcomers first: a request that was sent later finds them in CLIENT LIST. When the
  // server is full they come behind the turn, which notices the clients that have left.
  const bool anybody_waits = spaces_ || acceptor_.anybody_waits();
  const bool is_full = anybody_waits && acceptor_.IsFull();
  bool more = anybody_waits && !is_full && AcceptConnections();
  more |= AdvanceHandshakes();
  if (links_due_) [[unlikely]]
    AdvanceLinks();
  any |= turn_due_;
  if (turn_due_) Turn();
  if (is_full) more |= AcceptConnections();
  if (more) WantTurn();
  return any;
}

// --- connections

bool Server::AcceptConnections() {
  // While another process has its place they wait in the queue, where that one finds them too.
  bool more = !predecessor_.is_there() && acceptor_.AcceptConnections();
  if (spaces_) [[unlikely]] {
    more |= spaces_->AcceptConnections();
    turn_due_ |= spaces_->any_due();
  }
  return more;
}

// Peers that are no clients: those in a handshake, and those of the pages.
bool Server::AdvanceHandshakes() {
  bool more = tls_.handshakes().Advance();
  if (http_) [[unlikely]]
    more |= http_->Advance();
  return more;
}

// --- turns

void Server::Readable(Connection& connection) {
  auto& client = static_cast<SpaceConnection&>(connection);
  if (client.ready) return;
  ready_.Add(client);
  heard_ = true;
  if (!awaits_quiet_) AwaitQuiet();
  WantTurn();
}

void Server::Writable(Connection& connection) {
  auto& client = static_cast<SpaceConnection&>(connection);
  Space& space = *client.space;
  space.Writable(client);
  if (spaces_) {
    spaces_->Due(space);
    WantTurn();
  }
  ArmWake();  // a client that went may have left others something to do
}

void Server::WantTurn() { turn_due_ |= !polling_; }

void Server::Turn() {
  turn_due_ = false;
  if (!due_calls_.empty()) [[unlikely]] {
    for (const auto& call : std::exchange(due_calls_, {})) call();
    if (stopped_) return;  // one of them has made way
  }
  ready_.Read(polling_);
  bool more = RunTurns();
  if (spaces_) [[unlikely]] {
    more |= spaces_->Arrange(/*nested=*/false);
    more |= spaces_->any_due();
  }
  if (stopping_) return Drain();
  if (!is_ready_) [[unlikely]]
    first_.engine().loading() ? predecessor_.Loading() : TellReady();
  if (more || !ready_.empty()) {
    WantTurn();
  } else {
    ArmWake();
  }
}

bool Server::RunTurns() {
  const bool more = first_.engine().RunTurn();
  first_.DropBroken();
  if (spaces_) [[unlikely]]
    spaces_->RunTurns();
  return more;
}

// --- time

// When there is work next, in µs of the system's clock.
int64_t Server::NextWakeUs() {
  const Engine& engine = first_.engine();
  const int64_t next_ms = engine.NextWork();
  if (!spaces_) return next_ms == TimerWheel::kNever ? next_ms : next_ms * 1000;
  const int64_t aside_us = spaces_->NextWakeUs();
  const int64_t in_us = next_ms - engine.now().ms() > kFarMs
                            ? TimerWheel::kNever
                            : next_ms * 1000 - movable_clock_.Sample().steady_us;
  if (in_us == TimerWheel::kNever || (in_us > 0 && movable_clock_.frozen())) return aside_us;
  return std::min(aside_us, clock_.Sample().steady_us + in_us);
}

// When the next handshake is overdue, on the system's clock.
int64_t Server::NextHandshakeUs() {
  const int64_t next_ns = tls_.handshakes().NextNanos();
  if (next_ns == Handshakes::kNever) [[likely]]
    return TimerWheel::kNever;
  return clock_.Sample().steady_us + (next_ns - clock_.TickNanos()) / 1000 + 1;
}

// Sets the timer for the next work; an earlier one already set is left, it only looks sooner.
void Server::ArmWake() {
  const int64_t next_us = std::min(NextWakeUs(), NextHandshakeUs());
  if (next_us == TimerWheel::kNever || next_us >= wake_us_) return;
  wake_us_ = next_us;
  // The time is read anew: the turn that ends here may have been a long one.
  const int64_t delay_us = std::max<int64_t>(0, next_us - clock_.Sample().steady_us);
  alarms_.Cancel(wake_);
  wake_ = alarms_.Set(std::chrono::microseconds(delay_us), [this] {
    wake_us_ = TimerWheel::kNever;
    if (spaces_) spaces_->WakeUntil(clock_.Sample().steady_us);
    WantTurn();
  });
}

// The engine's clock may stand still, or be a year ahead in a moment.
void Server::ArmHousekeeping() {
  alarms_.Set(std::chrono::seconds(1), [this] {
    if (polling_ == 0) {
      first_.engine().Housekeep();
      spaces_->Housekeep();
    }
    ArmHousekeeping();
    WantTurn();
  });
}

// A quiet server sets no timer of its own.
void Server::AwaitQuiet() {
  awaits_quiet_ = true;
  heard_ = false;
  alarms_.Set(kQuiet, [this] {
    if (heard_ || polling_) return AwaitQuiet();
    awaits_quiet_ = false;
    Engine& engine = first_.engine();
    if (around_.owns_process)
      engine.statistics().returned_bytes += memory_trim_.Look(engine.UsedMemory());
  });
}

// --- the process

void Server::TellReady() {
  predecessor_.AwaitPlace();
  is_ready_ = true;
  LogReady();
  manager_.Ready(acceptor_.Address());
  if (around_.ready) around_.ready(acceptor_.Address(), static_cast<int>(config_.settings().port));
  WantTurn();
}

// In Redis's words, for which programs wait that start servers.
void Server::LogReady() {
  const Settings& settings = config_.settings();
  const int64_t port = settings.port != 0 ? settings.port : settings.tls_port;
  if (port != 0)
    log_.Write(LogLevel::kNotice, Concat("Ready to accept connections on port ", port));
  const std::string path = acceptor_.UnixPath();
  if (!path.empty()) {
    log_.Write(LogLevel::kNotice,
               Concat("The server is now ready to accept connections at ", path));
  }
}

// --- the host of engines

// Called from inside a turn: one nested turn for what is ready, and the calls that are due; clients
// that never stop sending don't keep it busy, and so don't stop the script. A script of another
// space may be slow in a turn inside this one, and lets others be served in its turn: so deep, and
// no deeper.
void Server::PollFrom(Space&) {
  if (polling_ >= (spaces_ ? kPollsMax : 1)) return;
  ++polling_;
  loop_.Round(/*may_wait=*/false);
  AcceptConnections();
  AdvanceHandshakes();
  ready_.Read(polling_);
  RunTurns();
  if (spaces_) spaces_->Arrange(/*nested=*/true);
  --polling_;
}

void Server::WorkCame(Space& space) {
  if (spaces_) spaces_->Due(space);
  WantTurn();
}

// SHUTDOWN ends a private space alone.
void Server::ShutdownOf(Space& space, int code) {
  if (&space == &first_) return Shutdown(code);
  spaces_->End(space);
}

// Inside Poll, too, it waits for a turn of its own.
void Server::CallAfter(int64_t real_ms, std::function<void()> call) {
  alarms_.Set(std::chrono::milliseconds(real_ms), [this, call = std::move(call)] {
    due_calls_.push_back(call);
    turn_due_ = true;
  });
}

}  // namespace sluice
