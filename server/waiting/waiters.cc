// See waiters.h. A handler that serves a waiter may touch keys, and so note and even end other
// waits: serving keeps no iterator over it, and goes from one arrival number to the next. Keys that
// are noted meanwhile are served by the outermost ServeReady.
#include "server/waiting/waiters.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/base/macros.h"
#include "storage/types/streams/stream.h"

namespace sluice {

void Block(CommandCall& call, std::span<const std::string_view> keys, const BlockTerms& blocking) {
  Waiters& waiters = call.part<Waiters>();
  if (!keys.empty()) return waiters.Block(call, keys, blocking);
  waiters.blocked_clients().Block(call, blocking);
}

Waiters::Waiters(const Uses& uses, HashKeys& hash_keys)
    : on_(uses), lines_(0, KeyNameHash(hash_keys.Next())) {}

// --- coming and going

void Waiters::Block(CommandCall& call, std::span<const std::string_view> keys,
                    BlockTerms blocking) {
  const uint64_t arrival = arrivals_ + 1;
  assert(blocking.owner == nullptr);
  blocking.owner = this;
  blocking.wait_id = arrival;
  if (!on_.blocked_clients.Block(call, blocking)) return;
  arrivals_ = arrival;
  Wait& wait = waits_[arrival];
  wait.arrival = arrival;
  wait.session = call.client.id;
  wait.type = blocking.type;
  wait.when_gone = blocking.when_gone;
  for (const std::string_view key : keys) {
    KeyName name(KeyNameView{call.db.index(), key});
    Line& line = lines_[name];
    const bool is_first = line.empty();
    Row& row = line.RowOf(wait);
    if (!row.emplace(arrival, &wait).second) continue;  // named twice
    if (wait.type == ValueType::kStream && !wait.when_gone) {
      const StreamId last = LastOf(name);  // it has found nothing behind that
      line.read_up_to = row.size() == 1 ? last : std::min(line.read_up_to, last);
    }
    if (is_first) ChargeFirst(name, line);
    wait.keys.push_back(std::move(name));
  }
  BlockedCallOf(call.client)->kept_bytes += BytesOf(wait);
  on_.flags.Raise(SlowPathFlags::kKeys);
}

// With its places in the lines of its keys.
size_t Waiters::BytesOf(const Wait& wait) {
  size_t bytes = TreeNodeBytes<decltype(waits_)>() + HeapBytes(wait.keys);
  for (const KeyName& name : wait.keys) {
    bytes += TreeNodeBytes<Row>() + HeapBytes(name.key);
  }
  return bytes;
}

const Waiters::Wait* Waiters::Line::First() const {
  const Wait* first = when_gone.empty() ? nullptr : when_gone.begin()->second;
  for (const auto& [type, row] : of_type) {
    const Wait* const wait = row.begin()->second;
    if (!first || wait->arrival < first->arrival) first = wait;
  }
  return first;
}

void Waiters::ChargeFirst(const KeyName& name, const Line& line) {
  const Session* const first = on_.clients.Find(line.First()->session);
  BlockedCallOf(*first)->kept_bytes += kLineSlot + HeapBytes(name.key) + kTypeRow;
}

// O(keys * log waiters). A line without waiters goes, so an unknown key costs nothing when touched.
// The client is blocked no longer, and what it was charged with is gone with that.
void Waiters::Forget(uint64_t arrival) {
  const auto wait = waits_.find(arrival);
  ABSL_HARDENING_ASSERT(wait != waits_.end());
  for (const KeyName& name : wait->second.keys) {
    const auto line = lines_.find(name);
    ABSL_HARDENING_ASSERT(line != lines_.end());
    const bool was_first = line->second.First()->arrival == arrival;
    Row& row = line->second.RowOf(wait->second);
    [[maybe_unused]] const size_t left = row.erase(arrival);
    assert(left == 1);
    if (row.empty() && !wait->second.when_gone) line->second.of_type.erase(wait->second.type);
    if (line->second.empty()) {
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
    if (line.empty()) return "a key that is waited for has no waiter";
    std::vector<const Row*> rows = {&line.when_gone};
    for (const auto& [type, row] : line.of_type) {
      if (row.empty()) return "a type that is waited for has no waiter";
      rows.push_back(&row);
    }
    for (const Row* const row : rows) {
      for (const auto& [arrival, wait] : *row) {
        const auto known = waits_.find(arrival);
        if (known == waits_.end() || &known->second != wait || wait->arrival != arrival)
          return "a waiter stands in another's place";
        const bool is_there = wait->when_gone ? row == &line.when_gone : row != &line.when_gone;
        if (!is_there) return "a waiter stands among those who wait for something else";
      }
      standing += row->size();
    }
  }
  for (const auto& [arrival, wait] : waits_) {
    const Session* const session = on_.clients.Find(wait.session);
    const BlockedCall* const blocked = session ? BlockedCallOf(*session) : nullptr;
    if (!blocked || blocked->owner != this || blocked->wait_id != arrival)
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
  on_.flags.Raise(SlowPathFlags::kServe);
}

// O(1) for a key that is not waited for.
void Waiters::KeyTouched(int db, std::string_view key, bool) {
  const auto line = lines_.find(KeyNameView{db, key});
  if (line != lines_.end()) Note(line->first, line->second);
}

void Waiters::LookAgain(uint64_t arrival) {
  for (const KeyName& name : waits_.at(arrival).keys) Note(name, lines_.at(name));
}

// The values that are there when they are served count.
void Waiters::DatabaseReplaced(int db, int other) {
  for (auto& [name, line] : lines_) {
    if (name.db == db || name.db == other) Note(name, line);
  }
}

void Waiters::ServeReady() {
  if (std::exchange(serving_, true)) return;
  // Keys that are noted while others are served form the next round, so no handler runs inside
  // another.
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
    const Wait* const next = NextOf(name, line->second, served);
    if (!next) {
      // Readers that are still there have all found nothing.
      line->second.read_up_to = std::max(line->second.read_up_to, LastOf(name));
      return;
    }
    served = next->arrival;
    Session* const session = on_.clients.Find(next->session);
    ABSL_HARDENING_ASSERT(session != nullptr && BlockedCallOf(*session)->wait_id == served);
    if (on_.blocked_clients.RunAgain(*session, name.key)) Forget(served);
  }
}

// The last entry of the stream that is there; 0-0: none is.
StreamId Waiters::LastOf(const KeyName& name) const {
  const Entry* const entry = Find(name);
  if (!entry || entry->type() != ValueType::kStream) return {};
  return static_cast<const Stream&>(entry->value()).LastLiveId().value_or(StreamId());
}

// The first waiter behind `served` that has a reason to run: the key holds what it waits for, or it
// is run whatever the key holds. Null: none. O(log waiters).
const Waiters::Wait* Waiters::NextOf(const KeyName& name, const Line& line, uint64_t served) const {
  const auto behind = [served](const Row& row) -> const Wait* {
    const auto next = row.upper_bound(served);
    return next == row.end() ? nullptr : next->second;
  };
  const Wait* const always = behind(line.when_gone);
  const Entry* const entry = line.of_type.empty() ? nullptr : Find(name);
  const auto row = entry ? line.of_type.find(entry->type()) : line.of_type.end();
  const bool is_read = entry && entry->type() == ValueType::kStream;
  const bool is_wanted = row != line.of_type.end() && (!is_read || LastOf(name) > line.read_up_to);
  const Wait* const wanting = is_wanted ? behind(row->second) : nullptr;
  if (!always || !wanting) return always ? always : wanting;
  return always->arrival < wanting->arrival ? always : wanting;
}

// Keys past their time are gone.
const Entry* Waiters::Find(const KeyName& name) const {
  return on_.keyspace.db(name.db).Find(on_.keyspace.Hash(name.key), on_.clock.now());
}

}  // namespace sluice
