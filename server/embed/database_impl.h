// DatabaseCore: the part that a Database, its clients, tickets and locks share. It lives as long as
// one of them is in a call; Shut ends all that is in it.
//
// Enter is the door: one call at a time. Callbacks are called outside of it.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/embed/database.h"
#include "server/embed/host_clock.h"
#include "server/embed/inside/embedded_engine.h"
#include "server/embed/reply_builder.h"

namespace sluice {
inline namespace v1 {

// A client, and what it has been told and did not take. The engine has references to the sinks
// while the session lives.
struct ClientState {
  std::weak_ptr<DatabaseCore> core;
  SessionId id;
  ReplyBuilder replies;
  ReplyBuilder pushes;
  std::list<Reply> events;  // unlike a deque it takes nothing while there are none
  size_t event_bytes = 0;
  std::function<void(const Reply&)> on_push;
  bool waits = false;           // a ticket has its answer to come
  bool is_for_tickets = false;  // made for tickets alone: the host has no handle of it
};

struct WaitState {
  std::weak_ptr<DatabaseCore> core;
  std::shared_ptr<ClientState> client;
  bool is_own_client = false;      // it goes with the wait
  std::vector<std::string> words;  // not run yet: the client is held
  std::optional<Reply> reply;
  bool is_over = false;     // answered, taken or cancelled
  bool is_refused = false;  // from the start: another thread was in a call
  std::function<void(Reply)> on_ready;
};

// The error of a call that comes while another thread is in one.
inline constexpr std::string_view kBusy =
    "BUSY another call of this database runs: one thread at a time may use it";

// And of one by a client that cannot be asked now.
inline constexpr std::string_view kPaused = "PAUSED clients are paused (CLIENT PAUSE)";
inline constexpr std::string_view kWaiting =
    "WAITING this client waits for an answer; take it, cancel it, or ask with another client";

class DatabaseCore final : public std::enable_shared_from_this<DatabaseCore> {
 public:
  static std::shared_ptr<DatabaseCore> Open(Options options, std::string& fault);
  ~DatabaseCore();
  // Idempotent.
  std::string Shut();
  // False: another thread is in a call, and nothing happens.
  bool TryShut(std::string& fault);
  enum class State : uint8_t { kOpen, kBusy, kClosed };
  State state();

  // --- for Database
  Reply Run(ClientState& client, Words words);
  Ticket Start(const std::shared_ptr<ClientState>& client, Words words);
  Ticket StartTicket(Words words);
  Client Connect();
  Time Now();
  std::optional<Time> NextDeadline();
  void RunUntil(Time moment);
  std::optional<std::string> Get(std::string_view key);
  Verdict Take(std::string_view key, const Limit& limit, int64_t cost, bool peek);
  LockGuard Acquire(std::string_view key, std::string_view owner, const LockOptions& options);
  Ticket StartAcquire(std::string_view key, std::string_view owner, const LockOptions& options,
                      Millis wait);
  LockGuard Adopt(std::string_view key, std::string_view owner, const Reply& granted);
  size_t UsedMemory();
  const std::shared_ptr<ClientState>& own() const { return own_; }

  // --- for what belongs to it
  void Leave(ClientState& client);
  std::optional<Reply> NextPush(ClientState& client);
  void SetOnPush(ClientState& client, std::function<void(const Reply&)> call);
  // Whether its answer is there; it is in `reply` then.
  bool Look(WaitState& wait);
  void Cancel(WaitState& wait);
  void SetOnReady(const std::shared_ptr<WaitState>& wait, std::function<void(Reply)> call);
  std::string Audit() { return engine_->Audit(); }

 private:
  // One call at a time; it knows no thread, so a database may move from one to another.
  class Entry {
   public:
    explicit Entry(DatabaseCore& core)
        : core_(core), alone_(!core.entered_.exchange(true, std::memory_order_acquire)) {}
    ~Entry() {
      if (alone_) core_.entered_.store(false, std::memory_order_release);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    explicit operator bool() const { return alone_; }

   private:
    DatabaseCore& core_;
    const bool alone_;
  };
  class ForkMark;
  struct VerdictSink;

  Verdict TakeInWords(std::string_view key, const Limit& limit, int64_t cost, bool peek);
  // Why nothing can be run, or empty.
  std::string_view Refusal() const;
  std::shared_ptr<ClientState> MakeClient();
  EmbeddedEngine::Outcome RunOn(ClientState& client, Words words, ReplySink* sink);
  Reply Answer(ClientState& client, EmbeddedEngine::Outcome outcome);
  void Begin(const std::shared_ptr<WaitState>& wait, Words words);
  bool LookInside(WaitState& wait);
  void Refuse(WaitState& wait);
  void Finish(WaitState& wait, Reply reply);
  void RetryHeld();
  void GatherPushes();
  void Gather(ClientState& client);
  bool CallBack();
  bool CallBackOnce();

  std::unique_ptr<HostClock> clock_;
  TimeSource* time_ = nullptr;
  std::unique_ptr<ForkMark> fork_mark_;
  std::atomic<bool> entered_ = false;
  bool shut_ = false;
  bool pushed_ = false;  // a push has come since GatherPushes
  std::unique_ptr<EmbeddedEngine> engine_;
  std::shared_ptr<ClientState> own_;
  std::vector<std::shared_ptr<ClientState>> clients_;  // all with a session
  std::vector<std::shared_ptr<ClientState>> idle_;     // of waits that are over
  std::vector<std::shared_ptr<WaitState>> waits_;      // not over, or still to be called back
};

}  // namespace v1
}  // namespace sluice
