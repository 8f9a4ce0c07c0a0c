// See turn_loop.h.
#include "server/engine/turn_loop.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "absl/base/attributes.h"
#include "absl/cleanup/cleanup.h"
#include "protocol/text/concat.h"
#include "server/engine/assembly.h"

namespace sluice {
namespace {

// A turn stops taking new batches after this long, so that no client waits for it.
constexpr int64_t kTurnBudgetNanos = 400'000;
constexpr int64_t kCpuReadEveryNanos = 250'000;
// Timers fired or moved in one turn: some 50 µs.
constexpr size_t kTimersPerTurn = 256;
// Freeing takes so long a turn, or half as long as its requests took: what they can delete in a
// turn they have to have made before, at a higher price, so garbage does not pile up. A few big
// values are no pile: for them no turn takes longer than kLongTurnNanos.
constexpr int64_t kFreeingNanos = 200'000;
constexpr int64_t kLongTurnNanos = 1'000'000;
constexpr size_t kPile = 4;  // values and entries
// At the end of a crowd's freeing every piece may empty a page, and returning that takes 5 µs.
constexpr size_t kFreedPerSlice = 32;
constexpr int kFreeingSlicesMax = 512;  // for clocks that stand still
constexpr size_t kRearmedPerTurn = 512;
// A load that is made to be slow is looked at so often at least: its master is kept awake.
constexpr int64_t kLoadingMs = 100;
// The build that asserts looks at every client once in so many turns.
[[maybe_unused]] constexpr uint64_t kTurnsPerAudit = 1024;

}  // namespace

TurnLoop::TurnLoop(Assembly& parts)
    : on_(parts),
      batch_(parts.settings(), parts.commands, parts.keyspace),
      names_(parts.commands) {}

void TurnLoop::PassMoment() {
  assert(on_.inputs.list.empty() && !on_.current_client.current() &&
         !on_.current_client.serving_from_within());
  on_.RefreshNow();
  if (on_.clock.now().ms() == looked_for_work_ms_) [[likely]]
    return;
  looked_for_work_ms_ = on_.clock.now().ms();
  if (NextWork() <= looked_for_work_ms_) RunTurn();
}

// Inlined where requests run, one after another: saving registers would be a fiftieth of a GET.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline RequestOutcome TurnLoop::Execute(Session& session, Args args,
                                                                     const Command* command,
                                                                     const HashedKey& key) {
  const ReplyMode reply_mode = session.reply_mode;
  if (reply_mode != ReplyMode::kOn) [[unlikely]] {
    if (reply_mode == ReplyMode::kSkipping) session.reply_mode = ReplyMode::kOn;
    if (reply_mode == ReplyMode::kSkipNext) session.reply_mode = ReplyMode::kSkipping;
  }
  RequestOutcome outcome;
  {
    const CurrentClient::As client(on_.current_client, session);
    outcome = on_.dispatcher.Execute(session, args, command, key);
    if (outcome == RequestOutcome::kHeld) [[unlikely]]
      session.reply_mode = reply_mode;
    if (on_.flags.Raised(SlowPathFlags::kServe) && !on_.current_client.serving_from_within())
        [[unlikely]] {
      ServeWaiters();
      on_.command_timer.Skip();
    }
  }
  if (on_.replicas.stream().is_open()) [[unlikely]] {
    session.stream_seen = on_.replicas.stream().told();
    if (on_.grant_promise.is_on() && !on_.current_client.serving_from_within())
      on_.grant_promise.CommandDone(session, command ? command->spec : nullptr,
                                    session.stream_seen);
  }
  if (session.tracks() || on_.flags.Raised(SlowPathFlags::kPending)) [[unlikely]]
    on_.tracking.CommandDone(session);
  if (session.output.overflowed()) [[unlikely]] {
    on_.clients.CheckOutputLimit(session);
    on_.clients.QueueSend(session);
  }
  if (!session.queued_to_send && !session.output.empty()) on_.clients.QueueSend(session);
  return outcome;
}

// No bytes and no batch; timers only where some are due.
std::optional<RequestOutcome> TurnLoop::RunNow(SessionId id, Args args) {
  assert(!args.empty());
  PassMoment();
  Session* const found = on_.clients.Find(id);
  if (!found) [[unlikely]]
    return std::nullopt;
  Session& session = *found;
  assert(!session.blocked && !session.paused);
  const int64_t begin = on_.clock.Tick();
  on_.limit_waiters.BeginTurn();
  if (on_.memory_limit.is_set()) [[unlikely]]
    BeginMemory();
  if (on_.request_watch) [[unlikely]]
    on_.request_watch->BeginTurn();
  const RequestOutcome outcome = Execute(session, args, names_.Find(args[0]), {});
  on_.command_timer.EndRun();
  on_.pause.Ran(session);
  if (on_.turn_gate.is_on() || on_.log.is_on() || on_.clients.any_to_send() ||
      on_.tracking.clients() > 0) [[unlikely]] {
    EndTurn(begin);
  } else {
    on_.locks
        .BetweenTurns();  // nobody else hears of it, and it was too short to be counted as a turn
  }
  return outcome;
}

Session* TurnLoop::DirectSession(SessionId id) {
  PassMoment();
  Session* const session = on_.clients.Find(id);
  if (!session || session->conditions != 0 || session->blocked || session->paused ||
      session->close != CloseMode::kOpen || session->reply_mode != ReplyMode::kOn)
    return nullptr;
  const bool anybody_hears = on_.flags.AnyRaised() || on_.turn_gate.is_on() ||
                             on_.effects.wanted() || on_.settings().notify_classes != 0 ||
                             on_.settings().sluice_expired_value;
  if (on_.memory_limit.is_set()) return nullptr;  // it may have to make room
  return anybody_hears ? nullptr : session;
}

bool TurnLoop::has_left_over() const {
  return AnyToServe() || on_.keyspace.waiting_to_be_freed() > 0 || on_.clients.any_requeued() ||
         (on_.locks.has_left_over() && !on_.standstill.keeps_leases()) || on_.snapshots.busy() ||
         on_.log.loading();
}

// The order of a turn: due timers fire, requests run, garbage is freed (of which locks hear), and
// only then do locks end the leases that were over when the requests were read: so a RENEW that had
// been sent in time counts. Then come slices of what runs in the background, and the answers leave.
bool TurnLoop::RunTurn() {
  if (on_.current_client.serving_from_within()) return RunNestedTurn();
  assert(!on_.current_client.current());  // a turn inside a command is Yield' to begin
  on_.RefreshNow();
  on_.locks.BetweenTurns();
  const int64_t begin = on_.clock.Tick();
  const bool crowded = crowded_;
  if (crowded) [[unlikely]]
    on_.host.process().ReturnFreedAtOnce(true);
  on_.limit_waiters.BeginTurn();
  if (on_.memory_limit.is_set()) [[unlikely]]
    BeginMemory();
  if (on_.request_watch) [[unlikely]]
    on_.request_watch->BeginTurn();
  if (on_.log.loading()) [[unlikely]]
    on_.LoadLog();
  const bool is_loading = on_.log.loading();
  const uint64_t commands = on_.statistics.commands;
  const int64_t read_ms = on_.clock.now().ms();
  const bool travels = !is_loading && on_.time_control && on_.time_control->travels();
  const bool timers_left = is_loading || (travels ? PassTime(begin) : RunTimers());
  if (on_.clients.any_requeued()) [[unlikely]]
    TakeRequeued();
  RunInputs(begin);
  const bool evictions_left = on_.memory_limit.Continue();
  // Locks hear of it, when their holders go.
  const bool freed = on_.keyspace.waiting_to_be_freed() > 0 && FreeGarbage(begin);
  on_.pause.TurnEnded();
  const bool locks_left = !is_loading && on_.locks.Continue(read_ms);
  const bool rearm_left = on_.keyspace.RearmSlice(on_.clock.now(), kRearmedPerTurn);
  const bool tracked_left = on_.tracking.LimitSlice();
  const bool snapshot_left =
      on_.snapshots.busy() && on_.snapshots.Slice(/*quiet=*/on_.statistics.commands == commands);
  EndTurn(begin);
  if (crowded || freed) [[unlikely]]
    on_.host.process().ReturnFreedAtOnce(false);
  crowded_ = locks_left || on_.limit_waiters.any_ready() || on_.keyspace.waiting_to_be_freed() > 0;
  return crowded_ || timers_left || evictions_left || rearm_left || tracked_left || snapshot_left ||
         on_.clients.any_requeued() || (on_.time_control && on_.time_control->travels()) ||
         (on_.request_watch && on_.request_watch->any_to_send());
}

// Memory of all but the keyspace is counted once a turn.
void TurnLoop::BeginMemory() { on_.memory_limit.BeginTurn(on_.facts.CountedBesideKeys()); }

// As Redis: however little was asked for, some 128 KB are needed to be able to talk. A client that
// holds locks by its connection goes last: others' safety hangs on it.
void TurnLoop::EvictClients() {
  if (on_.client_bytes_max == 0) [[likely]]
    return;
  on_.clients.EvictAbove(
      on_.client_bytes_max,
      [this](const Session& session) { return on_.locks.HoldsBySession(session); },
      [this](const Session& session) { return on_.client_lines.Describe(session, {}); });
}

bool TurnLoop::FreeGarbage(int64_t turn_begin) {
  const size_t waiting = on_.keyspace.waiting_to_be_freed();
  if (waiting == 0) [[likely]]
    return false;
  on_.host.process().ReturnFreedAtOnce(true);  // by the turn's end; it may be the first that frees
  const int64_t begin = on_.clock.Tick();
  // By the CPU's clock: a turn that was kept off the processor took long and made nothing.
  int64_t took = begin - turn_begin;
  const int64_t cpu_us = took > 2 * kFreeingNanos ? on_.clock.clock().CpuMicros() : 0;
  if (cpu_us > 0) took = std::min(took, (cpu_us - cpu_us_) * 1000);
  const int64_t budget = waiting > kPile ? std::max(kFreeingNanos, took / 2)
                                         : std::min(kFreeingNanos, kLongTurnNanos - took);
  bool is_left = on_.keyspace.FreeSlice(kFreedPerSlice);
  for (int i = 1; is_left && i < kFreeingSlicesMax && on_.clock.Tick() - begin < budget; ++i) {
    is_left = on_.keyspace.FreeSlice(kFreedPerSlice);
  }
  on_.statistics.freed_lazily += waiting - on_.keyspace.waiting_to_be_freed();
  return true;
}

void TurnLoop::TakeRequeued() {
  if (!on_.clients.any_requeued()) return;
  std::vector<Input>& inputs = on_.inputs.list;
  const auto received = static_cast<ptrdiff_t>(inputs.size());
  for (const SessionId id : on_.clients.TakeRequeued()) {
    Session* session = on_.clients.Find(id);
    if (!session) continue;
    assert(session->requeued);
    session->requeued = false;
    if (session->is_raw && IsTakenByLink(*session)) [[unlikely]]
      continue;
    if (session->pending.empty() || session->blocked || session->paused) continue;
    const std::string_view window = session->pending.view();
    inputs.push_back({.session = session, .window = window, .from_pending = true});
  }
  std::rotate(inputs.begin(), inputs.begin() + received, inputs.end());
}

// Whether what came on a link is none of the parser's. Inside a command it waits for the turn
// around, as a link may change what that command is about.
bool TurnLoop::IsTakenByLink(Session& session) {
  if (on_.current_client.serving_from_within()) {
    on_.clients.Requeue(session);
  } else {
    on_.links.Give(session);
  }
  return session.is_raw;
}

// Batch by batch until the inputs or the time are used up; the rest is requeued to the next turn.
void TurnLoop::RunInputs(int64_t turn_begin) {
  std::vector<Input>& inputs = on_.inputs.list;
  size_t at = 0;
  while (at < inputs.size() && batch_.Parse(inputs, at)) {
    batch_.Prefetch();
    RunBatch();
    // The last command's end is near enough.
    if (on_.clock.tick() - turn_begin > kTurnBudgetNanos || on_.memory_limit.has_spent_turn()) {
      // A session that got no share of this turn is first in the next.
      std::stable_partition(inputs.begin(), inputs.end(),
                            [](const Input& input) { return input.position == 0; });
      break;
    }
  }
  for (Input& input : on_.inputs.list) {
    if (input.session) KeepRest(input);
  }
  inputs.clear();
}

void TurnLoop::RunBatch() {
  on_.clock.Tick();  // timers and parsing are not the first command's time
  for (const Batch::Request& request : batch_.requests()) {
    Input& input = on_.inputs.list[request.input];
    if (input.stopped) continue;
    if (RunRequest(*input.session, request)) {
      input.position = request.broken ? input.window.size() : request.end;
    } else {
      input.stopped = true;
    }
  }
  on_.command_timer.EndRun();
  const uint32_t last = batch_.requests().back().input;
  for (uint32_t input = batch_.requests().front().input; input <= last; ++input) {
    if (Session* session = on_.inputs.list[input].session) session->parser.ReleaseInline();
  }
}

// False: it has to wait, with all behind it.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool TurnLoop::RunRequest(Session& session,
                                                              const Batch::Request& request) {
  if (session.close != CloseMode::kOpen || session.blocked || session.paused) [[unlikely]]
    return false;
  if (session.kind == SessionKind::kMasterLink) [[unlikely]]
    return PlayRequest(session, request);
  if (request.arguments > 0) [[likely]] {
    batch_.Suggest(request);
    return Execute(session, batch_.ArgsOf(request), request.command, request.key) !=
           RequestOutcome::kHeld;
  }
  request.broken ? ProtocolError(session) : on_.replicas.HeardEmptyLine(session);
  return true;
}

// A request that the link to a master has brought. Inside a command it waits: it may change what
// that one is about.
bool TurnLoop::PlayRequest(Session& session, const Batch::Request& request) {
  if (on_.current_client.serving_from_within()) return false;
  if (request.broken) return on_.following.ProtocolError(session.parser.error()), true;
  const Input& input = on_.inputs.list[request.input];
  const std::string_view bytes = input.window.substr(input.position, request.end - input.position);
  batch_.Suggest(request);
  const CurrentClient::As client(on_.current_client, session);
  const bool is_played = on_.following.Play(session, batch_.ArgsOf(request), bytes);
  if (on_.flags.Raised(SlowPathFlags::kServe)) [[unlikely]]
    ServeWaiters();
  if (on_.flags.Raised(SlowPathFlags::kPending)) [[unlikely]]
    on_.tracking.CommandDone(session);
  return is_played;
}

// Leaves the part of an input that has not been run with its session.
void TurnLoop::KeepRest(Input& input) {
  Session& session = *input.session;
  session.received = false;
  if (!session.queued_to_send) session.output.GiveBack(on_.clients.spare_blocks());
  const bool is_run = input.position == input.window.size() && !input.stopped;
  if (is_run && !input.from_pending && session.close == CloseMode::kOpen) [[likely]]
    return on_.clients.Account(session);
  const absl::Cleanup account = [this, &session] { on_.clients.Account(session); };
  if (input.stopped) session.parser.Reset();  // it had read beyond what is kept
  if (session.close != CloseMode::kOpen) {
    session.pending.Clear();
  } else if (!input.from_pending) {
    session.pending.Assign(input.window.substr(input.position));
  } else {
    session.pending.Ran(input.position);  // what has become a value (TakeArgument) is not there
  }
  if (!session.pending.empty() && !input.starved && !session.blocked && !session.paused) {
    on_.clients.Requeue(session);
  }
}

// Each may give the other something to do.
void TurnLoop::ServeWaiters() {
  do {
    if (on_.locks.pending()) on_.locks.CatchUp();
    if (on_.waiters.any_ready()) on_.waiters.ServeReady();
    if (on_.limit_waiters.any_ready()) on_.limit_waiters.ServeReady();
  } while (on_.locks.pending() || on_.waiters.any_ready());
  if (!on_.limit_waiters.any_ready()) on_.flags.Lower(SlowPathFlags::kServe);
}

void TurnLoop::ProtocolError(Session& session) {
  on_.clients.SinkOf(session).Error(Concat("ERR ", session.parser.error()));
  on_.clients.Close(session, CloseMode::kAfterReply);
}

bool TurnLoop::RunTimers() {
  const int64_t now_ms = on_.clock.now().ms();
  const bool is_left = !on_.wheel.Passes(now_ms) && FireTimers(now_ms);
  if (on_.flags.Raised(SlowPathFlags::kServe)) [[unlikely]]
    ServeWaiters();  // keys that were found expired are noted too
  return is_left;
}

bool TurnLoop::FireTimers(int64_t now_ms) {
  const int64_t begin = on_.clock.tick();
  const size_t spent = on_.wheel.Advance(now_ms, kTimersPerTurn, [this](TimerNode& node) {
    ++timers_fired_;
    if (node.kind() == TimerKind::kEntry) return on_.keyspace.TimerFired(node, on_.clock.now());
    if (node.kind() == TimerKind::kValue)
      return on_.keyspace.ValueTimerFired(node, on_.clock.now());
    if (node.kind() == TimerKind::kLease) return on_.locks.LeaseTimerFired(node);
    TimerTask& task = reinterpret_cast<TimerTask&>(node);
    task.fired(task);
  });
  if (spent > 0) {
    const int64_t nanos = on_.clock.Tick() - begin;
    on_.statistics.expiry_ns += nanos;
    if (nanos >= on_.latency_monitor.threshold_ns()) [[unlikely]]
      on_.latency_monitor.Note(LatencyEvent::kExpireCycle, on_.clock.now().unix_s(), nanos);
  }
  return spent >= kTimersPerTurn;
}

// A slice of a journey: from moment to moment, each settled before the next one. True: there is
// more of it, or something is left at this moment.
bool TurnLoop::PassTime(int64_t turn_begin) {
  while (!SettleMoment(turn_begin)) {
    if (on_.time_control->Step(timers_fired_)) {
      on_.RefreshNow();
    } else if (!on_.time_control->travels()) {
      return false;
    }
    if (on_.clock.Tick() - turn_begin > kTurnBudgetNanos) return true;
  }
  return true;
}

// Does the work of this moment in a turn without requests; true when some is left to be done before
// the time may go on.
bool TurnLoop::SettleMoment(int64_t turn_begin) {
  const bool timers_left = RunTimers();
  FreeGarbage(turn_begin);
  const bool locks_left = on_.locks.Continue(on_.clock.now().ms());
  const bool rearm_left = on_.keyspace.RearmSlice(on_.clock.now(), kRearmedPerTurn);
  return timers_left || locks_left || rearm_left || on_.pause.is_resuming() ||
         on_.limit_waiters.any_ready() || on_.keyspace.waiting_to_be_freed() > 0;
}

// The flag is raised where any of them is.
bool TurnLoop::AnyToServe() const {
  return on_.flags.Raised(SlowPathFlags::kServe) &&
         (on_.waiters.any_ready() || on_.locks.pending() || on_.limit_waiters.any_ready());
}

int64_t TurnLoop::NextWork() const {
  const bool at_once =
      AnyToServe() || on_.clients.any_to_send() || on_.clients.any_requeued() ||
      on_.turn_waits.any_met() || (on_.request_watch && on_.request_watch->any_to_send()) ||
      (on_.locks.has_left_over() && !on_.standstill.keeps_leases()) || on_.pause.is_resuming() ||
      (on_.replicas.count() > 0 && on_.replicas.any_to_feed());
  if (at_once || (on_.time_control && on_.time_control->travels())) return on_.clock.now().ms();
  // No timer fires meanwhile.
  if (on_.log.loading())
    return std::clamp(on_.log.NextSlice(), on_.clock.now().ms(), on_.clock.now().ms() + kLoadingMs);
  return std::min(on_.wheel.NextWork(), on_.snapshots.NextWork());
}

// Reading the CPU's clock is a system call. A turn that was short by the cheap clock is counted
// with that time, which CPU time cannot exceed; the CPU's clock is read for long ones, and often
// enough that what lies between two readings is no more than kCpuReadEveryNanos.
void TurnLoop::EndTurn(int64_t begin) {
  on_.tracking.Broadcast();
  do {
    NumberTurn();
    on_.clients.SendAll();
    CloseAll();
    EvictClients();  // by what is left when all has been sent that can be
    on_.tracking.Broadcast();
  } while (on_.clients.any_to_send());  // the locks of those that were closed may be others' now
  NumberTurn();
  on_.own_deadlines.EndTurn();
  on_.snapshots.EndTurn();
  on_.graceful_end.EndTurn();
  assert(on_.AuditFlags().empty());
  assert(on_.statistics.turns % kTurnsPerAudit != 0 || on_.Audit().empty());
  on_.locks.BetweenTurns();
  ++on_.statistics.turns;
  const int64_t wall_us = (on_.clock.Tick() - begin) / 1000;
  if (const uint64_t handed_over = on_.locks.counts().hand_overs; handed_over != handed_over_)
      [[unlikely]] {
    on_.statistics.hand_over_us.Record(wall_us, handed_over - handed_over_);
    handed_over_ = handed_over;
  }
  if (on_.clock.tick() - cpu_read_tick_ < kCpuReadEveryNanos)
    return on_.statistics.turn_cpu_us.Record(wall_us);
  const int64_t cpu_us = on_.clock.clock().CpuMicros();
  on_.statistics.turn_cpu_us.Record(std::min(wall_us, cpu_us - cpu_us_));
  cpu_us_ = cpu_us;
  cpu_read_tick_ = on_.clock.tick();
}

// Before outputs are sent: they wait for what promises make of the turn.
void TurnLoop::NumberTurn() {
  on_.failover.Look();
  on_.following.EndTurn();
  on_.replicas.EndTurn();
  on_.turn_gate.EndTurn();
  on_.grant_promise.Settle(on_.replicas.stream().told(), on_.current_client.serving_from_within());
  on_.locks.AnswerKept();
  on_.log.EndTurn();
  on_.turn_waits.Settle();
}

// A client whose command runs around this turn cannot be dropped yet: it goes when that has ended.
void TurnLoop::CloseAll() {
  if (!on_.clients.any_closed()) [[likely]]
    return;
  for (const SessionId id : on_.clients.TakeClosed()) {
    if (!on_.clients.Find(id)) continue;
    if (!on_.current_client.MayTouch(id)) {
      on_.clients.CloseLater(id);
      continue;
    }
    on_.Drop(id);
    on_.host.Closed(id);
  }
}

void TurnLoop::Sent(SessionId id) {
  Session* const session = on_.clients.Find(id);
  if (!session || !on_.clients.Sent(*session)) return;
  on_.Drop(id);
  on_.host.Closed(id);
}

}  // namespace sluice
