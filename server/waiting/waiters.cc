// See waiters.h. A handler that serves a waiter may touch keys, and so note and even end other
// waits: serving keeps no iterator over it, and goes from one arrival number to the next. Keys that
// are noted meanwhile are served by the outermost ServeReady.
#include "server/waiting/waiters.h"

#include <cassert>
#include <utility>

#include "absl/base/macros.h"

namespace sluice {

void Park(CommandCall& call, std::span<const std::string_view> keys, const Parking& parking) {
  Waiters& waiters = call.part<Waiters>();
  if (!keys.empty()) return waiters.Park(call, keys, parking);
  waiters.parked().Park(call, parking);
}

Waiters::Waiters(const Uses& uses, HashKeys& hash_keys)
    : on_(uses), lines_(0, KeyNameHash(hash_keys.Next())) {}

// --- coming and going

// O(keys * log waiters). Arrival numbers make the order: who waits longest is served first.
void Waiters::Park(CommandCall& call, std::span<const std::string_view> keys, Parking parking) {
  const uint64_t arrival = arrivals_ + 1;
  assert(parking.owner == nullptr);
  parking.owner = this;
  parking.wait_id = arrival;
  if (!on_.parked.Park(call, parking)) return;
  arrivals_ = arrival;
  Wait& wait = waits_[arrival];
  wait.session = call.client.id;
  wait.type = parking.type;
  wait.when_gone = parking.when_gone;
  for (const std::string_view key : keys) {
    KeyName name(KeyNameView{call.db.index(), key});
    Line& line = lines_[name];
    if (!line.waits.emplace(arrival, &wait).second) continue;  // named twice
    line.when_gone += parking.when_gone;
    if (line.waits.size() == 1) ChargeFirst(name, line);
    wait.keys.push_back(std::move(name));
  }
  ParkedOf(call.client)->kept_bytes += BytesOf(wait);
  on_.flags.Raise(RareFlags::kKeys);
}

// With its places in the lines of its keys.
size_t Waiters::BytesOf(const Wait& wait) {
  size_t bytes = TreeNodeBytes<decltype(waits_)>() + HeapBytes(wait.keys);
  for (const KeyName& name : wait.keys) {
    bytes += TreeNodeBytes<decltype(Line::waits)>() + HeapBytes(name.key);
  }
  return bytes;
}

void Waiters::ChargeFirst(const KeyName& name, const Line& line) {
  const Session* const first = on_.clients.Find(line.waits.begin()->second->session);
  ParkedOf(*first)->kept_bytes += kLineSlot + HeapBytes(name.key);
}

// O(keys * log waiters). A line without waiters goes, so an unknown key costs nothing when touched.
// The client is parked no longer, and what it was charged with is gone with that.
void Waiters::WaitCancelled(uint64_t arrival) {
  const auto wait = waits_.find(arrival);
  ABSL_HARDENING_ASSERT(wait != waits_.end());
  for (const KeyName& name : wait->second.keys) {
    const auto line = lines_.find(name);
    ABSL_HARDENING_ASSERT(line != lines_.end());
    std::map<uint64_t, const Wait*>& waits = line->second.waits;
    const bool was_first = waits.begin()->first == arrival;
    [[maybe_unused]] const size_t left = waits.erase(arrival);
    assert(left == 1);
    line->second.when_gone -= wait->second.when_gone;
    if (waits.empty()) {
      lines_.erase(line);
    } else if (was_first) {
      ChargeFirst(name, line->second);
    }
  }
  waits_.erase(wait);
}

std::string Waiters::Audit() const {
  size_t standing = 0, named = 0;
  for (const auto& [name, line] : lines_) {
    if (line.waits.empty()) return "a key that is waited for has no waiter";
    size_t when_gone = 0;
    for (const auto& [arrival, wait] : line.waits) {
      const auto known = waits_.find(arrival);
      if (known == waits_.end() || &known->second != wait)
        return "a waiter stands in another's place";
      when_gone += wait->when_gone;
    }
    if (when_gone != line.when_gone) return "those who wait for a key to go are miscounted";
    standing += line.waits.size();
  }
  for (const auto& [arrival, wait] : waits_) {
    const Session* const session = on_.clients.Find(wait.session);
    const Parked* const parked = session ? ParkedOf(*session) : nullptr;
    if (!parked || parked->owner != this || parked->wait_id != arrival)
      return "a waiter is no client's";
    named += wait.keys.size();
  }
  return standing == named ? "" : "a waiter stands for a key that it does not wait for";
}

// --- serving

// Once, however often it is touched before it is served.
void Waiters::Note(const KeyName& name, Line& line) {
  if (std::exchange(line.noted, true)) return;
  ready_.push_back(name);
  on_.flags.Raise(RareFlags::kServe);
}

// O(1) for a key that is not waited for.
void Waiters::KeyTouched(int db, std::string_view key, bool) {
  const auto line = lines_.find(KeyNameView{db, key});
  if (line != lines_.end()) Note(line->first, line->second);
}

// What will be there when they are served counts.
void Waiters::DatabaseReplaced(int db, int other) {
  for (auto& [name, line] : lines_) {
    if (name.db == db || name.db == other) Note(name, line);
  }
}

// Keys that are noted while others are served form the next round, so no handler runs inside
// another.
void Waiters::ServeReady() {
  if (std::exchange(serving_, true)) return;
  while (!ready_.empty()) {
    for (const KeyName& name : std::exchange(ready_, {})) ServeKey(name);
  }
  serving_ = false;
}

// The line is looked up again for every waiter: a handler may end any wait and so any line.
void Waiters::ServeKey(const KeyName& name) {
  uint64_t served = 0;
  while (true) {
    const auto line = lines_.find(name);
    if (line == lines_.end()) return;
    if (served == 0) line->second.noted = false;
    const auto next = line->second.waits.upper_bound(served);
    if (next == line->second.waits.end()) return;
    served = next->first;
    Session* const session = on_.clients.Find(next->second->session);
    ABSL_HARDENING_ASSERT(session != nullptr && ParkedOf(*session)->wait_id == served);
    if (Wants(*next->second, name)) {
      if (on_.parked.RunAgain(*session, name.key)) WaitCancelled(served);
    } else if (line->second.when_gone == 0 && !Find(name)) {
      return;
    }
  }
}

// Keys past their time are gone.
const Entry* Waiters::Find(const KeyName& name) const {
  return on_.keyspace.db(name.db).Find(on_.keyspace.Hash(name.key), on_.clock.now());
}

// A list does not wake a waiter for a stream. A waiter for the key's end is woken by any change.
bool Waiters::Wants(const Wait& wait, const KeyName& name) {
  const Entry* const entry = Find(name);
  return wait.when_gone || (entry && entry->type() == wait.type);
}

}  // namespace sluice
