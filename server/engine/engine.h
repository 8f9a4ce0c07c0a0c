// Engine: the whole server without the outside world. Bytes of clients go in, bytes come out; time,
// chance and the end of the process are handed in. Sockets, a host program, a fuzzer and a
// simulator drive it in the same way, one turn after another:
//
//   Engine engine(config, clock, host, commands, options);
//   SessionId id = engine.Open(peer);
//   engine.Receive(id, bytes);   // as often as there is something; bytes stay valid until RunTurn
//   engine.RunTurn();            // runs requests and due timers, hands outputs to the host
//   ... wait until engine.NextWork() or until more bytes come ...
//
// It is the root: it makes the parts of the server, in the order of their needs, and turns over
// them (turn.cc). A part knows those that it was given, never the engine.
//
// One thread calls all of it, and nothing here locks. Members stand in the order in which they are
// made: a part may keep a reference to a later one, and uses it only in turns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/clients/acting.h"
#include "server/clients/clients.h"
#include "server/config/config.h"
#include "server/config/debug_settings.h"
#include "server/core/parts.h"
#include "server/core/rare_flags.h"
#include "server/core/storage_parts.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/memory_limit.h"
#include "server/engine/access_control.h"
#include "server/engine/batch.h"
#include "server/engine/client_lines.h"
#include "server/engine/defragmenter.h"
#include "server/engine/facts.h"
#include "server/engine/inputs.h"
#include "server/engine/random_state.h"
#include "server/engine/script_engine.h"
#include "server/locks/lock_service.h"
#include "server/log/log_service.h"
#include "server/notify/key_listeners.h"
#include "server/notify/pubsub.h"
#include "server/observe/command_counts.h"
#include "server/snapshots/snapshots.h"
#include "server/test_double/request_watch.h"
#include "server/test_double/time_control.h"
#include "server/waiting/limit_waiters.h"
#include "server/waiting/parked_clients.h"
#include "server/waiting/waiters.h"
#include "storage/keyspace/keyspace.h"
#include "storage/time/timer_task.h"

namespace sluice {

class Engine final : public KeyspaceObserver, private OthersServer, private OptionFollower {
 public:
  Engine(Config& config, Clock& clock, Host& host, const CommandTable& commands,
         EngineOptions options);
  ~Engine() override;

  // Reads the ACL file, where users are in one.
  // Opens the append-only log where there is to be one, and begins to load it, or a snapshot: once,
  // before the first turn, in the working directory. A sentence why the server cannot start, or
  // empty.
  std::string StartLog();
  // Instead: `sluice --import` (LogService).
  void Import(std::vector<std::string> paths, bool is_snapshot) {
    log_.Import(std::move(paths), is_snapshot);
  }
  bool loading() const { return log_.loading(); }
  std::string WriteFiles() { return log_.WriteFiles(); }
  // No turn follows: all of the log is made durable. False: it could not be.
  bool FinishLog() {
    snapshots_.Abandon();
    return log_.Finish();
  }
  // A signal asks for the end, with these words of SHUTDOWN. False: what was to be saved cannot be.
  bool PrepareEnd(std::string_view words) { return snapshots_.PrepareEnd(EndWords::Of(words)); }

  // --- sessions
  SessionId Open(Peer peer) { return clients_.Open(std::move(peer)).id; }
  // The connection is gone: forget the session, whatever it was doing.
  void Drop(SessionId id);
  Session* Find(SessionId id) const { return clients_.Find(id); }  // null when gone
  void ForEachSession(const std::function<void(Session&)>& visit) const { clients_.ForEach(visit); }
  size_t session_count() const { return clients_.size(); }

  // --- a turn
  // `bytes` are parsed now or in RunTurn and must stay valid until RunTurn returns.
  void Receive(SessionId id, std::string_view bytes);
  // Of a long request the host reads the rest to where it belongs, without a copy: RoomFor is where
  // (empty: it is in no such place, anywhere will do), ReceiveInPlace tells how much has come there
  // since.
  std::span<char> RoomFor(SessionId id);
  void ReceiveInPlace(SessionId id, size_t bytes);
  // Runs what was received, due timers and background slices, at most about kTurnBudgetNanos of it;
  // then ends the turn: effects out, outputs sent. True when work is left and the next turn should
  // come at once.
  bool RunTurn();
  // Of a host program, between turns: runs one command of that session at once, as a turn of its
  // own, and puts the answer into its sink; what was due before runs before. kHeld: to be shown
  // again when the session is no longer paused. None: there is no such session any more. What the
  // command leaves for later is done by RunTurn. Precondition: the session does not wait.
  std::optional<Dispatcher::Outcome> RunNow(SessionId id, Args args);
  // The session, if something of it may be done without a command now, as nobody but its program is
  // to hear of it: there is no log and no event, and no client watches, waits, tracks or is shown
  // commands. What was due has been done by then, and the time is of now. Else null.
  Session* DirectSession(SessionId id);
  // What is left of the last turn goes on at once.
  bool has_left_over() const;
  // False for the client whose command runs now: it must neither be read from nor dropped.
  bool MayTouch(SessionId id) const { return acting_.MayTouch(id); }
  // When RunTurn should be called next if nothing arrives, in engine ms; TimerWheel::kNever if
  // never.
  int64_t NextWork() const;
  // Of a test double: once a second of real time, where EngineOptions::movable_clock is set. What a
  // server does for itself each second neither stands still with that clock nor is in its way.
  void Housekeep() { EverySecond(); }
  // Whether requests of it wait that could run: before its next bytes are read those should be.
  bool HasBacklog(SessionId id) const;
  // A session whose Send left bytes behind got rid of all of them, or made progress.
  void Sent(SessionId id);

  // --- what it consists of
  template <typename Part>
  Part& part() const {
    return parts_.Get<Part>();
  }
  const Parts& parts() const { return parts_; }
  const EngineOptions& options() const { return options_; }  // that it was made with
  const Settings& settings() const { return config_.settings(); }
  Statistics& statistics() { return statistics_; }
  Keyspace& keyspace() { return keyspace_; }
  const TimerWheel& wheel() const { return wheel_; }
  const Now& now() const { return clock_.now(); }
  size_t UsedMemory() const { return facts_.UsedMemory(); }
  // Between turns: where all generators stand.
  RandomState SaveRandom() const;
  void RestoreRandom(const RandomState& state);
  // Between turns: the first violated invariant of sessions and of those who listen, as a sentence,
  // or empty. The keyspace has an audit of its own.
  std::string Audit() const;

  // --- KeyspaceObserver
  void KeyTouched(int db, std::string_view key) override;
  void KeyLookedUp(int db, std::string_view key) override;
  void KeyExpired(int db, const Entry& entry, int64_t late_ms) override;
  void ValueIsOver(int db, const Entry& entry) override;
  void KeyCreated(int db, std::string_view key) override;
  void DatabaseReplaced(int db, int other) override;
  void ValueDue(Database& db, HashedKey key, Entry& entry) override;

 private:
  // --- engine_parts.cc
  LockService::Uses ForLocks();
  Dispatcher::Uses ForDispatcher();
  ParkedClients::Uses ForParkedClients();
  Waiters::Uses ForWaiters();
  ScriptEngine::Uses ForScripts();
  LimitWaiters::Uses ForLimits();
  Snapshots::Uses ForSnapshots();
  LogService::Uses ForLog();
  AccessControl::Uses ForAccess();
  RequestWatch::Uses ForRequestWatch();
  MemoryAccounts::Owners ForMemoryAccounts();
  void AddParts();

  // --- engine_options.cc
  struct FollowedOptions;
  static std::span<const FollowedOptions> AllFollowed();
  void FollowConfig();
  void WatchPeers();
  std::optional<std::string> OptionChanged(std::string_view option) override;
  void MemoryOptionsChanged();
  void MaxMemoryChanged();

  void EverySecond();
  void ArmEverySecond(int64_t ms);
  void RefreshNow();
  void LoadLog();
  void TimeShifted(int64_t ms);

  // --- turn.cc
  void PassMoment();
  const Command* LookDirectly(std::string_view name);
  void ServeOthers(Session& caller) override;
  bool RunNestedTurn();
  void SetAside(Session& caller);
  void TakeCarried();
  void RunInputs(int64_t turn_begin);
  void RunBatch();
  bool RunRequest(Session& session, const Batch::Request& request);
  Dispatcher::Outcome Execute(Session& session, Args args, const Command* command, HashedKey key);
  void KeepReceived(Session& session);
  void KeepRest(Input& input);
  void CountReceived(Session& session, size_t bytes);
  void ProtocolError(Session& session);
  bool RunTimers();
  bool PassTime(int64_t turn_begin);
  bool SettleMoment(int64_t turn_begin);
  void ServeWaiters();
  bool FreeGarbage(int64_t turn_begin);
  void BeginMemory();
  void EvictClients();
  void EndTurn(int64_t begin);
  void CloseAll();
  std::string AuditFlags() const;

  Config& config_;
  Host& host_;
  const EngineOptions options_;
  TurnClock clock_;
  HashKeys hash_keys_;
  Random random_;
  const std::string run_id_;
  RareFlags flags_;
  Acting acting_;
  Statistics statistics_;
  Rates rates_;
  DebugSettings debug_settings_;
  TimerWheel wheel_;
  TimerTasks timers_{wheel_};
  Clients clients_;
  Effects effects_;
  Parts parts_;
  LockService locks_;  // outlives the locks in the keyspace
  Keyspace keyspace_;
  const CommandTable& commands_;
  Users users_;
  AccessLog access_log_;
  CommandCounts command_counts_;
  WatchTable watches_;
  PubSub pubsub_;
  Notifications notifications_;
  Tracking tracking_;
  Monitors monitors_;
  MemoryLimit memory_limit_;
  Pause pause_;
  SavedFirst saved_first_;
  ScriptState script_state_;
  LogState log_state_;
  SlowLog slow_log_;
  LatencyMonitor latency_monitor_;
  CommandTimer command_timer_;
  ClientLines client_lines_;
  AccessGate access_gate_;
  Dispatcher dispatcher_;
  ParkedClients parked_;
  AccessControl access_;
  std::string users_fault_;  // of the configuration
  Waiters waiters_;
  ScriptEngine scripts_;
  LimitWaiters limits_;
  Facts facts_;
  Defragmenter defragmenter_{parts_, timers_};
  KeyListeners key_listeners_;
  Snapshots snapshots_;
  LogService log_;
  std::unique_ptr<TimeControl> time_control_;  // of a test double, both
  std::unique_ptr<RequestWatch> request_watch_;

  // RunNow's: the command that it ran last, and when it looked for work that is due.
  const Command* last_direct_ = nullptr;
  int64_t looked_for_work_ms_ = -1;

  Inputs inputs_;  // of this turn
  Batch batch_;
  uint64_t handed_over_ = 0;  // waits for locks whose latency has been counted
  uint64_t timers_fired_ = 0;
  size_t client_bytes_max_ = 0;  // of all clients together (maxmemory-clients); 0: no limit
  bool key_dying_ = false;       // between KeyExpired and the KeyTouched that follows it
  TimerTaskOf<Engine> every_second_{*this};
  int64_t cpu_us_ = 0;  // of the thread, when it was last read
  int64_t cpu_read_tick_ = 0;
};

}  // namespace sluice
