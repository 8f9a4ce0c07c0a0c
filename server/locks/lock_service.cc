// See lock_service.h. The hard part is the order in which notes are dealt with: cancelled waits,
// ended sessions, flushed databases, touched names, refusals. Each step may cause notes of an
// earlier kind, so Settle starts again at the top after each, until there are none.
#include "server/locks/lock_service.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "server/clients/current_client.h"
#include "server/core/planted_faults.h"
#include "server/core/standstill.h"
#include "storage/log/held_clock.h"

namespace sluice {
namespace {

// Waiters that are refused and holders that are told of a loss: some 0.5 ms, more if they are not
// in the cache.
constexpr int kAnswersPerTurn = 256;
constexpr int kAnswersPerLook = 16;                 // at the meter
constexpr int64_t kMarkRetryMs = 100;               // between attempts to have the mark written
constexpr int64_t kBeforeAllMs = -kLogMomentMsMax;  // what a stream names

void AnswerLate(CommandCall& call) {
  call.reply.Error(call.part<LockService>().replica_waits().why_late());
}

}  // namespace

LockService::LockService(const Uses& uses, HashKeys& hash_keys)
    : on_(uses),
      memory_(hash_keys.Next()),
      horizon_(uses.config.settings()),
      reservation_({uses.config, uses.host, uses.clock, uses.log, uses.timers}, tokens_, memory_,
                   horizon_),
      grace_(hash_keys.Next()),
      meter_(uses.clock),
      losses_(uses.clients, uses.flags),
      recorder_({.clock = uses.clock,
                 .changes = uses.changes,
                 .flags = uses.flags,
                 .horizon = horizon_,
                 .losses = losses_,
                 .grace = grace_,
                 .turn_needs = uses.turn_needs}),
      held_({.keyspace = uses.keyspace,
             .clock = uses.clock,
             .timers = uses.timers,
             .flags = uses.flags,
             .losses = losses_,
             .grace = grace_,
             .locks = locks_}),
      replica_waits_({.settings = uses.config.settings(),
                      .clock = uses.clock,
                      .clients = uses.clients,
                      .blocked_clients = uses.blocked_clients,
                      .flags = uses.flags,
                      .followers = uses.followers,
                      .turn_needs = uses.turn_needs,
                      .held = held_,
                      .locks = locks_,
                      .answer_late = AnswerLate,
                      .noted = [this] { SettleUnlessInside(); }}),
      waits_({.config = uses.config,
              .host = uses.host,
              .clock = uses.clock,
              .clients = uses.clients,
              .blocked_clients = uses.blocked_clients,
              .flags = uses.flags,
              .held = held_,
              .locks = locks_,
              .requests = uses.requests,
              .replica_waits = replica_waits_,
              .changes = uses.changes,
              .cancelled = [this] { SettleUnlessInside(); }},
             hash_keys.Next()),
      locks_(held_, recorder_, waits_, tokens_, memory_, hash_keys.Next(), &meter_),
      answers_left_(kAnswersPerTurn) {
  retry_.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<LockService>&>(task).owner.reservation_.Want();
  };
  grace_ends_.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<LockService>&>(task).owner.are_over_.grace = true;
  };
}

Locks& LockService::Enter() {
  FollowStandstill();
  if (pending()) Settle();
  if (locks_.any_held_up()) [[unlikely]]
    locks_.Retry(on_.clock.now());
  if (!tokens_.CanIssue(kTokensAtOnce)) [[unlikely]]
    reservation_.Want();
  return locks_;
}

std::string_view LockService::Reserve(const LockTerms& terms, int64_t wait_ms) {
  // With a log the grant itself waits for the disk where it must.
  if (!horizon_.is_alone()) [[likely]]
    return {};
  int64_t hold_ms = std::max(terms.lease_ms, terms.minhold_ms);
  if (terms.session != 0) hold_ms = std::max(hold_ms, on_.config.settings().session_grace_ms);
  if (horizon_.IsTooLong(hold_ms))
    return "ERR the lease is above lock-restart-grace-max and there is no log to keep it";
  if (horizon_.Cover(hold_ms, on_.clock.now().ms() + wait_ms + hold_ms)) return {};
  return reservation_.WriteHorizon() == 0
             ? std::string_view()
             : "ERR the lease cannot be kept over a restart, see the log";
}

void LockService::Claims(OpenLock& open, std::string_view owner, int64_t token) {
  if (!grace_.is_on()) [[likely]]
    return;
  // First, so that only a hold that is still one makes the name known.
  locks_.Settle(open, on_.clock.now(), {.owner = owner});
  const Lock* const lock = open.lock();
  if (!lock || !lock->IsHeldBy(owner, token)) return;
  const int64_t held_under = lock->FindOwner(owner)->token;
  if (!grace_.IsOfBefore(held_under) || grace_.IsNewerShown(open.name(), held_under)) return;
  if (!grace_.Note(open.name(), NewestKnown(open))) return;
  if (lock->mode() == LockMode::kExclusive) grace_.Know(open.name(), held_under);
  grace_.Claimed(open.name(), held_under);
  locks_.Prove(open, owner, on_.clock.now());
}

bool LockService::IsInDoubt(OpenLock& open, std::string_view owner) const {
  if (!grace_.Withholds(open.name())) [[likely]]
    return false;
  const Lock* const lock = open.lock();
  const LockHolder* const holder = lock ? lock->FindOwner(owner) : nullptr;
  return holder && grace_.IsOfBefore(holder->token) && !holder->proved;
}

// The newest token that is known of the name: of holders, of what they have given back, of a flush
// of its database.
int64_t LockService::NewestKnown(OpenLock& open) const {
  const Lock* const lock = open.lock();
  const bool is_known = lock && !held_.IsWithheld(lock) && !held_.IsForeign(lock);
  const bool is_alone = is_known && lock->mode() == LockMode::kExclusive;
  if (grace_.goes_on() && !is_alone) return memory_.FloorOf(open.name().db);
  return std::max(memory_.NewestTold(open.name()), is_known ? lock->newest_token() : 0);
}

bool LockService::MayBeMissing(OpenLock& open, int64_t token) const {
  if (!grace_.is_on()) [[likely]]
    return false;
  const int64_t asked = token == 0 ? grace_.last_token() : token;
  if (asked <= memory_.FloorOf(open.name().db)) return false;
  return grace_.MayBeMissing(open.name(), asked, NewestKnown(open));
}

bool LockService::GetBack(OpenLock& open, std::string_view owner, int64_t lease_ms, int64_t token,
                          const LockShape& shape) {
  if (token == 0 || !MayBeMissing(open, token)) return false;
  // The newer token wins, and FENCED may have shown a newer one still: this one waits for it.
  if (grace_.IsNewerShown(open.name(), token)) return false;
  if (!grace_.Note(open.name(), NewestKnown(open))) return false;
  const Now now = on_.clock.now();
  LockHolder holder{.owner = BoxedText(owner),
                    .token = token,
                    .proved = true,
                    .since_ms = now.ms(),
                    .lease_until_ms = NextMs(now) + lease_ms,
                    .lease_ms = lease_ms};
  holder.set_permits(shape.permits);
  if (!locks_.Claim(open, holder, shape, IsWithheld(open), now)) return false;
  recorder_.HoldChanged(*open.lock(), *open.lock()->FindOwner(owner));
  if (shape.mode == LockMode::kExclusive) grace_.Know(open.name(), token);
  grace_.Claimed(open.name(), token);
  locks_.Prove(open, owner, on_.clock.now());
  return true;
}

bool LockService::IsTokenInDoubt(OpenLock& open, int64_t token) {
  if (!grace_.IsOfBefore(token)) [[likely]]
    return false;
  const Lock* const lock = open.lock();
  const LockHolder* const holder = lock ? lock->FindHolder({}, token) : nullptr;
  // The holder may have given the lock back in what is missing.
  if (holder && !holder->is_minimum_hold())
    return !holder->proved || grace_.IsNewerShown(open.name(), token);
  // Or the token may have been granted there.
  if (!MayBeMissing(open, token)) return false;
  grace_.Show(open.name(), token, NewestKnown(open));
  return true;
}

bool LockService::IsHeldBack(OpenLock& open, const LockShape& shape) const {
  const Lock* const lock = open.lock();
  if (IsWithheld(open)) return true;
  const bool is_shared = shape.mode != LockMode::kExclusive;
  return is_shared && lock && lock->is_in_doubt() && lock->mode() == shape.mode;
}

void LockService::EndDoubt(OpenLock& open) {
  if (!grace_.is_on()) [[likely]]
    return;
  const bool is_withheld = IsWithheld(open);
  grace_.Know(open.name(), grace_.last_token());
  // Waiters hear of it as of a name that others have freed.
  if (is_withheld) held_.Note(open.name());
}

// --- what is noted

// Only others' changes, and only of names that are waited for: a lock that leaves its key notes
// itself (HeldLocks::Lost).
void LockService::KeyTouched(int db, std::string_view key, bool) {
  if (held_.changes_a_key() || locks_.queue().LineOf({db, key}) == nullptr) return;
  held_.Note(KeyNameView{db, key});
}

void LockService::SessionEnded(const Session& session) {
  const uint64_t connection = ConnectionOf(session);
  if (!pending() && !locks_.HoldsAny(connection)) return;
  ended_.push_back(connection);
  on_.flags.Raise(SlowPathFlags::kServe);
  // At once, so that a waiter gets the lock in the turn in which the connection closes.
  SettleUnlessInside();
}

// At its end what it has put off and no time has brought about (sessions that ended) is done before
// the requests that a pause has held back.
void LockService::FollowStandstill() {
  if (on_.standstill.is_on() == locks_.stands_still()) [[likely]]
    return;
  // A client that has waited in vain, or is gone, gets none of the locks that are handed over now.
  if (waits_.any_cancelled() && !held_.are_aside()) waits_.Cancel();
  locks_.StandStill(on_.standstill.is_on(), on_.clock.now());
}

void LockService::EndBindings(const Session& session) {
  const uint64_t connection = ConnectionOf(session);
  if (locks_.HoldsAny(connection))
    Enter().SessionEnded(connection, on_.clock.now(), /*goes_on=*/true);
}

// --- dealing with it

bool LockService::Continue(int64_t read_ms) {
  FollowStandstill();
  // A lease that ended before `read_ms` ended before anything that has not been read: no RENEW can
  // be in time for it.
  int64_t kept_from_ms = read_ms;
  if (on_.standstill.keeps_leases()) kept_from_ms = on_.standstill.began_ms();
  // No clock here says that a master's lease is over, be it since before this server has followed.
  if (on_.standstill.is_following()) kept_from_ms = kBeforeAllMs;
  locks_.set_leases_until_ms(std::min(read_ms, kept_from_ms));
  locks_.BeginTurn();
  meter_.Begin();
  const bool is_left = GoOn();
  meter_.Begin();
  answers_left_ = kAnswersPerTurn;  // what the turn's requests have spent counts
  return is_left;
}

// In this order: leases, detached locks, refusals, hand-overs, then what these have caused.
bool LockService::GoOn() {
  if (!has_left_over() && !locks_.wants_tokens()) [[likely]]
    return false;
  if (on_.standstill.keeps_leases()) return false;
  EndTimes();
  if (held_.TakeRetry() && locks_.any_held_up()) locks_.Retry(on_.clock.now());
  SettleDue();
  held_.FreeDetached();
  DealOut([this] { return waits_.any_to_refuse(); }, [this](int& left) { waits_.Refuse(left); });
  locks_.Continue(on_.clock.now());
  if (memory_.has_new_bounds()) memory_.FollowBounds(on_.clock.now());
  if (locks_.wants_tokens() && !retry_.node.linked()) {
    on_.timers.Arm(retry_, on_.clock.now().ms() + kMarkRetryMs);
  }
  CatchUp();
  return has_left_over();
}

void LockService::EndTimes() {
  if (!are_over_.any()) [[likely]]
    return;
  const AreOver over = std::exchange(are_over_, {});
  if (over.grace && grace_.is_on()) EndGrace();
  if (over.sessions_of_before) Enter().SessionEnded(kSessionElsewhere, on_.clock.now());
}

// Once what was sent before has been run.
void LockService::SettleDue() {
  if (!held_.any_due()) return;
  Locks& locks = Enter();
  held_.GiveBackDue(locks.SettleAll(held_.TakeDue(), on_.clock.now()));
}

void LockService::CatchUpInFull() {
  CatchUp();
  if (!held_.any_detached()) return;
  held_.FreeDetached(SIZE_MAX);
  CatchUp();
}

void LockService::CatchUp() {
  if (pending()) Settle();
  DealOut([this] { return any_to_tell(); },
          [this](int& left) {
            recorder_.TellEvents(left);
            losses_.Tell(left);
          });
}

// A little at a time, the first without a look at the meter.
void LockService::DealOut(absl::FunctionRef<bool()> any_left,
                          absl::FunctionRef<void(int&)> answer) {
  while (answers_left_ > 0 && any_left()) {
    int little = std::min(answers_left_, kAnswersPerLook);
    answers_left_ -= little;
    answer(little);
    answers_left_ += little;
    if (meter_.IsSpent()) return;
  }
}

// Inside a slow script nothing changes but by the script.
void LockService::SettleUnlessInside() {
  if (!on_.current_client.serving_from_within()) Settle();
}

void LockService::SetAside() {
  // These notes belong to the data that is about to go.
  if (pending()) Settle();
  held_.SetAside();
}

void LockService::AllGone() {
  CatchUp();
  // The memory of requests may be large: a worker frees it.
  on_.host.background().Run(
      WorkerLane::kSnapshot,
      [forgotten = std::make_shared<FenceMemory::All>(memory_.TakeAll())]() mutable {
        forgotten.reset();
      },
      [] {});
  on_.timers.Disarm(grace_ends_);
  if (grace_.is_on()) EndGrace();
  are_over_ = {};
}

void LockService::AllReplaced() {
  reservation_.Open();
  reservation_.Loaded();
}

// Waits go before the locks of their sessions: else a client that is gone might be given some.
void LockService::Settle() {
  FollowStandstill();
  if (held_.are_aside()) return;  // what has happened to them is for when they are back
  losses_.FindReasons([this](LockNameView name) { return held_.IsTaken(name); });
  while (true) {
    if (waits_.any_cancelled()) {
      waits_.Cancel();
    } else if (replica_waits_.any_noted()) {
      replica_waits_.TakeBack();
    } else if (!ended_.empty()) {
      for (const uint64_t session : std::exchange(ended_, {})) {
        locks_.SessionEnded(session, on_.clock.now());
      }
    } else if (held_.any_flushed()) {
      held_.FreeDetached();
      for (const int db : held_.TakeFlushed()) locks_.DroppedDatabase(db, on_.clock.now());
    } else if (held_.any_noted()) {
      SettleTouched();
    } else if (waits_.any_to_refuse() && MayAnswer()) {
      DealOut([this] { return waits_.any_to_refuse(); },
              [this](int& left) { waits_.Refuse(left); });
    } else {
      return;
    }
  }
}

// A name that holds a value of another type refuses its waiters; a free one goes to the first of
// them.
void LockService::SettleTouched() {
  for (const LockName& name : held_.TakeTouched()) {
    if (grace_.is_on()) [[unlikely]]
      grace_.Settle(name, grace_.last_token());
    if (held_.IsForeign(held_.FindLock(name))) {
      memory_.Forget(name);
      waits_.NoteTaken(name);
    } else {
      locks_.Dropped(name, on_.clock.now());
    }
  }
}

}  // namespace sluice
