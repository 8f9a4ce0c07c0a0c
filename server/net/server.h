// Server: the engine behind sockets. One thread; this is where turns are made:
//
//   readiness (as much as the poller tells at once) → newcomers → one recv a client into a shared
//   buffer → Engine::RunTurn → one send a client
//
// The shared buffer bounds what one turn takes in. A handler of Asio makes as many turns as there
// is something for, but only so many in a row (Serve): behind it Asio gets to signals, timers and
// whatever else its io_context serves, and waits when there is nothing.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/config/config.h"
#include "server/engine/engine.h"
#include "server/net/acceptor.h"
#include "server/net/connection.h"
#include "server/net/log.h"
#include "server/net/memory_trim.h"
#include "server/net/poller.h"
#include "server/net/readiness.h"
#include "server/net/system_clock.h"
#include "server/net/unneeded.h"
#include "server/net/worker.h"
#include "storage/time/movable_clock.h"

namespace sluice {

class Server final : public Host, public ConnectionOwner {
 public:
  // `readiness` is told when clients are served: behind the load of a log or a snapshot.
  Server(Config& config, Readiness& readiness, std::span<const CommandFamily> families,
         EngineOptions options);
  ~Server() override;

  // Binds everything, makes the first turn and asks Asio for the next; an error sentence, or empty.
  std::string Start();
  // Serves until SHUTDOWN or a signal; the exit code.
  int Run();

  void Write(int level, std::string_view line) { log_.Write(level, line); }

 private:
  // Host
  void Send(Session& session) override;
  void Closed(SessionId id) override;
  void WatchPeer(Session& session, int64_t timeout_ms) override;
  void Poll() override;
  void Shutdown(int code) override;
  uint64_t RunAside(std::function<void()> work, std::function<void()> done) override;
  void AwaitAside(uint64_t number) override { worker_.Await(number); }
  void FinishAside() override { worker_.Finish(); }
  bool Stopping() const override { return stopping_; }
  void Sleep(int64_t micros) override;
  void Log(LogLevel level, std::string_view line) override { log_.Write(level, line); }
  ProcessUsage Usage() override;
  AllocatorUsage Allocator() override;
  void ReleaseMemory() override;
  void ReturnFreedAtOnce(bool on) override;
  std::string AllocatorReport() override;

  // ConnectionOwner
  void Readable(Connection& connection) override;
  void Writable(Connection& connection) override;

  void Admit(int descriptor, Peer peer);
  void Serve();
  void ServeSoon();
  void WantTurn();
  void DiskDone();
  void Turn();
  void ReadReady();
  bool ReadOne(Connection& connection, std::span<char> buffer, size_t& got);
  void DropBroken();
  void ArmWake();
  void ArmHousekeeping();
  Clock& engine_clock() { return is_double_ ? static_cast<Clock&>(movable_clock_) : clock_; }
  void AwaitQuiet();
  void WaitForSignals();
  bool EndAsTold(std::string_view why, std::string_view words);
  void EndUnneeded(std::string_view why);
  void TellReady();
  void Drain();

  Config& config_;
  Readiness& readiness_;
  SystemClock clock_;
  MovableClock movable_clock_{clock_};  // the engine's, in a test double
  sluice::Log log_;
  boost::asio::io_context io_;
  Poller poller_;
  Engine engine_;
  Acceptor acceptor_;
  boost::asio::steady_timer wake_;
  boost::asio::steady_timer housekeeping_;  // of a test double
  boost::asio::steady_timer quiet_;         // ends when no client has sent anything for a while
  boost::asio::signal_set signals_;
  Unneeded unneeded_;
  Worker worker_;  // ends before the engine, whose work it does

  std::vector<std::shared_ptr<Connection>> connections_;  // by session slot
  std::vector<std::shared_ptr<Connection>> ready_;        // to be read in the next turn
  std::vector<SessionId> broken_;                         // found while sending
  std::unique_ptr<char[]> buffer_;
  std::unique_ptr<char[]> poll_buffer_;  // while buffer_ holds the turn that Poll is called from
  bool polling_ = false;
  bool turn_due_ = false;
  bool serves_soon_ = false;  // Serve stands in Asio's queue
  MemoryTrim memory_trim_;
  bool is_double_;
  bool awaits_quiet_ = false;
  bool heard_ = false;                    // something since quiet_ was set
  int64_t wake_ms_ = TimerWheel::kNever;  // engine time for which wake_ is set
  bool is_ready_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
  int exit_code_ = 0;
};

}  // namespace sluice
