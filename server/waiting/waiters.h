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
//     Park(call, keys, {.deadline_ms = deadline_ms, .type = ValueType::kList});
//   }
//
// The request is kept. Whenever a key that has waiters is touched, it is noted; after
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
// a `wait_id` by which it knows the wait; the client keeps its SessionId. The part that has the
// answer calls Finish. Whenever the wait ends otherwise (time, CLIENT UNBLOCK, CLIENT KILL, a
// closed connection), the owner is told before the client is answered, if it still is to be, and
// must forget the wait.
//
// --- Both kinds. At the deadline `on_timeout` answers, null: a null array. It is called as a
// handler, with the arguments of the request; what it changes (LIMIT.TAKE's BAN) it adds to the
// effects itself. Inside MULTI and scripts (call.may_park() is false) Park does the same at once,
// and the owner is not told: ask before you enter the client in a queue, and ask call.may_wait(),
// which is false inside FENCED too: only a wait for keys can check its token again. What
// `on_timeout` answers inside MULTI differs for a few commands (BLMOVE: null, not a null array).
//
// A wake-up is no new call of the command for INFO commandstats, but its time counts. The effects
// of a woken handler are recorded as always: say ReplaceWith() what was done (LPOP for BLPOP).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/clients/acting.h"
#include "server/clients/clients.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/parked.h"
#include "server/notify/key_listeners.h"
#include "storage/hashing/key_name.h"
#include "storage/time/timer_task.h"

namespace sluice {

class Waiters final : public KeyListener, public ClosingListener {
 public:
  static constexpr PartId kPartId = PartId::kWaiters;

  enum class End : uint8_t {
    kTimeout,  // as at the deadline
    kError,    // -UNBLOCKED
  };

  // What they work with; all of it outlives them.
  struct Uses {
    Clients& clients;
    Keyspace& keyspace;
    const TurnClock& clock;
    TimerTasks& timers;
    Dispatcher& dispatcher;
    CommandTimer& timer;
    Tracking& tracking;
    Acting& acting;
    RareFlags& flags;
  };
  Waiters(const Uses& uses, HashKeys& hash_keys);

  // --- for handlers
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
  void Closing(Session& session) override { Abandon(session); }
  bool listens() const override { return !lines_.empty(); }
  void KeyTouched(int db, std::string_view key, bool died) override;
  void DatabaseReplaced(int db, int other) override;
  bool any_ready() const { return !ready_.empty(); }
  // Serves the waiters of noted keys. Between top-level commands only.
  void ServeReady();

  std::string Audit() const;  // the first violated invariant as a sentence, or empty

  // --- for INFO
  size_t size() const { return size_; }
  size_t with_deadline() const { return with_deadline_; }
  size_t keys() const { return lines_.size(); }

 private:
  struct Wait final : Parked {
    Wait(Waiters& whose, SessionId id, Command* command, Args args)
        : Parked(id, command, args), waiters(whose) {}
    Waiters& waiters;
  };
  // The waiters of one key, by arrival.
  struct Line {
    std::map<uint64_t, Parked*> parked;
    size_t when_gone = 0;  // so many of them
    bool noted = false;    // is in ready_
  };

  void Note(const KeyName& name, Line& line);
  void ServeKey(const KeyName& name);
  bool Wants(const Parked& parked, const KeyName& name);
  void Wake(Session& session, std::string_view key);
  void Rerun(Session& session, const QueuedCommand& request);
  std::unique_ptr<Parked> Unpark(Session& session);
  void TimeIsOver(Session& session);
  std::unique_ptr<Parked> EndWait(Session& session, End end);
  void LeaveLines(const Parked& parked);
  void Answered(Session& session, Parked& parked);
  void Resume(Session& session);
  const Entry* Find(const KeyName& name) const;

  const Uses on_;
  KeyNameMap<Line> lines_;  // none is empty
  std::vector<KeyName> ready_;
  bool serving_ = false;
  uint64_t arrivals_ = 0;
  size_t size_ = 0;
  size_t with_deadline_ = 0;
};

// Instead of an answer: the client waits, for keys or for whatever `parking` says.
void Park(CommandCall& call, std::span<const std::string_view> keys, const Parking& parking);

}  // namespace sluice
