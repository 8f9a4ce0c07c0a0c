// Engine: the whole server without the outside world. Bytes of clients go in, bytes come out; time,
// chance and the end of the process are handed in. Sockets, a host program, a fuzzer and a simulator
// drive it in the same way, one turn after another:
//
//   Engine engine(config, clock, host, families, seed);
//   SessionId id = engine.Open(peer);
//   engine.Receive(id, bytes);      // as often as there is something; bytes stay valid until RunTurn
//   engine.RunTurn();               // runs requests and due timers, then hands every output to the host
//   ... wait until engine.NextWork() or until more bytes come ...
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/config.h"
#include "server/engine/command.h"
#include "server/engine/command_table.h"
#include "server/engine/dispatcher.h"
#include "server/engine/effects.h"
#include "server/engine/pause.h"
#include "server/engine/session.h"
#include "server/engine/statistics.h"
#include "server/engine/transaction.h"
#include "storage/clock.h"
#include "storage/keyspace.h"
#include "storage/timer_wheel.h"

namespace sluice {

// What the engine needs from whoever runs it.
class Host {
 public:
  virtual ~Host() = default;
  // At the end of a turn, once a session with output: send what can be sent and Consume it. Must not call
  // back into the engine.
  virtual void Send(Session& session) = 0;
  // The engine has given the session up (after Send): close its connection. The session is gone.
  virtual void Closed(SessionId id) = 0;
  // Called from inside long work: serve the other sessions (they get -BUSY or -LOADING). Re-entrant
  // turns are the engine's care.
  virtual void Poll() = 0;
  // Stop the process or the loop; the exit code.
  virtual void Shutdown(int code) = 0;
  // DEBUG SLEEP: really do nothing for so long.
  virtual void Sleep(int64_t micros) = 0;
  virtual void Log(int level, std::string_view line) = 0;  // 0 debug .. 3 warning
};

struct EngineOptions {
  uint64_t seed = 0;             // every random choice comes from it
  std::string executable;        // for INFO and CONFIG
  int64_t process_id = 0;
};

class Engine final : public KeyspaceObserver {
 public:
  Engine(Config& config, Clock& clock, Host& host, std::span<const CommandFamily> families,
         EngineOptions options);
  ~Engine() override;

  // --- sessions
  SessionId Open(Peer peer);
  // The connection is gone: forget the session, whatever it was doing.
  void Drop(SessionId id);
  Session* Find(SessionId id);                 // null when gone
  Session* FindClient(uint64_t client_id);     // by CLIENT ID
  void ForEachSession(const std::function<void(Session&)>& visit);
  size_t session_count() const { return session_count_; }

  // --- a turn
  // `bytes` are parsed now or in RunTurn and must stay valid until RunTurn returns.
  void Receive(SessionId id, std::string_view bytes);
  // Runs what was received, due timers and background slices, at most about kTurnBudgetNanos of it; then
  // ends the turn: effects out, outputs sent. True when work is left and the next turn should come at once.
  bool RunTurn();
  // When RunTurn should be called next if nothing arrives, in engine ms; TimerWheel::kNever if never.
  int64_t NextWork() const;
  // A session whose Send left bytes behind got rid of all of them, or made progress.
  void Sent(SessionId id);

  // --- for handlers
  Config& config() { return config_; }
  const Settings& settings() const { return config_.settings(); }
  Keyspace& keyspace() { return *keyspace_; }
  TimerWheel& wheel() { return wheel_; }
  CommandTable& commands() { return commands_; }
  Dispatcher& dispatcher() { return dispatcher_; }
  Effects& effects() { return effects_; }
  WatchTable& watches() { return watches_; }
  Pause& pause() { return pause_; }
  Statistics& statistics() { return statistics_; }
  Random& random() { return random_; }
  Host& host() { return host_; }
  Clock& clock() { return clock_; }
  const EngineOptions& options() const { return options_; }
  const Now& now() const { return now_; }
  // Takes a new sample of the clock in the middle of a turn (after DEBUG SLEEP and other long work).
  void RefreshNow();
  const std::string& run_id() const { return run_id_; }  // 40 hex digits, from the seed

  // Ends a session: kAfterReply sends what it has been answered, kNow sends nothing more.
  void Close(Session& session, CloseMode mode);
  // Takes a blocked session's input up again (its command has been answered).
  void Resume(Session& session);
  // To be called when output was appended to a session outside its own command (push, unblock, MONITOR).
  void QueueSend(Session& session);

  // --- KeyspaceObserver
  void KeyTouched(int db, std::string_view key) override;
  void KeyExpired(int db, const Entry& entry, int64_t late_ms) override;
  void DatabaseReplaced(int db, int other) override;

 private:
  friend class Batch;
  Config& config_;
  Clock& clock_;
  Host& host_;
  EngineOptions options_;
  Now now_;
  Random random_;
  TimerWheel wheel_;
  std::unique_ptr<Keyspace> keyspace_;
  CommandTable commands_;
  Effects effects_;
  WatchTable watches_;
  Statistics statistics_;
  Pause pause_;
  Dispatcher dispatcher_;
  std::string run_id_;
  size_t session_count_ = 0;
};

}  // namespace sluice
