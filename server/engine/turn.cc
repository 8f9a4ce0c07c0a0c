// A turn of the engine: what came in is run in batches, due timers fire, what was answered is
// handed to the host; and the turns inside a turn that serve others while a script is slow.
#include <algorithm>
#include <cassert>
#include <utility>

#include "protocol/text/concat.h"
#include "server/engine/engine.h"
#include "server/engine/latency_monitor.h"
#include "server/engine/limit_desk.h"
#include "server/engine/lock_service.h"
#include "server/engine/tracking.h"

namespace sluice {
namespace {

// A turn stops taking new batches after this long, so that nobody waits for it.
constexpr int64_t kTurnBudgetNanos = 400'000;
constexpr int64_t kCpuReadEveryNanos = 250'000;
// Timers fired or moved in one turn: some 50 µs.
constexpr size_t kTimersPerTurn = 256;
// Freeing takes so long a turn, or half as long as its requests took: what they can delete in a
// turn they have to have made before, at a higher price, so garbage does not pile up.
constexpr int64_t kFreeingNanos = 200'000;
constexpr size_t kFreedPerSlice = 256;
constexpr int kFreeingSlicesMax = 64;  // for clocks that stand still
constexpr size_t kRearmedPerTurn = 512;
// Of a request as long as that, the rest is read to where it belongs, a piece a turn. (As Redis.)
constexpr size_t kReadInPlaceMin = 32 * 1024;
constexpr size_t kReadInPlaceMax = 64 * 1024;
// The build that asserts looks at every client once in so many turns.
[[maybe_unused]] constexpr uint64_t kTurnsPerAudit = 1024;

}  // namespace

void Engine::Receive(SessionId id, std::string_view bytes) {
  Session* session = Find(id);
  if (!session || session->close != CloseMode::kOpen || bytes.empty()) return;
  CountReceived(*session, bytes.size());
  if (session->received) KeepReceived(*session);
  // Inside a command the inputs belong to the turn around it.
  const bool may_run = !session->blocked && !session->paused;
  if (session->pending.empty() && may_run && !nested_) {
    inputs_.push_back({.session = session, .window = bytes});
    session->received = true;
    return;
  }
  session->pending.Append(bytes);
  if (session->pending.size() > QueryBytesMax(*session)) return CloseOverQueryLimit(*session);
  if (may_run) Carry(*session);
}

std::span<char> Engine::RoomFor(SessionId id) {
  Session* session = Find(id);
  if (!session || session->close != CloseMode::kOpen) return {};
  if (session->blocked || session->paused) return {};
  const size_t wanted = session->parser.bytes_wanted();
  const size_t there = session->pending.size() - session->pending_start;
  if (session->received || wanted < kReadInPlaceMin || wanted <= there) return {};
  // Pages that move are not free either: what is said to come is believed as far as has come.
  session->pending.Reserve(session->pending_start + std::min(wanted, 2 * there));
  return session->pending.Room(std::min(wanted - there, kReadInPlaceMax));
}

void Engine::ReceiveInPlace(SessionId id, size_t bytes) {
  if (bytes == 0) return;
  Session& session = *Find(id);
  CountReceived(session, bytes);
  session.pending.Lengthen(bytes);
  if (session.pending.size() > QueryBytesMax(session)) return CloseOverQueryLimit(session);
  Carry(session);
}

void Engine::CountReceived(Session& session, size_t bytes) {
  statistics_.bytes_in += bytes;
  session.active_ms = now_.ms();
}

// A second piece in one turn: a request may lie across both, so they have to lie together.
void Engine::KeepReceived(Session& session) {
  const auto first = std::ranges::find(inputs_, &session, &Input::session);
  session.pending.Assign(first->window);
  session.received = false;
  inputs_.erase(first);
}

size_t Engine::QueryBytesMax(const Session& session) const {
  const auto most = static_cast<size_t>(settings().client_query_buffer_limit);
  return session.conditions & kNeedsLogin ? std::min(most, kQueryBytesBeforeLoginMax) : most;
}

void Engine::CloseOverQueryLimit(Session& session) {
  ++statistics_.query_limit_closed;
  host_.Log(3, Concat("closing client id ", session.client_id,
                      ": it reached the query buffer limit (client-query-buffer-limit)"));
  Close(session, CloseMode::kNow);
}

bool Engine::RunTurn() {
  if (nested_) return RunNestedTurn();
  assert(!current_);  // a turn inside a command is ServeOthers' to begin
  RefreshNow();
  const int64_t read_ms = now_.ms();
  const int64_t begin = Tick();
  const bool timers_left = RunTimers();
  TakeCarried();
  RunInputs(begin);
  const bool locks_left = locks_->Continue(read_ms);
  const bool garbage_left = FreeGarbage(begin);
  const bool rearm_left = keyspace_->RearmSlice(now_, kRearmedPerTurn);
  const bool tracked_left = tracking_->LimitSlice();
  EndTurn(begin);
  return timers_left || locks_left || garbage_left || rearm_left || tracked_left ||
         !carried_.empty() || limits_->any_ready();
}

bool Engine::FreeGarbage(int64_t turn_begin) {
  const size_t waiting = keyspace_->waiting_to_be_freed();
  if (waiting == 0) return false;
  const int64_t begin = Tick();
  const int64_t budget = std::max(kFreeingNanos, (begin - turn_begin) / 2);
  bool is_left = keyspace_->FreeSlice(kFreedPerSlice);
  for (int i = 1; is_left && i < kFreeingSlicesMax && Tick() - begin < budget; ++i) {
    is_left = keyspace_->FreeSlice(kFreedPerSlice);
  }
  statistics_.freed_lazily += waiting - keyspace_->waiting_to_be_freed();
  return is_left;
}

// --- turns inside a command

bool Engine::MayTouch(SessionId id) const { return !nested_ || !(caller_->id == id); }

void Engine::ServeOthers(Session& caller) {
  if (nested_) return;
  command_timer_.EndRun();
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
    if (requests_left && session.pending.size() > 0 && !session.blocked && !session.paused) {
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
  tracking_->Broadcast();
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
    assert(session->carried);
    session->carried = false;
    if (session->pending.empty() || session->blocked || session->paused) continue;
    const auto window = session->pending.view().substr(session->pending_start);
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
    session.pending = {};
  } else if (!input.from_pending) {
    session.pending.Assign(input.window.substr(input.position));
  } else if (!session.pending.empty()) {  // else it has become a value (TakeArgument)
    session.pending_start += input.position;
    if (session.pending_start > session.pending.size() / 2) {
      session.pending.Assign(session.pending.view().substr(session.pending_start));
      session.pending_start = 0;
    }
  }
  if (session.pending.empty()) {
    session.pending_start = 0;
    session.pending = {};  // without the room
  } else if (!input.starved && !session.blocked && !session.paused) {
    Carry(session);
  }
}

std::optional<TextBlock> Engine::TakeArgument(Session& session, std::string_view argument) {
  const std::string_view buffer = session.pending.view();
  const bool inside = argument.data() >= buffer.data() &&
                      argument.data() + argument.size() <= buffer.data() + buffer.size();
  if (!inside || argument.size() < TextBlock::kMappedAt) return std::nullopt;
  const auto input = std::ranges::find(inputs_, &session, &Input::session);
  if (input == inputs_.end() || !input->from_pending || !input->spent() ||
      input->position + session.parser.consumed() != input->window.size()) {
    return std::nullopt;
  }
  TextBlock taken = std::exchange(session.pending, {});
  taken.Narrow(static_cast<size_t>(argument.data() - buffer.data()), argument.size());
  return taken;
}

Dispatcher::Outcome Engine::Execute(Session& session, Args args, Command* command, HashedKey key) {
  const ReplyMode reply_mode = session.reply_mode;
  if (session.reply_mode == ReplyMode::kSkipping) session.reply_mode = ReplyMode::kOn;
  if (session.reply_mode == ReplyMode::kSkipNext) session.reply_mode = ReplyMode::kSkipping;
  Session* const around = std::exchange(current_, &session);
  const Dispatcher::Outcome outcome = dispatcher_.Execute(session, args, command, key);
  if (outcome == Dispatcher::Outcome::kHeld) session.reply_mode = reply_mode;
  if (attention_.Raised(Attention::kServe) && !nested_) [[unlikely]] {
    ServeWaiters();
    command_timer_.Skip();
  }
  current_ = around;
  if (session.tracking || attention_.Raised(Attention::kPending)) [[unlikely]]
    tracking_->CommandDone(session);
  if (session.output.overflowed()) [[unlikely]] {
    CheckOutputLimit(session);
    QueueSend(session);
  }
  if (!session.output.empty() && !session.queued_to_send) QueueSend(session);
  return outcome;
}

void Engine::ExecuteWoken(Session& session, Command& command, Args args) {
  {
    const ActingFor waiter(*this, session);
    dispatcher_.Run(session, command, args, SinkOf(session));
  }
  if (attention_.Raised(Attention::kPending)) [[unlikely]]
    tracking_->CommandDone(session);
}

// Each may give the other something to do.
void Engine::ServeWaiters() {
  do {
    if (locks_->pending()) locks_->CatchUp();
    if (waiters_.any_ready()) waiters_.ServeReady();
    if (limits_->any_ready()) limits_->ServeReady();
  } while (locks_->pending() || waiters_.any_ready());
  if (!limits_->any_ready()) attention_.Lower(Attention::kServe);
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
  const int64_t begin = tick_;
  const size_t spent = wheel_.Advance(now_ms, kTimersPerTurn, [this](TimerNode& node) {
    if (node.kind() == TimerKind::kEntry) return keyspace_->TimerFired(node, now_);
    if (node.kind() == TimerKind::kValue) return keyspace_->ValueTimerFired(node, now_);
    Timed& timed = reinterpret_cast<Timed&>(node);
    timed.fired(*this, timed);
  });
  if (spent > 0) {
    const int64_t nanos = Tick() - begin;
    statistics_.expiry_ns += nanos;
    if (nanos >= latency_monitor_->threshold_ns()) [[unlikely]]
      latency_monitor_->Note(LatencyEvent::kExpireCycle, now_.unix_s(), nanos);
  }
  ServeWaiters();  // keys that were found expired are noted too
  return spent >= kTimersPerTurn;
}

int64_t Engine::NextWork() const {
  const bool at_once = !to_send_.empty() || !carried_.empty() || waiters_.any_ready() ||
                       limits_->any_ready() || locks_->pending() ||
                       (locks_->has_left_over() && pause_.mode() == Pause::Mode::kNone);
  return at_once ? now_.ms() : wheel_.NextWork();
}

// Reading the CPU's clock is a system call. A turn that was short by the cheap clock is counted
// with that time, which CPU time cannot exceed; the CPU's clock is read for long ones, and often
// enough that what lies between two readings is no more than kCpuReadEveryNanos.
void Engine::EndTurn(int64_t begin) {
  tracking_->Broadcast();
  do {
    SendAll();
    CloseAll();
    tracking_->Broadcast();
  } while (!to_send_.empty());  // the locks of those that were closed may be others' now
  assert(AuditAttention().empty());
  assert(statistics_.turns % kTurnsPerAudit != 0 || Audit().empty());
  ++statistics_.turns;
  const int64_t wall_us = (Tick() - begin) / 1000;
  if (tick_ - cpu_read_tick_ < kCpuReadEveryNanos) return statistics_.turn_cpu_us.Record(wall_us);
  const int64_t cpu_us = clock_.CpuMicros();
  statistics_.turn_cpu_us.Record(std::min(wall_us, cpu_us - cpu_us_));
  cpu_us_ = cpu_us;
  cpu_read_tick_ = tick_;
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

void Engine::Push(Session& session, std::initializer_list<std::string_view> pieces) {
  if (session.close != CloseMode::kOpen) return;
  if (!session.executing) [[likely]] {
    for (const std::string_view piece : pieces) session.output.Append(piece);
    return QueueSend(session);
  }
  std::string& held = session.executing->pushes;
  for (const std::string_view piece : pieces) held.append(piece);
  const uint64_t limit = OutputLimitOf(session).hard_bytes;
  if (limit == 0 || held.size() <= limit) return;
  CloseOverOutputLimit(session);
  QueueSend(session);
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

// Who watches all commands is sent more than it asks for, as who subscribes. A stranger gets
// little.
const OutputLimit& Engine::OutputLimitOf(const Session& session) const {
  static constexpr OutputLimit kBeforeLogin{.hard_bytes = kReplyBytesBeforeLoginMax};
  if (session.conditions & kNeedsLogin) return kBeforeLogin;
  const bool is_sent_pushes = session.subscribes() || (session.conditions & kMonitor);
  return is_sent_pushes ? settings().output_pubsub : settings().output_normal;
}

// The buffer itself holds to the hard limit, in the middle of a command too. A stranger's is looked
// at when it has been sent what it takes: the errors to a long pipeline are no offence.
void Engine::LimitOutput(Session& session) {
  const bool is_stranger = session.conditions & kNeedsLogin;
  session.output.set_limit(is_stranger ? kTurnReplyBytesBeforeLoginMax
                                       : OutputLimitOf(session).hard_bytes);
}

// Hard limit at once, soft limit when it has been exceeded for so long without a pause.
void Engine::CheckOutputLimit(Session& session) {
  if (session.close == CloseMode::kNow) return;
  const OutputLimit& limit = OutputLimitOf(session);
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
  if (soft_over || hard_over) CloseOverOutputLimit(session);
}

// Nothing that waits for it is sent any more. It goes with the next sending: see to QueueSend.
void Engine::CloseOverOutputLimit(Session& session) {
  if (session.close == CloseMode::kNow) return;
  ++statistics_.output_limit_closed;
  host_.Log(3, Concat("closing client id ", session.client_id,
                      ": too many replies wait for it (client-output-buffer-limit)"));
  session.output.Clear();
  session.close = CloseMode::kNow;
}

}  // namespace sluice
