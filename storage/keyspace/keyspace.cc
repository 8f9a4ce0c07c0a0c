// See keyspace.h. This is about all databases: swapping and moving between them, flushing and what
// waits to be freed after it, timers that come due, and the image of a snapshot.
#include "storage/keyspace/keyspace.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "storage/hashing/key_hash.h"

namespace sluice {

namespace {

// More than this are freed in slices, also by FLUSHALL SYNC: a million locks took 1.7 s.
constexpr size_t kFlushedAtOnceMax = 1'000;

}  // namespace

Keyspace::Keyspace(int databases, const TableKey& master, TimerWheel& wheel,
                   KeyspaceObserver& observer)
    : hash_keys_(master),
      state_{wheel, observer, KeyspaceKey(hash_keys_.Next())},
      by_index_(databases, nullptr) {
  assert(databases > 0 && databases <= kDatabasesMax);
}

// Entries that wait to be freed go first, for they need the wheel and the reclaimer; then the bytes
// must come out even.
Keyspace::~Keyspace() {
  AbandonImage();
  FreeSlice(SIZE_MAX);
  garbage_.clear();
  made_.clear();
  state_.reclaimer.Free(SIZE_MAX);
  assert(state_.memory_bytes == 0);
}

// Databases keep the id of their first use; `index` is what clients call it.
Database& Keyspace::MakeDatabase(int index) {
  made_.emplace_back(new Database(state_, static_cast<uint8_t>(made_.size()), index));
  by_index_[index] = made_.back().get();
  return *by_index_[index];
}

// --- whole databases
// Neither touches an entry. A database's entries carry its id, not its index, so a swap is of two
// pointers; a flush takes the whole table away, which later slices empty.

void Keyspace::Swap(int a, int b) {
  if (a == b) return;
  state_.observer.DatabaseReplaced(a, b);
  ++state_.changes;
  std::swap(by_index_[a], by_index_[b]);
  for (const int index : {a, b})
    if (made(index)) by_index_[index]->index_ = index;
}

void Keyspace::Flush(int index, bool lazily) {
  if (!made(index)) return;
  state_.observer.DatabaseReplaced(index, -1);
  state_.changes += db(index).size();
  std::unique_ptr<SlotKeys> slot_keys;
  SegmentTable table = db(index).TakeAll(slot_keys);
  garbage_.push_back({std::move(slot_keys), std::move(table), state_.image.is_taken()});
  Flushed& flushed = garbage_.back();
  if (lazily || IsNeeded(flushed) || flushed.table.size() > kFlushedAtOnceMax) return;
  Drain(flushed, SIZE_MAX);
  garbage_.pop_back();
}

bool Keyspace::FreeSlice(size_t budget) {
  budget -= state_.reclaimer.Free(budget);
  for (auto at = garbage_.end(); at != garbage_.begin();) {
    Flushed& flushed = *--at;
    if (IsNeeded(flushed)) continue;
    budget -= Drain(flushed, budget);
    if (flushed.table.size() > 0) return true;
    at = garbage_.erase(at);
  }
  return !state_.reclaimer.empty();
}

size_t Keyspace::flushed_to_be_freed() const {
  size_t waiting = 0;
  for (const Flushed& flushed : garbage_) waiting += IsNeeded(flushed) ? 0 : flushed.table.size();
  return waiting;
}

// --- single entries
// MOVE and RENAME take the entry as it is: value, deadline and timer go along, nothing is encoded
// anew. Both databases' watchers are told before anything moves.

void Keyspace::MoveEntry(Database& from, HashedKey key, Database& to, const Now& now) {
  assert(&from != &to);
  Entry* entry = from.FindLive(key, now);
  Entry* obstacle = to.FindToReplace(key, now);
  if (entry == nullptr) return;
  state_.observer.KeyTouched(from.index(), key.bytes);
  state_.observer.KeyTouched(to.index(), key.bytes);
  ++state_.changes;
  if (obstacle != nullptr) to.Remove(*obstacle, key.hash);  // expired, and could not be removed yet
  state_.image.BeforeChange(*entry);
  from.Release(*entry, key.hash);
  entry->database_id_ = to.id_;
  to.Adopt(*entry, key.hash);
  state_.observer.KeyCreated(to.index(), key.bytes);
  // A re-arming walk may have passed `to` but not `from`.
  if (entry->absolute()) to.Arm(*entry, entry->deadline());
}

Entry& Keyspace::TakeOut(Database& from, const Entry& found) {
  Entry& entry = const_cast<Entry&>(found);
  assert(!entry.is_volatile());
  state_.image.BeforeChange(entry);
  from.Release(entry, from.HashOf(entry));
  return entry;
}

void Keyspace::PutBack(Database& to, Entry& entry) {
  entry.database_id_ = to.id_;
  to.Adopt(entry, to.HashOf(entry));
}

void Keyspace::Rename(Database& from, HashedKey key, Database& to, HashedKey new_key,
                      const Now& now) {
  Entry* entry = from.FindLive(key, now);
  if (entry == nullptr) return;
  state_.observer.KeyTouched(from.index(), key.bytes);
  state_.observer.KeyTouched(to.index(), new_key.bytes);
  ++state_.changes;
  if (&from == &to && key.bytes == new_key.bytes) return;
  if (Entry* obstacle = to.FindToReplace(new_key, now)) to.Remove(*obstacle, new_key.hash);
  state_.image.BeforeChange(*entry);
  from.Release(*entry, key.hash);
  // The key's bytes are in the block, so it is a new block, with the old one's value and timer.
  EntryShape shape = entry->shape();
  shape.key_bytes = new_key.bytes.size();
  Entry& renamed = to.Rehouse(*entry, shape, new_key.bytes, entry->payload());
  to.Adopt(renamed, new_key.hash);
  state_.observer.KeyCreated(to.index(), new_key.bytes);
  if (renamed.absolute()) to.Arm(renamed, renamed.deadline());  // as in MoveEntry
}

// --- timers
// The wheel knows nodes, not keys. A flushed entry's timer stays linked until the entry is freed,
// so one that fires is first looked up: if its database's table does not hold this very entry, it
// is garbage and the timer is spent.

void Keyspace::TimerFired(TimerNode& node, const Now& now) {
  Entry& entry = Entry::OfTimer(node);
  assert(entry.database_id_ < made_.size());
  Database& database = *made_[entry.database_id_];
  const uint64_t hash = database.HashOf(entry);
  if (database.table_.Holds(entry, hash)) database.TimerFired(entry, hash, now);
}

void Keyspace::ValueTimerFired(TimerNode& node, const Now& now) {
  --state_.values_timed;
  Entry& entry = *reinterpret_cast<ValueTimer&>(node).holder.As<Entry>();
  Database& database = *made_[entry.database_id_];
  const uint64_t hash = database.HashOf(entry);
  if (database.table_.Holds(entry, hash)) database.ValueTimerFired(entry, hash, now);
}

void Keyspace::WallStepped() { RestartRearming(); }

// From the first database on, as what was passed already may have to be done again.
void Keyspace::RestartRearming() {
  rearming_ = true;
  rearm_database_ = 0;
  rearm_position_ = 0;
}

bool Keyspace::RearmSlice(const Now& now, size_t budget) {
  if (!rearming_) return false;
  state_.now = now;
  // One database a call at most: the budget is of entries, and what needs none costs nothing.
  while (rearm_database_ < made_.size()) {
    Database& database = *made_[rearm_database_];
    const bool needed = database.needs_rearming();
    if (needed)
      rearm_position_ = database.table_.Walk(rearm_position_, budget,
                                             [&](Entry& entry) { database.Rearm(entry, now); });
    if (!needed || rearm_position_ == 0) {
      ++rearm_database_;
      rearm_position_ = 0;
    }
    if (needed) return true;
  }
  rearming_ = false;
  return false;
}

void Keyspace::set_active_expiry(bool on) {
  if (on && !state_.active_expiry) RestartRearming();
  state_.active_expiry = on;
}

void Keyspace::set_expiry_allowed(bool on) {
  if (on && !state_.expiry_allowed && any_parked()) RestartRearming();
  state_.expiry_allowed = on;
}

bool Keyspace::any_parked() const {
  return std::ranges::any_of(made_, [](const auto& database) { return database->any_parked(); });
}

// --- an image
// KeyspaceImage has the marks and the walk's place, Keyspace the tables: databases by id, then what
// has been flushed since the image began.

void Keyspace::BeginImage(EntrySaver& saver) {
  std::vector<int> indexes;
  indexes.reserve(made_.size());
  for (const std::unique_ptr<Database>& database : made_) indexes.push_back(database->index());
  state_.image.Begin(saver, std::move(indexes));
  // Tables that were flushed before are no part of the image.
  for (Flushed& flushed : garbage_) flushed.of_image = false;
}

void Keyspace::AbandonImage() {
  // Timers of entries that were awaited may have fired in vain.
  if (state_.image.Abandon()) RestartRearming();
}

// Once an awaited entry has been given, timers that have fired meanwhile are set again.
bool Keyspace::ImageFirstPart() {
  KeyspaceImage& image = state_.image;
  if (image.GiveNextPiece()) return true;
  const KeyspaceImage::Awaited* const first = image.FirstAwaited();
  if (first == nullptr) return false;
  Database& database = *made_[first->first];
  Entry* const entry = database.table_.Find(Hash(first->second));
  if (entry != nullptr && image.Needs(*entry)) {
    image.GivePiece(*entry);
    return true;
  }
  if (entry != nullptr) database.Rearm(*entry, state_.now);
  image.FirstIsGiven();
  return true;
}

bool Keyspace::ImageSlice(const Now& now, size_t budget) {
  KeyspaceImage& image = state_.image;
  if (!image.is_taken()) return false;
  state_.now = now;
  // The mark says what has been given, so the order is free: entries that others wait for go first.
  if (ImageFirstPart()) return true;
  while (const std::optional<size_t> id = image.database()) {
    Database& database = *made_[*id];
    const bool is_empty = database.size() == 0;
    if (is_empty || image.GivePart(database.table_, budget)) image.NextDatabase();
    if (!is_empty) return true;
  }
  // A table that was flushed since is freed once it has been given.
  for (Flushed& flushed : garbage_) {
    if (!IsNeeded(flushed)) continue;
    if (image.GivePart(flushed.table, budget)) flushed.of_image = false;
    return true;
  }
  image.End();
  return false;
}

// An abandoned image needs nothing: what was flushed may go.
bool Keyspace::IsNeeded(const Flushed& flushed) const {
  return flushed.of_image && state_.image.is_wanted();
}

size_t Keyspace::Drain(Flushed& flushed, size_t budget) {
  size_t drained = 0;
  if (flushed.slot_keys) {
    drained = flushed.slot_keys->Drain(budget);
    if (drained == budget) return drained;
    flushed.slot_keys.reset();
  }
  return drained + flushed.table.Drain(budget - drained, [&](Entry& entry) {
    if (flushed.of_image) state_.image.BeforeChange(entry);
    Database::Destroy(state_, entry);
  });
}

// --- audit

std::string Keyspace::Audit(const Now&) const {
  size_t linked = 0;
  size_t memory = state_.reclaimer.accounted();
  for (size_t id = 0; id < made_.size(); ++id) {
    const Database& database = *made_[id];
    if (database.id_ != id) return "a database is not where its id says";
    if (by_index_[database.index_] != &database) return "a database is not at its index";
    if (std::string fault = database.Audit(linked, memory); !fault.empty()) return fault;
  }
  for (const auto& [slot_keys, table, of_image] : garbage_) {
    memory += table.table_bytes() + (slot_keys ? slot_keys->bytes() : 0);
    table.ForEach([&](const Entry& entry) {
      memory += entry.shape().BlockBytes() + (entry.outside() ? entry.accounted() : 0);
      linked += entry.is_volatile() && entry.timer().linked() ? 1 : 0;
      linked += Database::ValueIsTimed(entry) ? 1 : 0;
    });
  }
  if (memory != state_.memory_bytes) return "the memory is miscounted";
  if (std::string fault = state_.wheel.Audit(); !fault.empty()) return fault;
  const size_t of_values = state_.wheel.CountLinked(TimerKind::kValue);
  if (of_values != state_.values_timed) return "the timers of values are miscounted";
  if (linked != of_values + state_.wheel.CountLinked(TimerKind::kEntry))
    return "an entry's timer is stray";
  return "";
}

}  // namespace sluice
