// Database: Redis's data types, locks and limits inside a program: no socket, no thread, no global.
//
//   sluice::Database db;
//   db.Run({"SET", "greeting", "hello", "PX", "5000"});
//   if (!db.Take("user:17", sluice::Rolling{100, 60s})) return TooManyRequests();
//   if (auto lock = db.Acquire("door", "worker-1", {.lease = 30s})) Write(lock.token());
//
// A command is a list of words, of any bytes; its answer is a Reply, a value that stands by itself.
// All commands of the server are served, and mean the same.
//
// Time passes in calls alone. Due work (a key's end, a lease, a waiter's deadline) is done by the
// next Run, and by RunUntil, which an event loop calls when NextDeadline has come:
//
//   poll(fds, count, MillisUntil(db.NextDeadline()));
//   db.RunUntil(db.Now());
//
// A database that is never polled stays right: what is over counts as over.
//
// Waiting. Run never waits: BLPOP, LOCK.ACQUIRE ... WAIT and their like answer as in MULTI, as if
// their time was over at once. Start gives a Ticket, which gets the answer later.
//
// Threads. A database is one thread's at a time, with its clients, tickets and locks. A call that
// comes while another is in one does nothing, in any build: its reply, verdict or lock has the
// error "BUSY ...", and where there is no room for one nothing is found (no string, no push, no
// answer). A lock or client that goes meanwhile stays, until its lease or the database ends. For
// several threads there is SharedDatabase (shared_database.h). Different databases have nothing in
// common.
//
// Callbacks are called by RunUntil alone. They may do anything: call the database, throw (the call
// of RunUntil ends with it, and what was not called yet is by the next one), destroy the database.
//
// Faults are replies (Reply::is_error), never exceptions; but for std::bad_alloc there is none of
// ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/embed/limits.h"
#include "server/embed/reply.h"
#include "server/embed/time_source.h"

namespace sluice {
inline namespace v1 {

class DatabaseCore;
struct ClientState;
struct WaitState;

using Words = std::span<const std::string_view>;
using WordList = std::initializer_list<std::string_view>;

struct Options {
  // The database's time; it outlives the database. Null: the system's.
  TimeSource* time = nullptr;
  // Where the log and snapshots are, as the server writes them; it is made if it is missing, and
  // belongs to one database or server at a time. Empty: nothing outlives the database.
  std::string directory = {};
  // Options as in sluice.conf: {{"appendfsync", "always"}, {"notify-keyspace-events", "Ex"}}.
  std::vector<std::pair<std::string, std::string>> settings = {};
  // All choices come from it, so that a run can be repeated. None: from the system.
  std::optional<uint64_t> seed = {};
  // Gets each line of the server's log; called from within any call, and calls nothing of ours.
  std::function<void(std::string_view line)> log = {};
};

// The answer to a command that may wait. Destroying it ends the wait. It may outlive its database:
// then the answer is an error ("CLOSED ...").
class Ticket {
 public:
  Ticket() = default;  // of no command: never ready
  Ticket(Ticket&&) noexcept;
  Ticket& operator=(Ticket&&) noexcept;
  ~Ticket();

  bool ready() const;
  // The answer, once; null as long as it is not there, and from then on.
  std::optional<Reply> Take();
  // RunUntil will call it with the answer, once, instead of Take.
  void OnReady(std::function<void(Reply)> call);
  // The wait ends, unanswered: its place in the line is free.
  void Cancel();

 private:
  friend class DatabaseCore;
  explicit Ticket(std::shared_ptr<WaitState> wait) : wait_(std::move(wait)) {}
  std::shared_ptr<WaitState> wait_;
};

// A client of a database, as a connection is one of a server: it has a selected database, a
// transaction, subscriptions, and its SESSION locks end with it. A Database is a client itself;
// others are for those who want to be told apart. It may outlive its database.
class Client {
 public:
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  Reply Run(Words words);
  Reply Run(WordList words) { return Run(Words(words.begin(), words.size())); }
  // While it waits, this client runs nothing else.
  Ticket Start(Words words);
  Ticket Start(WordList words) { return Start(Words(words.begin(), words.size())); }
  // The oldest push that was not taken: a message of a channel, a lost lock, an invalidation. A
  // client with more than 32 MiB of them loses its subscriptions, and is told in the last.
  std::optional<Reply> NextPush();
  // RunUntil calls it with each, instead of NextPush.
  void OnPush(std::function<void(const Reply&)> call);

 private:
  friend class DatabaseCore;
  explicit Client(std::shared_ptr<ClientState> state) : state_(std::move(state)) {}
  std::shared_ptr<ClientState> state_;
};

struct LockOptions {
  Millis lease{30'000};
  bool shared = false;  // a reader: others may be, too
  int64_t permits = 0;  // so many of `of`: a semaphore
  int64_t of = 0;
  std::string label = {};  // what LOCK.INFO shows
};

// A lock that is held, or was not to be had: in an `if` it is whether it is held. The destructor
// releases it.
class LockGuard {
 public:
  LockGuard() = default;
  LockGuard(LockGuard&&) noexcept;
  LockGuard& operator=(LockGuard&&) noexcept;
  ~LockGuard() { Release(); }

  explicit operator bool() const { return token_ > 0; }
  // Grows with every grant of this database. The thing that the lock protects should refuse a lower
  // one than it has seen (FENCED does); 0: not held.
  int64_t token() const { return token_; }
  // As it was granted.
  Millis lease() const { return lease_; }
  // Why it is not held: empty where another has it.
  const std::string& error() const { return error_; }
  // The lease ends so much later than now. False: it is lost, and not held any more.
  bool Renew(Millis lease);
  // False: it was not held any more.
  bool Release();
  // It is the caller's to release from here on; the token.
  int64_t Detach();

 private:
  friend class DatabaseCore;
  std::weak_ptr<DatabaseCore> core_;
  std::string key_, owner_, error_;
  int64_t token_ = 0;
  Millis lease_{0};
};

class Database {
 public:
  // In memory, by the system's time.
  Database();
  // None: `fault` says why (the directory is another's, an option has no such value, a damaged
  // file ...).
  static std::optional<Database> Open(Options options, std::string& fault);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  // As Close, whose fault nobody hears.
  ~Database();
  // Writes and syncs what was promised to be on disk, and ends all waits. Why it could not, or
  // empty. Everything answers an error ("CLOSED ...") from then on; but for "BUSY ...", which has
  // changed nothing.
  std::string Close();

  // --- commands
  Reply Run(Words words);
  Reply Run(WordList words) { return Run(Words(words.begin(), words.size())); }
  // Runs as a client of its own, with the database that this one has selected: others go on
  // meanwhile.
  Ticket Start(Words words);
  Ticket Start(WordList words) { return Start(Words(words.begin(), words.size())); }
  Client Connect();
  std::optional<Reply> NextPush();
  void OnPush(std::function<void(const Reply&)> call);

  // --- time
  Time Now();
  // When RunUntil has something to do; earlier than Now(): at once. None: never, unless a command
  // comes.
  std::optional<Time> NextDeadline();
  // Does what is due at that moment and before, and calls back. A time that is moved by hand moves
  // there, from deadline to deadline; one that runs by itself is not waited for.
  void RunUntil(Time moment);

  // --- in fewer words
  std::optional<std::string> Get(std::string_view key);  // none: no such key, or no string
  // LIMIT.TAKE and the same with PEEK, which takes nothing.
  Verdict Take(std::string_view key, const Limit& limit, int64_t cost = 1);
  Verdict Peek(std::string_view key, const Limit& limit, int64_t cost = 1);
  // LOCK.ACQUIRE, without waiting. `owner`: a name that no other program, or part of one, has.
  LockGuard Acquire(std::string_view key, std::string_view owner, const LockOptions& options = {});
  // The same for one that was waited for: `granted` is the answer to LOCK.ACQUIRE of that owner.
  LockGuard Adopt(std::string_view key, std::string_view owner, const Reply& granted);

  // Bytes that keys, clients and scripts take.
  size_t UsedMemory();

 private:
  friend class SharedDatabase;
  explicit Database(std::shared_ptr<DatabaseCore> core) : core_(std::move(core)) {}
  // LOCK.ACQUIRE ... WAIT; the answer is for Adopt.
  Ticket StartAcquire(std::string_view key, std::string_view owner, const LockOptions& options,
                      Millis wait);
  std::shared_ptr<DatabaseCore> core_;
};

}  // namespace v1
}  // namespace sluice
