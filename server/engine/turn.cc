// A turn of the engine: what came in is run in batches, due timers fire, what was answered is
// handed to the host; and the turns inside a turn that serve others while a script is slow.
//
// Each step has a bound of its own: 400 µs of requests, 256 timers, 200 µs of freeing, slices of
// the rest. What is left over is RunTurn's answer, and the host comes again at once.
#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "protocol/text/concat.h"
#include "protocol/text/same_bytes.h"
#include "server/engine/engine.h"

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
// Of a request as long as that, the rest is read to where it belongs (as Redis), a piece a turn: as
// much as there is already, between these bounds. Pieces of 64 KiB wake the loop and acknowledge so
// often that a SET of 400 MB took 1.4 times the CPU; one of 512 KiB takes about 0.4 ms to read.
constexpr size_t kReadInPlaceAt = 32 * 1024;
constexpr size_t kReadInPlaceMin = 64 * 1024;
constexpr size_t kReadInPlaceMax = 512 * 1024;
// The build that asserts looks at every client once in so many turns.
[[maybe_unused]] constexpr uint64_t kTurnsPerAudit = 1024;

}  // namespace

// Bytes of a session that may run become an input of this turn, as they lie in the host's buffer. A
// session with older bytes, or one that has to wait, has them copied behind those.
void Engine::Receive(SessionId id, std::string_view bytes) {
  Session* session = Find(id);
  if (!session || session->close != CloseMode::kOpen || bytes.empty()) return;
  CountReceived(*session, bytes.size());
  if (session->received) KeepReceived(*session);
  // Inside a command the inputs belong to the turn around it.
  const bool may_run = !session->blocked && !session->paused;
  if (session->pending.empty() && may_run && !acting_.serving_from_within()) {
    inputs_.list.push_back({.session = session, .window = bytes});
    session->received = true;
    return;
  }
  session->pending.ReserveClosely(session->pending.size() + bytes.size());
  session->pending.Append(bytes);
  if (session->pending.size() > clients_.QueryBytesMax(*session)) {
    return clients_.CloseOverQueryLimit(*session);
  }
  if (may_run) clients_.Carry(*session);
}

std::span<char> Engine::RoomFor(SessionId id) {
  Session* session = Find(id);
  if (!session || session->close != CloseMode::kOpen) return {};
  if (session->blocked || session->paused) return {};
  const size_t wanted = session->parser.bytes_wanted();
  const size_t there = session->pending.size() - session->pending_start;
  if (session->received || wanted < kReadInPlaceAt || wanted <= there) return {};
  // Growing moves pages, which has its price too. So as much room is made as there are bytes
  // already: a client that announces much and sends little takes little.
  const size_t believed = std::min(wanted - there, std::max(there, kReadInPlaceMin));
  return session->pending.Room(std::min(believed, kReadInPlaceMax), believed);
}

void Engine::ReceiveInPlace(SessionId id, size_t bytes) {
  if (bytes == 0) return;
  Session& session = *Find(id);
  CountReceived(session, bytes);
  session.pending.Lengthen(bytes);
  if (session.pending.size() > clients_.QueryBytesMax(session)) {
    return clients_.CloseOverQueryLimit(session);
  }
  clients_.Carry(session);
}

void Engine::CountReceived(Session& session, size_t bytes) {
  statistics_.bytes_in += bytes;
  session.bytes_in += bytes;
  session.active_ms = clock_.now().ms();
}

// A second piece in one turn: a request may lie across both, so they have to lie together.
void Engine::KeepReceived(Session& session) {
  const auto first = std::ranges::find(inputs_.list, &session, &Input::session);
  session.pending.Assign(first->window);
  session.received = false;
  inputs_.list.erase(first);
}

// What a command leaves to be done at once is not found here, but by has_left_over.
void Engine::PassMoment() {
  assert(inputs_.list.empty() && !acting_.current() && !acting_.serving_from_within());
  RefreshNow();
  if (clock_.now().ms() == looked_for_work_ms_) [[likely]]
    return;
  looked_for_work_ms_ = clock_.now().ms();
  if (NextWork() <= looked_for_work_ms_) RunTurn();
}

// No bytes and no batch; timers only where some are due.
std::optional<Dispatcher::Outcome> Engine::RunNow(SessionId id, Args args) {
  assert(!args.empty());
  PassMoment();
  Session* const found = Find(id);
  if (!found) [[unlikely]]
    return std::nullopt;
  Session& session = *found;
  assert(!session.blocked && !session.paused);
  const int64_t begin = clock_.Tick();
  limits_.BeginTurn();
  BeginMemory();
  if (request_watch_) [[unlikely]]
    request_watch_->BeginTurn();
  const Dispatcher::Outcome outcome = Execute(session, args, LookDirectly(args[0]), {});
  command_timer_.EndRun();
  if (pause_.StandsStill()) [[unlikely]]
    pause_.Ran(session);
  if (log_.is_on() || clients_.any_to_send() || tracking_.clients() > 0) [[unlikely]] {
    EndTurn(begin);
  } else {
    locks_.BetweenTurns();  // nobody else hears of it, and it was too short to be counted as a turn
  }
  return outcome;
}

Session* Engine::DirectSession(SessionId id) {
  PassMoment();
  Session* const session = Find(id);
  if (!session || session->conditions != 0 || session->blocked || session->paused ||
      session->close != CloseMode::kOpen || session->reply_mode != ReplyMode::kOn)
    return nullptr;
  const bool anybody_hears =
      flags_.AnyRaised() || effects_.wanted() || settings().notify_classes != 0;
  if (memory_limit_.is_set()) return nullptr;  // it may have to make room
  return anybody_hears ? nullptr : session;
}

// Programs say the same again, and spell it as it is spelled.
const Command* Engine::LookDirectly(std::string_view name) {
  if (!last_direct_ || !SameBytes(last_direct_->spec->name, name)) {
    last_direct_ = commands_.Find(name);
  }
  return last_direct_;
}

bool Engine::has_left_over() const {
  return waiters_.any_ready() || locks_.pending() || keyspace_.waiting_to_be_freed() > 0 ||
         clients_.any_carried() || limits_.any_ready() ||
         (locks_.has_left_over() && !pause_.StandsStill()) || snapshots_.busy() || log_.loading();
}

// The order of a turn: due timers fire, requests run, garbage is freed (of which locks hear), and
// only then do locks end the leases that were over when the requests were read: so a RENEW that had
// been sent in time counts. Then come slices of what runs in the background, and the answers leave.
bool Engine::RunTurn() {
  if (acting_.serving_from_within()) return RunNestedTurn();
  assert(!acting_.current());  // a turn inside a command is ServeOthers' to begin
  RefreshNow();
  locks_.BetweenTurns();
  const int64_t begin = clock_.Tick();
  const bool crowded =
      locks_.has_left_over() || limits_.any_ready() || keyspace_.waiting_to_be_freed() > 0;
  if (crowded) [[unlikely]]
    host_.ReturnFreedAtOnce(true);
  limits_.BeginTurn();
  BeginMemory();
  if (request_watch_) [[unlikely]]
    request_watch_->BeginTurn();
  if (log_.loading()) [[unlikely]]
    LoadLog();
  const bool is_loading = log_.loading();
  const uint64_t commands = statistics_.commands;
  const int64_t read_ms = clock_.now().ms();
  const bool travels = !is_loading && time_control_ && time_control_->travels();
  const bool timers_left = is_loading || (travels ? PassTime(begin) : RunTimers());
  TakeCarried();
  RunInputs(begin);
  const bool evictions_left = memory_limit_.Continue();
  const bool freed = FreeGarbage(begin);  // of which locks hear, when their holders go
  pause_.TurnEnded();
  const bool locks_left = !is_loading && locks_.Continue(read_ms);
  const bool rearm_left = keyspace_.RearmSlice(clock_.now(), kRearmedPerTurn);
  const bool tracked_left = tracking_.LimitSlice();
  const bool snapshot_left =
      snapshots_.busy() && snapshots_.Slice(/*quiet=*/statistics_.commands == commands);
  EndTurn(begin);
  if (crowded || freed) [[unlikely]]
    host_.ReturnFreedAtOnce(false);
  return timers_left || evictions_left || locks_left || keyspace_.waiting_to_be_freed() > 0 ||
         rearm_left || tracked_left || snapshot_left || clients_.any_carried() ||
         limits_.any_ready() || (time_control_ && time_control_->travels()) ||
         (request_watch_ && request_watch_->any_to_send());
}

// What all but the keyspace takes is counted once a turn.
void Engine::BeginMemory() {
  if (!memory_limit_.is_set()) [[likely]]
    return;
  memory_limit_.BeginTurn(facts_.MemoryBesideKeys() + clients_.accounted_bytes());
}

// As Redis: however little was asked for, some 128 KB are needed to be able to talk. A client that
// holds locks by its connection goes last: others' safety hangs on it.
void Engine::EvictClients() {
  if (client_bytes_max_ == 0) [[likely]]
    return;
  clients_.EvictAbove(
      client_bytes_max_, [this](const Session& session) { return locks_.HoldsBySession(session); },
      [this](const Session& session) { return client_lines_.Describe(session, {}); });
}

bool Engine::FreeGarbage(int64_t turn_begin) {
  const size_t waiting = keyspace_.waiting_to_be_freed();
  if (waiting == 0) [[likely]]
    return false;
  host_.ReturnFreedAtOnce(true);  // by the turn's end; it may be the first that frees
  const int64_t begin = clock_.Tick();
  // By the CPU's clock: a turn that was kept off the processor took long and made nothing.
  int64_t took = begin - turn_begin;
  const int64_t cpu_us = took > 2 * kFreeingNanos ? clock_.clock().CpuMicros() : 0;
  if (cpu_us > 0) took = std::min(took, (cpu_us - cpu_us_) * 1000);
  const int64_t budget = waiting > kPile ? std::max(kFreeingNanos, took / 2)
                                         : std::min(kFreeingNanos, kLongTurnNanos - took);
  bool is_left = keyspace_.FreeSlice(kFreedPerSlice);
  for (int i = 1; is_left && i < kFreeingSlicesMax && clock_.Tick() - begin < budget; ++i) {
    is_left = keyspace_.FreeSlice(kFreedPerSlice);
  }
  statistics_.freed_lazily += waiting - keyspace_.waiting_to_be_freed();
  return true;
}

// --- turns inside a command

void Engine::ServeOthers(Session& caller) {
  if (acting_.serving_from_within()) return;
  command_timer_.EndRun();
  {
    // A script in a log that DEBUG LOADAOF plays is no client: it runs inside that one's command.
    Session& around = acting_.current() ? *acting_.current() : caller;
    const Acting::Within within(acting_, around);
    const TurnClock::Going going(clock_);
    SetAside(around);
    host_.Poll();
  }
  clock_.Tick();
}

// What this turn still held of other clients' requests becomes their own again, so that they are
// answered now and not after the script.
void Engine::SetAside(Session& caller) {
  for (Input& input : inputs_.list) {
    if (!input.session || input.session == &caller) continue;
    Session& session = *input.session;
    const bool requests_left = input.position < input.parsed;
    if (requests_left) session.parser.Reset();  // it has read ahead of what has been run
    KeepRest(input);
    if (requests_left && !session.pending.empty() && !session.blocked && !session.paused) {
      clients_.Carry(session);
    }
    input.session = nullptr;
    input.stopped = true;
  }
}

// The inputs and the batch of the turn around it are laid aside and put back: the turn goes on when
// its command has ended.
bool Engine::RunNestedTurn() {
  std::vector<Input> outer_inputs = std::exchange(inputs_.list, {});
  Batch outer_batch = std::exchange(batch_, Batch(settings(), commands_, keyspace_));
  const int64_t begin = clock_.Tick();
  TakeCarried();
  RunInputs(begin);
  inputs_.list = std::move(outer_inputs);
  batch_ = std::move(outer_batch);
  tracking_.Broadcast();
  log_.EndTurn();
  clients_.SendAll();
  CloseAll();
  return clients_.any_carried();
}

// Sessions with unfinished business in `pending` take part in this turn, before newcomers.
void Engine::TakeCarried() {
  if (!clients_.any_carried()) return;
  std::vector<Input>& inputs = inputs_.list;
  const auto received = static_cast<ptrdiff_t>(inputs.size());
  for (const SessionId id : clients_.TakeCarried()) {
    Session* session = Find(id);
    if (!session) continue;
    assert(session->carried);
    session->carried = false;
    if (session->pending.empty() || session->blocked || session->paused) continue;
    const auto window = session->pending.view().substr(session->pending_start);
    inputs.push_back({.session = session, .window = window, .from_pending = true});
  }
  std::rotate(inputs.begin(), inputs.begin() + received, inputs.end());
}

// Batch by batch until the inputs or the time are used up; the rest is carried to the next turn.
void Engine::RunInputs(int64_t turn_begin) {
  std::vector<Input>& inputs = inputs_.list;
  size_t at = 0;
  while (at < inputs.size() && batch_.Parse(inputs, at)) {
    batch_.Prefetch(inputs);
    RunBatch();
    if (clock_.Tick() - turn_begin > kTurnBudgetNanos || memory_limit_.has_spent_turn()) {
      // A session that got no share of this turn is first in the next.
      std::stable_partition(inputs.begin(), inputs.end(),
                            [](const Input& input) { return input.position == 0; });
      break;
    }
  }
  for (Input& input : inputs_.list) {
    if (input.session) KeepRest(input);
  }
  inputs.clear();
}

void Engine::RunBatch() {
  clock_.Tick();  // timers and parsing are not the first command's time
  for (const Batch::Request& request : batch_.requests()) {
    Input& input = inputs_.list[request.input];
    if (input.stopped) continue;
    if (RunRequest(*input.session, request)) {
      input.position = request.broken ? input.window.size() : request.end;
    } else {
      input.stopped = true;
    }
  }
  command_timer_.EndRun();
  for (const Batch::Request& request : batch_.requests()) {
    if (Session* session = inputs_.list[request.input].session) session->parser.ReleaseInline();
  }
}

// False: it has to wait, with all behind it.
bool Engine::RunRequest(Session& session, const Batch::Request& request) {
  if (session.close != CloseMode::kOpen || session.blocked || session.paused) return false;
  if (request.broken) {
    ProtocolError(session);
  } else if (request.arguments > 0) {
    return Execute(session, batch_.ArgsOf(request), request.command, request.key) !=
           Dispatcher::Outcome::kHeld;
  }
  return true;
}

// What of an input has not been run stays with its session.
void Engine::KeepRest(Input& input) {
  Session& session = *input.session;
  session.received = false;
  const absl::Cleanup account = [this, &session] { clients_.Account(session); };
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
    clients_.Carry(session);
  }
}

Dispatcher::Outcome Engine::Execute(Session& session, Args args, const Command* command,
                                    HashedKey key) {
  const ReplyMode reply_mode = session.reply_mode;
  if (session.reply_mode == ReplyMode::kSkipping) session.reply_mode = ReplyMode::kOn;
  if (session.reply_mode == ReplyMode::kSkipNext) session.reply_mode = ReplyMode::kSkipping;
  Dispatcher::Outcome outcome;
  {
    const Acting::As client(acting_, session);
    outcome = dispatcher_.Execute(session, args, command, key);
    if (outcome == Dispatcher::Outcome::kHeld) session.reply_mode = reply_mode;
    if (flags_.Raised(RareFlags::kServe) && !acting_.serving_from_within()) [[unlikely]] {
      ServeWaiters();
      command_timer_.Skip();
    }
  }
  if (session.tracking || flags_.Raised(RareFlags::kPending)) [[unlikely]]
    tracking_.CommandDone(session);
  if (session.output.overflowed()) [[unlikely]] {
    clients_.CheckOutputLimit(session);
    clients_.QueueSend(session);
  }
  if (!session.output.empty() && !session.queued_to_send) clients_.QueueSend(session);
  return outcome;
}

// Each may give the other something to do.
void Engine::ServeWaiters() {
  do {
    if (locks_.pending()) locks_.CatchUp();
    if (waiters_.any_ready()) waiters_.ServeReady();
    if (limits_.any_ready()) limits_.ServeReady();
  } while (locks_.pending() || waiters_.any_ready());
  if (!limits_.any_ready()) flags_.Lower(RareFlags::kServe);
}

void Engine::ProtocolError(Session& session) {
  clients_.SinkOf(session).Error(Concat("ERR ", session.parser.error()));
  clients_.Close(session, CloseMode::kAfterReply);
}

bool Engine::RunTimers() {
  const int64_t now_ms = clock_.now().ms();
  const int64_t begin = clock_.tick();
  const size_t spent = wheel_.Advance(now_ms, kTimersPerTurn, [this](TimerNode& node) {
    ++timers_fired_;
    if (node.kind() == TimerKind::kEntry) return keyspace_.TimerFired(node, clock_.now());
    if (node.kind() == TimerKind::kValue) return keyspace_.ValueTimerFired(node, clock_.now());
    TimerTask& task = reinterpret_cast<TimerTask&>(node);
    task.fired(task);
  });
  if (spent > 0) {
    const int64_t nanos = clock_.Tick() - begin;
    statistics_.expiry_ns += nanos;
    if (nanos >= latency_monitor_.threshold_ns()) [[unlikely]]
      latency_monitor_.Note(LatencyEvent::kExpireCycle, clock_.now().unix_s(), nanos);
  }
  ServeWaiters();  // keys that were found expired are noted too
  return spent >= kTimersPerTurn;
}

// A slice of a journey: from moment to moment, each settled before the next one. True: there is
// more of it, or something is left at this moment.
bool Engine::PassTime(int64_t turn_begin) {
  while (!SettleMoment(turn_begin)) {
    if (time_control_->Step(timers_fired_)) {
      RefreshNow();
    } else if (!time_control_->travels()) {
      return false;
    }
    if (clock_.Tick() - turn_begin > kTurnBudgetNanos) return true;
  }
  return true;
}

// What a turn without requests does for the time; true when something is left to be done before it
// may go on.
bool Engine::SettleMoment(int64_t turn_begin) {
  const bool timers_left = RunTimers();
  FreeGarbage(turn_begin);
  const bool locks_left = locks_.Continue(clock_.now().ms());
  const bool rearm_left = keyspace_.RearmSlice(clock_.now(), kRearmedPerTurn);
  const bool requests_go_on = pause_.StandsStill() && !pause_.is_on();
  return timers_left || locks_left || rearm_left || requests_go_on || limits_.any_ready() ||
         keyspace_.waiting_to_be_freed() > 0;
}

int64_t Engine::NextWork() const {
  const bool at_once = log_.loading() || clients_.any_to_send() || clients_.any_carried() ||
                       waiters_.any_ready() || limits_.any_ready() || locks_.pending() ||
                       log_.any_synced() || (request_watch_ && request_watch_->any_to_send()) ||
                       (locks_.has_left_over() && !pause_.StandsStill()) ||
                       (pause_.StandsStill() && !pause_.is_on());
  if (time_control_ && time_control_->travels()) return clock_.now().ms();
  return at_once ? clock_.now().ms() : std::min(wheel_.NextWork(), snapshots_.NextWork());
}

// Reading the CPU's clock is a system call. A turn that was short by the cheap clock is counted
// with that time, which CPU time cannot exceed; the CPU's clock is read for long ones, and often
// enough that what lies between two readings is no more than kCpuReadEveryNanos.
void Engine::EndTurn(int64_t begin) {
  tracking_.Broadcast();
  do {
    log_.EndTurn();
    clients_.SendAll();
    CloseAll();
    EvictClients();  // by what is left when all has been sent that can be
    tracking_.Broadcast();
  } while (clients_.any_to_send());  // the locks of those that were closed may be others' now
  log_.EndTurn();
  assert(AuditFlags().empty());
  assert(statistics_.turns % kTurnsPerAudit != 0 || Audit().empty());
  locks_.BetweenTurns();
  ++statistics_.turns;
  const int64_t wall_us = (clock_.Tick() - begin) / 1000;
  if (const uint64_t handed_over = locks_.counts().hand_overs; handed_over != handed_over_)
      [[unlikely]] {
    statistics_.hand_over_us.Record(wall_us, handed_over - handed_over_);
    handed_over_ = handed_over;
  }
  if (clock_.tick() - cpu_read_tick_ < kCpuReadEveryNanos)
    return statistics_.turn_cpu_us.Record(wall_us);
  const int64_t cpu_us = clock_.clock().CpuMicros();
  statistics_.turn_cpu_us.Record(std::min(wall_us, cpu_us - cpu_us_));
  cpu_us_ = cpu_us;
  cpu_read_tick_ = clock_.tick();
}

// A client whose command runs around this turn cannot be dropped yet: it goes when that has ended.
void Engine::CloseAll() {
  for (const SessionId id : clients_.TakeClosed()) {
    if (!Find(id)) continue;
    if (!MayTouch(id)) {
      clients_.CloseLater(id);
      continue;
    }
    Drop(id);
    host_.Closed(id);
  }
}

bool Engine::HasBacklog(SessionId id) const {
  const Session* session = Find(id);
  return session && session->carried;
}

void Engine::Sent(SessionId id) {
  Session* const session = Find(id);
  if (!session || !clients_.Sent(*session)) return;
  Drop(id);
  host_.Closed(id);
}

}  // namespace sluice
