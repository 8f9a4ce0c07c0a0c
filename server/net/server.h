// Server: the engine behind sockets. One thread at a time; this is where turns are made:
//
//   readiness (as much as the poller tells at once) → new connections → one recv a client into a
//   shared buffer → Engine::RunTurn → one send a client
//
// The shared buffer bounds what one turn takes in. A round of the loop (event_loop.h) is one wait,
// of no time where a turn is due, the calls of alarms, signals and workers, and one turn.
//
// Its loop is Run, on a thread that is its own; or another loop sleeps on a descriptor, and calls
// Work when that can be read (Driver). There may be many in a process. A server leaves the
// process's own (signals, working directory, limits) alone, unless it is all that the process does.
//
// How much a turn reads: ready_clients.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/fault.h"
#include "server/config/config.h"
#include "server/net/acceptor.h"
#include "server/net/extra_port.h"
#include "server/net/hand_over/hand_over.h"
#include "server/net/hand_over/predecessor.h"
#include "server/net/idle_watchdog.h"
#include "server/net/link_opener.h"
#include "server/net/log.h"
#include "server/net/loop/alarms.h"
#include "server/net/loop/event_loop.h"
#include "server/net/loop/poller.h"
#include "server/net/loop_descriptor.h"
#include "server/net/manager/service_manager.h"
#include "server/net/process/memory_trim.h"
#include "server/net/ready_clients.h"
#include "server/net/server_process.h"
#include "server/net/signals.h"
#include "server/net/sources.h"
#include "server/net/space_connection.h"
#include "server/net/tls_door.h"
#include "server/net/workers.h"
#include "server/spaces/space.h"
#include "server/spaces/space_table.h"
#include "server/system/system_clock.h"
#include "storage/time/movable_clock.h"

namespace sluice {

class Server final : public SpaceOwner, public ConnectionOwner, private OptionFollower {
 public:
  // Its surroundings. Both functions are called on the loop, and may be empty.
  struct Around {
    // It is all that the process does: it may raise the limit of open files, and tune malloc.
    bool owns_process = false;
    // Gets each line of the log, where no file is named.
    Log::Reader log;
    // Makes the port of `http-port`; empty: there is no such port.
    ExtraPort::Make make_http;
    // Makes what opens connections to other servers; empty: it opens none.
    LinkOpener::Make make_links;
    // Clients are served: what was to be loaded is. Where they can connect; port 0: there is none.
    std::function<void(const std::string& address, int port)> ready;
    // SIGUSR2 starts it anew like this. Without words it does not.
    StartedAs started_as;
    // Another process has its place: what is in files of this one is that one's.
    std::function<void()> handed_over;
    // The end that End has begun comes to nothing.
    std::function<void()> goes_on;
  };
  Server(Config& config, const CommandTable& commands, EngineOptions options, Around around);
  ~Server() override;

  // First of all; an error sentence, or empty.
  Fault OpenLog();
  // Binds everything and makes the first turn; an error sentence, or empty.
  Fault Start();
  // SIGINT and SIGTERM end the server, as shutdown-on-sigint and -sigterm say; SIGUSR2 has another
  // process take its place.
  void FollowSignals();
  // Serves until it ends: by SHUTDOWN, a signal, End.
  void Run();
  // When it has ended: 0, or 1 where something could not be saved.
  int exit_code() const { return exit_code_; }

  // --- driven by another loop
  // Can be read when there is something to do. Null: the system refused it, as errno says.
  std::shared_ptr<const LoopDescriptor> Driver();
  // Does some of what there is to do. False: it has ended. Not to be called from within.
  bool Work();

  // --- from any thread
  // `call` is made on the loop, between two turns or inside a long command.
  void Post(std::function<void()> call);
  // The server's end of a pair of sockets: a client that needs no password. It is owned.
  void Admit(int descriptor);

  // --- on the loop, between turns
  // As on SIGTERM. False: what was to be saved cannot be, and it goes on; Around::goes_on tells the
  // same of an end that waits for replicas first.
  bool End(std::string_view why) {
    return EndAsTold(why, config_.settings().shutdown_on_sigterm) != EndOutcome::kFailed;
  }
  // The same, whether or not it can be: nobody is there any more who could mend it.
  void EndAnyway(std::string_view why);

  void Write(LogLevel level, std::string_view line) { log_.Write(level, line); }
  const std::string& last_warning() const { return log_.last_warning(); }

 private:
  std::optional<std::string> OptionChanged(std::string_view option) override;
  // SpaceOwner
  ProcessServices& process() override { return process_; }
  void PollFrom(Space& space) override;
  void ClientLeft() override { idle_watchdog_.ClientLeft(); }
  void WorkCame(Space& space) override;
  void ShutdownOf(Space& space, int code) override;
  void GoesOn(Space& space) override;
  void CallAfter(int64_t real_ms, std::function<void()> call) override;
  bool Stopping() const override { return stopping_; }
  Fault OpenLink(Space& space, const LinkTarget& target, LinkListener& listener) override;
  void GiveUpLink(LinkListener& listener) override;

  // ConnectionOwner
  Poller& poller() override { return loop_.poller(); }
  void Readable(Connection& connection) override;
  void Writable(Connection& connection) override;

  Fault OpenDoors();
  Fault OpenPorts();
  void MakeSpaces(const CommandTable& commands);
  std::unique_ptr<SpacePort> ListenForSpace(SpacePort::Admit admit, std::string& fault);
  boost::intrusive_ptr<SpaceConnection> Connect(int descriptor);
  void Admit(int descriptor, Peer peer);
  void BeginTls(int descriptor, Peer peer);
  void AdmitSecured(boost::intrusive_ptr<Connection> connection, Peer peer);
  void LogInByName(const Connection& connection, Session& session);
  size_t clients() const;
  size_t programs() const;
  void AdmitTrusted(int descriptor);
  std::unique_ptr<LinkOpener> MakeLinks();
  void LinkOpened(Space& space, const boost::intrusive_ptr<Connection>& connection, Peer peer,
                  LinkListener& listener);
  void AdvanceLinks();
  bool AcceptConnections();
  bool AdvanceHandshakes();
  bool RunTurns();
  bool Round(bool may_wait);
  // Workers may have something to end even when it has stopped.
  bool goes_on() const { return !stopped_ || workers_.busy(); }
  void WantTurn();
  void Turn();
  bool IsLost(SpaceConnection& connection);
  void ArmWake();
  void ArmHousekeeping();
  int64_t NextWakeUs();
  int64_t NextHandshakeUs();
  void Shutdown(int code);
  void AwaitQuiet();
  bool EndBySignal(int signal);
  void ReadFilesAgain();
  EndOutcome EndAsTold(std::string_view why, std::string_view words);
  void TellReady();
  void LogReady();
  void Drain();
  void Stop();

  // --- another process takes its place
  HandOver::Uses ForHandOver();
  std::string_view WhyNoHandOver() const;
  void BeginHandOver();
  bool PutDataDown();
  void TakeDataUp();
  void MakeWay();

  Config& config_;
  const Around around_;
  SystemClock clock_;
  MovableClock movable_clock_{clock_};  // the engine's, in a test double
  sluice::Log log_;
  ServerProcess process_;
  EventLoop loop_;
  Alarms alarms_{loop_};
  Sources sources_;
  EngineOptions options_;
  TlsDoor tls_;
  std::unique_ptr<LinkOpener> links_;   // null: it opens none
  Space first_;                         // whose engine is the server
  std::unique_ptr<SpaceTable> spaces_;  // of a test double
  Acceptor acceptor_;
  std::unique_ptr<ExtraPort> http_;  // null: there is none
  std::optional<Signals> signals_;
  IdleWatchdog idle_watchdog_;
  ServiceManager manager_;
  Predecessor predecessor_;
  HandOver hand_over_;
  Workers workers_;  // end before the engine, whose work they do

  std::shared_ptr<LoopDescriptor> driver_;  // null: the loop is Run

  ReadyClients ready_;
  size_t polling_ = 0;  // so many turns inside others
  bool turn_due_ = false;
  bool links_due_ = false;
  std::vector<std::function<void()>> due_calls_;  // CallAfter's: run before the next turn
  MemoryTrim memory_trim_;
  bool awaits_quiet_ = false;
  bool heard_ = false;  // something since AwaitQuiet
  Alarms::Id wake_;
  int64_t wake_us_ = TimerWheel::kNever;  // of the system's clock, for which wake_ is set
  bool is_ready_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
  int exit_code_ = 0;
};

}  // namespace sluice
