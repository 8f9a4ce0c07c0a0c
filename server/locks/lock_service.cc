// See lock_service.h.
#include "server/locks/lock_service.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "protocol/text/number_text.h"
#include "protocol/text/same_bytes.h"
#include "server/dispatch/reply_fields.h"

namespace sluice {
namespace {

// Loose locks taken apart in one turn: some 0.15 ms.
constexpr size_t kTakenApartPerTurn = 256;
// Waiters that are refused and holders that are told of a loss: some 0.5 ms.
constexpr int kAnswersPerTurn = 256;
constexpr uint64_t kNobody = UINT64_MAX;  // no connection's number
constexpr int64_t kRetryMs = 100;         // between attempts to write the mark

}  // namespace

void ReplyGrant(ReplySink& reply, const LockGrant& grant, int64_t waited_ms) {
  ReplyFields fields(reply, 4);
  fields.Integer("token", grant.token);
  fields.Integer("lease_ms", grant.lease_ms);
  fields.Integer("holds", grant.holds);
  fields.Integer("waited_ms", waited_ms);
}

void ReplyTokens(ReplySink& reply, const LockGrants& grants) {
  reply.Array(grants.size());
  for (const LockGrant& grant : grants) reply.Integer(grant.token);
}

// --- HeldLock

HeldLock::HeldLock(LockService& service) : Lock(&service.locks_.ties()), service_(service) {
  timer_.lock = this;
  timer_.fired = [](TimerTask& task) {
    HeldLock& lock = *static_cast<LeaseTimer&>(task).lock;
    lock.service_.TimerFired(lock);
  };
}

HeldLock::~HeldLock() {
  service_.on_.timers.Disarm(timer_);
  if (named()) service_.Lost(*this);
}

bool HeldLock::Ended() const { return empty() || (named() && shelf_->loose); }

size_t HeldLock::MemoryBytes() const {
  return Lock::MemoryBytes() + sizeof(HeldLock) - sizeof(Lock);
}

// --- coming in

LockService::LockService(const Uses& uses, HashKeys& hash_keys)
    : on_(uses),
      memory_(hash_keys.Next()),
      mark_(uses.config, uses.host, uses.clock, tokens_, memory_),
      locks_(*this, *this, tokens_, memory_, hash_keys.Next()) {
  answers_left_ = kAnswersPerTurn;
  retry_.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<LockService>&>(task).owner.mark_.Ensure();
  };
  foreign_.Grant(std::string(kOwnerBytesMax + 1, '\0'), LockTerms{.session = kNobody}, 1, Now{});
}

Locks& LockService::Enter() {
  modified_ = nullptr;  // what other commands have done with it since is not known here
  look_.made = false;
  if (pending_) Settle();
  mark_.Ensure();
  return locks_;
}

// --- the keyspace

bool LockService::Look::Is(LockNameView asked) const {
  return made && name.db == asked.db && SameBytes(name.key, asked.key);
}

HashedKey LockService::Hash(LockNameView name) const {
  return look_.Is(name) ? HashedKey{name.key, look_.hash} : on_.keyspace.Hash(name.key);
}

Entry* LockService::FindEntry(LockNameView name) const {
  Keyspace& keyspace = on_.keyspace;
  if (!keyspace.made(name.db)) return nullptr;
  const bool known = look_.Is(name) && look_.changes == keyspace.changes() &&
                     look_.now_us == on_.clock.now().steady_us;
  if (known) return look_.entry;
  const HashedKey key = Hash(name);
  Entry* const entry = const_cast<Entry*>(keyspace.db(name.db).Find(key, on_.clock.now()));
  Remember(name, key.hash, entry);
  return entry;
}

void LockService::Remember(LockNameView name, uint64_t hash, Entry* entry) const {
  if (!look_.Is(name)) {
    look_.name.db = name.db;
    look_.name.key.assign(name.key);
    look_.hash = hash;
    look_.made = true;
  }
  look_.entry = entry;
  look_.changes = on_.keyspace.changes();
  look_.now_us = on_.clock.now().steady_us;
}

const Lock* LockService::FindLock(LockNameView name) const {
  const Entry* const entry = FindEntry(name);
  if (!entry) return nullptr;
  if (entry->type() != ValueType::kLock) return &foreign_;
  const HeldLock& held = static_cast<const HeldLock&>(entry->value());
  return held.named() && held.shelf_->loose ? nullptr : &held;
}

HeldLock& LockService::Adopt(Lock& lock, LockNameView name) {
  HeldLock& held = static_cast<HeldLock&>(lock);
  if (held.named()) return held;
  held.set_name(name);
  std::unique_ptr<LockShelf>& shelf = shelves_[name.db];
  if (!shelf) {
    shelf = std::make_unique<LockShelf>();
    shelf->db = name.db;
  }
  held.shelf_ = shelf.get();
  held.number_ = ++last_number_;
  shelf->locks.push_back(held);  // the highest number so far
  ++shelf->size;
  return held;
}

Lock* LockService::ModifyLock(LockNameView name) {
  Entry* const found = FindEntry(name);
  if (!found || found->type() != ValueType::kLock) return nullptr;
  const HeldLock& held = static_cast<const HeldLock&>(found->value());
  if (held.named() && held.shelf_->loose) return nullptr;
  own_change_ = true;
  modified_ = &on_.keyspace.db(name.db).Modify(*found, on_.clock.now());
  own_change_ = false;
  Remember(name, look_.hash, modified_);
  return &Adopt(static_cast<Lock&>(modified_->value()), name);
}

Lock& LockService::CreateLock(LockNameView name) {
  own_change_ = true;
  const HashedKey key = Hash(name);
  modified_ = &on_.keyspace.db(name.db).PutValue(key, std::make_unique<HeldLock>(*this),
                                                 Deadline::None(), on_.clock.now());
  own_change_ = false;
  Remember(name, key.hash, modified_);
  return Adopt(static_cast<Lock&>(modified_->value()), name);
}

void LockService::RemoveLock(LockNameView name) {
  HeldLock& held = static_cast<HeldLock&>(modified_->value());
  Unlist(held);
  on_.timers.Disarm(held.timer_);
  modified_ = nullptr;
  own_change_ = true;
  on_.keyspace.db(name.db).Delete(Hash(name), on_.clock.now());
  own_change_ = false;
}

void LockService::LockChanged(LockNameView name, const Lock& lock) {
  HeldLock& held = const_cast<HeldLock&>(static_cast<const HeldLock&>(lock));
  if (!modified_ || &modified_->value() != &lock) modified_ = FindEntry(name);
  on_.keyspace.db(name.db).ValueChanged(*modified_);
  const int64_t ends_ms = lock.NextDeadlineMs();
  if (ends_ms == kNoDeadline) {
    on_.timers.Disarm(held.timer_);
  } else if (!held.timer_.node.linked() || held.timer_.node.deadline_ms() != ends_ms) {
    on_.timers.Arm(held.timer_, ends_ms);
  }
}

// In a pause nothing ends: a command that looks sees the lease over, and the hand-over comes with
// the end.
void LockService::TimerFired(HeldLock& lock) {
  if (on_.pause.mode() != Pause::Mode::kNone) {
    return on_.timers.Arm(lock.timer_, on_.pause.until_ms() + 1);
  }
  due_.push_back(lock.name());
}

// Once what was sent before has been run.
void LockService::SettleDue() {
  if (due_.empty()) return;
  due_ = Enter().SettleAll(std::exchange(due_, {}), on_.clock.now());
}

// --- what others do to locks

void LockService::SetPending() {
  pending_ = true;
  on_.flags.Raise(RareFlags::kServe);
}

void LockService::Note(LockName name) {
  touched_.push_back(std::move(name));
  SetPending();
}

void LockService::Unlist(HeldLock& lock) {
  --lock.shelf_->size;
  lock.unlink();
}

size_t LockService::held() const {
  size_t held = 0;
  for (const auto& [db, shelf] : shelves_) held += shelf->size;
  return held;
}

void LockService::NoteLosses(LockNameView name, const LockHolder& holder, LockLoss why) {
  for (const uint64_t connection : holder.notify) {
    losses_.push_back({connection, LockName(name), holder.token, why});
    SetPending();
  }
}

void LockService::NoteLosses(const HeldLock& lock, LockLoss why) {
  for (const auto& [token, holder] : lock.holders()) NoteLosses(lock.name(), holder, why);
}

// In the middle of a change of the keyspace. For a loose one all has been seen to.
void LockService::Lost(HeldLock& lock) {
  const bool loose = lock.shelf_->loose;
  NoteLosses(lock, loose ? lock.shelf_->loss : LockLoss::kGone);
  Unlist(lock);
  if (loose) return;
  modified_ = nullptr;
  Note(lock.name());
}

void LockService::Empty(HeldLock& lock, LockLoss why) {
  NoteLosses(lock, why);
  lock.Break(0, on_.clock.now(), [](const LockHolder&) {});
  lock.Unwatch();
  Unlist(lock);
  on_.timers.Disarm(lock.timer_);
  modified_ = nullptr;
}

void LockService::Moved(Database& db, HashedKey key) {
  for (Loss& loss : losses_) {
    const bool was_there =
        loss.why == LockLoss::kGone && loss.name.db == db.index() && loss.name.key == key.bytes;
    if (was_there) loss.why = LockLoss::kOverwritten;
  }
  Entry* const entry = FindEntry({db.index(), key.bytes});
  if (!entry || entry->type() != ValueType::kLock) return;
  HeldLock& held = static_cast<HeldLock&>(entry->value());
  if (held.named()) {
    Note(held.name());
    Empty(held, held.shelf_->loose ? held.shelf_->loss : LockLoss::kRenamed);
  }
  db.Delete(key, on_.clock.now());
}

// Nothing is done to the single locks here, so it costs the same however many there are.
void LockService::CutLoose(int db, int goes_to, LockLoss why) {
  const auto found = shelves_.find(db);
  if (found == shelves_.end()) return;
  std::unique_ptr<LockShelf> shelf = std::move(found->second);
  shelves_.erase(found);
  if (shelf->locks.empty()) return;
  shelf->db = goes_to;
  shelf->loose = true;
  shelf->loss = why;
  loose_.push_back(std::move(shelf));
}

void LockService::DatabaseReplaced(int db, int other) {
  for (const std::unique_ptr<LockShelf>& shelf : loose_) {
    const int at = shelf->db;
    if (at == db) shelf->db = other;
    if (at == other && other >= 0) shelf->db = db;
  }
  const LockLoss why = other < 0 ? LockLoss::kFlushed : LockLoss::kSwapped;
  CutLoose(db, other, why);
  if (other >= 0) CutLoose(other, db, why);
  flushed_.push_back(db);
  if (other >= 0) flushed_.push_back(other);
  modified_ = nullptr;
  SetPending();
}

// Those that were flushed are garbage, which is freed by others.
void LockService::TakeApart(size_t budget) {
  while (!loose_.empty() && budget > 0) {
    LockShelf& shelf = *loose_.back();
    if (shelf.locks.empty()) {
      loose_.pop_back();
      continue;
    }
    --budget;
    HeldLock& held = *shelf.locks.begin();
    const std::string key = held.name().key;
    const int db = shelf.db;
    Empty(held, shelf.loss);
    if (db < 0) continue;
    const Entry* const entry = FindEntry({db, key});
    if (!entry || entry->type() != ValueType::kLock || &entry->value() != &held) continue;
    own_change_ = true;
    on_.keyspace.db(db).Delete(on_.keyspace.Hash(key), on_.clock.now());
    own_change_ = false;
    look_.made = false;
  }
}

uint64_t LockService::List(int db, uint64_t after, size_t count,
                           absl::FunctionRef<void(const Lock&)> visit) {
  const auto shelf = shelves_.find(db);
  if (shelf == shelves_.end()) return 0;
  const LockShelf::Locks& locks = shelf->second->locks;
  auto lock = locks.upper_bound(after);
  for (; count > 0 && lock != locks.end(); --count, ++lock) {
    visit(*lock);
    after = lock->number();
  }
  return lock == locks.end() ? 0 : after;
}

void LockService::KeyTouched(int db, std::string_view key, bool) {
  if (own_change_ || locks_.queue().LineOf({db, key}) == nullptr) return;
  Note(LockName(KeyNameView{db, key}));
}

void LockService::SessionEnded(const Session& session) {
  const uint64_t connection = ConnectionOf(session);
  if (!pending_ && !locks_.HoldsAny(connection)) return;
  ended_.push_back(connection);
  SetPending();
  // Inside a slow script nothing changes but by the script.
  if (!on_.acting.serving_from_within()) Settle();
}

void LockService::EndBindings(const Session& session) {
  const uint64_t connection = ConnectionOf(session);
  if (locks_.HoldsAny(connection)) Enter().SessionEnded(connection, on_.clock.now());
}

void LockService::WaitCancelled(uint64_t wait_id) {
  cancelled_.push_back(wait_id);
  SetPending();
  if (!on_.acting.serving_from_within()) Settle();
}

bool LockService::Continue(int64_t read_ms) {
  locks_.set_leases_until_ms(read_ms);
  locks_.BeginTurn();
  const bool is_left = GoOn();
  answers_left_ = kAnswersPerTurn;  // what the turn's requests have spent counts
  return is_left;
}

bool LockService::GoOn() {
  if (due_.empty() && !has_left_over() && !locks_.wants_tokens()) [[likely]]
    return false;
  if (on_.pause.mode() != Pause::Mode::kNone) return false;
  SettleDue();
  TakeApart(kTakenApartPerTurn);
  RefuseWaiters();
  locks_.Continue(on_.clock.now());
  if (locks_.wants_tokens() && !retry_.node.linked()) {
    on_.timers.Arm(retry_, on_.clock.now().ms() + kRetryMs);
  }
  if (!pushes_.empty()) SetPending();
  CatchUp();
  return has_left_over();
}

void LockService::CatchUp() {
  if (!pending_) return;
  Settle();
  PushLosses();
  pending_ = false;
}

// Waits go before the locks of their sessions: else a client that is gone might be given some.
void LockService::Settle() {
  look_.made = false;
  const Now& now = on_.clock.now();
  for (Loss& loss : losses_) {
    if (loss.why != LockLoss::kGone) continue;
    loss.why = FindEntry(loss.name) ? LockLoss::kOverwritten : LockLoss::kDeleted;
  }
  while (true) {
    if (!cancelled_.empty()) {
      for (const uint64_t id : std::exchange(cancelled_, {})) locks_.Cancel(id, now);
    } else if (!ended_.empty()) {
      mark_.Ensure();
      for (const uint64_t session : std::exchange(ended_, {})) locks_.SessionEnded(session, now);
    } else if (!flushed_.empty()) {
      TakeApart(kTakenApartPerTurn);
      for (const int db : std::exchange(flushed_, {})) locks_.DroppedDatabase(db, now);
    } else if (!touched_.empty()) {
      for (const LockName& name : std::exchange(touched_, {})) {
        if (FindLock(name) == &foreign_) {
          memory_.Forget(name);
          refusing_.insert(name);
        } else {
          locks_.Dropped(name, now);
        }
      }
    } else if (!refusing_.empty() && answers_left_ > 0) {
      RefuseWaiters();
    } else {
      pending_ = !losses_.empty();
      return;
    }
  }
}

// The keys hold something else now, if they have not been freed since.
void LockService::RefuseWaiters() {
  while (!refusing_.empty() && answers_left_ > 0) {
    const LockName& name = *refusing_.begin();
    const WaitQueue::Line* const line = locks_.queue().LineOf(name);
    if (line == nullptr || FindLock(name) != &foreign_) {
      refusing_.erase(refusing_.begin());
      continue;
    }
    --answers_left_;
    const LockWait& wait = line->all.begin()->second->wait;
    const uint64_t id = wait.id;
    if (Session* session = FindConnection(wait.client)) {
      on_.waiters.Finish(*session, [](ReplySink& reply) { reply.Error(ErrorCode::kWrongType); });
    }
    locks_.Cancel(id, on_.clock.now());
  }
}

// --- clients

uint64_t LockService::ConnectionOf(const Session& session) {
  return (uint64_t{session.id.slot} << 32 | session.id.generation) + 1;
}

Session* LockService::FindConnection(uint64_t connection) const {
  const uint64_t id = connection - 1;
  return on_.clients.Find({static_cast<uint32_t>(id >> 32), static_cast<uint32_t>(id)});
}

void LockService::Park(CommandCall& call, uint64_t wait_id, int64_t deadline_ms) {
  on_.flags.Raise(RareFlags::kKeys);
  sluice::Park(call, {}, {.deadline_ms = deadline_ms, .owner = this, .wait_id = wait_id});
}

// --- the log

// Moments as Unix times, so that it means the same whenever it is read.
void LockService::Record(LockNameView name, const Lock& lock, const LockHolder& holder) {
  if (!on_.effects.wanted()) return;
  const int64_t to_unix_ms = on_.clock.now().unix_offset_ms;
  const bool leased = holder.lease_until_ms != kNoDeadline;
  const int64_t minhold_ms = holder.minhold_until_ms;
  const std::string_view mode = kLockModeWords[static_cast<size_t>(lock.mode())];
  on_.effects.Add(name.db,
                  {"LOCK.RESTORE", name.key, Int64Text(holder.token), holder.owner, mode,
                   Int64Text(holder.permits), Int64Text(lock.permits_of()), Int64Text(holder.holds),
                   Int64Text(leased ? holder.lease_until_ms + to_unix_ms : -1),
                   Int64Text(minhold_ms == 0 ? -1 : minhold_ms + to_unix_ms),
                   Int64Text(!holder.sessions.empty()), holder.label});
}

// A replay that reads that a hold was broken knows that its token is stale.
void LockService::RecordEnd(LockNameView name, int64_t token, LockEnd end) {
  if (!on_.effects.wanted()) return;
  if (end == LockEnd::kBroken) {
    return on_.effects.Add(name.db, {"LOCK.BREAK", name.key, "TOKEN", Int64Text(token)});
  }
  on_.effects.Add(name.db, {"LOCK.RESTORE", name.key, Int64Text(token)});
}

void LockService::RecordHolder(LockNameView name, std::string_view owner) {
  if (!on_.effects.wanted()) return;
  const Lock* const lock = FindLock(name);
  const LockHolder* const holder = lock ? lock->FindOwner(owner) : nullptr;
  if (holder) Record(name, *lock, *holder);
}

// --- what is told to others

void LockService::LockAcquired(LockNameView name, const LockHolder& holder) {
  Record(name, static_cast<const Lock&>(modified_->value()), holder);
  on_.notifications.Notify(kNotifyLock, "lock-acquired", name.db, name.key);
}

void LockService::LockEnded(LockNameView name, const LockHolder& holder, LockEnd end) {
  constexpr std::string_view kEvents[] = {"lock-released", "lock-expired", "lock-broken",
                                          "lock-released"};
  on_.notifications.Notify(kNotifyLock, kEvents[static_cast<size_t>(end)], name.db, name.key);
  const bool may_linger = end == LockEnd::kReleased || end == LockEnd::kExpired;
  if (may_linger && holder.minhold_until_ms > on_.clock.now().ms()) {
    LockHolder lingering = holder;
    lingering.holds = 0;
    lingering.sessions.clear();
    Record(name, static_cast<const Lock&>(modified_->value()), lingering);
  } else {
    RecordEnd(name, holder.token, end);
  }
  if (end == LockEnd::kExpired) NoteLosses(name, holder, LockLoss::kExpired);
  if (end == LockEnd::kBroken) NoteLosses(name, holder, LockLoss::kBroken);
}

void LockService::LingeringEnded(LockNameView name, const LockHolder& holder, LockEnd end) {
  RecordEnd(name, holder.token, end);
}

// Not into the middle of an answer: the holder may be the one whose command runs.
void LockService::PushLosses() {
  constexpr std::string_view kReasons[] = {"expired",     "broken",  "deleted", "flushed",
                                           "overwritten", "renamed", "swapped", "deleted"};
  std::ranges::move(std::exchange(losses_, {}), std::back_inserter(pushes_));
  for (; !pushes_.empty() && answers_left_ > 0; --answers_left_, pushes_.pop_front()) {
    const Loss& loss = pushes_.front();
    Session* const session = FindConnection(loss.connection);
    if (!session || session->resp() < 3 || session->close != CloseMode::kOpen) continue;
    session->writer.Push(4);
    session->writer.Bulk("lock-lost");
    session->writer.Bulk(loss.name.key);
    session->writer.Integer(loss.token);
    session->writer.Bulk(kReasons[static_cast<size_t>(loss.why)]);
    on_.clients.QueueSend(*session);
  }
}

// As when its time is over.
void LockService::WaitReplaced(const LockWait& wait) {
  Session* const session = FindConnection(wait.client);
  if (!session) return;
  on_.waiters.Finish(*session, [](ReplySink& reply) { reply.NullArray(); });
}

bool LockService::IsConnected(uint64_t connection) const {
  return FindConnection(connection) != nullptr;
}

// From now on it matters soon if its peer is no longer there.
void LockService::SessionBound(uint64_t session_number) {
  Session* const session = FindConnection(session_number);
  const int64_t timeout_ms = on_.config.settings().lock_session_timeout;
  if (!session || timeout_ms == 0 || std::exchange(session->peer_watched, true)) return;
  on_.host.WatchPeer(*session, timeout_ms);
}

void LockService::WaitGranted(const LockWait& wait, const LockGrants& grants) {
  for (size_t i = 0; i < grants.size(); ++i) {
    if (grants[i].holds > 1) RecordHolder(wait.request.names[i], wait.request.owner);
  }
  Session* const session = FindConnection(wait.client);
  if (!session) return;
  on_.waiters.Finish(*session, [&](ReplySink& reply) {
    if (wait.request.several) {
      ReplyTokens(reply, grants);
    } else {
      ReplyGrant(reply, grants.front(), on_.clock.now().ms() - wait.since_ms);
    }
  });
}

}  // namespace sluice
