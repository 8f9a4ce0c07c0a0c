// See engine.h. Here: making the parts (what each is given: engine_parts.cc; which options they are
// told of: engine_options.cc), sessions that end, what happens once a second, and what the keyspace
// tells.
//
// Drop is the one place that forgets a session: every part that keeps something of it is told
// there. KeyTouched is on the way of every write and costs one test while no part listens.
#include "server/engine/engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "protocol/text/concat.h"
#include "server/engine/hash_field_expiry.h"

namespace sluice {
namespace {

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

Engine::Engine(Config& config, Clock& clock, Host& host, const CommandTable& commands,
               EngineOptions options)
    : config_(config),
      host_(host),
      options_(std::move(options)),
      clock_(clock),
      hash_keys_(MasterKey(options_)),
      random_(options_.seed),
      run_id_(HexDigits(random_, 40)),
      wheel_(clock_.now().ms()),
      clients_(config.settings(), host, clock_, statistics_),
      locks_(ForLocks(), hash_keys_),
      keyspace_(static_cast<int>(config.settings().databases), hash_keys_.Next(), wheel_, *this),
      commands_(commands),
      users_(commands.catalogue()),
      command_counts_(commands.count()),
      watches_(keyspace_, clock_, flags_, hash_keys_.Next()),
      pubsub_(clients_, hash_keys_),
      notifications_(config.settings().notify_classes, pubsub_),
      tracking_(config.settings(), clients_, acting_, flags_, hash_keys_),
      monitors_(config.settings(), clients_, clock_, flags_),
      memory_limit_(parts_),
      pause_(clients_, keyspace_, timers_, clock_, flags_),
      saved_first_(clients_, keyspace_, flags_),
      command_timer_(config.settings(), clock_, command_counts_, slow_log_, latency_monitor_),
      client_lines_(inputs_, clock_),
      access_gate_(commands_, access_log_, clock_, script_state_, client_lines_),
      dispatcher_(ForDispatcher()),
      parked_(ForParkedClients()),
      access_(ForAccess()),
      waiters_(ForWaiters(), hash_keys_),
      scripts_(ForScripts(), hash_keys_),
      limits_(ForLimits(), hash_keys_),
      facts_(options_, run_id_, clock_.now().ms(), keyspace_, clients_, wheel_,
             ForMemoryAccounts()),
      key_listeners_(flags_),
      snapshots_(ForSnapshots()),
      log_(ForLog()),
      batch_(config.settings(), commands_, keyspace_) {
  if (options_.movable_clock) {
    time_control_ =
        std::make_unique<TimeControl>(TimeControl::Uses{.movable = *options_.movable_clock,
                                                        .clock = clock_,
                                                        .wheel = wheel_,
                                                        .parked = parked_,
                                                        .clients = clients_});
    request_watch_ = std::make_unique<RequestWatch>(ForRequestWatch());
    dispatcher_.set_hook(*request_watch_);
  }
  AddParts();
  clients_.set_closing_listener(parked_);
  KeyListener* const listeners[] = {&watches_, &waiters_, &limits_, &locks_, &tracking_};
  for (KeyListener* const listener : listeners) key_listeners_.Add(*listener);
  every_second_.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<Engine>&>(task).owner.EverySecond();
  };
  ArmEverySecond(1000);
  FollowConfig();
  users_fault_ = access_.LoadConfigured();
}

// Users first: a server that lets everybody in while it loads would be open.
std::string Engine::StartLog() {
  if (!users_fault_.empty()) return users_fault_;
  std::string fault = access_.LoadFileAtStart();
  return fault.empty() ? log_.Start() : fault;
}

Engine::~Engine() {
  config_.Unfollow(*this);
  clients_.ForEach([this](Session& session) { parked_.Abandon(session); });
  timers_.Disarm(every_second_);
}

// --- sessions

void Engine::Drop(SessionId id) {
  Session* const session = Find(id);
  if (!session) return;
  watches_.UnwatchAll(*session);
  pubsub_.Forget(*session);
  if (!acting_.serving_from_within()) RefreshNow();  // others' leases may begin here, between turns
  tracking_.Forget(*session);
  monitors_.Remove(*session);
  parked_.Abandon(*session);
  saved_first_.Forget(*session);
  if (request_watch_) request_watch_->Forget(*session);
  locks_.SessionEnded(*session);
  // The place stays: the batch counts on it.
  for (Input& input : inputs_.list) {
    if (input.session != session) continue;
    input.session = nullptr;
    input.stopped = true;
  }
  // Nothing that outlives it knows it any more.
  assert(!session->parked && !session->tracking && !session->subscribes());
  assert(!session->transaction || TransactionOf(*session)->watched.empty());
  assert(session->output.Sound());
  clients_.Remove(*session);
}

void Engine::EverySecond() {
  if (debug_settings_.every_second_paused) [[unlikely]]
    return ArmEverySecond(1000);
  const std::optional<size_t> client_bytes = clients_.CloseOverdue();
  if (!client_bytes) return ArmEverySecond(1);
  rates_.Sample(statistics_, clock_.now().ms());
  facts_.Sample(*client_bytes);
  // A test double's clock may stand still.
  if (!time_control_) defragmenter_.EverySecond(facts_.MemoryWithClients(*client_bytes));
  log_.EverySecond();
  snapshots_.EverySecond();
  ArmEverySecond(1000);
}

// The host of a test double has a timer of its own for it.
void Engine::ArmEverySecond(int64_t ms) {
  if (!time_control_) timers_.Arm(every_second_, clock_.now().ms() + ms);
}

void Engine::RefreshNow() {
  if (clock_.Refresh()) keyspace_.WallStepped();
}

void Engine::LoadLog() {
  const int64_t shift_ms = clock_.clock().shift_ms();
  log_.Load();
  const int64_t by_ms = clock_.clock().shift_ms() - shift_ms;
  if (by_ms != 0) TimeShifted(by_ms);
}

// What was measured by engine time before the log was loaded, whose time goes on from here, is as
// long ago as it was. The log's own deadlines are of its time already.
void Engine::TimeShifted(int64_t ms) {
  clients_.TimeShifted(ms);
  keyspace_.TimeShifted(ms);
  locks_.TimeShifted(ms);
  facts_.TimeShifted(ms);
  if (ms < 0) wheel_.TurnBack(clock_.now().ms());
  pause_.TimeShifted(ms);
  access_log_.TimeShifted(ms);
  ArmEverySecond(1000);
}

RandomState Engine::SaveRandom() const {
  return {random_, hash_keys_.Save(), keyspace_.hash_keys().Save(), scripts_.random};
}

void Engine::RestoreRandom(const RandomState& state) {
  random_ = state.choices;
  hash_keys_.Restore(state.tables);
  keyspace_.hash_keys().Restore(state.values);
  scripts_.random = state.scripts;
}

// --- what the keyspace tells

void Engine::KeyTouched(int db, std::string_view key) {
  if constexpr (ChangeAudit::kOn) {
    ChangeAudit& audit = effects_.audit();
    locks_.changes_itself() ? audit.TouchedByOwner() : audit.Touched(db, key);
  }
  if (flags_.Raised(RareFlags::kKeys)) [[unlikely]]
    key_listeners_.KeyTouched(db, key, std::exchange(key_dying_, false));
}

// What locks do by themselves, and what listeners look at, is no doing of the command's.
void Engine::KeyLookedUp(int, std::string_view key) {
  if (!locks_.changes_itself()) effects_.audit().LookedUp(key);
}

void Engine::KeyExpired(int db, const Entry& entry, int64_t late_ms) {
  key_dying_ = flags_.Raised(RareFlags::kKeys);  // KeyTouched follows
  effects_.audit().Expiring();
  const bool is_monitored = latency_monitor_.threshold_ns() != INT64_MAX;
  const int64_t begin = is_monitored ? clock_.clock().TickNanos() : 0;
  ++statistics_.expired_keys;
  statistics_.expiry_lateness_ms.Record(late_ms);
  const ChangeRecorder changes(effects_, notifications_);
  if (changes.wants_effects()) changes.Add(db, {"DEL", entry.key()});
  changes.Announce(kNotifyExpired, "expired", {db, entry.key()});
  if (!is_monitored) [[likely]]
    return;
  const int64_t nanos = clock_.clock().TickNanos() - begin;
  if (nanos >= latency_monitor_.threshold_ns())
    latency_monitor_.Note(LatencyEvent::kExpireDel, clock_.now().unix_s(), nanos);
}

void Engine::ValueIsOver(int db, const Entry& entry) {
  key_dying_ = flags_.Raised(RareFlags::kKeys);  // KeyTouched follows
  effects_.audit().Expiring();
  TellHashIsOver(db, entry, ChangeRecorder(effects_, notifications_), statistics_);
}

void Engine::ValueDue(Database& db, HashedKey key, Entry& entry) {
  if (entry.type() != ValueType::kHash) return;
  TakeExpiredFields({db, key, clock_.now(), ChangeRecorder(effects_, notifications_), statistics_},
                    entry);
}

void Engine::KeyCreated(int db, std::string_view key) {
  ChangeRecorder(effects_, notifications_).Announce(kNotifyNew, "new", {db, key});
}

void Engine::DatabaseReplaced(int db, int other) { key_listeners_.DatabaseReplaced(db, other); }

// --- what has to hold between two turns

std::string Engine::Audit() const {
  size_t tracking = 0;
  clients_.ForEach([&](const Session& session) { tracking += session.tracking != nullptr; });
  if (std::string fault = clients_.Audit(); !fault.empty()) return fault;
  if (tracking != tracking_.clients()) return "the tracking clients are miscounted";
  if (acting_.current() || acting_.caller()) return "a command runs between turns";
  if (!inputs_.list.empty()) return "what was received in a turn is left over";
  if (std::string fault = parked_.Audit(); !fault.empty()) return fault;
  if (std::string fault = waiters_.Audit(); !fault.empty()) return fault;
  if (std::string fault = tracking_.Audit(); !fault.empty()) return fault;
  return AuditFlags();
}

// A flag may be raised for nothing, never down while there is something.
std::string Engine::AuditFlags() const {
  if (std::string fault = key_listeners_.Audit(); !fault.empty()) return fault;
  const bool serve = locks_.pending() || waiters_.any_ready() || limits_.any_ready();
  if (serve && !flags_.Raised(RareFlags::kServe)) return "waiters that can go on are not served";
  const bool commands = monitors_.any() || tracking_.clients() > 0;
  if (commands && !flags_.Raised(RareFlags::kCommands)) return "commands are shown to no client";
  if (saved_first_.any_held() && !flags_.Raised(RareFlags::kSaving))
    return "commands wait for a snapshot, and none is taken";
  if (tracking_.any_pending()) return "a client is not told what its command has changed";
  const bool paused = pause_.mode() != Pause::Mode::kNone;
  const bool flags_right = paused == flags_.Raised(RareFlags::kPaused) &&
                           script_state_.busy() == flags_.Raised(RareFlags::kLateScript);
  return flags_right ? "" : "the gates are open, or closed, by mistake";
}

}  // namespace sluice
