// See shared_database.h. A thread that waits sleeps until the database's next deadline, or until
// another thread's call has ended, which may have answered it or set an earlier deadline.
#include "server/embed/shared_database.h"

#include <algorithm>
#include <chrono>

namespace sluice {
inline namespace v1 {
namespace {

// A wait that the clock of a condition variable can count; it looks again then.
constexpr Time kPauseMax = std::chrono::hours(1);

}  // namespace

// --- SharedLock

SharedLock& SharedLock::operator=(SharedLock&& other) noexcept {
  if (this == &other) return *this;
  Release();
  shared_ = std::move(other.shared_);
  guard_ = std::move(other.guard_);
  return *this;
}

bool SharedLock::Renew(Millis lease) {
  const std::shared_ptr<Shared> shared = shared_.lock();
  if (!shared) return false;
  const SharedDatabase::Turn turn(*shared);
  return guard_.Renew(lease);
}

bool SharedLock::Release() {
  if (!guard_) return false;
  const std::shared_ptr<Shared> shared = shared_.lock();
  if (!shared) {
    guard_.Detach();  // the database goes, in whatever thread
    return false;
  }
  const SharedDatabase::Turn turn(*shared);
  return guard_.Release();
}

// --- SharedDatabase

SharedDatabase::SharedDatabase(Database db) : shared_(std::make_shared<Shared>(std::move(db))) {}

std::optional<SharedDatabase> SharedDatabase::Open(Options options, std::string& fault) {
  std::optional<Database> db = Database::Open(std::move(options), fault);
  if (!db) return std::nullopt;
  return SharedDatabase(*std::move(db));
}

std::string SharedDatabase::Close() { return Turn(*shared_).db().Close(); }

Reply SharedDatabase::Run(Words words) { return Turn(*shared_).db().Run(words); }

Reply SharedDatabase::Wait(Words words) {
  Turn turn(*shared_);
  return Await(turn, turn.db().Start(words));
}

Reply SharedDatabase::Await(Turn& turn, Ticket ticket) {
  while (true) {
    turn.db().RunUntil(turn.db().Now());
    if (std::optional<Reply> reply = ticket.Take()) return *std::move(reply);
    const std::optional<Time> next = turn.db().NextDeadline();
    turn.Pause(next ? std::clamp(*next - turn.db().Now(), Time(0), kPauseMax) : kPauseMax);
  }
}

Time SharedDatabase::Now() { return Turn(*shared_).db().Now(); }
std::optional<Time> SharedDatabase::NextDeadline() { return Turn(*shared_).db().NextDeadline(); }
void SharedDatabase::RunUntil(Time moment) { Turn(*shared_).db().RunUntil(moment); }

std::optional<std::string> SharedDatabase::Get(std::string_view key) {
  return Turn(*shared_).db().Get(key);
}
Verdict SharedDatabase::Take(std::string_view key, const Limit& limit, int64_t cost) {
  return Turn(*shared_).db().Take(key, limit, cost);
}
Verdict SharedDatabase::Peek(std::string_view key, const Limit& limit, int64_t cost) {
  return Turn(*shared_).db().Peek(key, limit, cost);
}

SharedLock SharedDatabase::Acquire(std::string_view key, std::string_view owner,
                                   const LockOptions& options, Millis wait) {
  Turn turn(*shared_);
  if (wait <= Millis(0)) return SharedLock(shared_, turn.db().Acquire(key, owner, options));
  const Reply granted = Await(turn, turn.db().StartAcquire(key, owner, options, wait));
  return SharedLock(shared_, turn.db().Adopt(key, owner, granted));
}

size_t SharedDatabase::UsedMemory() { return Turn(*shared_).db().UsedMemory(); }

}  // namespace v1
}  // namespace sluice
