#include "server/engine/engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "protocol/text/concat.h"
#include "server/engine/field_expiry.h"
#include "server/engine/latency_monitor.h"
#include "server/engine/limit_desk.h"
#include "server/engine/lock_service.h"
#include "server/engine/monitors.h"
#include "server/engine/pubsub.h"
#include "server/engine/slow_log.h"
#include "server/engine/tracking.h"

namespace sluice {
namespace {

std::string HexDigits(Random& random, size_t count) {
  std::string text;
  while (text.size() < count) {
    uint64_t bits = random();
    for (int i = 0; i < 16 && text.size() < count; ++i, bits >>= 4) {
      text.push_back("0123456789abcdef"[bits & 15]);
    }
  }
  return text;
}

}  // namespace

Engine::Engine(Config& config, Clock& clock, Host& host, std::span<const CommandFamily> families,
               EngineOptions options)
    : config_(config),
      clock_(clock),
      host_(host),
      options_(std::move(options)),
      now_(clock.Sample()),
      hash_keys_(options_.hash_key.value_or(HashKeys(SipKey{options_.seed}).Next())),
      random_(options_.seed),
      run_id_(HexDigits(random_, 40)),
      wheel_(now_.ms()),
      locks_(std::make_unique<LockService>(*this)),
      keyspace_(std::make_unique<Keyspace>(static_cast<int>(config.settings().databases),
                                           hash_keys_.Next(), wheel_, *this)),
      commands_(families, /*test_double=*/false),
      pubsub_(std::make_unique<PubSub>(*this)),
      notifications_(config.settings().notify_classes, *pubsub_),
      tracking_(std::make_unique<Tracking>(*this)),
      monitors_(std::make_unique<Monitors>(*this)),
      waiters_(*this),
      slow_log_(std::make_unique<SlowLog>()),
      latency_monitor_(std::make_unique<LatencyMonitor>()),
      command_timer_(*this),
      dispatcher_(*this),
      scripts_(*this),
      limits_(std::make_unique<LimitDesk>(*this)),
      started_ms_(now_.ms()) {
  every_second_.fired = [](Engine& engine, Timed&) { engine.EverySecond(); };
  end_pause_.fired = [](Engine& engine, Timed&) { engine.EndPause(); };
  Arm(every_second_, now_.ms() + 1000);
  FollowConfig();
  startup_memory_ = UsedMemory();
}

// What an option's value has to be told to, now and when it changes.
void Engine::FollowConfig() {
  const auto follow = [this](std::initializer_list<std::string_view> options, auto tell) {
    for (const std::string_view option : options) {
      config_.OnChange(option, [tell] {
        tell();
        return std::string();
      });
    }
    tell();
  };
  follow({"requirepass"}, [this] { PasswordChanged(); });
  follow({"client-output-buffer-limit"},
         [this] { ForEachSession([this](Session& session) { LimitOutput(session); }); });
  follow({"fence-retention", "fence-memory-max"}, [this] {
    locks_->memory().set_retention_ms(settings().fence_retention);
    locks_->memory().set_memory_max(static_cast<size_t>(settings().fence_memory_max));
  });
  follow({"slowlog-log-slower-than", "latency-monitor-threshold"}, [this] {
    latency_monitor_->set_threshold_ms(settings().latency_monitor_threshold);
    command_timer_.Configure(settings());
  });
  follow({"slowlog-max-len"},
         [this] { slow_log_->set_entries_max(static_cast<size_t>(settings().slowlog_max_len)); });
}

Engine::~Engine() {
  for (const Slot& slot : slots_) {
    if (slot.session) waiters_.Abandon(*slot.session);
  }
  wheel_.Cancel(every_second_.node);
  wheel_.Cancel(end_pause_.node);
}

// --- sessions

SessionId Engine::Open(Peer peer) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  const SessionId id{slot, slots_[slot].generation};
  auto session = std::make_unique<Session>(id, next_client_id_++, std::move(peer), now_.ms());
  session->writer.set_error_listener(this);
  session->authenticated = settings().requirepass.empty();
  if (!session->authenticated) session->conditions |= kNeedsLogin;
  session->needs_login_since_ms = now_.ms();
  LimitOutput(*session);
  slot_of_client_.emplace(session->client_id, slot);
  slots_[slot].session = std::move(session);
  ++session_count_;
  ++statistics_.connections;
  return id;
}

void Engine::Drop(SessionId id) {
  Session* session = Find(id);
  if (!session) return;
  watches_.UnwatchAll(*session);
  pubsub_->Forget(*session);
  if (!nested_) RefreshNow();  // others' leases may begin here, between two turns
  tracking_->Disable(*session);
  monitors_->Remove(*session);
  waiters_.Abandon(*session);
  locks_->SessionEnded(*session);
  // The place stays: the batch counts on it.
  for (Input& input : inputs_) {
    if (input.session != session) continue;
    input.session = nullptr;
    input.stopped = true;
  }
  // Nothing that outlives it knows it any more.
  assert(!session->parked && !session->tracking && !session->subscribes());
  assert(!session->transaction || session->transaction->watched.empty());
  assert(session->output.Sound() && session_count_ > 0);
  slot_of_client_.erase(session->client_id);
  slots_[id.slot].session.reset();
  ++slots_[id.slot].generation;
  free_slots_.push_back(id.slot);
  --session_count_;
}

Session* Engine::Find(SessionId id) {
  if (id.slot >= slots_.size() || slots_[id.slot].generation != id.generation) return nullptr;
  return slots_[id.slot].session.get();
}

Session* Engine::FindClient(uint64_t client_id) {
  const auto found = slot_of_client_.find(client_id);
  return found == slot_of_client_.end() ? nullptr : slots_[found->second].session.get();
}

void Engine::ForEachSession(const std::function<void(Session&)>& visit) {
  for (const Slot& slot : slots_) {
    if (slot.session) visit(*slot.session);
  }
}

// Who has logged in stays so; without a password nobody needs to.
void Engine::PasswordChanged() {
  for (const Slot& slot : slots_) {
    if (!slot.session) continue;
    const bool needs = !settings().requirepass.empty() && !slot.session->authenticated;
    slot.session->conditions &= ~kNeedsLogin;
    if (needs) slot.session->conditions |= kNeedsLogin;
    if (needs) slot.session->needs_login_since_ms = now_.ms();
    LimitOutput(*slot.session);
  }
}

void Engine::ClassChanged(Session& session) {
  const bool restricted = session.resp() == 2 && session.subscribes();
  session.conditions &= ~kSubscriber;
  if (restricted) session.conditions |= kSubscriber;
  LimitOutput(session);
}

void Engine::Close(Session& session, CloseMode mode) {
  session.close = std::max(session.close, mode);
  if (mode == CloseMode::kNow) waiters_.Abandon(session);
  QueueSend(session);
}

void Engine::Resume(Session& session) {
  session.active_ms = now_.ms();  // its waiting was not idleness
  if (session.pending.size() > 0) Carry(session);
}

void Engine::Carry(Session& session) {
  if (session.carried) return;
  session.carried = true;
  carried_.push_back(session.id);
}

void Engine::QueueSend(Session& session) {
  if (session.output.overflowed()) [[unlikely]]
    CheckOutputLimit(session);
  if (session.queued_to_send) return;
  session.queued_to_send = true;
  to_send_.push_back(session.id);
}

// --- timed

void Engine::Arm(Timed& timed, int64_t at_ms) {
  if (timed.node.linked()) {
    wheel_.Move(timed.node, at_ms);
  } else {
    wheel_.Insert(timed.node, TimerKind::kTask, at_ms);
  }
}

size_t Engine::UsedMemory() const {
  size_t bytes = keyspace_->memory_bytes() + scripts_.MemoryBytes();
  for (const Slot& slot : slots_) {
    if (slot.session) bytes += slot.session->MemoryBytes();
  }
  return bytes;
}

// Samples for INFO. Idle clients, those that do not log in, and soft output limits of clients to
// which nothing new is sent.
void Engine::EverySecond() {
  rates_.Sample(statistics_, now_.ms());
  memory_peak_ = std::max(memory_peak_, UsedMemory());
  const int64_t idle_ms = settings().timeout * 1000;
  const int64_t login_ms = settings().login_timeout * 1000;
  for (const Slot& slot : slots_) {
    if (!slot.session) continue;
    Session& session = *slot.session;
    if (!session.output.empty()) CheckOutputLimit(session);
    const bool waits = session.blocked || session.paused || session.subscribes() ||
                       (session.conditions & kMonitor);
    const bool idle = idle_ms > 0 && !waits && now_.ms() - session.active_ms > idle_ms;
    if (idle) session.close = CloseMode::kNow;
    const bool is_stranger = login_ms > 0 && (session.conditions & kNeedsLogin) &&
                             now_.ms() - session.needs_login_since_ms > login_ms;
    if (is_stranger && session.close != CloseMode::kNow) {
      ++statistics_.login_timeout_closed;
      session.close = CloseMode::kNow;
    }
    if (session.close == CloseMode::kNow) QueueSend(session);
  }
  Arm(every_second_, now_.ms() + 1000);
}

void Engine::PauseClients(Pause::Mode mode, int64_t ms) {
  pause_.Start(mode, now_.ms() + ms);
  GatesChanged();
  keyspace_->set_expiry_allowed(false);
  Arm(end_pause_, pause_.until_ms());
}

void Engine::UnpauseClients() {
  wheel_.Cancel(end_pause_.node);
  EndPause();
}

void Engine::EndPause() {
  keyspace_->set_expiry_allowed(true);
  pause_.End(*this);
  GatesChanged();
}

void Engine::GatesChanged() {
  const bool closed = pause_.mode() != Pause::Mode::kNone || scripts_.busy();
  closed ? attention_.Raise(Attention::kGates) : attention_.Lower(Attention::kGates);
}

// --- what others tell

void Engine::KeyTouched(int db, std::string_view key) {
  if (attention_.Raised(Attention::kKeys)) [[unlikely]]
    TellOfKey(db, key);
}

void Engine::TellOfKey(int db, std::string_view key) {
  const bool died = std::exchange(key_dying_, false);
  if (!watches_.empty()) watches_.Touched(db, key, died);
  if (!waiters_.no_keys()) waiters_.KeyTouched(db, key);
  if (!limits_->idle()) limits_->KeyTouched(db, key);
  if (!locks_->nobody_waits()) locks_->KeyTouched(db, key);
  if (!tracking_->idle()) tracking_->KeyTouched(key, died);
  const bool somebody = !watches_.empty() || !waiters_.no_keys() || !limits_->idle() ||
                        !locks_->nobody_waits() || !tracking_->idle();
  if (!somebody) attention_.Lower(Attention::kKeys);
}

void Engine::KeyExpired(int db, const Entry& entry, int64_t late_ms) {
  key_dying_ = attention_.Raised(Attention::kKeys);  // KeyTouched follows
  const bool is_monitored = latency_monitor_->threshold_ns() != INT64_MAX;
  const int64_t begin = is_monitored ? clock_.TickNanos() : 0;
  ++statistics_.expired_keys;
  statistics_.expiry_lateness_ms.Record(late_ms);
  if (effects_.wanted()) effects_.Add(db, {"DEL", entry.key()});
  notifications_.Notify(kNotifyExpired, "expired", db, entry.key());
  if (!is_monitored) [[likely]]
    return;
  const int64_t nanos = clock_.TickNanos() - begin;
  if (nanos >= latency_monitor_->threshold_ns())
    latency_monitor_->Note(LatencyEvent::kExpireDel, now_.unix_s(), nanos);
}

void Engine::ValueDue(Database& db, HashedKey key, Entry& entry) {
  if (entry.type() == ValueType::kHash) TakeExpiredFields({*this, db, key}, entry);
}

void Engine::KeyCreated(int db, std::string_view key) {
  notifications_.Notify(kNotifyNew, "new", db, key);
}

void Engine::DatabaseReplaced(int db, int other) {
  if (!watches_.empty()) watches_.Replaced(db, other, *keyspace_, now_);
  if (!waiters_.no_keys()) waiters_.DatabaseReplaced(db, other);
  if (!limits_->idle()) limits_->DatabaseReplaced(db, other);
  locks_->DatabaseReplaced(db, other);
}

void Engine::ErrorSent(std::string_view text) { statistics_.CountError(text); }

}  // namespace sluice
