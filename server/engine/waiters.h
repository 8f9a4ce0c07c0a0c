// Waiters: clients parked by a command. While a client is parked (Session::blocked) its further
// requests wait in its input; when the wait is over it is answered, in the same turn, and they go
// on in the next.
//
// --- Waiting for keys: BLPOP, BZPOPMIN, XREAD ... A handler that finds nothing parks its client:
//
//   void Blpop(CommandCall& call) {
//     ... read the arguments, errors are answered before anything else ...
//     for (key : call.woken ? the one that is call.woken_key : all keys of the request) {
//       ... answer and return if there is an element ...
//     }
//     call.Park(keys, {.deadline_ms = deadline_ms, .type = ValueType::kList});
//   }
//
// The request is kept. Whenever a key that somebody waits for is touched, the key is noted; after
// the current top-level command (EXEC and a script are one) the waiters of the noted keys are
// served, keys in the order in which they were noted, waiters of a key in the order in which they
// came: their handler runs again with call.woken set and call.woken_key the key that made it run.
// As in Redis it must look at that key alone, even if another of its keys, named before it, has
// something by now. It either answers, and the wait is over, or it calls Park again, with anything,
// and stays in its place on its old terms (keys, deadline, the rest): then it must have changed
// nothing. A handler that serves may touch keys (BLMOVE): these are noted, and served after those
// noted before, until none is left.
//
// A waiter is run only while the key holds a value of Parking::type, and with `when_gone`
// (XREADGROUP) also when it was touched and holds no such value. So a woken handler never has to
// think of WRONGTYPE of woken_key, and a thousand clients that wait for one element cost one run
// and not a thousand. A key that is waited for by its name stays so over SWAPDB and FLUSHDB: what
// then is there counts.
//
// --- Waiting for something else: LOCK.ACQUIRE, LIMIT.TAKE. Park without keys, with an `owner` and
// a `wait_id` by which it knows the wait; the client keeps its SessionId. Who has the answer calls
// Finish. Whenever the wait ends otherwise (time, CLIENT UNBLOCK, CLIENT KILL, a closed
// connection), the owner is told before the client is answered, if it still is to be, and must
// forget the wait.
//
// --- Both kinds. At the deadline `on_timeout` answers, null: a null array. It is called as a
// handler, with the arguments of the request; what it changes (LIMIT.TAKE's BAN) it adds to the
// effects itself. Inside MULTI and scripts (call.may_park() is false) Park does the same at once,
// and the owner is not told: ask before you enter the client in a queue, and ask call.may_wait(),
// which is false inside FENCED too: only a wait for keys can check its token again. What
// `on_timeout` answers inside MULTI differs for a few commands (BLMOVE: null, not a null array).
//
// A wake-up is no new call of the command for INFO commandstats, but its time counts. The effects
// of a woken handler are recorded as always: say Instead() what was done (LPOP for BLPOP).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/engine/command.h"
#include "server/engine/session.h"
#include "server/engine/timed.h"
#include "server/engine/transaction.h"
#include "storage/hashing/key_name.h"
#include "storage/keyspace/value.h"

namespace sluice {

// Whose waits have no keys.
class WaitOwner {
 public:
  virtual ~WaitOwner() = default;
  // The wait is over, not by Finish. May finish other waits.
  virtual void WaitCancelled(uint64_t wait_id) = 0;
};

// On which terms a client is parked.
struct Parking {
  int64_t deadline_ms = 0;  // engine ms; 0: none
  // With keys: what one of them has to hold for the handler to run again.
  ValueType type = ValueType::kString;
  bool when_gone = false;  // also when it holds nothing, or something else
  // Runs again with these, if given, instead of the call's own arguments (XREAD's `$`, made an id).
  Args again;
  Handler on_timeout = nullptr;
  WaitOwner* owner = nullptr;  // without keys
  uint64_t wait_id = 0;
};

// A parked client. `Session::blocked` is set exactly while the session has one.
struct Parked : Timed {
  SessionId session;
  QueuedCommand request;                 // with the arguments to run again
  std::unique_ptr<QueuedCommand> asked;  // those of the client, where they are others
  std::vector<KeyName> keys;             // each once
  uint64_t arrival = 0;
  ValueType type = ValueType::kString;
  bool when_gone = false;
  bool woken = false;          // its handler runs at this moment,
  std::string_view woken_key;  // for this key,
  bool stays = false;          // and has called Park again
  Handler on_timeout = nullptr;
  WaitOwner* owner = nullptr;
  uint64_t wait_id = 0;
  int64_t ran_ns = 0;  // what its command has taken so far, waiting apart

  Parked(SessionId id, Command* command, Args args) : session(id), request(command, args) {}
};

class Waiters {
 public:
  enum class End : uint8_t {
    kTimeout,  // as at the deadline
    kError,    // -UNBLOCKED
  };

  explicit Waiters(Engine& engine);

  // --- for handlers: see CommandCall::Park
  void Park(CommandCall& call, std::span<const std::string_view> keys, const Parking& parking);
  // The command that has run inside `call` (FENCED's) has parked the client: what runs again on a
  // wake-up is `call` itself: its first `prefix` arguments before those that the inner one kept.
  void Wrap(CommandCall& call, size_t prefix);
  // Ends the wait of a client parked without keys with an answer. Nothing happens to one not
  // parked.
  void Finish(Session& session, absl::FunctionRef<void(ReplySink&)> answer);
  // CLIENT UNBLOCK; false when it does not wait.
  bool Unblock(Session& session, End end);

  // --- for the engine
  // The client is gone, or about to be: its wait leaves no trace.
  void Abandon(Session& session);
  // No client waits for any key: the two below need not be called.
  bool no_keys() const { return lines_.empty(); }
  void KeyTouched(int db, std::string_view key);
  void DatabaseReplaced(int db, int other);  // as KeyspaceObserver's
  bool any_ready() const { return !ready_.empty(); }
  // Serves the waiters of noted keys. Between top-level commands only.
  void ServeReady();

  std::string Audit() const;  // the first violated invariant as a sentence, or empty

  // --- for INFO
  size_t size() const { return size_; }
  size_t with_deadline() const { return with_deadline_; }
  size_t keys() const { return lines_.size(); }

 private:
  // Who waits for one key, by arrival.
  struct Line {
    std::map<uint64_t, Parked*> parked;
    size_t when_gone = 0;  // so many of them
    bool noted = false;    // is in ready_
  };

  void Note(const KeyName& name, Line& line);
  void ServeKey(const KeyName& name);
  bool Wants(const Parked& parked, const KeyName& name);
  void Wake(Session& session, std::string_view key);
  std::unique_ptr<Parked> Unpark(Session& session);
  void TimeIsOver(Session& session);
  std::unique_ptr<Parked> EndWait(Session& session, End end);
  void LeaveLines(const Parked& parked);
  void Answered(Session& session, Parked& parked);
  void Resume(Session& session);

  Engine& engine_;
  KeyNameMap<Line> lines_;  // none is empty
  std::vector<KeyName> ready_;
  bool serving_ = false;
  uint64_t arrivals_ = 0;
  size_t size_ = 0;
  size_t with_deadline_ = 0;
};

}  // namespace sluice
