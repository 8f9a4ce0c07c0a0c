// See own_deadlines.h.
#include "server/following/own_deadlines.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr int64_t kLookAgainMs = 1000;
// A step of the wall clock moves what ends by it.
constexpr int64_t kArmedMsMax = 60'000;
constexpr size_t kFreedPerTurn = 1000;

}  // namespace

OwnDeadlines::OwnDeadlines(const Uses& uses, HashKeys& hash_keys)
    : on_(uses),
      hash_(hash_keys.Next()),
      places_(static_cast<size_t>(uses.keyspace.databases())),
      written_(0, hash_) {}

OwnDeadlines::Own::Own(OwnDeadlines& whose, Place& its_place, KeyNameView its_name)
    : deadlines(whose), place(its_place), name(its_name) {
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
  if (!died && IsOwnWrite()) {
    if (!written_.contains(KeyNameView{db, key})) written_.emplace(KeyNameView{db, key});
    return;
  }
  written_.erase(KeyNameView{db, key});
  Forget(db, key);
}

void OwnDeadlines::LookAtWritten() {
  for (const KeyName& name : written_) {
    const HashedKey key = on_.keyspace.Hash(name.key);
    const Entry* const entry = on_.keyspace.db(name.db).FindEvenExpired(key);
    if (!entry || !entry->is_volatile()) {
      Forget(name.db, name.key);
      continue;
    }
    std::unique_ptr<Place>& place = places_[name.db];
    if (!place) place = std::make_unique<Place>(name.db, hash_);
    std::unique_ptr<Own>& own = place->owns[KeyName({0, name.key})];
    if (!own) {
      own = std::make_unique<Own>(*this, *place, KeyNameView{0, name.key});
      ++count_;
    }
    Arm(*own, entry->deadline());
  }
  written_.clear();
}

void OwnDeadlines::DatabaseReplaced(int db, int other) {
  LookAtWritten();
  if (other < 0) return Drop(places_[db]);
  std::swap(places_[db], places_[other]);
  for (const int index : {db, other})
    if (places_[index]) places_[index]->db = index;
}

// --- what is forgotten

void OwnDeadlines::Forget(int db, std::string_view key) {
  Place* const place = places_[db].get();
  if (!place) return;
  const auto found = place->owns.find(KeyNameView{0, key});
  if (found == place->owns.end()) return;
  place->owns.erase(found);
  --count_;
}

// Their timers may fire until they are freed, which takes turns.
void OwnDeadlines::Drop(std::unique_ptr<Place>& place) {
  if (!place) return;
  count_ -= place->owns.size();
  place->db = kNoDatabase;
  dropped_.push_back(std::move(place));
}

void OwnDeadlines::Tidy() {
  LookAtWritten();
  if (!on_.state.is_on) std::ranges::for_each(places_, [this](auto& place) { Drop(place); });
  size_t left = kFreedPerTurn;
  while (!dropped_.empty()) {
    KeyNameMap<std::unique_ptr<Own>>& owns = dropped_.back()->owns;
    for (auto at = owns.begin(); at != owns.end() && left > 0; --left) owns.erase(at++);
    if (!owns.empty()) return;
    dropped_.pop_back();
  }
}

// --- what ends

void OwnDeadlines::Arm(Own& own, Deadline deadline) {
  const Now now = on_.clock.now();
  on_.timers.Arm(own, now.ms() + std::clamp<int64_t>(deadline.LeftMs(now), 0, kArmedMsMax));
}

void OwnDeadlines::LookAt(Own& own) {
  const int db = own.place.db;
  if (db == kNoDatabase || !on_.state.is_on) return;
  const KeyName name = own.name;  // it goes with its key
  Database& database = on_.keyspace.db(db);
  const HashedKey key = on_.keyspace.Hash(name.key);
  const Entry* const entry = database.FindEvenExpired(key);
  if (!entry || !entry->is_volatile()) return Forget(db, name.key);
  const Now now = on_.clock.now();
  if (!entry->Expired(now)) return Arm(own, entry->deadline());
  if (on_.standstill.is_on_otherwise() || !database.RemoveOverdue(key, now))
    on_.timers.Arm(own, now.ms() + kLookAgainMs);
}

}  // namespace sluice
