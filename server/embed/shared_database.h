// SharedDatabase: a Database that several threads use: a mutex, held during each call.
//
//   sluice::SharedDatabase db;
//   std::thread other([&] { db.Run({"INCR", "n"}); });
//   if (auto lock = db.Acquire("door", "worker-1", {.lease = 30s}, /*wait=*/5s))
//   Write(lock.token());
//
// It makes no thread: time passes in calls, and threads that wait see to what is due.
//
// All threads are one client: they share the selected database, and a transaction. What belongs
// together, and whatever else a Database can do, goes into one call of With:
//
//   db.With([](sluice::Database& inside) {
//     inside.Run({"MULTI"});
//     ...
//   });
//
// The mutex is not recursive. The function in With, callbacks that it sets (RunUntil and waiting
// threads call them) and the log's use the Database, or nothing: a call of the SharedDatabase in
// there would wait for itself.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/embed/database.h"

namespace sluice {
inline namespace v1 {

// A LockGuard of a database that is shared. Different threads may each have their own; one of them
// is one thread's at a time.
class SharedLock {
 public:
  SharedLock() = default;
  SharedLock(SharedLock&&) noexcept = default;
  SharedLock& operator=(SharedLock&&) noexcept;
  ~SharedLock() { Release(); }

  explicit operator bool() const { return static_cast<bool>(guard_); }
  int64_t token() const { return guard_.token(); }
  Millis lease() const { return guard_.lease(); }
  const std::string& error() const { return guard_.error(); }
  bool Renew(Millis lease);
  bool Release();
  int64_t Detach() { return guard_.Detach(); }

 private:
  friend class SharedDatabase;
  struct Shared;
  SharedLock(const std::shared_ptr<Shared>& shared, LockGuard guard)
      : shared_(shared), guard_(std::move(guard)) {}
  std::weak_ptr<Shared> shared_;
  LockGuard guard_;
};

// Functions without a comment are those of Database. It outlives the calls of it.
class SharedDatabase {
 public:
  SharedDatabase() : SharedDatabase(Database()) {}
  // One that nobody else uses from here on.
  explicit SharedDatabase(Database db);
  static std::optional<SharedDatabase> Open(Options options, std::string& fault);
  // Threads that wait get an error ("CLOSED ...").
  std::string Close();

  Reply Run(Words words);
  Reply Run(WordList words) { return Run(Words(words.begin(), words.size())); }
  // Runs a command that may wait, as a client of its own, and waits for the answer; others go on
  // meanwhile.
  Reply Wait(Words words);
  Reply Wait(WordList words) { return Wait(Words(words.begin(), words.size())); }
  // Calls `call(Database&)`, whose result it returns; no other thread is in the database meanwhile.
  template <class Call>
  decltype(auto) With(Call&& call);

  Time Now();
  std::optional<Time> NextDeadline();
  void RunUntil(Time moment);

  std::optional<std::string> Get(std::string_view key);
  Verdict Take(std::string_view key, const Limit& limit, int64_t cost = 1);
  Verdict Peek(std::string_view key, const Limit& limit, int64_t cost = 1);
  // Waits up to `wait` for its turn. 0: not at all.
  SharedLock Acquire(std::string_view key, std::string_view owner, const LockOptions& options = {},
                     Millis wait = Millis(0));
  size_t UsedMemory();

 private:
  friend class SharedLock;
  using Shared = SharedLock::Shared;
  class Turn;
  static Reply Await(Turn& turn, Ticket ticket);

  std::shared_ptr<Shared> shared_;
};

struct SharedLock::Shared {
  explicit Shared(Database made) : db(std::move(made)) {}
  std::mutex mutex;
  std::condition_variable changed;  // a call has ended
  Database db;
};

// One call: it has the database to itself. Its end may be what others wait for.
class SharedDatabase::Turn {
 public:
  explicit Turn(Shared& shared) : shared_(shared), lock_(shared.mutex) {}
  ~Turn() { shared_.changed.notify_all(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Database& db() const { return shared_.db; }
  // Lets others in until a call of theirs has ended, or `most` is over.
  void Pause(Time most) {
    const std::cv_status status = shared_.changed.wait_for(lock_, most);
    // A deadline has come, and what it brings may be for others that wait.
    if (status == std::cv_status::timeout) shared_.changed.notify_all();
  }

 private:
  Shared& shared_;
  std::unique_lock<std::mutex> lock_;
};

template <class Call>
decltype(auto) SharedDatabase::With(Call&& call) {
  const Turn turn(*shared_);
  return std::forward<Call>(call)(turn.db());
}

}  // namespace v1
}  // namespace sluice
