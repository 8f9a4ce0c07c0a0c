// The upkeep of a Database: finding in the table, blocks that change their shape, timers, counts,
// memory, and the audit.
#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/base/attributes.h"
#include "storage/hashing/key_hash.h"
#include "storage/keyspace/database.h"
#include "storage/keyspace/packed_value.h"

namespace sluice {

Database::Database(KeyspaceState& state, uint8_t id, int index)
    : state_(state), id_(id), index_(index), table_(state.hash_key, state.memory_bytes) {}

Database::~Database() {
  table_.Drain(SIZE_MAX, [this](Entry& entry) { Destroy(state_, entry); });
}

// --- finding
// Shared by Modify, Put and Delete: an expired entry is removed when it is met, told as expired,
// and never seen by a handler. Where removing is forbidden (a paused server, a replica, loading) it
// stays and only FindToReplace shows it, for then it has to be overwritten and not added twice, and
// deleted when a master says so. So it does while an image waits for it.

uint64_t Database::HashOf(const Entry& entry) const {
  return HashName(entry.key(), state_.hash_key);
}

// The entry, if it has to stay.
Entry* Database::MeetExpired(Entry& entry, uint64_t hash, const Now& now) {
  if (!MayRemove(entry)) return &entry;
  RemoveExpired(entry, hash, now);
  return nullptr;
}

ABSL_ATTRIBUTE_NOINLINE Entry* Database::FindLiveInTable(const HashedKey& key, const Now& now) {
  Entry* const entry = table_.Find(key);
  if (entry == nullptr || !entry->Expired(now)) [[likely]]
    return entry;
  state_.now = now;
  MeetExpired(*entry, key.hash, now);
  return nullptr;
}

ABSL_ATTRIBUTE_NOINLINE Entry* Database::FindInTableToReplace(const HashedKey& key,
                                                              const Now& now) {
  Entry* const entry = table_.Find(key);
  if (entry == nullptr || !entry->Expired(now)) [[likely]]
    return entry;
  return MeetExpired(*entry, key.hash, now);
}

ABSL_ATTRIBUTE_NOINLINE Entry* Database::FindInTableAndTouch(const HashedKey& key, const Now& now) {
  Entry* const entry = FindLiveInTable(key, now);
  if (entry != nullptr) MarkAccess(*entry, now);
  return entry;
}

ABSL_ATTRIBUTE_NOINLINE Entry& Database::Touched(Entry& entry, const Now& now) {
  MarkAccess(entry, now);
  return entry;
}

// --- shape

// Counts and the timer follow the new shape before the block does. In place if the block's size
// stays; else the entry moves, and whatever knows its address is told: the wheel (Relocate), the
// table (Replace), a value's timer (FollowEntry).
Entry& Database::Reshape(Entry& entry, const EntryPayload& payload, bool is_volatile,
                         bool is_absolute) {
  const EntryShape old = entry.shape();
  const EntryShape shape{is_volatile, is_absolute, old.key_bytes, payload.bytes.size()};
  if (entry.HasLayout(is_volatile, is_absolute, old.value_bytes) &&
      old.BlockBytes() == shape.BlockBytes()) {
    entry.Store(payload);
    return entry;
  }
  if (old.is_volatile && !is_volatile) {
    if (!entry.timer().linked()) --parked_;
    state_.wheel.Cancel(entry.timer());
  } else if (!old.is_volatile && is_volatile) {
    ++parked_;  // until it is armed
  }
  volatile_ = volatile_ + is_volatile - old.is_volatile;
  absolute_ = absolute_ + is_absolute - old.is_absolute;

  // The table finds the slot by hash and address: the hash is taken while the old block is there.
  const uint64_t hash = HashOf(entry);
  const Entry* before = &entry;
  Entry& moved = Rehouse(entry, shape, entry.key(), payload);
  Replace(*before, moved, hash);
  return moved;
}

// A new block for the entry, which it takes along everything but what it has no room for.
Entry& Database::Rehouse(Entry& old, const EntryShape& shape, std::string_view key,
                         const EntryPayload& payload) {
  const size_t block_bytes = shape.BlockBytes();
  Entry& fresh = *Entry::Make(shape, block_bytes, key, payload, id_);
  fresh.set_access_clock(old.access_clock());
  fresh.set_mark(old.mark());
  if (shape.is_volatile && old.is_volatile()) state_.wheel.Relocate(old.timer(), fresh.timer());
  if (shape.is_absolute && old.absolute()) fresh.set_unix_deadline_ms(old.unix_deadline_ms());
  const size_t old_bytes = old.shape().BlockBytes();
  state_.memory_bytes += block_bytes - old_bytes;
  FollowEntry(fresh);
  Entry::Free(&old, old_bytes, state_.free_blocks);
  return fresh;
}

// Sets the timer to the deadline in engine time. An absolute deadline is written down as it is,
// too: the timer is where it lies at the offset of the moment, and moves when the wall clock steps.
void Database::Arm(Entry& entry, Deadline deadline) {
  int64_t steady_ms = deadline.ms;
  if (entry.absolute()) {
    entry.set_unix_deadline_ms(deadline.ms);
    // Only a hint where it does not fit: Expired() goes by the exact time.
    if (__builtin_sub_overflow(deadline.ms, state_.now.unix_offset_ms, &steady_ms))
      steady_ms = deadline.ms < 0 ? 0 : TimerWheel::kDeadlineMsMax;
  }
  if (entry.timer().linked()) {
    // Deadlines of leases, limiters and counters mostly move away, and many a time.
    if (steady_ms >= entry.timer().deadline_ms()) [[likely]]
      return state_.wheel.Postpone(entry.timer(), steady_ms);
    return state_.wheel.Move(entry.timer(), steady_ms);
  }
  state_.wheel.Insert(entry.timer(), TimerKind::kEntry, steady_ms);
  --parked_;
}

// Memory is counted as it changes, not summed when it is asked for: the entry keeps what it was
// last counted with, and the difference goes into the total (unsigned, so a shrink wraps and adds
// up).
void Database::AccountOutside(Entry& entry) {
  assert(entry.outside());
  const size_t bytes = entry.outside_bytes();
  state_.memory_bytes += bytes - entry.accounted();
  entry.set_accounted(bytes);
}

// --- values with timers of their own

// After every change of such a value: its next moment may be another one, or none at all. Only a
// value with a moment may be over: the entry's flag spares all others the asking.
void Database::SetValueTimer(Entry& entry) {
  Value& value = *entry.outside_value();
  ValueTimer* const timer = value.timer();
  if (timer == nullptr) return;
  timer->holder.Set(&entry, 0);
  const int64_t due_ms = value.NextDueMs(state_.now);
  timed_values_ = timed_values_ + (due_ms != Value::kNever) - entry.has(Entry::kMayEnd);
  entry.Set(Entry::kMayEnd, due_ms != Value::kNever);
  // Four cases: set or not, and due or not. values_timed counts what is linked, for the audit.
  if (timer->node.linked()) {
    if (due_ms != Value::kNever) return state_.wheel.Move(timer->node, due_ms);
    state_.wheel.Cancel(timer->node);
    --state_.values_timed;
  } else if (due_ms != Value::kNever) {
    state_.wheel.Insert(timer->node, TimerKind::kValue, due_ms);
    ++state_.values_timed;
  }
}

// The entry has a new address, or a new value.
void Database::FollowEntry(Entry& entry) {
  if (entry.is_string() || !entry.outside()) return;
  Value& value = *entry.outside_value();
  value.HeldBy(entry);
  if (ValueTimer* const timer = value.timer()) timer->holder.Set(&entry, 0);
}

// To be called before its entry changes or goes. Its timer must not fire for an object that waits
// in the reclaimer.
void Database::RetireValue(KeyspaceState& state, Value& value) {
  ValueTimer* const timer = value.timer();
  if (timer != nullptr && timer->node.linked()) {
    state.wheel.Cancel(timer->node);
    --state.values_timed;
  }
  value.Retire();
}

// While nothing may expire, or an image has still to be given it, it is tried again and again: that
// is rare, and short.
void Database::ValueTimerFired(Entry& entry, uint64_t hash, const Now& now) {
  constexpr int64_t kRetryMs = 100;
  state_.now = now;
  if (state_.active_expiry && MayRemove(entry)) {
    if (entry.Expired(now))
      return RemoveExpired(entry, hash, now);  // all of it is over, or the key at the same tick
    state_.image.BeforeChange(entry);
    const std::string key(entry.key());  // it may be deleted
    return state_.observer.ValueDue(*this, {key, hash}, entry);
  }
  state_.wheel.Insert(entry.outside_value()->timer()->node, TimerKind::kValue, now.ms() + kRetryMs);
  ++state_.values_timed;
}

// --- coming and going
// Adopt and Release are each other's inverse. Between them an entry is in no table: it may be moved
// to another database, renamed, or destroyed. Its timer is left alone by both.

void Database::Adopt(Entry& entry, uint64_t hash) {
  assert(entry.database_id_ == id_);
  table_.Insert(entry, hash);
  if (slot_keys_) [[unlikely]]
    slot_keys_->Insert(entry, hash);
  timed_values_ += entry.has(Entry::kMayEnd);
  if (!entry.is_volatile()) return;
  ++volatile_;
  absolute_ += entry.absolute() ? 1 : 0;
  parked_ += entry.timer().linked() ? 0 : 1;
}

void Database::Replace(const Entry& from, Entry& to, uint64_t hash) {
  EntryMoves();
  table_.Replace(from, to, hash);
  if (slot_keys_) [[unlikely]]
    slot_keys_->Replace(from, to, hash);
}

void Database::Release(Entry& entry, uint64_t hash) {
  EntryMoves();
  table_.Erase(entry, hash);
  if (slot_keys_) [[unlikely]]
    slot_keys_->Erase(entry, hash);
  timed_values_ -= entry.has(Entry::kMayEnd);
  if (!entry.is_volatile()) return;
  --volatile_;
  absolute_ -= entry.absolute() ? 1 : 0;
  parked_ -= entry.timer().linked() ? 0 : 1;
}

void Database::Remove(Entry& entry, uint64_t hash) {
  state_.image.BeforeChange(entry);
  Release(entry, hash);
  Destroy(state_, entry);
}

// Observers see the entry whole. A large value is freed in slices behind that.
void Database::RemoveExpired(Entry& entry, uint64_t hash, const Now& now) {
  if (entry.DeadlinePassed(now)) {
    const int64_t left_ms = std::max(entry.deadline().LeftMs(now), -INT64_MAX);
    state_.observer.KeyExpired(index_, entry, -left_ms);
  } else {
    state_.observer.ValueIsOver(index_, entry);
  }
  Remove(entry, hash);
}

bool Database::RemoveOverdue(HashedKey key, const Now& now) {
  Entry* const entry = table_.Find(key);
  if (entry == nullptr || !entry->Expired(now) || !state_.active_expiry) return false;
  if (state_.image.MustWait(*entry)) return false;
  state_.now = now;
  RemoveExpired(*entry, key.hash, now);
  return true;
}

// The timer, what lies outside, the block: in this order, as the first two are found through the
// third.
void Database::Destroy(KeyspaceState& state, Entry& entry) {
  if (entry.is_volatile()) state.wheel.Cancel(entry.timer());
  if (entry.outside()) {
    if (entry.is_string()) {
      state.reclaimer.Take(std::unique_ptr<TextBlock>(entry.outside_text()), entry.accounted());
    } else {
      RetireValue(state, entry.value());
      state.reclaimer.Take(std::unique_ptr<Value>(entry.outside_value()), entry.accounted());
    }
  }
  const size_t block_bytes = entry.shape().BlockBytes();
  state.memory_bytes -= block_bytes;
  Entry::Free(&entry, block_bytes, state.free_blocks);
}

// FLUSHDB in O(1): the entries go with their table, their timers still linked.
SegmentTable Database::TakeAll(std::unique_ptr<SlotKeys>& slot_keys) {
  volatile_ = absolute_ = parked_ = timed_values_ = 0;
  if (slot_keys_) {
    slot_keys = std::exchange(slot_keys_, nullptr);
    slot_keys_ = std::make_unique<SlotKeys>(state_.hash_key, state_.memory_bytes);
  }
  EntryMoves();
  return std::move(table_);
}

void Database::KeepBySlots() {
  slot_keys_ = std::make_unique<SlotKeys>(state_.hash_key, state_.memory_bytes);
  table_.ForEach([this](Entry& entry) { slot_keys_->Insert(entry, HashOf(entry)); });
}

// --- timers

void Database::TimerFired(Entry& entry, uint64_t hash, const Now& now) {
  ++parked_;  // the wheel has unlinked it
  state_.now = now;
  if (!entry.Expired(now)) return Arm(entry, entry.deadline());  // the wall clock was stepped back
  if (state_.active_expiry && MayRemove(entry)) RemoveExpired(entry, hash, now);
}

// After a step of the wall clock an absolute deadline has another engine time. One that fired while
// removal was forbidden has no timer at all, and gets one when it is allowed again.
void Database::Rearm(Entry& entry, const Now& now) {
  if (ValueIsTimed(entry)) SetValueTimer(entry);
  if (!entry.is_volatile()) return;
  const bool may_be_removed = state_.active_expiry && state_.expiry_allowed;
  const bool useful =
      entry.timer().linked() ? entry.absolute() : may_be_removed || !entry.Expired(now);
  if (useful) Arm(entry, entry.deadline());
}

// --- audit
// Everything is recounted from the entries and compared with the counts that are kept as they
// change. The first disagreement is the answer.

std::string Database::Audit(size_t& linked, size_t& memory) const {
  std::string fault = table_.Audit();
  if (!fault.empty()) return fault;
  size_t volatiles = 0, absolutes = 0, parked = 0, timed_values = 0;
  bool has_suggested = suggested_ == nullptr;
  table_.ForEach([&](const Entry& entry) {
    has_suggested |= &entry == suggested_;
    if (fault.empty()) fault = AuditEntry(entry);
    const bool armed = entry.is_volatile() && entry.timer().linked();
    volatiles += entry.is_volatile() ? 1 : 0;
    absolutes += entry.absolute() ? 1 : 0;
    parked += entry.is_volatile() && !armed ? 1 : 0;
    linked += armed ? 1 : 0;
    timed_values += entry.has(Entry::kMayEnd) ? 1 : 0;
    memory += entry.shape().BlockBytes() + (entry.outside() ? entry.accounted() : 0);
    linked += ValueIsTimed(entry) ? 1 : 0;
  });
  memory += table_.table_bytes() + (slot_keys_ ? slot_keys_->bytes() : 0);
  if (!fault.empty()) return fault;
  if (volatiles != volatile_) return "the volatile keys are miscounted";
  if (timed_values != timed_values_) return "the values that end in parts are miscounted";
  if (absolutes != absolute_) return "the absolute deadlines are miscounted";
  if (parked != parked_) return "a volatile key has no timer";
  if (slot_keys_) fault = AuditSlots();
  if (!fault.empty()) return fault;
  if (!has_suggested) return "an entry is suggested that is not there";
  return "";
}

bool Database::ValueIsTimed(const Entry& entry) {
  if (entry.is_string() || !entry.outside()) return false;
  ValueTimer* const timer = entry.value().timer();
  return timer != nullptr && timer->node.linked();
}

// slot_keys_ has each key, and nothing else.
std::string Database::AuditSlots() const {
  if (std::string fault = slot_keys_->Audit(); !fault.empty()) return fault;
  if (slot_keys_->size() != table_.size()) return "the keys of slots are miscounted";
  std::string fault;
  for (KeySlot slot = 0; slot < kKeySlots; ++slot) {
    slot_keys_->Walk(slot, SIZE_MAX, [&](const Entry& entry) {
      if (!table_.Holds(entry, HashOf(entry))) fault = "a slot has a key that is not there";
      if (SlotOfKey(entry.key()) != slot) fault = "a slot has another one's key";
    });
  }
  return fault;
}

// Checks what can be seen of one entry alone.
std::string Database::AuditEntry(const Entry& entry) const {
  if (entry.database_id_ != id_) return "an entry carries another database's id";
  if (!state_.image.IsMarkSound(entry)) return "an entry looks as if an image lacked it";
  if (entry.absolute() && !entry.is_volatile()) return "an absolute deadline is not volatile";
  if (entry.is_volatile() && entry.timer().linked() && entry.timer().kind() != TimerKind::kEntry)
    return "an entry's timer is of another kind";
  if (entry.type() > ValueType::kLock) return "an entry's type is unknown";
  if (!entry.is_string() && entry.is_packed()) {
    const std::unique_ptr<Value> value = UnpackValue(entry.type(), entry.packed());
    return value == nullptr ? "a packed value is none of its type" : value->Audit();
  }
  if (entry.is_string() && entry.is_integer() && entry.is_raw()) return "an integer is raw";
  if (entry.outside() && entry.accounted() != entry.outside_bytes())
    return "a value has changed its size without being accounted";
  if (!entry.is_string() && entry.value().type() != entry.type())
    return "an entry's type is not its value's";
  if (ValueIsTimed(entry) && entry.value().timer()->holder.As<Entry>() != &entry)
    return "a value's timer points to another entry";
  if (ValueIsTimed(entry) && !entry.has(Entry::kMayEnd))
    return "an entry does not say whether its value may end";
  if (!entry.is_string()) return entry.value().Audit();
  return "";
}

}  // namespace sluice
