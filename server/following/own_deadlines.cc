// See own_deadlines.h.
#include "server/following/own_deadlines.h"

#include <algorithm>
#include <climits>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

constexpr int64_t kLookAgainMs = 1000;

}  // namespace

OwnDeadlines::OwnDeadlines(const Uses& uses, HashKeys& hash_keys)
    : on_(uses), owns_(0, KeyNameHash(hash_keys.Next())), places_(uses.keyspace.databases()) {
  std::iota(places_.begin(), places_.end(), 0);
  last_place_ = places_.back();
}

OwnDeadlines::Own::Own(OwnDeadlines& whose, KeyNameView own_name)
    : deadlines(whose), name(own_name) {
  fired = [](TimerTask& task) {
    Own& own = static_cast<Own&>(task);
    own.deadlines.LookAt(own);
  };
}

OwnDeadlines::Own::~Own() { deadlines.on_.timers.Disarm(*this); }

void OwnDeadlines::Changed() {
  if (listens()) on_.flags.Raise(SlowPathFlags::kKeys);
}

// --- what is touched

// A log that is loaded does not say who wrote what.
bool OwnDeadlines::IsOwnWrite() const {
  const Session* const client = on_.current_client.current();
  return IsWritable() && client && client->kind == SessionKind::kClient &&
         !on_.standstill.is_on_otherwise();
}

void OwnDeadlines::KeyTouched(int db, std::string_view key, bool died) {
  if (died || !IsOwnWrite()) return Forget({places_[db], key});
  if (!written_.empty() && written_.back().db == db && written_.back().key == key) return;
  written_.emplace_back(KeyNameView{db, key});
}

void OwnDeadlines::LookAtWritten() {
  for (const KeyName& name : std::exchange(written_, {})) {
    const KeyNameView own_name{places_[name.db], name.key};
    const Entry* const entry =
        on_.keyspace.db(name.db).FindEvenExpired(on_.keyspace.Hash(name.key));
    if (!entry || !entry->is_volatile()) {
      Forget(own_name);
      continue;
    }
    std::unique_ptr<Own>& own = owns_[KeyName(own_name)];
    if (!own) own = std::make_unique<Own>(*this, own_name);
    Arm(*own, entry->deadline());
  }
}

void OwnDeadlines::DatabaseReplaced(int db, int other) {
  LookAtWritten();
  if (owns_.empty()) return;
  if (other >= 0) return std::swap(places_[db], places_[other]);
  do {
    last_place_ = last_place_ == INT_MAX ? 0 : last_place_ + 1;
  } while (DatabaseAt(last_place_) >= 0);
  places_[db] = last_place_;
}

int OwnDeadlines::DatabaseAt(int place) const {
  const auto found = std::ranges::find(places_, place);
  return found == places_.end() ? -1 : static_cast<int>(found - places_.begin());
}

// --- what ends

void OwnDeadlines::Arm(Own& own, Deadline deadline) {
  const Now& now = on_.clock.now();
  const int64_t left_ms = std::clamp<int64_t>(deadline.LeftMs(now), 0, TimerWheel::kDeadlineMsMax);
  on_.timers.Arm(own, std::min(now.ms() + left_ms, TimerWheel::kDeadlineMsMax));
}

void OwnDeadlines::LookAt(Own& own) {
  const KeyName name = own.name;
  const int db = DatabaseAt(name.db);
  if (db < 0 || !on_.state.is_on) return Forget(name);
  Database& database = on_.keyspace.db(db);
  const HashedKey key = on_.keyspace.Hash(name.key);
  const Entry* const entry = database.FindEvenExpired(key);
  if (!entry || !entry->is_volatile()) return Forget(name);
  const Now& now = on_.clock.now();
  if (!entry->Expired(now)) return Arm(own, entry->deadline());
  if (on_.standstill.is_on_otherwise() || !database.RemoveOverdue(key, now))
    on_.timers.Arm(own, now.ms() + kLookAgainMs);
}

void OwnDeadlines::Forget(KeyNameView name) {
  const auto found = owns_.find(name);
  if (found != owns_.end()) owns_.erase(found);
}

}  // namespace sluice
