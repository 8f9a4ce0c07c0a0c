// Server: the engine behind sockets. One thread; this is where turns are made:
//
//   readiness (as much as the poller tells at once) → newcomers → one recv a client into a shared
//   buffer → Engine::RunTurn → one send a client
//
// The shared buffer bounds what one turn takes in. A handler of Asio makes as many turns as there
// is something for, but only so many in a row (Serve): behind it Asio gets to signals, timers and
// whatever else its io_context serves, and waits when there is nothing.
//
// Bounds: a turn reads 128 KiB in all and 16 KiB of a client, takes leave of 100 closed
// connections, and at most 16 turns follow one another without Asio.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/config/config.h"
#include "server/net/acceptor.h"
#include "server/net/connection.h"
#include "server/net/log.h"
#include "server/net/memory_trim.h"
#include "server/net/poller.h"
#include "server/net/readiness.h"
#include "server/net/space.h"
#include "server/net/space_table.h"
#include "server/net/unneeded.h"
#include "server/net/worker.h"
#include "server/system/system_clock.h"
#include "storage/time/movable_clock.h"

namespace sluice {

class Server final : public SpaceOwner, public ConnectionOwner {
 public:
  // `readiness` is told when clients are served: behind the load of a log or a snapshot.
  Server(Config& config, Readiness& readiness, const CommandTable& commands, EngineOptions options);
  ~Server() override;

  // Binds everything, makes the first turn and asks Asio for the next; an error sentence, or empty.
  std::string Start();
  // Serves until SHUTDOWN or a signal; the exit code.
  int Run();

  void Write(LogLevel level, std::string_view line) { log_.Write(level, line); }

 private:
  // SpaceOwner
  void PollFrom(Space& space) override;
  void ClientLeft() override { unneeded_.ClientLeft(); }
  void WorkCame(Space& space) override;
  void ShutdownOf(Space& space, int code) override;
  uint64_t RunAside(std::function<void()> work, std::function<void()> done) override;
  void CallAfter(int64_t real_ms, std::function<void()> call) override;
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

  void MakeSpaces(const CommandTable& commands);
  void Admit(int descriptor, Peer peer);
  size_t clients() const;
  bool AcceptNewcomers();
  bool RunTurns();
  void Serve();
  void ServeSoon();
  void WantTurn();
  void DiskDone();
  void Turn();
  void ReadReady();
  bool ReadOne(SpaceConnection& connection, std::span<char> buffer, size_t& got);
  void ArmWake();
  void ArmHousekeeping();
  int64_t NextWakeUs();
  void Shutdown(int code);
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
  EngineOptions options_;
  Space first_;                         // whose engine is the server
  std::unique_ptr<SpaceTable> spaces_;  // of a test double
  Acceptor acceptor_;
  boost::asio::steady_timer wake_;
  boost::asio::steady_timer housekeeping_;  // of a test double
  boost::asio::steady_timer quiet_;         // ends when no client has sent anything for a while
  boost::asio::signal_set signals_;
  Unneeded unneeded_;
  Worker worker_;  // ends before the engine, whose work it does

  std::vector<std::shared_ptr<SpaceConnection>> ready_;  // to be read in the next turn
  // Of what is read: one for turns, and one for each turn inside another.
  std::vector<std::unique_ptr<char[]>> buffers_;
  size_t polling_ = 0;  // so many turns inside others
  bool turn_due_ = false;
  bool serves_soon_ = false;                      // Serve stands in Asio's queue
  std::list<boost::asio::steady_timer> calls_;    // CallAfter's
  std::vector<std::function<void()>> due_calls_;  // run before the next turn
  MemoryTrim memory_trim_;
  bool awaits_quiet_ = false;
  bool heard_ = false;                    // something since quiet_ was set
  int64_t wake_us_ = TimerWheel::kNever;  // of the system's clock, for which wake_ is set
  bool is_ready_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
  int exit_code_ = 0;
};

}  // namespace sluice
