// See server.h. Any handler may close any connection: a SessionId is looked up again after whatever
// may have done so, and broken connections are dropped at fixed moments (DropBroken).
#include "server/net/server.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "protocol/text/concat.h"
#include "server/net/allocator.h"
#include "server/net/process.h"

namespace sluice {
namespace {

// What one turn reads at most, and one client of it. Small enough that running it takes well under
// a millisecond, large enough for fifty clients' pipelines.
constexpr size_t kTurnBytes = 128 * 1024;
constexpr size_t kReadBytes = 16 * 1024;
// Connections whose peers have closed them are taken leave of in slices: 5 to 10 µs each.
constexpr int kEndedPerTurn = 100;
// No client has sent anything for so long: the moment to tidy up.
constexpr std::chrono::seconds kQuiet{1};
// Handlers run by one Poll: a signal's and two timers', and what a client's bytes may queue.
constexpr int kPollHandlersMax = 8;
constexpr size_t kPollsMax = 8;
// Beyond that the first space of a test double, whose time may go on by hand, needs no timer.
constexpr int64_t kFarMs = int64_t{1} << 40;
// Turns in a row, before Asio is asked for signals and timers, which costs a system call.
constexpr int kTurnsInRowMax = 16;

// What INFO tells of this host.
EngineOptions WithFacts(EngineOptions options, const SystemClock& clock) {
  options.machine_memory = MachineMemory();
  options.monotonic_clock = clock.TickSource();
  options.multiplexing_api = "epoll";
  return options;
}

}  // namespace

Server::Server(Config& config, Readiness& readiness, const CommandTable& commands,
               EngineOptions options)
    : config_(config),
      readiness_(readiness),
      io_(1),  // this thread runs it, others may post
      poller_(io_, [this] { Serve(); }),
      options_(WithFacts(std::move(options), clock_)),
      first_(*this, /*has_worker=*/true),
      acceptor_(
          config, first_, log_, poller_, [this] { return clients(); },
          [this](int descriptor, Peer peer) { Admit(descriptor, std::move(peer)); }),
      wake_(io_),
      housekeeping_(io_),
      quiet_(io_),
      signals_(io_),
      unneeded_(
          io_, config.settings(), [this] { return clients(); },
          [this](std::string_view why) { EndUnneeded(why); }),
      worker_(io_, [this] { DiskDone(); }) {
  buffers_.emplace_back(new char[kTurnBytes]);
  if (config.settings().test_double) {
    MakeSpaces(commands);
  } else {
    first_.MakeEngine(config, clock_, commands, options_);
  }
}

void Server::MakeSpaces(const CommandTable& commands) {
  const auto connect = [this](int descriptor) {
    auto connection = std::make_shared<SpaceConnection>(poller_, descriptor, *this);
    return connection->open() ? connection : nullptr;
  };
  const auto listen = [this](Listener::Accepted admit, std::string& fault) {
    return acceptor_.ListenAside(std::move(admit), fault);
  };
  spaces_ = std::make_unique<SpaceTable>(SpaceTable::Uses{.owner = *this,
                                                          .config = config_,
                                                          .clock = clock_,
                                                          .commands = commands,
                                                          .options = options_,
                                                          .first = first_,
                                                          .first_clock = movable_clock_,
                                                          .listen = listen,
                                                          .connect = connect});
  EngineOptions options = options_;
  options.movable_clock = &movable_clock_;
  options.spaces = &spaces_->ViewOfFirst();
  first_.MakeEngine(config_, movable_clock_, commands, options);
}

Server::~Server() = default;

std::string Server::Start() {
  const Settings& settings = config_.settings();
  if (std::string error = log_.Open(settings.logfile, settings.loglevel, readiness_.log_output());
      !error.empty()) {
    return error;
  }
  config_.OnChange("loglevel", [this] {
    log_.set_level(config_.settings().loglevel);
    return std::string();
  });
  if (std::string error = first_.engine().StartLog(); !error.empty()) return error;
  if (!poller_.open()) return Concat("can't wait for clients: ", std::strerror(errno));
  if (std::string error = acceptor_.Open(); !error.empty()) return error;
  WaitForSignals();
  if (spaces_) ArmHousekeeping();
  unneeded_.Start();
  Turn();
  ServeSoon();
  return {};
}

int Server::Run() {
  io_.run();
  return exit_code_;
}

// Inside Poll it is for the turn around to go on.
void Server::Serve() {
  if (polling_) return;
  for (int i = 0; i < kTurnsInRowMax; ++i) {
    if (stopped_) return;
    if (!poller_.Tell() && !turn_due_) return poller_.Await();
    // Newcomers first: a request that was sent later finds them in CLIENT LIST. When the
    // server is full they come behind the turn, which notices the clients that have left.
    const bool is_full = acceptor_.IsFull();
    bool more = !is_full && AcceptNewcomers();
    if (turn_due_) Turn();
    if (is_full) more = AcceptNewcomers();
    if (more) WantTurn();
  }
  ServeSoon();
}

void Server::ServeSoon() {
  if (std::exchange(serves_soon_, true)) return;
  boost::asio::post(io_, [this] {
    serves_soon_ = false;
    Serve();
  });
}

// --- connections

void Server::Admit(int descriptor, Peer peer) {
  first_.Admit(std::make_shared<SpaceConnection>(poller_, descriptor, *this), std::move(peer));
}

size_t Server::clients() const {
  return first_.engine().session_count() + (spaces_ ? spaces_->clients() : 0);
}

bool Server::AcceptNewcomers() {
  const bool more = acceptor_.AcceptNewcomers();
  if (!spaces_) [[likely]]
    return more;
  const bool more_aside = spaces_->AcceptNewcomers();
  turn_due_ |= spaces_->any_due();
  return more || more_aside;
}

// --- turns

void Server::Readable(Connection& connection) {
  if (connection.ready) return;
  connection.ready = true;
  ready_.push_back(std::static_pointer_cast<SpaceConnection>(connection.shared_from_this()));
  heard_ = true;
  if (!awaits_quiet_) AwaitQuiet();
  WantTurn();
}

void Server::Writable(Connection& connection) {
  Space& space = *static_cast<SpaceConnection&>(connection).space;
  space.Writable(connection);
  if (spaces_) {
    spaces_->Due(space);
    WantTurn();
  }
  ArmWake();  // a client that went may have left others something to do
}

void Server::WantTurn() { turn_due_ |= !polling_; }

// Inside Poll, too, it waits for a turn of its own: nothing of it belongs into a command.
void Server::DiskDone() {
  turn_due_ = true;
  Serve();
}

void Server::Turn() {
  turn_due_ = false;
  for (const auto& call : std::exchange(due_calls_, {})) call();
  ReadReady();
  bool more = RunTurns();
  if (spaces_) [[unlikely]] {
    more |= spaces_->Arrange(/*nested=*/false);
    more |= spaces_->any_due();
  }
  if (stopping_) return Drain();
  if (!is_ready_ && !first_.engine().loading()) TellReady();
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

// One recv for every ready client, until the turn's buffer is full; the others wait for the next
// turn. So does a client with requests that have not run yet: it is the kernel that keeps what it
// sends then, and that it will send no more is not seen before all it has sent is answered. Inside
// Poll, the client whose command polls is not read either.
// A client that could not be read this turn comes first in the next one, before those that have
// more: however much a few clients send, all others are read in their turn.
void Server::ReadReady() {
  char* const buffer = buffers_[polling_].get();
  size_t used = 0;
  int ended = 0;
  std::vector<std::shared_ptr<SpaceConnection>> unread;
  std::vector<std::shared_ptr<SpaceConnection>> have_more;
  for (std::shared_ptr<SpaceConnection>& waiting : ready_) {
    SpaceConnection& connection = *waiting;
    if (!connection.open()) continue;
    if (connection.ended && ++ended > kEndedPerTurn) {
      unread.push_back(std::move(waiting));
      continue;
    }
    const Engine& engine = connection.space->engine();
    if (used + kReadBytes > kTurnBytes || !engine.MayTouch(connection.session) ||
        engine.HasBacklog(connection.session)) {
      unread.push_back(std::move(waiting));
      continue;
    }
    size_t got = 0;
    const bool more = ReadOne(connection, {buffer + used, kReadBytes}, got);
    used += got;
    if (more) {
      have_more.push_back(std::move(waiting));
    } else {
      connection.ready = false;
    }
  }
  std::ranges::move(have_more, std::back_inserter(unread));
  ready_ = std::move(unread);
}

// Whether there may be more to read at once.
bool Server::ReadOne(SpaceConnection& connection, std::span<char> buffer, size_t& got) {
  Space& space = *connection.space;
  Engine& engine = space.engine();
  const std::span<char> room = engine.RoomFor(connection.session);
  const std::span<char> into = room.empty() ? buffer : room;
  ++engine.statistics().reads;
  if (spaces_) [[unlikely]]
    spaces_->Due(space);
  const ssize_t result = connection.Read(into);
  if (result < 0) {
    space.Drop(connection.session);
    return false;
  }
  got = static_cast<size_t>(result);
  if (room.empty()) {
    engine.Receive(connection.session, {into.data(), got});
  } else {
    engine.ReceiveInPlace(connection.session, got);
  }
  return got == into.size() || (got > 0 && connection.ended);
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

// Sets the timer for the next work; an earlier one already set is left, it only looks sooner.
void Server::ArmWake() {
  const int64_t next_us = NextWakeUs();
  if (next_us == TimerWheel::kNever || next_us >= wake_us_) return;
  wake_us_ = next_us;
  // Of now: the turn that ends here may have been a long one.
  const int64_t delay_us = std::max<int64_t>(0, next_us - clock_.Sample().steady_us);
  wake_.expires_after(std::chrono::microseconds(delay_us));
  wake_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    wake_us_ = TimerWheel::kNever;
    if (spaces_) spaces_->WakeUntil(clock_.Sample().steady_us);
    WantTurn();
    Serve();
  });
}

// The engine's clock may stand still, or be a year ahead in a moment.
void Server::ArmHousekeeping() {
  housekeeping_.expires_after(std::chrono::seconds(1));
  housekeeping_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (polling_ == 0) {
      first_.engine().Housekeep();
      spaces_->Housekeep();
    }
    ArmHousekeeping();
    WantTurn();
    Serve();
  });
}

// A quiet server sets no timer of its own.
void Server::AwaitQuiet() {
  awaits_quiet_ = true;
  heard_ = false;
  quiet_.expires_after(kQuiet);
  quiet_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (heard_ || polling_) return AwaitQuiet();
    awaits_quiet_ = false;
    memory_trim_.Look(first_.engine().UsedMemory());
  });
}

// --- the process

void Server::WaitForSignals() {
  boost::system::error_code ignored;
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  signals_.add(SIGINT, ignored);
  signals_.add(SIGTERM, ignored);
  signals_.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    const bool is_int = number == SIGINT;
    const Settings& settings = config_.settings();
    const bool ends =
        is_int ? EndAsTold("Received SIGINT, shutting down", settings.shutdown_on_sigint)
               : EndAsTold("Received SIGTERM, shutting down", settings.shutdown_on_sigterm);
    if (ends) return;
    log_.Write(LogLevel::kWarning, "the data cannot be saved, so the server goes on");
    WaitForSignals();
  });
}

// `words` are those of SHUTDOWN. False: what was to be saved cannot be.
bool Server::EndAsTold(std::string_view why, std::string_view words) {
  log_.Write(LogLevel::kWarning, why);
  if (!first_.engine().PrepareEnd(words)) return false;
  Shutdown(0);
  WantTurn();
  Serve();
  return true;
}

// As SIGTERM; but nobody is there any more who could mend what keeps the data from being saved.
void Server::EndUnneeded(std::string_view why) {
  if (stopping_ || EndAsTold(why, config_.settings().shutdown_on_sigterm)) return;
  log_.Write(LogLevel::kWarning, "the data cannot be saved");
  Shutdown(1);
  WantTurn();
  Serve();
}

void Server::TellReady() {
  is_ready_ = true;
  const auto port = static_cast<int>(config_.settings().port);
  if (const std::string fault = readiness_.Tell(acceptor_.Address(), port); !fault.empty()) {
    log_.Write(LogLevel::kWarning, fault);
  }
}

// From now on no client gets in: one that sees its connection closed does not find the server
// again.
void Server::Shutdown(int code) {
  acceptor_.Close();
  stopping_ = true;
  exit_code_ = code;
}

// Replies that were promised leave before the process does, if their clients take them at once.
// With nothing left to wait for, Asio's run() returns.
void Server::Drain() {
  if (!first_.engine().FinishLog()) exit_code_ = 1;
  first_.engine().ForEachSession([this](Session& session) {
    if (!session.output.empty()) first_.Send(session);
  });
  log_.Write(LogLevel::kWarning, "Sluice is now ready to exit, bye bye...");
  stopped_ = true;
  boost::system::error_code ignored;
  signals_.cancel(ignored);
  wake_.cancel();
  housekeeping_.cancel();
  for (auto& call : calls_) call.cancel();
  quiet_.cancel();
  unneeded_.Stop();
  poller_.Stop();
}

// Called from inside a turn: one nested turn for what is ready. Asio is asked for signals; clients
// who never stop sending don't keep it busy, and so don't stop the script.
// A script of another space may be slow in a turn inside this one, and lets others be served in its
// turn: so deep, and no deeper.
void Server::PollFrom(Space&) {
  if (polling_ >= (spaces_ ? kPollsMax : 1)) return;
  ++polling_;
  if (buffers_.size() <= polling_) buffers_.emplace_back(new char[kTurnBytes]);
  poller_.Tell();
  AcceptNewcomers();
  for (int i = 0; i < kPollHandlersMax && io_.poll_one() > 0; ++i) {
  }
  ReadReady();
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

uint64_t Server::RunAside(std::function<void()> work, std::function<void()> done) {
  return worker_.Run(std::move(work), std::move(done));
}

// Inside Poll, too, it waits for a turn of its own.
void Server::CallAfter(int64_t real_ms, std::function<void()> call) {
  const auto timer = calls_.emplace(calls_.end(), io_, std::chrono::milliseconds(real_ms));
  timer->async_wait([this, timer, call = std::move(call)](const boost::system::error_code& error) {
    calls_.erase(timer);
    if (error || stopped_) return;
    due_calls_.push_back(call);
    turn_due_ = true;
    Serve();
  });
}

void Server::Sleep(int64_t micros) { ::usleep(static_cast<useconds_t>(micros)); }

ProcessUsage Server::Usage() { return ReadProcessUsage(); }

AllocatorUsage Server::Allocator() { return ReadAllocatorUsage(); }

void Server::ReleaseMemory() { ReturnFreePages(); }

void Server::ReturnFreedAtOnce(bool on) { sluice::ReturnFreedAtOnce(on); }

std::string Server::AllocatorReport() { return AllocatorReportText(); }

}  // namespace sluice
