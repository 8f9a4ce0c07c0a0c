// See memory_limit.h. The hard part is to know when to stop. Values that are freed in slices count
// until they are gone, so what waits to be freed is set off first: else one large list would cost a
// thousand small keys. And a keyspace in which nothing may go is not looked through again for each
// command.
#include "server/dispatch/memory_limit.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/glob.h"
#include "server/clients/current_client.h"
#include "server/config/config.h"
#include "server/core/standstill.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/effects/change_recorder.h"
#include "server/dispatch/script_state.h"
#include "server/observe/latency_monitor.h"
#include "storage/keyspace/eviction_pool.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

// The rest of a turn takes as long again: together they stay below 1 ms.
constexpr int64_t kTurnNanosMax = 1'000'000;
// As Redis has it: 50 us for each of the first ten steps of maxmemory-eviction-tenacity, 15 % more
// for each further one. With none some keys go before the first look at the clock.
constexpr int64_t kNanosPerStep = 50'000;
constexpr int64_t kStepsOfNanos = 10;
constexpr double kGrowth = 1.15;
// Between two looks at the clock, as Redis; and for clocks that stand still.
constexpr int kKeysPerLook = 16;
constexpr int kKeysPerTurnMax = 16 * 1024;
// Evictions go on until there is room for the commands that follow, which then ask for none: a key
// each time costs three looks at the clock for each.
constexpr size_t kRoomAheadMax = 4096;
constexpr size_t kPartAhead = 1024;  // of maxmemory, at most
// At most so many values that wait to be freed are summed up: they are freed before more keys go.
constexpr size_t kValuesToFreeMax = 64;
// A search in vain costs some 10 ns a key: a hundredth of the time may go there.
constexpr size_t kKeysPerVainMs = 1000;

struct PolicyRow {
  std::string_view name;
  bool evicts;
  bool volatile_only;
  EvictBy by;
};
constexpr PolicyRow kPolicyRows[] = {
    {"noeviction", false, false, EvictBy::kRandom},
    {"allkeys-lru", true, false, EvictBy::kIdle},
    {"allkeys-lfu", true, false, EvictBy::kFrequency},
    {"allkeys-random", true, false, EvictBy::kRandom},
    {"volatile-lru", true, true, EvictBy::kIdle},
    {"volatile-lfu", true, true, EvictBy::kFrequency},
    {"volatile-random", true, true, EvictBy::kRandom},
    {"volatile-ttl", true, true, EvictBy::kDeadline},
};

const PolicyRow& PolicyOf(std::string_view name) {
  return *std::ranges::find(kPolicyRows, name, &PolicyRow::name);
}

int64_t VainMsOf(Keyspace& keyspace) {
  size_t keys = 0;
  for (int i = 0; i < keyspace.databases(); ++i) {
    if (keyspace.made(i)) keys += keyspace.db(i).size();
  }
  return static_cast<int64_t>(keys / kKeysPerVainMs);
}

int64_t TurnNanosOf(int64_t tenacity) {
  if (tenacity <= kStepsOfNanos) return std::max<int64_t>(1, tenacity * kNanosPerStep);
  const double grown = std::pow(kGrowth, static_cast<double>(tenacity - kStepsOfNanos));
  const double nanos = static_cast<double>(kStepsOfNanos * kNanosPerStep) * grown;
  return static_cast<int64_t>(std::min(nanos, static_cast<double>(kTurnNanosMax)));
}

}  // namespace

struct MemoryLimit::State {
  explicit State(uint64_t seed) : pool(seed), access_count(seed) {}

  const PolicyRow* policy = &kPolicyRows[0];
  size_t samples = 0;
  size_t reserve = 0;  // for locks
  size_t limit = 0;    // maxmemory
  int64_t turn_nanos = 0;
  std::vector<Glob> never;  // keys that are not evicted
  EvictionPool pool;
  AccessCount access_count;

  bool is_full = false;       // the command that runs has begun so
  bool wants_more = false;    // the next turn goes on
  int64_t nanos_left = 0;     // of this turn
  int64_t vain_until_ms = 0;  // nothing was found that might go
  EvictionCounts counts;

  bool MayGo(const Entry& entry) const {
    return std::ranges::none_of(never,
                                [&entry](const Glob& glob) { return glob.Matches(entry.key()); });
  }
};

MemoryLimit::MemoryLimit(const Parts& parts) : parts_(parts) {}
MemoryLimit::~MemoryLimit() = default;

// --- options

void MemoryLimit::Configure() {
  const Settings& settings = parts_.Get<Config>().settings();
  const PolicyRow& policy = PolicyOf(settings.maxmemory_policy);
  if (!state_ && settings.maxmemory == 0 && !policy.evicts) return;
  if (!state_) state_ = std::make_unique<State>(parts_.Get<TurnClock>().now().unix_ms());
  State& state = *state_;
  state.policy = &policy;
  state.samples = static_cast<size_t>(settings.maxmemory_samples);
  state.reserve = static_cast<size_t>(settings.maxmemory_reserved_for_locks);
  state.limit = static_cast<size_t>(settings.maxmemory);
  state.turn_nanos = TurnNanosOf(settings.maxmemory_eviction_tenacity);
  state.never.clear();
  for (const std::string& glob : settings.evict_never) state.never.emplace_back(glob);
  state.access_count.Configure(settings.lfu_log_factor, settings.lfu_decay_time);
  const bool counts = policy.by == EvictBy::kFrequency;
  parts_.Get<Keyspace>().set_access_count(counts ? &state.access_count : nullptr);
  state.pool.Clear();
  state.is_full = false;
  state.vain_until_ms = 0;
  if (state.limit == 0) {
    too_much_ = kNoLimit;
    return NoteRoom(Room::kEnough);
  }
  if (!is_set()) BeginTurn(0);  // what is beside the keyspace is known from the next turn on
  state.wants_more = true;
}

void MemoryLimit::BeginTurn(size_t bytes_beside) {
  State& state = *state_;
  // More than `limit` is too much.
  const size_t left = state.limit - std::min(state.limit, bytes_beside);
  too_much_ = bytes_beside > state.limit ? 0 : std::min(left, kNoLimit - 2) + 1;
  state.nanos_left = state.turn_nanos;
  state.is_full = false;
  if (!IsOver(parts_.Get<Keyspace>())) NoteRoom(Room::kEnough);
}

// --- what commands ask

bool MemoryLimit::Admits(MemoryNeed need) {
  // A client that caches hears of keys that went for its own command before the command's reply,
  // and with NOLOOP, too: what it may have read then, it had read before.
  const CurrentClient::Apart apart(parts_.Get<CurrentClient>());
  const Room room = MakeRoom();
  NoteRoom(room);
  state_->is_full = room == Room::kNone;
  return !state_->is_full || Fits(need);
}

void MemoryLimit::NotOver() {
  if (state_) state_->is_full = false;
}

bool MemoryLimit::Lacks(MemoryNeed need) const {
  return state_ && state_->is_full && IsOver(parts_.Get<Keyspace>()) && !Fits(need);
}

bool MemoryLimit::Continue() {
  if (!state_ || !std::exchange(state_->wants_more, false)) return false;
  if (IsOver(parts_.Get<Keyspace>())) NoteRoom(MakeRoom());
  return state_->wants_more;
}

bool MemoryLimit::has_spent_turn() const {
  return state_ && state_->wants_more && state_->nanos_left <= 0;
}

bool MemoryLimit::Fits(MemoryNeed need) const {
  if (need == MemoryNeed::kNone) return true;
  const size_t used = parts_.Get<Keyspace>().memory_bytes();
  return need == MemoryNeed::kLocks && used < too_much_ + std::min(state_->reserve, ~too_much_);
}

// --- evictions

// As in Redis: not while the data stand still, or beside a slow script, whose effects are one
// group. A replica evicts if it is told to, though its master does not hear of it.
bool MemoryLimit::MayEvict() const {
  const Standstill& standstill = parts_.Get<Standstill>();
  const bool is_left_to_master =
      standstill.is_following() && parts_.Get<Config>().settings().replica_ignore_maxmemory;
  return !is_left_to_master && !standstill.is_on_otherwise() &&
         !parts_.Get<ScriptState>().running();
}

// When all has been freed that waits for that, whether there is room for `more` bytes.
bool MemoryLimit::HasRoomFor(size_t more) const {
  const Keyspace& keyspace = parts_.Get<Keyspace>();
  return keyspace.memory_bytes() - keyspace.bytes_to_free() + more < too_much_;
}

MemoryLimit::Room MemoryLimit::MakeRoom() {
  State& state = *state_;
  const Keyspace& keyspace = parts_.Get<Keyspace>();
  if (!MayEvict()) return Room::kEnough;
  if (keyspace.any_flushed() || keyspace.values_to_free() > kValuesToFreeMax) return Room::kSoon;
  if (HasRoomFor(0)) return Room::kEnough;
  if (!state.policy->evicts) return Room::kNone;
  const TurnClock& clock = parts_.Get<TurnClock>();
  if (clock.now().ms() < state.vain_until_ms) return Room::kNone;
  if (state.nanos_left <= 0) {
    state.wants_more = true;
    return Room::kSoon;
  }
  const int64_t begin = clock.clock().TickNanos();
  const Room room = Evict(begin + state.nanos_left);
  const int64_t nanos = clock.clock().TickNanos() - begin;
  state.nanos_left -= nanos;
  state.wants_more |= room == Room::kSoon;
  LatencyMonitor& latency = parts_.Get<LatencyMonitor>();
  if (nanos >= latency.threshold_ns()) [[unlikely]]
    latency.Note(LatencyEvent::kEvictionCycle, clock.now().unix_s(), nanos);
  return room;
}

// Until there is room, and some ahead, or nothing may go, or the turn's time is over.
MemoryLimit::Room MemoryLimit::Evict(int64_t end_ns) {
  State& state = *state_;
  Keyspace& keyspace = parts_.Get<Keyspace>();
  const TurnClock& clock = parts_.Get<TurnClock>();
  const auto may_go = [&state](const Entry& entry) { return state.MayGo(entry); };
  const EvictionPool::Rule rule{.by = state.policy->by,
                                .volatile_only = state.policy->volatile_only,
                                .samples = state.samples,
                                .may_go = may_go};
  const size_t ahead = std::min(state.limit / kPartAhead, kRoomAheadMax);
  for (int i = 1; i <= kKeysPerTurnMax; ++i) {
    EvictionPool::Victim victim;
    const EvictionPool::Found found = state.pool.Next(keyspace, rule, clock.now(), victim);
    if (found == EvictionPool::Found::kNone) {
      if (HasRoomFor(0)) break;
      state.vain_until_ms = clock.now().ms() + VainMsOf(keyspace);
      return Room::kNone;
    }
    if (found == EvictionPool::Found::kKey && !keyspace.MustWait(*victim.entry)) {
      EvictKey(*victim.db, *victim.entry, victim.hash);
      if (HasRoomFor(ahead)) return Room::kEnough;
    }
    if (i % kKeysPerLook == 0 && clock.clock().TickNanos() >= end_ns) break;
  }
  return HasRoomFor(0) ? Room::kEnough : Room::kSoon;
}

// Its name is kept only where something has to be told of it.
void MemoryLimit::EvictKey(Database& db, const Entry& entry, uint64_t hash) {
  const ChangeRecorder changes(parts_);
  const bool is_told = changes.wants_effects() || changes.wants_events(kNotifyEvicted);
  const std::string key(is_told ? entry.key() : std::string_view());
  db.DeleteFound(entry, hash);
  ++state_->counts.keys;
  if (!is_told) return;
  if (changes.wants_effects()) changes.Add(db.index(), {"DEL", key});
  changes.Announce(kNotifyEvicted, "evicted", {db.index(), key});
}

void MemoryLimit::NoteRoom(Room room) {
  EvictionCounts& counts = state_->counts;
  const int64_t now_ms = parts_.Get<TurnClock>().now().ms();
  if (room != Room::kEnough) {
    if (counts.exceeded_since_ms == 0) counts.exceeded_since_ms = std::max<int64_t>(now_ms, 1);
  } else if (counts.exceeded_since_ms != 0) {
    counts.exceeded_ms += now_ms - counts.exceeded_since_ms;
    counts.exceeded_since_ms = 0;
  }
}

// --- counts

EvictionCounts MemoryLimit::counts() const { return state_ ? state_->counts : EvictionCounts{}; }

void MemoryLimit::ResetStatistics() {
  if (state_) state_->counts = {};
}

}  // namespace sluice
