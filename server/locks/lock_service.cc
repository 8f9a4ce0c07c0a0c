// See lock_service.h.
#include "server/locks/lock_service.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// Waiters that are refused and holders that are told of a loss: some 0.5 ms, more if they are not
// in the cache.
constexpr int kAnswersPerTurn = 256;
constexpr int kAnswersPerLook = 16;  // at the meter
constexpr int64_t kRetryMs = 100;    // between attempts to have the mark written

}  // namespace

LockService::LockService(const Uses& uses, HashKeys& hash_keys)
    : on_(uses),
      memory_(hash_keys.Next()),
      mark_({uses.config, uses.host, uses.clock, uses.worker}, tokens_, memory_),
      meter_(uses.clock),
      news_({.clock = uses.clock,
             .effects = uses.effects,
             .notifications = uses.notifications,
             .clients = uses.clients,
             .flags = uses.flags}),
      held_({.keyspace = uses.keyspace,
             .clock = uses.clock,
             .timers = uses.timers,
             .pause = uses.pause,
             .flags = uses.flags,
             .news = news_,
             .locks = locks_}),
      waits_({.config = uses.config,
              .host = uses.host,
              .clock = uses.clock,
              .clients = uses.clients,
              .parked = uses.parked,
              .flags = uses.flags,
              .news = news_,
              .held = held_,
              .locks = locks_,
              .cancelled = [this] { SettleUnlessInside(); }}),
      locks_(held_, news_, waits_, tokens_, memory_, hash_keys.Next(), &meter_),
      answers_left_(kAnswersPerTurn) {
  retry_.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<LockService>&>(task).owner.mark_.Want();
  };
}

Locks& LockService::Enter() {
  if (pending()) Settle();
  if (!tokens_.CanIssue(kTokensAtOnce)) [[unlikely]]
    mark_.Want();
  return locks_;
}

// --- what is noted

void LockService::KeyTouched(int db, std::string_view key, bool) {
  if (held_.changes_a_key() || locks_.queue().LineOf({db, key}) == nullptr) return;
  held_.Note(LockName(KeyNameView{db, key}));
}

void LockService::SessionEnded(const Session& session) {
  const uint64_t connection = ConnectionOf(session);
  if (!pending() && !locks_.HoldsAny(connection)) return;
  ended_.push_back(connection);
  on_.flags.Raise(RareFlags::kServe);
  SettleUnlessInside();
}

void LockService::EndBindings(const Session& session) {
  const uint64_t connection = ConnectionOf(session);
  if (locks_.HoldsAny(connection)) Enter().SessionEnded(connection, on_.clock.now());
}

// --- dealing with it

bool LockService::Continue(int64_t read_ms) {
  locks_.set_leases_until_ms(read_ms);
  locks_.BeginTurn();
  meter_.Begin();
  const bool is_left = GoOn();
  meter_.Begin();
  answers_left_ = kAnswersPerTurn;  // what the turn's requests have spent counts
  return is_left;
}

bool LockService::GoOn() {
  if (!has_left_over() && !locks_.wants_tokens()) [[likely]]
    return false;
  if (on_.pause.mode() != Pause::Mode::kNone) return false;
  SettleDue();
  held_.TakeApart();
  DealOut([this] { return waits_.any_to_refuse(); }, [this](int& left) { waits_.Refuse(left); });
  locks_.Continue(on_.clock.now());
  if (locks_.wants_tokens() && !retry_.node.linked()) {
    on_.timers.Arm(retry_, on_.clock.now().ms() + kRetryMs);
  }
  CatchUp();
  return has_left_over();
}

// Once what was sent before has been run.
void LockService::SettleDue() {
  if (!held_.any_due()) return;
  Locks& locks = Enter();
  held_.GiveBackDue(locks.SettleAll(held_.TakeDue(), on_.clock.now()));
}

void LockService::CatchUp() {
  if (pending()) Settle();
  DealOut([this] { return news_.any_to_push(); }, [this](int& left) { news_.PushLosses(left); });
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
  if (!on_.acting.serving_from_within()) Settle();
}

// Waits go before the locks of their sessions: else a client that is gone might be given some.
void LockService::Settle() {
  news_.FindReasons([this](LockNameView name) { return held_.IsTaken(name); });
  while (true) {
    if (waits_.any_cancelled()) {
      waits_.Cancel();
    } else if (!ended_.empty()) {
      for (const uint64_t session : std::exchange(ended_, {})) {
        locks_.SessionEnded(session, on_.clock.now());
      }
    } else if (held_.any_flushed()) {
      held_.TakeApart();
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

void LockService::SettleTouched() {
  for (const LockName& name : held_.TakeTouched()) {
    if (held_.IsForeign(held_.FindLock(name))) {
      memory_.Forget(name);
      waits_.NoteTaken(name);
    } else {
      locks_.Dropped(name, on_.clock.now());
    }
  }
}

}  // namespace sluice
