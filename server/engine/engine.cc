#include "server/engine/engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "protocol/concat.h"

namespace sluice {
namespace {

// A turn stops taking new batches after this long, so that nobody waits for it.
constexpr int64_t kTurnBudgetNanos = 400'000;
// Timers fired or moved in one turn: some 50 µs.
constexpr size_t kTimersPerTurn = 256;
constexpr size_t kFreedPerTurn = 256;
constexpr size_t kRearmedPerTurn = 512;

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
      random_(options_.seed),
      run_id_(HexDigits(random_, 40)),
      wheel_(now_.ms()),
      keyspace_(std::make_unique<Keyspace>(static_cast<int>(config.settings().databases), random_(),
                                           wheel_, *this)),
      commands_(families, /*test_double=*/false),
      dispatcher_(*this),
      scripts_(*this),
      started_ms_(now_.ms()) {
  every_second_.run = &Engine::EverySecond;
  end_pause_.run = &Engine::EndPause;
  Arm(every_second_, now_.ms() + 1000);
  config_.OnChange("requirepass", [this] {
    PasswordChanged();
    return std::string();
  });
  config_.OnChange("client-output-buffer-limit", [this] {
    ForEachSession([this](Session& session) { LimitOutput(session); });
    return std::string();
  });
}

Engine::~Engine() {
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
  LimitOutput(*session);
  slots_[slot].session = std::move(session);
  ++session_count_;
  ++statistics_.connections;
  return id;
}

void Engine::Drop(SessionId id) {
  Session* session = Find(id);
  if (!session) return;
  watches_.UnwatchAll(*session);
  // The place stays: the batch counts on it.
  for (Input& input : inputs_) {
    if (input.session != session) continue;
    input.session = nullptr;
    input.stopped = true;
  }
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
  for (const Slot& slot : slots_) {
    if (slot.session && slot.session->client_id == client_id) return slot.session.get();
  }
  return nullptr;
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
  }
}

void Engine::Close(Session& session, CloseMode mode) {
  session.close = std::max(session.close, mode);
  QueueSend(session);
}

void Engine::Resume(Session& session) {
  session.active_ms = now_.ms();  // its waiting was not idleness
  if (!session.pending.empty()) Carry(session);
}

void Engine::Carry(Session& session) {
  if (session.carried) return;
  session.carried = true;
  carried_.push_back(session.id);
}

void Engine::QueueSend(Session& session) {
  if (session.queued_to_send) return;
  session.queued_to_send = true;
  to_send_.push_back(session.id);
}

// --- a turn

void Engine::Receive(SessionId id, std::string_view bytes) {
  Session* session = Find(id);
  if (!session || session->close != CloseMode::kOpen || bytes.empty()) return;
  statistics_.bytes_in += bytes.size();
  session->active_ms = now_.ms();
  if (session->received) KeepReceived(*session);
  // Inside a command the inputs belong to the turn around it.
  const bool may_run = !session->blocked && !session->paused;
  if (session->pending.empty() && may_run && !nested_) {
    inputs_.push_back({.session = session, .window = bytes});
    session->received = true;
    return;
  }
  session->pending.append(bytes);
  if (session->pending.size() > static_cast<size_t>(settings().client_query_buffer_limit)) {
    return CloseOverQueryLimit(*session);
  }
  if (may_run) Carry(*session);
}

// A second piece in one turn: a request may lie across both, so they have to lie together.
void Engine::KeepReceived(Session& session) {
  const auto first = std::ranges::find(inputs_, &session, &Input::session);
  session.pending.assign(first->window);
  session.received = false;
  inputs_.erase(first);
}

void Engine::CloseOverQueryLimit(Session& session) {
  ++statistics_.query_limit_closed;
  host_.Log(3, Concat("closing client id ", session.client_id,
                      ": it reached the query buffer limit (client-query-buffer-limit)"));
  Close(session, CloseMode::kNow);
}

bool Engine::RunTurn() {
  if (nested_) return RunNestedTurn();
  RefreshNow();
  if (statistics_.turns == 0) cpu_us_ = clock_.CpuMicros();  // the start of the process is no turn
  const int64_t begin = Tick();
  const bool timers_left = RunTimers();
  TakeCarried();
  RunInputs(begin);
  const bool garbage_left = keyspace_->FreeSlice(kFreedPerTurn);
  const bool rearm_left = keyspace_->RearmSlice(now_, kRearmedPerTurn);
  EndTurn();
  return timers_left || garbage_left || rearm_left || !carried_.empty();
}

// --- turns inside a command

bool Engine::MayTouch(SessionId id) const { return !nested_ || !(caller_->id == id); }

void Engine::ServeOthers(Session& caller) {
  if (nested_) return;
  nested_ = true;
  caller_ = &caller;
  SetAside(caller);
  host_.Poll();
  caller_ = nullptr;
  nested_ = false;
  Tick();
}

// What this turn still held of other clients' requests becomes their own again, so that they are
// answered now and not after the script.
void Engine::SetAside(Session& caller) {
  for (Input& input : inputs_) {
    if (!input.session || input.session == &caller) continue;
    Session& session = *input.session;
    const bool requests_left = input.position < input.parsed;
    if (requests_left) session.parser.Reset();  // it has read ahead of what has been run
    KeepRest(input);
    if (requests_left && !session.pending.empty() && !session.blocked && !session.paused) {
      Carry(session);
    }
    input.session = nullptr;
    input.stopped = true;
  }
}

bool Engine::RunNestedTurn() {
  std::vector<Input> outer_inputs = std::exchange(inputs_, {});
  Batch outer_batch = std::exchange(batch_, {});
  const int64_t begin = Tick();
  TakeCarried();
  RunInputs(begin);
  inputs_ = std::move(outer_inputs);
  batch_ = std::move(outer_batch);
  SendAll();
  CloseAll();
  return !carried_.empty();
}

// Sessions with unfinished business in `pending` take part in this turn, before newcomers.
void Engine::TakeCarried() {
  if (carried_.empty()) return;
  const auto received = static_cast<ptrdiff_t>(inputs_.size());
  for (const SessionId id : std::exchange(carried_, {})) {
    Session* session = Find(id);
    if (!session) continue;
    session->carried = false;
    if (session->pending.empty() || session->blocked || session->paused) continue;
    const auto window = std::string_view(session->pending).substr(session->pending_start);
    inputs_.push_back({.session = session, .window = window, .from_pending = true});
  }
  std::rotate(inputs_.begin(), inputs_.begin() + received, inputs_.end());
}

void Engine::RunInputs(int64_t turn_begin) {
  size_t at = 0;
  while (at < inputs_.size() && batch_.Fill(*this, inputs_, at)) {
    batch_.Prefetch(*this);
    batch_.Run(*this, inputs_);
    if (Tick() - turn_begin > kTurnBudgetNanos) {
      // Who got no share of this turn is first in the next.
      std::stable_partition(inputs_.begin(), inputs_.end(),
                            [](const Input& input) { return input.position == 0; });
      break;
    }
  }
  for (Input& input : inputs_) {
    if (input.session) KeepRest(input);
  }
  inputs_.clear();
}

// What of an input has not been run stays with its session.
void Engine::KeepRest(Input& input) {
  Session& session = *input.session;
  session.received = false;
  if (input.stopped) session.parser.Reset();  // it had read beyond what is kept
  if (session.close != CloseMode::kOpen) {
    session.pending.clear();
    session.pending_start = 0;
  } else if (input.from_pending) {
    session.pending_start += input.position;
    if (session.pending_start > session.pending.size() / 2) {
      session.pending.erase(0, std::exchange(session.pending_start, 0));
    }
  } else {
    session.pending.assign(input.window.substr(input.position));
  }
  if (session.pending.empty()) {
    session.pending_start = 0;
    if (session.pending.capacity() > 64) session.pending = std::string();
  } else if (!input.starved && !session.blocked && !session.paused) {
    Carry(session);
  }
}

Dispatcher::Outcome Engine::Execute(Session& session, Args args, Command* command, HashedKey key) {
  const ReplyMode reply_mode = session.reply_mode;
  if (session.reply_mode == ReplyMode::kSkipping) session.reply_mode = ReplyMode::kOn;
  if (session.reply_mode == ReplyMode::kSkipNext) session.reply_mode = ReplyMode::kSkipping;
  const Dispatcher::Outcome outcome = dispatcher_.Execute(session, args, command, key);
  if (outcome == Dispatcher::Outcome::kHeld) session.reply_mode = reply_mode;
  if (session.output.overflowed()) [[unlikely]] {
    CheckOutputLimit(session);
    QueueSend(session);
  }
  if (!session.output.empty() && !session.queued_to_send) QueueSend(session);
  return outcome;
}

void Engine::ProtocolError(Session& session) {
  SinkOf(session).Error(Concat("ERR ", session.parser.error()));
  Close(session, CloseMode::kAfterReply);
}

void Engine::RefreshNow() {
  const int64_t offset = now_.unix_offset_ms;
  now_ = clock_.Sample();
  if (now_.unix_offset_ms != offset) keyspace_->WallStepped();
}

bool Engine::RunTimers() {
  const int64_t now_ms = now_.ms();
  const size_t spent = wheel_.Advance(now_ms, kTimersPerTurn, [this](TimerNode& node) {
    if (node.kind() == TimerKind::kEntry) return keyspace_->TimerFired(node, now_);
    const Task& task = reinterpret_cast<Task&>(node);
    (this->*task.run)();
  });
  return spent >= kTimersPerTurn;
}

int64_t Engine::NextWork() const { return wheel_.NextWork(); }

void Engine::EndTurn() {
  SendAll();
  CloseAll();
  ++statistics_.turns;
  const int64_t cpu_us = clock_.CpuMicros();
  statistics_.turn_cpu_us.Record(cpu_us - cpu_us_);
  cpu_us_ = cpu_us;
}

void Engine::SendAll() {
  for (const SessionId id : to_send_) {
    Session* session = Find(id);
    if (!session) continue;
    session->queued_to_send = false;
    if (session->close != CloseMode::kNow && !session->output.empty()) {
      const size_t before = session->output.bytes();
      host_.Send(*session);
      if (session->output.bytes() < before) session->active_ms = now_.ms();
      CheckOutputLimit(*session);
    }
    if (session->close == CloseMode::kNow ||
        (session->close == CloseMode::kAfterReply && session->output.empty())) {
      to_close_.push_back(id);
    }
  }
  to_send_.clear();
}

void Engine::CloseAll() {
  for (const SessionId id : std::exchange(to_close_, {})) {
    if (!Find(id)) continue;
    if (!MayTouch(id)) {
      to_close_.push_back(id);
      continue;
    }
    Drop(id);
    host_.Closed(id);
  }
}

bool Engine::HasBacklog(SessionId id) {
  const Session* session = Find(id);
  return session && session->carried;
}

void Engine::Sent(SessionId id) {
  Session* session = Find(id);
  if (!session) return;
  session->active_ms = now_.ms();
  CheckOutputLimit(*session);
  if (session->output.empty() && session->close == CloseMode::kAfterReply) {
    Drop(id);
    host_.Closed(id);
  }
}

// The buffer itself holds to the hard limit, in the middle of a command too.
void Engine::LimitOutput(Session& session) {
  session.output.set_limit(settings().output_normal.hard_bytes);
}

// Hard limit at once, soft limit when it has been exceeded for so long without a pause.
void Engine::CheckOutputLimit(Session& session) {
  const OutputLimit& limit = settings().output_normal;
  const bool soft = limit.soft_bytes > 0 && session.output.bytes() > limit.soft_bytes;
  if (!soft) {
    session.over_soft_limit_since_ms = -1;
  } else if (session.over_soft_limit_since_ms < 0) {
    session.over_soft_limit_since_ms = now_.ms();
  }
  const bool soft_over =
      soft && now_.ms() - session.over_soft_limit_since_ms > limit.soft_seconds * 1000;
  const bool hard_over = session.output.overflowed() ||
                         (limit.hard_bytes > 0 && session.output.bytes() > limit.hard_bytes);
  if (!soft_over && !hard_over) return;
  ++statistics_.output_limit_closed;
  host_.Log(3, Concat("closing client id ", session.client_id,
                      ": too many replies wait for it (client-output-buffer-limit)"));
  session.close = CloseMode::kNow;
}

// --- timed

void Engine::Arm(Task& task, int64_t at_ms) {
  if (task.node.linked()) {
    wheel_.Move(task.node, at_ms);
  } else {
    wheel_.Insert(task.node, TimerKind::kTask, at_ms);
  }
}

size_t Engine::UsedMemory() const {
  size_t bytes = keyspace_->memory_bytes();
  for (const Slot& slot : slots_) {
    if (slot.session) bytes += slot.session->MemoryBytes();
  }
  return bytes;
}

// Samples for INFO. Idle clients, and soft output limits of clients to which nothing new is sent.
void Engine::EverySecond() {
  rates_.Sample(statistics_, now_.ms());
  memory_peak_ = std::max(memory_peak_, UsedMemory());
  const int64_t idle_ms = settings().timeout * 1000;
  for (const Slot& slot : slots_) {
    if (!slot.session) continue;
    Session& session = *slot.session;
    if (!session.output.empty()) CheckOutputLimit(session);
    const bool waits = session.blocked || session.paused;
    const bool idle = idle_ms > 0 && !waits && now_.ms() - session.active_ms > idle_ms;
    if (idle) session.close = CloseMode::kNow;
    if (session.close == CloseMode::kNow) QueueSend(session);
  }
  Arm(every_second_, now_.ms() + 1000);
}

void Engine::PauseClients(Pause::Mode mode, int64_t ms) {
  pause_.Start(mode, now_.ms() + ms);
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
}

// --- what others tell

void Engine::KeyTouched(int db, std::string_view key) {
  const bool died = std::exchange(key_dying_, false);
  if (!watches_.empty()) watches_.Touched(db, key, died);
}

void Engine::KeyExpired(int db, const Entry& entry, int64_t late_ms) {
  key_dying_ = true;  // KeyTouched follows
  ++statistics_.expired_keys;
  statistics_.expiry_lateness_ms.Record(late_ms);
  if (effects_.wanted()) effects_.Add(db, {"DEL", entry.key()});
}

void Engine::DatabaseReplaced(int db, int other) {
  if (!watches_.empty()) watches_.Replaced(db, other, *keyspace_, now_);
}

void Engine::ErrorSent(std::string_view text) { statistics_.CountError(text); }

}  // namespace sluice
