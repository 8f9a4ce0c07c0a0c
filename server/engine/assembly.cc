// See engine.h. Here: making the parts (what each is given: engine_parts.cc; which options they are
// told of: engine_options.cc), sessions that end, what happens once a second, and what the keyspace
// tells.
//
// Drop is the one place that forgets a session: every part that keeps something of it is told
// there. KeyTouched is on the way of every write and costs one test while no part listens.
#include "server/engine/assembly.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "protocol/text/concat.h"
#include "server/dispatch/effects/change_audit.h"
#include "server/engine/hash_field_expiry.h"

namespace sluice {
namespace {

// The wheel may be ahead of the time by so much, as it takes O(timers) to turn it back, and a
// follower's time is corrected every few seconds. Meanwhile some timers fire so much early.
constexpr int64_t kWheelAheadMsMax = 50;

// Where all comes from the seed, one seed is to be one run.
TableKey MasterKey(const EngineOptions& options) {
  if (options.hash_key) return TableKey(*options.hash_key);
  return HashKeys(TableKey({options.seed}, true)).Next();
}

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

Assembly::Assembly(Config& configuration, Clock& machine_clock, Host& its_host,
                   const CommandTable& table, EngineOptions chosen, Yielder& how_to_yield)
    : config(configuration),
      host(its_host),
      options(std::move(chosen)),
      yielder(how_to_yield),
      clock(machine_clock),
      hash_keys(MasterKey(options)),
      random(options.seed),
      run_id(HexDigits(random, 40)),
      wheel(clock.now().ms()),
      clients(config.settings(), host, clock, statistics),
      locks(ForLocks(), hash_keys),
      keyspace(static_cast<int>(config.settings().databases), hash_keys.Next(), wheel, *this),
      commands(table),
      users(table.catalogue()),
      command_counts(table.count()),
      watches(keyspace, clock, flags, hash_keys.Next()),
      pubsub(clients, hash_keys),
      notifications(config.settings().notify_classes, pubsub),
      tracking(config.settings(), clients, current_client, flags, hash_keys),
      monitors(config.settings(), clients, clock, flags),
      memory_limit(parts),
      pause(clients, standstill, timers, clock, flags),
      snapshot_barrier(clients, keyspace, flags),
      command_timer(config.settings(), clock, command_counts, slow_log, latency_monitor),
      client_lines(inputs, clock),
      access_gate(commands, access_log, clock, script_state, client_lines),
      dispatcher(ForDispatcher()),
      blocked_clients(ForBlockedClients()),
      access(ForAccess()),
      waiters(ForWaiters(), hash_keys),
      scripts(ForScripts(), hash_keys),
      limit_waiters(ForLimitWaiters(), hash_keys),
      key_listeners(flags),
      snapshots(ForSnapshots()),
      log(ForLog()),
      replicas(ForReplicas()),
      facts(options, run_id, clock.now().ms(), keyspace, clients, wheel, ForMemoryAccounts()) {
  if (options.movable_clock) {
    time_control =
        std::make_unique<TimeControl>(TimeControl::Uses{.movable = *options.movable_clock,
                                                        .clock = clock,
                                                        .wheel = wheel,
                                                        .blocked_clients = blocked_clients,
                                                        .clients = clients});
    request_watch = std::make_unique<RequestWatch>(ForRequestWatch());
    dispatcher.set_hook(*request_watch);
  }
  AddParts();
  Introduce();
  every_second.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<Assembly>&>(task).owner.EverySecond();
  };
  ArmEverySecond(1000);
  FollowConfig();
  users_fault = access.LoadConfigured();
}

// Parts that hear of what others do.
void Assembly::Introduce() {
  clients.set_closing_listener(blocked_clients);
  clients.set_keeper([this](const Session& session) { return locks.HoldsBySession(session); });
  KeyListener* const listeners[] = {&watches, &waiters,  &limit_waiters,
                                    &locks,   &tracking, &own_deadlines};
  for (KeyListener* const listener : listeners) key_listeners.Add(*listener);
}

// Users first: a server that lets everybody in while it loads would be open.
Fault Assembly::StartLog() {
  if (!users_fault.empty()) return users_fault;
  if (Fault fault = access.LoadFileAtStart()) return fault;
  if (Fault fault = cluster.Start()) return fault;
  if (cluster.is_on()) keyspace.db(0).KeepBySlots();
  own_line.Start();
  following.Start();
  if (Fault fault = log.Start()) return fault;
  if (!log.loading()) following.FilesLoaded(std::nullopt);
  return {};
}

Assembly::~Assembly() {
  config.Unfollow(*this);
  clients.ForEach([this](Session& session) { blocked_clients.Abandon(session); });
  timers.Disarm(every_second);
}

// --- sessions

void Assembly::Drop(SessionId id) {
  Session* const session = clients.Find(id);
  if (!session) return;
  if (session->kind == SessionKind::kMasterLink) [[unlikely]]
    links.Forget(*session);
  watches.UnwatchAll(*session);
  pubsub.Forget(*session);
  if (!current_client.serving_from_within())
    RefreshNow();  // others' leases may begin here, between turns
  tracking.Forget(*session);
  monitors.Remove(*session);
  blocked_clients.Abandon(*session);
  snapshot_barrier.Forget(*session);
  if (request_watch) request_watch->Forget(*session);
  locks.SessionEnded(*session);
  replicas.Forget(*session);
  // The place stays: the batch counts on it.
  for (Input& input : inputs.list) {
    if (input.session != session) continue;
    input.session = nullptr;
    input.stopped = true;
  }
  // Nothing that outlives it knows it any more.
  assert(!session->rare->blocked_call && !session->tracks() && !session->subscribes());
  assert(!session->rare->transaction || TransactionOf(*session)->watched.empty());
  assert(session->output.Sound());
  clients.Remove(*session);
}

void Assembly::EverySecond() {
  if (debug_settings.every_second_paused) [[unlikely]]
    return ArmEverySecond(1000);
  const std::optional<size_t> client_bytes = clients.CloseOverdue();
  if (!client_bytes) return ArmEverySecond(1);
  rates.Sample(statistics, clock.now().ms());
  facts.Sample(*client_bytes);
  // A test double's clock may stand still.
  if (!time_control) defragmenter.EverySecond(facts.MemoryWithClients(*client_bytes));
  log.EverySecond();
  snapshots.EverySecond();
  replicas.EverySecond();
  promotion_watch.EverySecond();
  following.EverySecond();
  own_line.EverySecond();
  map_exchange.EverySecond();
  line_leaders.EverySecond();
  migration.EverySecond();
  failover.Look();
  ArmEverySecond(1000);
}

// The host of a test double has a timer of its own for it.
void Assembly::ArmEverySecond(int64_t ms) {
  if (!time_control) timers.Arm(every_second, clock.now().ms() + ms);
}

void Assembly::RefreshNow() {
  if (clock.Refresh()) keyspace.WallStepped();
}

void Assembly::LoadLog() {
  const int64_t shift_ms = clock.clock().shift_ms();
  log.Load();
  const int64_t by_ms = clock.clock().shift_ms() - shift_ms;
  if (by_ms != 0) TimeShifted(by_ms);
  if (log.loading()) return;
  if (log_state.loaded_stream) replicas.TakeUp(*log_state.loaded_stream);
  following.FilesLoaded(log_state.loaded_stream);
  log.TellLoaded();
}

// A loaded log's time goes on from here: moments measured by engine time before it was loaded stay
// as long ago as they were. The log's own deadlines are of its time already.
void Assembly::TimeShifted(int64_t ms) {
  clients.TimeShifted(ms);
  keyspace.TimeShifted(ms);
  locks.TimeShifted(ms);
  log.TimeShifted(ms);
  blocked_clients.TimeShifted(ms);
  replicas.TimeShifted(ms);
  grant_promise.TimeShifted(ms);
  promotion_watch.TimeShifted(ms);
  following.TimeShifted(ms);
  own_line.TimeShifted(ms);
  map_exchange.TimeShifted(ms);
  line_leaders.TimeShifted(ms);
  migration.TimeShifted(ms);
  failover.TimeShifted(ms);
  graceful_end.TimeShifted(ms);
  defragmenter.TimeShifted(ms);
  facts.TimeShifted(ms);
  if (wheel.now_ms() > clock.now().ms() + kWheelAheadMsMax) wheel.TurnBack(clock.now().ms());
  standstill.TimeShifted(ms);
  pause.TimeShifted(ms);
  access_log.TimeShifted(ms);
  ArmEverySecond(1000);
}

RandomState Assembly::SaveRandom() const {
  return {random, hash_keys.Save(), keyspace.hash_keys().Save(), scripts.random};
}

void Assembly::RestoreRandom(const RandomState& state) {
  random = state.choices;
  hash_keys.Restore(state.tables);
  keyspace.hash_keys().Restore(state.values);
  scripts.random = state.scripts;
}

// --- what the keyspace tells

void Assembly::KeyTouched(int db, std::string_view key) {
  if constexpr (ChangeAudit::kOn) {
    ChangeAudit& audit = effects.audit();
    locks.changes_itself() ? audit.TouchedByOwner() : audit.Touched(db, key);
  }
  if (flags.Raised(SlowPathFlags::kKeys)) [[unlikely]]
    key_listeners.KeyTouched(db, key, /*died=*/false);
}

// Keys that locks change by themselves, or that listeners look at, are no doing of the command's.
void Assembly::KeyLookedUp(int, std::string_view key) {
  if (!locks.changes_itself()) effects.audit().LookedUp(key);
}

void Assembly::KeyExpired(int db, const Entry& entry, int64_t late_ms) {
  const bool is_monitored = latency_monitor.threshold_ns() != INT64_MAX;
  const int64_t begin = is_monitored ? clock.clock().TickNanos() : 0;
  ++statistics.expired_keys;
  statistics.expiry_lateness_ms.Record(late_ms);
  const ChangeRecorder changes(effects, notifications);
  if (changes.wants_effects()) changes.Add(db, {"DEL", entry.key()});
  changes.Announce(kNotifyExpired, "expired", {db, entry.key()});
  if (config.settings().sluice_expired_value) [[unlikely]]
    TellExpiredValue(db, entry);
  TellListenersItIsOver(db, entry.key());
  if (!is_monitored) [[likely]]
    return;
  const int64_t nanos = clock.clock().TickNanos() - begin;
  if (nanos >= latency_monitor.threshold_ns())
    latency_monitor.Note(LatencyEvent::kExpireDel, clock.now().unix_s(), nanos);
}

void Assembly::TellExpiredValue(int db, const Entry& entry) {
  if (!entry.is_string()) return;
  char scratch[Entry::kTextScratch];
  const auto most = static_cast<size_t>(config.settings().notify_value_max);
  notifications.SendExpired(db, entry.key(), entry.Text(scratch).substr(0, most));
}

void Assembly::ValueIsOver(int db, const Entry& entry) {
  TellHashIsOver(db, entry, ChangeRecorder(effects, notifications), statistics);
  TellListenersItIsOver(db, entry.key());
}

void Assembly::TellListenersItIsOver(int db, std::string_view key) {
  if (flags.Raised(SlowPathFlags::kKeys)) [[unlikely]]
    key_listeners.KeyTouched(db, key, /*died=*/true);
}

void Assembly::ValueDue(Database& db, HashedKey key, Entry& entry) {
  if (entry.type() != ValueType::kHash) return;
  TakeExpiredFields({db, key, clock.now(), ChangeRecorder(effects, notifications), statistics},
                    entry);
}

void Assembly::KeyCreated(int db, std::string_view key) {
  ChangeRecorder(effects, notifications).Announce(kNotifyNew, "new", {db, key});
}

void Assembly::DatabaseReplaced(int db, int other) { key_listeners.DatabaseReplaced(db, other); }

// --- what has to hold between two turns

std::string Assembly::Audit() const {
  size_t tracked = 0;
  clients.ForEach([&](const Session& session) { tracked += session.tracks(); });
  if (std::string fault = clients.Audit(); !fault.empty()) return fault;
  if (std::string fault = links.Audit(); !fault.empty()) return fault;
  if (tracked != tracking.clients()) return "the tracking clients are miscounted";
  if (current_client.current() || current_client.caller()) return "a command runs between turns";
  if (!inputs.list.empty()) return "what was received in a turn is left over";
  if (std::string fault = blocked_clients.Audit(); !fault.empty()) return fault;
  if (std::string fault = waiters.Audit(); !fault.empty()) return fault;
  if (std::string fault = tracking.Audit(); !fault.empty()) return fault;
  return AuditFlags();
}

std::string Assembly::AuditFlags() const {
  if (std::string fault = key_listeners.Audit(); !fault.empty()) return fault;
  const bool serve = locks.pending() || waiters.any_ready() || limit_waiters.any_ready();
  if (serve && !flags.Raised(SlowPathFlags::kServe)) return "waiters that can go on are not served";
  const bool shown = monitors.any() || tracking.clients() > 0;
  if (shown && !flags.Raised(SlowPathFlags::kCommands)) return "commands are shown to no client";
  if (snapshot_barrier.any_held() && !flags.Raised(SlowPathFlags::kSaving))
    return "commands wait for a snapshot, and none is taken";
  if (tracking.any_pending()) return "a client is not told what its command has changed";
  const bool is_paused = pause.mode() != Pause::Mode::kNone;
  const bool flags_right = is_paused == flags.Raised(SlowPathFlags::kPaused) &&
                           script_state.busy() == flags.Raised(SlowPathFlags::kLateScript);
  return flags_right ? "" : "the gates are open, or closed, by mistake";
}

}  // namespace sluice
