// Engine: the whole server without the outside world. Bytes of clients go in, bytes come out; time,
// chance and the end of the process are handed in. Sockets, a host program, a fuzzer and a
// simulator drive it in the same way, one turn after another:
//
//   Engine engine(config, clock, host, families, seed);
//   SessionId id = engine.Open(peer);
//   engine.Receive(id, bytes);      // as often as there is something; bytes stay valid until
//   RunTurn engine.RunTurn();               // runs requests and due timers, then hands every
//   output to the host
//   ... wait until engine.NextWork() or until more bytes come ...
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/config/config.h"
#include "server/engine/attention.h"
#include "server/engine/batch.h"
#include "server/engine/command.h"
#include "server/engine/command_table.h"
#include "server/engine/command_timer.h"
#include "server/engine/dispatcher.h"
#include "server/engine/effects.h"
#include "server/engine/notifications.h"
#include "server/engine/null_sink.h"
#include "server/engine/pause.h"
#include "server/engine/script_engine.h"
#include "server/engine/session.h"
#include "server/engine/statistics.h"
#include "server/engine/timed.h"
#include "server/engine/transaction.h"
#include "server/engine/waiters.h"
#include "storage/keyspace/keyspace.h"
#include "storage/time/clock.h"
#include "storage/time/timer_wheel.h"

namespace sluice {

class LatencyMonitor;
class Monitors;
class PubSub;
class SlowLog;
class Tracking;

// What the process has used so far, for INFO.
struct ProcessUsage {
  int64_t resident_bytes = 0;
  int64_t resident_peak_bytes = 0;
  int64_t user_us = 0;  // CPU time of the whole process
  int64_t system_us = 0;
  int64_t thread_user_us = 0;  // and of the thread that runs the engine
  int64_t thread_system_us = 0;
};

// What the allocator has, for MEMORY; zeros where it does not tell.
struct AllocatorUsage {
  int64_t allocated_bytes = 0;  // in use
  int64_t active_bytes = 0;     // in pages that hold something in use
  int64_t resident_bytes = 0;   // taken from the system and not given back
};

// What the engine needs from whoever runs it.
class Host {
 public:
  virtual ~Host() = default;
  // At the end of a turn, once a session with output: send what can be sent and Consume it. Must
  // not call back into the engine.
  virtual void Send(Session& session) = 0;
  // The engine has given the session up (after Send): close its connection. The session is gone.
  virtual void Closed(SessionId id) = 0;
  // Called from inside long work: serve the other sessions (they get -BUSY or -LOADING). Re-entrant
  // turns are the engine's care.
  virtual void Poll() = 0;
  // From now on a peer that does not answer for so long, without a word from it meanwhile, counts
  // as gone: Drop is to be called. Where peers cannot vanish unseen there is nothing to do.
  virtual void WatchPeer(Session& session, int64_t timeout_ms) {
    static_cast<void>(session), static_cast<void>(timeout_ms);
  }
  // Stop the process or the loop; the exit code.
  virtual void Shutdown(int code) = 0;
  // True between Shutdown and the end: long work gives up.
  virtual bool Stopping() const { return false; }
  // DEBUG SLEEP: really do nothing for so long.
  virtual void Sleep(int64_t micros) = 0;
  virtual void Log(int level, std::string_view line) = 0;  // 0 debug .. 3 warning
  virtual ProcessUsage Usage() { return {}; }
  virtual AllocatorUsage Allocator() { return {}; }
  // MEMORY PURGE: what is free goes back to the system.
  virtual void ReleaseMemory() {}
  virtual std::string AllocatorReport() { return {}; }  // MEMORY MALLOC-STATS; empty: it has none
};

struct EngineOptions {
  uint64_t seed = 0;  // every random choice comes from it
  // What the keys of all hash tables are made from: from the system's randomness, for chance of the
  // seed shows in answers. None: from the seed, so that a run can be repeated; then who knows the
  // seed can make names that collide.
  std::optional<SipKey> hash_key;
  std::string executable;  // for INFO and CONFIG
  int64_t process_id = 0;
  std::string os;  // "Linux 6.1.0 x86_64"
  std::string allocator = "libc";
  uint64_t machine_memory = 0;   // bytes of RAM; 0: not known
  std::string monotonic_clock;   // what Clock::TickNanos reads, in Redis's words
  std::string multiplexing_api;  // what waits for sockets: "epoll"; empty: the host program
};

class LimitDesk;
class LockService;

class Engine final : public KeyspaceObserver, public ErrorListener {
 public:
  Engine(Config& config, Clock& clock, Host& host, std::span<const CommandFamily> families,
         EngineOptions options);
  ~Engine() override;

  // --- sessions
  SessionId Open(Peer peer);
  // The connection is gone: forget the session, whatever it was doing.
  void Drop(SessionId id);
  Session* Find(SessionId id);              // null when gone
  Session* FindClient(uint64_t client_id);  // by CLIENT ID
  void ForEachSession(const std::function<void(Session&)>& visit);
  size_t session_count() const { return session_count_; }

  // --- a turn
  // `bytes` are parsed now or in RunTurn and must stay valid until RunTurn returns.
  void Receive(SessionId id, std::string_view bytes);
  // Of a long request the host reads the rest to where it belongs, without a copy: RoomFor is where
  // (empty: it is none, anywhere will do), ReceiveInPlace tells how much has come there since.
  std::span<char> RoomFor(SessionId id);
  void ReceiveInPlace(SessionId id, size_t bytes);
  // Runs what was received, due timers and background slices, at most about kTurnBudgetNanos of it;
  // then ends the turn: effects out, outputs sent. True when work is left and the next turn should
  // come at once.
  bool RunTurn();
  // A turn inside Host::Poll: time stands still and no timer fires, others than the client whose
  // command takes so long are served.
  bool serving_from_within() const { return nested_; }
  // False for the client whose command runs now: it must neither be read from nor dropped.
  bool MayTouch(SessionId id) const;
  // When RunTurn should be called next if nothing arrives, in engine ms; TimerWheel::kNever if
  // never.
  int64_t NextWork() const;
  // Whether requests of it wait that could run: before its next bytes are read those should be.
  bool HasBacklog(SessionId id);
  // A session whose Send left bytes behind got rid of all of them, or made progress.
  void Sent(SessionId id);

  // --- for handlers
  Config& config() { return config_; }
  const Settings& settings() const { return config_.settings(); }
  Keyspace& keyspace() { return *keyspace_; }
  TimerWheel& wheel() { return wheel_; }
  CommandTable& commands() { return commands_; }
  Dispatcher& dispatcher() { return dispatcher_; }
  CommandTimer& command_timer() { return command_timer_; }
  SlowLog& slow_log() { return *slow_log_; }
  LatencyMonitor& latency_monitor() { return *latency_monitor_; }
  Effects& effects() { return effects_; }
  WatchTable& watches() { return watches_; }
  Attention& attention() { return attention_; }
  Waiters& waiters() { return waiters_; }
  LockService& locks() { return *locks_; }
  Pause& pause() { return pause_; }
  PubSub& pubsub() { return *pubsub_; }
  Notifications& notifications() { return notifications_; }
  Tracking& tracking() { return *tracking_; }
  Monitors& monitors() { return *monitors_; }
  ScriptEngine& scripts() { return scripts_; }
  LimitDesk& limits() { return *limits_; }
  Statistics& statistics() { return statistics_; }
  const Rates& rates() const { return rates_; }
  // What keys, scripts and clients take now; looks at every client.
  size_t UsedMemory() const;
  size_t memory_peak() const { return memory_peak_; }  // of samples taken once a second
  size_t startup_memory() const { return startup_memory_; }
  Random& random() { return random_; }
  HashKeys& hash_keys() { return hash_keys_; }
  Host& host() { return host_; }
  Clock& clock() { return clock_; }
  const EngineOptions& options() const { return options_; }
  int64_t started_ms() const { return started_ms_; }
  // DEBUG QUICKLIST-PACKED-THRESHOLD: so long an element of a list has a chunk of its own.
  size_t list_alone_bytes() const { return list_alone_bytes_; }
  void set_list_alone_bytes(size_t bytes) { list_alone_bytes_ = bytes; }
  const Now& now() const { return now_; }
  // Takes a new sample of the clock in the middle of a turn (after DEBUG SLEEP and other long
  // work).
  void RefreshNow();
  const std::string& run_id() const { return run_id_; }  // 40 hex digits, from the seed
  // Between turns: the first violated invariant of sessions and of those who listen, as a sentence,
  // or empty. The keyspace has an audit of its own.
  std::string Audit() const;

  // Ends a session: kAfterReply sends what it has been answered, kNow sends nothing more.
  void Close(Session& session, CloseMode mode);
  // Takes a blocked session's input up again (its command has been answered).
  void Resume(Session& session);
  // Its subscriptions or protocol changed: what it may call, and how much output may wait for it.
  void ClassChanged(Session& session);
  // Sets a timer, also one that is set already.
  void Arm(Timed& timed, int64_t at_ms);
  void Disarm(Timed& timed) { wheel_.Cancel(timed.node); }
  // The client whose top-level command runs; null when none does.
  const Session* current() const { return current_; }
  // Whether a command of it runs, maybe around the turn that this is.
  bool IsExecuting(const Session& session) const {
    return &session == current_ || &session == caller_;
  }
  // Appends a push, `pieces` of whole RESP, to what the session is sent; behind EXEC's reply while
  // it runs one. In its own command that is before what the handler has still to answer.
  void Push(Session& session, std::initializer_list<std::string_view> pieces);
  // To be called when output was appended to a session outside its own command (unblock).
  void QueueSend(Session& session);

  // --- for the dispatcher and the batch
  ReplySink& SinkOf(Session& session) {
    return session.reply_mode == ReplyMode::kOn ? static_cast<ReplySink&>(session.writer)
                                                : null_sink_;
  }
  Dispatcher::Outcome Execute(Session& session, Args args, Command* command, HashedKey key);
  void ProtocolError(Session& session);
  // It has sent more than client-query-buffer-limit that could not be run yet.
  void CloseOverQueryLimit(Session& session);
  // More replies or pushes wait for it than it may have (client-output-buffer-limit).
  void CloseOverOutputLimit(Session& session);
  const OutputLimit& OutputLimitOf(const Session& session) const;
  // A parked client's command is run again: as if it came now, in the middle of another's turn.
  void ExecuteWoken(Session& session, Command& command, Args args);
  // While it lives, what happens is that client's doing: its wait is over.
  class ActingFor {
   public:
    ActingFor(Engine& engine, Session& session)
        : engine_(engine), around_(std::exchange(engine.current_, &session)) {}
    ~ActingFor() { engine_.current_ = around_; }
    ActingFor(const ActingFor&) = delete;
    ActingFor& operator=(const ActingFor&) = delete;

   private:
    Engine& engine_;
    Session* const around_;
  };
  const std::vector<Input>& inputs() const { return inputs_; }
  // The argument without a copy, in the buffer that it came in: only where that is large and holds
  // nothing behind this request. All its arguments can be read while the block lives.
  std::optional<TextBlock> TakeArgument(Session& session, std::string_view argument);
  // Lets others be served while the command of `caller` goes on.
  void ServeOthers(Session& caller);
  // The cheap tick at which the command before ended, and a new reading of it.
  int64_t tick() const { return tick_; }
  int64_t Tick() { return tick_ = clock_.TickNanos(); }
  // Holds commands back (CLIENT PAUSE) for `ms` from now.
  void PauseClients(Pause::Mode mode, int64_t ms);
  void UnpauseClients();
  // A pause, or the lateness of a script, has begun or ended.
  void GatesChanged();

  // --- KeyspaceObserver, ErrorListener
  void KeyTouched(int db, std::string_view key) override;
  void KeyExpired(int db, const Entry& entry, int64_t late_ms) override;
  void KeyCreated(int db, std::string_view key) override;
  void DatabaseReplaced(int db, int other) override;
  void ValueDue(Database& db, HashedKey key, Entry& entry) override;
  void ErrorSent(std::string_view text) override;

 private:
  struct Slot {
    std::unique_ptr<Session> session;
    uint32_t generation = 0;
  };

  std::string AuditSession(const Session& session) const;
  std::string AuditAttention() const;
  bool RunNestedTurn();
  void SetAside(Session& caller);
  void RunInputs(int64_t turn_begin);
  void KeepReceived(Session& session);
  void TakeCarried();
  void KeepRest(Input& input);
  void Carry(Session& session);
  bool RunTimers();
  void ServeWaiters();
  void TellOfKey(int db, std::string_view key);
  bool FreeGarbage(int64_t turn_begin);
  void EndTurn(int64_t begin);
  void SendAll();
  void CloseAll();
  void CheckOutputLimit(Session& session);
  void LimitOutput(Session& session);
  size_t QueryBytesMax(const Session& session) const;
  void CountReceived(Session& session, size_t bytes);
  void EverySecond();
  void FollowConfig();
  void PasswordChanged();
  void EndPause();

  Config& config_;
  Clock& clock_;
  Host& host_;
  EngineOptions options_;
  Now now_;
  HashKeys hash_keys_;
  Random random_;
  std::string run_id_;
  TimerWheel wheel_;
  std::unique_ptr<LockService> locks_;  // outlives the locks in the keyspace
  std::unique_ptr<Keyspace> keyspace_;
  CommandTable commands_;
  Effects effects_;
  Attention attention_;
  WatchTable watches_{attention_, hash_keys_.Next()};
  std::unique_ptr<PubSub> pubsub_;
  Notifications notifications_;
  std::unique_ptr<Tracking> tracking_;
  std::unique_ptr<Monitors> monitors_;
  Waiters waiters_;
  bool key_dying_ = false;  // between KeyExpired and the KeyTouched that follows it
  Statistics statistics_;
  Rates rates_;
  size_t memory_peak_ = 0;
  size_t startup_memory_ = 0;
  Pause pause_;
  size_t list_alone_bytes_ = SIZE_MAX;
  std::unique_ptr<SlowLog> slow_log_;
  std::unique_ptr<LatencyMonitor> latency_monitor_;
  CommandTimer command_timer_;
  Dispatcher dispatcher_;
  ScriptEngine scripts_;
  std::unique_ptr<LimitDesk> limits_;
  NullSink null_sink_;
  int64_t tick_ = 0;
  int64_t started_ms_;

  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  absl::flat_hash_map<uint64_t, uint32_t> slot_of_client_;
  size_t session_count_ = 0;
  uint64_t next_client_id_ = 1;

  std::vector<Input> inputs_;  // of this turn
  Batch batch_;
  Session* current_ = nullptr;
  bool nested_ = false;             // inside ServeOthers
  Session* caller_ = nullptr;       // whose command that is
  std::vector<SessionId> carried_;  // have requests left in `pending` for the next turn
  std::vector<SessionId> to_send_;
  std::vector<SessionId> to_close_;
  Timed every_second_;
  Timed end_pause_;
  int64_t cpu_us_ = 0;  // of the thread, when it was last read
  int64_t cpu_read_tick_ = 0;
};

}  // namespace sluice
